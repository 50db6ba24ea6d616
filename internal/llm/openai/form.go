package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"longhaul/internal/llm"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// form is what the answer of one call must look like.
type form struct {
	schema *schema.Schema
	format Format // how it was asked for
}

// looser is what to ask for when a provider does not know a format.
var looser = map[Format]Format{JSONSchema: JSONObject, JSONObject: Prompt, Prompt: Prompt}

// shape adds to a request what its schema asks for: the field, and where the field does not hold the
// schema the words.
func (x *exchange) shape(req *llm.Request) error {
	compiled, err := schema.Compile(req.Schema.JSON)
	if err != nil {
		return x.fail(llm.Final, task.ModelRefused, "the schema of the answer cannot be used: %s", err)
	}
	x.form = &form{compiled, x.client.format(req)}
	switch x.form.format {
	case JSONSchema:
		x.extras["response_format"] = map[string]any{"type": JSONSchema, "json_schema": map[string]any{"name": or(req.Schema.Name, "answer"), "schema": req.Schema.JSON}}
		return nil
	case JSONObject:
		x.extras["response_format"] = map[string]any{"type": JSONObject}
	}
	words := "Answer with one JSON value and nothing else, without a code fence. It must be valid under this JSON Schema:\n"
	if len(req.Tools) > 0 {
		words = "Call tools as you need them. Your final answer has a form: " + words
	}
	req.Messages = instruct(req.Messages, words+string(req.Schema.JSON))
	return nil
}

// format picks how to ask a model for JSON. Providers hold it to objects only.
func (c *Client) format(req *llm.Request) Format {
	var root struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(req.Schema.JSON, &root) != nil || root.Type != "object" {
		return Prompt
	}
	return or(c.learned.strictest(req.Model), or(c.profile.Format, Prompt))
}

// instruct puts words behind the first system message. Some models take only one, at the beginning.
func instruct(messages []llm.Message, words string) []llm.Message {
	messages = slices.Clone(messages)
	if len(messages) > 0 && messages[0].Role == "system" {
		messages[0].Content += "\n\n" + words
		return messages
	}
	return append([]llm.Message{{Role: "system", Content: words}}, messages...)
}

// formatWords are in refusals that are about the format, schemaWords in those about the schema itself,
// which asking in another way does not mend.
var (
	formatWords = []string{"response_format", "response format", "json_schema", "json_object", "structured output", "json mode"}
	schemaWords = []string{"invalid schema", "invalid json schema"}
)

// loosen lets a call be tried again whose format the provider does not know: the next one asks for a
// looser one, and the last of them is refused by nobody.
func (c *Client) loosen(err error, f *form, model string) error {
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case !ok, f == nil, f.format == Prompt, e.Code != task.ModelRefused, e.Status < http.StatusBadRequest:
		return err
	case !mentions(e.Message, formatWords), mentions(e.Message, schemaWords):
		return err
	}
	c.learned.refuse(model, f.format)
	e.Class, e.Tries = llm.Retry, len(looser)
	return e
}

// fit takes the JSON out of an answer, and refuses what breaks the schema.
func (x *exchange) fit(text string, limited bool) (string, error) {
	bare := bare(text)
	said := breaches(x.form.schema, bare)
	switch {
	case said == "":
		return bare, nil
	case limited:
		return "", x.fail(llm.Final, task.AnswerIncomplete, "the limit of tokens was used up before the JSON was complete; allow more tokens")
	default:
		e := x.fail(llm.Retry, task.BadResponse, "the answer breaks its schema: %s", said)
		e.Answer = text
		return "", e
	}
}

// breaches tells everything that is wrong with a text that should be JSON of a schema; "" is nothing.
func breaches(of *schema.Schema, text string) string {
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return "it is not JSON: " + err.Error()
	}
	var found []task.FieldError
	if err := schema.WellFormed(whole); err != nil {
		found = task.AsError(err).Errors
	} else {
		found = of.Check(whole)
	}
	said := make([]string, len(found))
	for i, at := range found {
		said[i] = or(at.Pointer, "the whole") + " " + at.Detail
	}
	return strings.Join(said, "; ")
}

// bare is a text without thoughts before it and without one code fence around it.
func bare(text string) string {
	const thought = "</think>"
	if at := strings.Index(text, thought); at >= 0 && (strings.HasPrefix(strings.TrimSpace(text), "<think>") || !strings.ContainsAny(text[:at], "{[")) {
		text = text[at+len(thought):]
	}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return text
	}
	_, fenced, found := strings.Cut(text, "```")
	if !found {
		return text
	}
	_, fenced, _ = strings.Cut(fenced, "\n") // behind the name of the language
	if end := strings.LastIndex(fenced, "```"); end >= 0 {
		fenced = fenced[:end]
	}
	return strings.TrimSpace(fenced)
}
