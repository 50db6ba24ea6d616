package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"longhaul/internal/llm"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// tools are the tools that a call offers, by name: what their arguments must look like.
type tools map[string]*schema.Schema

// anything is the schema of a tool that has none.
const anything = `{"type":"object","properties":{}}`

// offer adds a request's tools to what is sent.
func (x *exchange) offer(req llm.Request) error {
	if len(req.Tools) == 0 {
		return nil
	}
	offered, wire := tools{}, make([]map[string]any, len(req.Tools))
	for i, tool := range req.Tools {
		parameters := json.RawMessage(or(string(tool.Parameters), anything))
		// A schema that cannot be compiled here, such as an MCP server may have, is for the tool's owner to hold calls against.
		offered[tool.Name], _ = schema.Compile(parameters)
		wire[i] = map[string]any{"type": "function", "function": llm.Tool{Name: tool.Name, Description: tool.Description, Parameters: parameters}}
	}
	x.extras["tools"] = wire
	switch req.ToolChoice {
	case "":
	case "none":
		x.extras["tool_choice"] = req.ToolChoice
		return nil // whatever comes, no tool was asked for
	case "required":
		x.extras["tool_choice"] = req.ToolChoice
	default:
		x.extras["tool_choice"] = map[string]any{"type": "function", "function": map[string]any{"name": req.ToolChoice}}
	}
	x.tools = offered
	return nil
}

// asked gives the tool calls of an answer. Arguments that are no JSON were cut or broken on their way, and
// so was the answer; anything else that is wrong with a call is the model's own, and for it to mend.
func (x *exchange) asked(calls calls) ([]llm.ToolCall, error) {
	if len(calls) > maxCalls {
		return nil, x.fail(llm.Retry, task.BadResponse, "the answer asks for more than %d tools at once", maxCalls)
	}
	asked, ids := make([]llm.ToolCall, len(calls)), calls.ids()
	for i, c := range calls {
		c.arguments.flush()
		if c.name == "" {
			return nil, x.fail(llm.Retry, task.BadResponse, "a tool call of the answer has no name")
		}
		arguments, err := unwrap(c.arguments.String())
		if err != nil {
			return nil, x.fail(llm.Retry, task.BadResponse, "the arguments of tool call %s are not JSON, so they were cut or broken: %s", c.name, err)
		}
		asked[i] = llm.ToolCall{ID: ids[i], Name: c.name, Arguments: json.RawMessage(arguments), Fault: x.tools.fault(c.name, arguments)}
		if arguments[0] != '{' {
			asked[i].Arguments = json.RawMessage("{}")
		}
	}
	return asked, nil
}

// maxFault is how long the words for a model are, in characters.
const maxFault = 2000

// fault says why a tool call cannot be carried out; "" is nothing.
func (t tools) fault(name, arguments string) string {
	of, known := t[name]
	if !known {
		return schema.Unknown("tool", name, slices.Sorted(maps.Keys(t)))
	}
	if arguments[0] != '{' {
		return fmt.Sprintf("the arguments of %s must be a JSON object, not %s", name, shorten(arguments, maxSnippet))
	}
	if of == nil {
		return ""
	}
	if said := breaches(of, arguments); said != "" {
		return shorten(fmt.Sprintf("the arguments of %s break its schema: %s", name, said), maxFault)
	}
	return ""
}

// unwrap gives the JSON of arguments, on one line: without a fence around it, and out of the string that it
// may have been put into once more. None are {}.
func unwrap(arguments string) (string, error) {
	arguments = bare(arguments)
	if strings.HasPrefix(arguments, `"`) {
		var inner string
		if err := json.Unmarshal([]byte(arguments), &inner); err != nil {
			return "", err
		}
		arguments = bare(inner)
	}
	if arguments == "" || arguments == "null" {
		return "{}", nil
	}
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &whole); err != nil {
		return "", err
	}
	var line bytes.Buffer
	_ = json.Compact(&line, whole) // cannot fail: it is valid JSON
	return line.String(), nil
}
