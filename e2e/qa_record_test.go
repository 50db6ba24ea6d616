package e2e

import (
	"fmt"
	"net/http"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// qaShapes are the QA tasks whose histories are recorded.
func qaShapes() map[string]func(*stack) string {
	return map[string]func(*stack) string{
		"short":     recordQAShort,
		"answers":   recordQAAnswers,
		"follow-up": recordQAFollowUp,
		"failures":  recordQAFailures,
		"cancelled": recordQACancelled,
		"continued": recordQAContinued,
	}
}

// about returns a question about each of the first days of a story, and one that needs the whole text.
func about(days int) []string {
	var questions []string
	for i := range days {
		questions = append(questions, fmt.Sprintf("What was seen on day %d?", 22*i))
	}
	return append(questions, "How many ships were there in all?")
}

func (s *stack) answerAll() {
	s.provider.Handle(answering(func(llmtest.Call) time.Duration { return 0 }))
}

func recordQAShort(s *stack) string {
	s.answerAll()
	return s.finish(s.submitQA(task.QAInput{Documents: []task.Document{{Text: "On day 0 it rained."}}, Questions: about(1)})).ID
}

func recordQAAnswers(s *stack) string {
	s.answerAll()
	return s.finish(s.submitQA(task.QAInput{Documents: []task.Document{{Text: story(3_000)}, {Text: "Short."}}, Questions: about(5)})).ID
}

func recordQAFollowUp(s *stack) string {
	first := recordQAAnswers(s)
	return s.finish(s.submitQA(task.QAInput{PreviousTaskID: first, Questions: about(1)})).ID
}

func recordQAFailures(s *stack) string {
	tooLong := llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}`)
	good := answering(func(llmtest.Call) time.Duration { return 0 })
	s.provider.On("[flagged]", llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"flagged","code":"content_filter"}}`))
	s.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		switch {
		case call.Inputs != nil:
			return llmtest.Fail(http.StatusNotFound, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`)
		case len(llmtest.Sources(call.Prompt)) > 2:
			return tooLong
		default:
			return good(call)
		}
	})
	in := task.QAInput{Documents: []task.Document{{Text: story(2_000)}, {URL: "http://127.0.0.1:9/nothing"}}, Questions: append(about(1), "[flagged]")}
	return s.finish(s.submitQA(in)).ID
}

func recordQACancelled(s *stack) string {
	s.provider.On("others read the other parts", llmtest.Reply{End: llmtest.Silence})
	s.answerAll()
	id := s.submitQA(task.QAInput{Documents: []task.Document{{Text: story(2_000)}}, Questions: about(2)})
	require.Eventually(s.t, func() bool { return len(s.provider.CallsWith("others read the other parts")) > 0 }, time.Minute, 10*time.Millisecond)
	s.post("/v1/tasks/"+id+"/cancel", "")
	return s.finish(id).ID
}

func recordQAContinued(s *stack) string {
	s.answerAll()
	return s.finish(s.submitQA(task.QAInput{Documents: []task.Document{{Text: story(1_000)}}, Questions: about(120)})).ID
}
