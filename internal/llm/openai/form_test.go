package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/llm/openai"
	"longhaul/internal/task"
)

const personSchema = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"],"additionalProperties":false}`

func askPerson() llm.Request {
	req := ask("Who?")
	req.Schema = &llm.Schema{Name: "person", JSON: json.RawMessage(personSchema)}
	return req
}

func says(text string) llmtest.Reply {
	return llmtest.Answer(text, llmtest.Usage{Input: 7, Output: 3, Cached: 2})
}

const adaJSON = `{"name":"Ada","age":36}`

// breach is an answer that must not be taken.
func breach(text, message string) robust {
	return robust{reply: says(text), err: &refused{class: llm.Retry, code: task.BadResponse, message: message, partial: counts}}
}

// fits is an answer whose JSON must be taken.
func fits(text string) robust {
	return robust{reply: says(text), ok: &answered{adaJSON, "stop", counts}}
}

// robustForms are answers to a request with a schema.
func robustForms() map[string]robust {
	return map[string]robust{
		"a cut that a relay calls the end":  breach(`{"name":"Ada","age`, "not JSON: unexpected end"),
		"valid":                             fits(adaJSON),
		"white space around":                fits("\n  " + adaJSON + "\n"),
		"a fence":                           fits("```json\n" + adaJSON + "\n```"),
		"a fence without a language":        fits("```\n" + adaJSON + "\n```\n"),
		"a fence among words":               fits("Here it is:\n```json\n" + adaJSON + "\n```\nI hope it helps."),
		"thoughts before":                   fits("<think>Is it {Ada}?</think>\n" + adaJSON),
		"thoughts whose beginning is gone":  fits("Ada, I think.</think>" + adaJSON),
		"thoughts and a fence":              fits("<think>hm</think>```json\n" + adaJSON + "\n```"),
		"a field missing":                   breach(`{"name":"Ada"}`, "/age is required"),
		"a field of the wrong type":         breach(`{"name":"Ada","age":"36"}`, "/age"),
		"a field too many":                  breach(`{"name":"Ada","age":36,"sex":"f"}`, "/sex"),
		"a field twice":                     breach(`{"name":"Ada","name":"Eve","age":36}`, "/name"),
		"another value":                     breach(`[1]`, "the whole"),
		"words":                             breach("I do not know.", "not JSON"),
		"two values":                        breach(adaJSON+adaJSON, "not JSON"),
		"length, and yet whole":             {reply: stream(llmtest.Delta(adaJSON, "length"), used), ok: &answered{adaJSON, "length", counts}},
		"length":                            {reply: stream(llmtest.Delta(`{"name":"Ad`, "length"), used), err: &refused{class: llm.Final, code: task.AnswerIncomplete, message: "allow more tokens", partial: counts}},
		"the format is not known":           {reply: llmtest.Fail(400, fault("invalid_request_error", "invalid_request_error", "This response_format type is unavailable now")), err: &refused{class: llm.Retry, code: task.ModelRefused, own: "invalid_request_error", status: 400, tries: 3}},
		"the schema is not taken":           {reply: llmtest.Fail(400, fault("invalid_request_error", "x", "Invalid schema for response_format 'person'")), err: &refused{class: llm.Final, code: task.ModelRefused, own: "x", status: 400}},
		"another refusal of such a request": {reply: llmtest.Fail(400, fault("invalid_request_error", "x", "No")), err: &refused{class: llm.Final, code: task.ModelRefused, own: "x", status: 400}},
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	for name, test := range robustForms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRobust(t, test, askPerson())
		})
	}
}

// TestFormSends asks as strictly as the provider can.
func TestFormSends(t *testing.T) {
	t.Parallel()
	strict := `{"type":"json_schema","json_schema":{"name":"person","schema":` + personSchema + `}}`
	list := llm.Schema{Name: "list", JSON: json.RawMessage(`{"type":"array"}`)}
	tests := map[string]struct {
		profile string
		change  func(*llm.Request)
		format  string // "" is none
		roles   []string
		words   bool // the schema stands in the first message
	}{
		"schema": {"openai", nil, strict, []string{"user"}, false},
		"object": {"deepseek", nil, `{"type":"json_object"}`, []string{"system", "user"}, true},
		"object, with instructions": {"glm", func(r *llm.Request) {
			r.Messages = append([]llm.Message{{Role: "system", Content: "Be brief."}}, r.Messages...)
		}, `{"type":"json_object"}`, []string{"system", "user"}, true},
		"no object": {"openai", func(r *llm.Request) { r.Schema = &list }, "", []string{"system", "user"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := llmtest.New(t)
			bodies := make(chan []byte, 1)
			p.Handle(func(call llmtest.Call) llmtest.Reply {
				bodies <- call.Body
				return llmtest.Reply{}
			})
			req := askPerson()
			if test.change != nil {
				test.change(&req)
			}
			before, err := json.Marshal(req)
			require.NoError(t, err)
			_, err = client(t, p, func(c *openai.Config) { c.Profile = test.profile }).Complete(t.Context(), req, nil)
			require.ErrorContains(t, err, "breaks its schema")
			after, err := json.Marshal(req)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after), "the caller's request is left alone")

			var sent struct {
				Format   json.RawMessage `json:"response_format"`
				Messages []llm.Message
			}
			require.NoError(t, json.Unmarshal(<-bodies, &sent))
			if test.format == "" {
				require.Empty(t, sent.Format)
			} else {
				require.JSONEq(t, test.format, string(sent.Format))
			}
			require.Len(t, sent.Messages, len(test.roles))
			for i, role := range test.roles {
				require.Equal(t, role, sent.Messages[i].Role)
			}
			if test.words {
				require.Contains(t, sent.Messages[0].Content, string(req.Schema.JSON))
				require.Contains(t, sent.Messages[0].Content, "JSON")
			}
		})
	}
}

// TestFormLoosens asks a provider in a looser way each time it refuses the format, and goes on so.
func TestFormLoosens(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	var formats []string // Handle runs one call at a time
	p.Handle(func(call llmtest.Call) llmtest.Reply {
		var sent struct {
			Format struct{ Type string } `json:"response_format"`
		}
		_ = json.Unmarshal(call.Body, &sent) // a body that is none shows as no format
		formats = append(formats, sent.Format.Type)
		if sent.Format.Type != "" {
			return llmtest.Fail(400, `{"error":{"message":"'response_format.type' is not supported by this model"}}`)
		}
		return says(adaJSON)
	})
	made := client(t, p)
	for range 2 {
		_, err := made.Complete(t.Context(), askPerson(), nil)
		var e *llm.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, llm.Retry, e.Class)
		require.Equal(t, 3, e.Tries)
	}
	for range 2 {
		got, err := made.Complete(t.Context(), askPerson(), nil)
		require.NoError(t, err)
		require.Equal(t, adaJSON, got.Text)
	}
	require.Equal(t, []string{"json_schema", "json_object", "", ""}, formats)
}

// TestFormRepair has what a caller needs to ask again: the answer, and all that is wrong with it.
func TestFormRepair(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	p.On("", says(`{"name":7}`))
	_, err := client(t, p).Complete(t.Context(), askPerson(), nil)
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, `{"name":7}`, e.Answer)
	require.Contains(t, e.Message, "/age is required; /name")
	require.NotContains(t, e.Error(), `{"name"`)
}

func TestFormOfABadSchema(t *testing.T) {
	t.Parallel()
	p := llmtest.New(t)
	req := ask("x")
	req.Schema = &llm.Schema{JSON: json.RawMessage(`{"type":"nothing"}`)}
	_, err := client(t, p).Complete(t.Context(), req, nil)
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.Final, e.Class)
	require.Contains(t, e.Message, "schema of the answer cannot be used")
	require.Empty(t, p.Calls())
}
