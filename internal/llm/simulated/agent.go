package simulated

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// readMore is a tool for what was cut, which is never missed here.
const readMore = "read_more"

// maxTurns is how often tools are asked for before the report is written.
const maxTurns = 6

type tool struct {
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type toolCall struct {
	Index    *int    `json:"index,omitempty"` // in a stream
	ID       string  `json:"id"`
	Type     string  `json:"type"` // function
	Function calling `json:"function"`
}

type calling struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// goal is what the user wants: the first message, for what comes later is about how to get there.
func (r request) goal() string {
	for _, m := range r.Messages {
		if m.Role == "user" {
			return m.Content
		}
	}
	return ""
}

// result is what a tool gave.
type result struct{ tool, content string }

func (r request) results() []result {
	names := map[string]string{}
	var all []result
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
		}
		if m.Role == "tool" {
			all = append(all, result{names[m.ToolCallID], m.Content})
		}
	}
	return all
}

// plan gives the next calls, none when it is time to answer: each tool once whose arguments can be made of
// the goal and of what is known by now, two in the first turn, then one a turn.
func (r request) plan(id string) []toolCall {
	turns, used := 0, map[string]bool{}
	for _, m := range r.Messages {
		turns += min(1, len(m.ToolCalls))
		for _, c := range m.ToolCalls {
			used[c.Function.Name] = true
		}
	}
	most, known := 1, r.known()
	if turns == 0 {
		most = 2
	}
	var calls []toolCall
	for _, tool := range r.open(used, turns) {
		if arguments, fits := known.make(tool.Function.Parameters, false); fits && len(calls) < most {
			index := len(calls)
			calls = append(calls, toolCall{&index, fmt.Sprintf("call_%s_%d", id, index), "function", calling{tool.Function.Name, string(arguments)}})
		}
	}
	return calls
}

// open are the tools that may be asked for: those not used yet, unless the request demands some.
func (r request) open(used map[string]bool, turns int) []tool {
	var named struct{ Function struct{ Name string } }
	_ = json.Unmarshal(r.ToolChoice, &named) // a word names no tool
	unused := slices.DeleteFunc(slices.Clone(r.Tools), func(t tool) bool { return used[t.Function.Name] || t.Function.Name == readMore })
	switch choice := string(r.ToolChoice); {
	case choice == `"none"`:
		return nil
	case named.Function.Name != "":
		return slices.DeleteFunc(slices.Clone(r.Tools), func(t tool) bool { return t.Function.Name != named.Function.Name })
	case choice == `"required"` && (len(unused) == 0 || turns >= maxTurns):
		return r.Tools
	case turns >= maxTurns:
		return nil
	}
	return unused
}

var address = regexp.MustCompile(`https?://[^\s"'<>()\[\]{}\\]+`)

// known is what arguments, and answers of a schema, can be made of.
func (r request) known() facts {
	goal, body := r.goal(), ""
	urls := address.FindAllString(goal, -1)
	for _, given := range r.results() {
		urls = append(urls, address.FindAllString(given.content, -1)...)
		body += prose(given.content) + "\n\n"
	}
	f := facts{goal: strings.TrimSpace(goal), body: summarise("In 100 words.", goal)}
	if body != "" {
		f.body = summarise("In 100 words.", body)
	}
	if len(urls) > 0 {
		f.url = strings.TrimRight(urls[0], ".,;:!?")
	}
	return f
}

// report is a short text in Markdown: the goal, and an extract of what each tool gave.
func (r request) report() string {
	var b strings.Builder
	title, _, _ := strings.Cut(strings.TrimSpace(r.goal()), "\n")
	fmt.Fprintf(&b, "# %s\n\n", plain(firstWords(title, 16)))
	results := r.results()
	for _, given := range results {
		fmt.Fprintf(&b, "## From %s\n\n%s\n\n", given.tool, extract(given.content))
	}
	if len(results) == 0 {
		b.WriteString("No tool was used.\n\n")
	}
	b.WriteString("*This report is simulated: extracts of what the tools gave, put together without a model.*")
	return b.String()
}

func extract(content string) string {
	if text := prose(content); text != "" {
		return summarise("In 60 words.", text)
	}
	return "Nothing."
}

// prose is the text in the result of a tool: the sentences in its JSON, or else its fields.
func prose(content string) string {
	var value any
	if json.Unmarshal([]byte(content), &value) != nil {
		return strings.TrimSpace(content)
	}
	var sentences, fields []string
	visit(value, "", func(name string, leaf any) {
		if text := fmt.Sprint(leaf); countWords(text) > 4 {
			sentences = append(sentences, text)
		} else if text != "" && leaf != nil {
			fields = append(fields, strings.TrimPrefix(name+": "+text, ": "))
		}
	})
	if len(sentences) == 0 {
		return strings.Join(fields, ", ")
	}
	return strings.Join(sentences, "\n\n")
}

// visit shows every leaf of a value, in a fixed order.
func visit(value any, name string, show func(name string, leaf any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range sorted(v) {
			visit(v[key], key, show)
		}
	case []any:
		for _, member := range v {
			visit(member, name, show)
		}
	default:
		show(name, v)
	}
}
