package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// slowly answers one word at a time, with a pause of gap between words.
func slowly(text string, gap time.Duration) llmtest.Reply {
	return llmtest.Answer(text, llmtest.Usage{Input: 10, Output: 10}).Every(gap)
}

// followedText is the live text of a task as a page would show it.
type followedText struct {
	text     string
	parts    int
	restarts int
	done     task.Task
	err      error
}

// followText follows a task and its live text until the task ends.
func (s *stack) followText(id string) <-chan followedText {
	out := make(chan followedText, 1)
	ctx := s.soon()
	go func() {
		var r followedText
		r.done, r.err = s.client.WatchText(ctx, id, func(task.Task) {}, func(t task.Text) {
			if r.parts++; t.Offset == 0 {
				r.text = ""
			}
			if t.Restart {
				r.restarts++
			}
			if len(r.text) != t.Offset {
				r.err = fmt.Errorf("a part at %d after %d bytes", t.Offset, len(r.text))
			}
			r.text += t.Text
		})
		out <- r
	}()
	return out
}

// Readers see a summary grow while the model writes it, late readers too. When the call is repeated, the text starts
// again.
func TestLiveText_growsAndRestarts(t *testing.T) {
	s := newStack(t)
	const text = "The lamp was lit at dusk and burned all night above the quiet harbour until the keeper came down."
	cut := slowly("Once there was a lamp that nobody had lit", 300*time.Millisecond)
	cut.Parts = cut.Parts[:9]
	s.provider.On("[doc-000]", cut.Then(llmtest.Cut), slowly(text, 300*time.Millisecond))
	id := s.submit(notes(1))
	early := s.followText(id)
	require.NoError(t, s.provider.WaitFor(s.soon(), 2))
	time.Sleep(2 * time.Second)
	late := <-s.followText(id)
	first := <-early
	for who, r := range map[string]followedText{"early": first, "late": late} {
		require.NoError(t, r.err, who)
		require.Equal(t, task.Full, r.done.Outcome)
		require.True(t, strings.HasPrefix(text, r.text), "%s: %q", who, r.text)
		require.Greater(t, len(r.text), len(text)/2, who)
		require.Greater(t, r.parts, 2, who)
	}
	t.Logf("%d parts, %d restarts; late: %d parts", first.parts, first.restarts, late.parts)
	require.Equal(t, 1, first.restarts)
}

// The live text of a QA task is the answer without its JSON, and an agent's turns have live text too.
func TestLiveText_qaAndAgent(t *testing.T) {
	s := newStack(t)
	s.provider.Handle(func(call llmtest.Call) llmtest.Reply {
		if call.Inputs != nil {
			return wordVectors(call.Inputs)
		}
		if strings.Contains(call.Prompt, "citations:") {
			return slowly(`{"citations": [], "answer": "It was lit at dusk, as every day of that year, and nobody knows by whom.", "supported": false, "needs_everything": false}`, 250*time.Millisecond)
		}
		return slowly("I have looked at everything there is and found that the lamp was lit.", 250*time.Millisecond)
	})
	qa := s.followText(s.begin("qa", map[string]any{"documents": []map[string]any{{"text": "The lamp was lit at dusk."}}, "questions": []string{"When was the lamp lit?"}}, nil))
	agent := s.followText(s.begin("agent", map[string]any{"goal": "Find out about the lamp."}, nil))
	for what, out := range map[string]<-chan followedText{"It was lit at dusk, as": qa, "I have looked at": agent} {
		r := <-out
		require.NoError(t, r.err)
		require.True(t, strings.HasPrefix(r.text, what), "%q", r.text)
	}
}
