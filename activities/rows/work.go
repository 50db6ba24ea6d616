package rows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/llm"
	"longhaul/internal/rows"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// rowWork is what a kind does with rows. All of it follows from the input and the rows alone, so that every attempt, and
// every reader, comes to the same calls.
type rowWork interface {
	// check refuses a file without the columns that are needed.
	check(columns []string) error
	// text is what stands for a row: two rows of one text get one answer. Missing are the columns that the row has not.
	text(row rows.Row) (text string, missing []string)
	// calls are those that answer some of the rows of a shard, of which none is bad.
	calls(all []rows.Row, which []int) []rowCall
	// result is what a row gets out of the answers to its calls; an error is an answer that does not fit it.
	result(row rows.Row, answers []rowAnswer) (rowResult, error)
	// output names the file of results, and opens it for so many rows.
	output() (name, contentType string)
	open(w io.Writer, count int) rows.Output
}

// rowResult is what a row gets. Its JSON is that of the item.
type rowResult interface {
	// values are its columns in a file of results, beside a vector.
	values() map[string]any
	vector() []float32
}

// rowCall is one call, for one row or for several that share it.
type rowCall struct {
	rows    []int // positions in the shard
	step    string
	request any    // llm.Request or llm.EmbedRequest
	key     string // names it in the journal; a shard gives it
	tokens  int    // that it will use, about
	// parts are calls for fewer of its rows each, for when the one does not fit them all; nil when it has one row.
	parts func() []rowCall
}

// rowAnswer is the answer to a call, and which of its rows is asked about.
type rowAnswer struct {
	call.Entry
	place int  // of the row among those of the call
	of    int  // how many rows the call has
	mine  bool // whether the call was made for this task
}

// compileFor makes a template whose faults name the field.
func compileFor(field, text string) (*rows.Template, error) {
	template, err := rows.Compile(text)
	return template, inField(field, err)
}

// needs refuses a file whose columns a template does not find.
func needs(field string, template *rows.Template, columns []string) error {
	return inField(field, template.Check(columns))
}

// inField says in which field of the input a fault is.
func inField(field string, err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	if told, ok := errors.AsType[*task.Error](err); ok {
		said = told.Detail
	}
	return task.Errorf(task.Invalid, "%s", said).At("/input/" + field)
}

// CheckRows refuses an input of a kind over rows for what its schema cannot tell.
func CheckRows(in any) error {
	var err error
	switch in := in.(type) {
	case *task.GenerateInput:
		var g *generation
		if g, err = newGeneration(in); err == nil && g.schema != nil {
			_, err = schema.Compile(g.schema.JSON)
			err = inField("output_schema", err)
		}
	case *task.ClassifyInput:
		_, err = newClassification(in)
	case *task.EmbedInput:
		_, err = newVectorization(in)
	}
	return err
}

// generation writes texts from a template.
type generation struct {
	in       *task.GenerateInput
	template *rows.Template // nil: the rows are lines of a batch
	schema   *llm.Schema
}

func newGeneration(in *task.GenerateInput) (g *generation, err error) {
	g = &generation{in: in}
	if in.Template != "" {
		if g.template, err = compileFor("template", in.Template); err != nil {
			return nil, err
		}
	}
	if in.OutputSchema != nil {
		text, err := json.Marshal(in.OutputSchema)
		if err != nil {
			return nil, err
		}
		g.schema = &llm.Schema{Name: "answer", JSON: text}
	}
	return g, nil
}

var errNoTemplate = errors.New("there is none, and the rows are no lines of an OpenAI batch, which have messages of their own; say what to ask for each row")

func (g *generation) check(columns []string) error {
	if g.template != nil {
		return needs("template", g.template, columns)
	}
	if !slices.Contains(columns, "messages") {
		return inField("template", errNoTemplate)
	}
	return nil
}

func (g *generation) text(row rows.Row) (string, []string) {
	if g.template == nil {
		text, err := json.Marshal(row.Fields)
		if err != nil || len(g.body(row).Messages) == 0 {
			return "", []string{"messages whose contents are texts"}
		}
		return string(text), nil
	}
	return g.template.Render(row.Fields)
}

// batchBody is what is used of the body of a line of a batch.
type batchBody struct {
	Messages    []llm.Message `json:"messages"`
	Temperature *float64      `json:"temperature"`
	MaxTokens   int           `json:"max_tokens"`
	MaxAnswer   int           `json:"max_completion_tokens"` // the newer name of max_tokens
}

// body is that of a line of a batch; empty when it cannot be read.
func (g *generation) body(row rows.Row) (body batchBody) {
	text, err := json.Marshal(row.Fields)
	if err != nil || json.Unmarshal(text, &body) != nil {
		return batchBody{}
	}
	return body
}

func (g *generation) calls(all []rows.Row, which []int) (calls []rowCall) {
	for _, i := range which {
		row := all[i]
		req := llm.Request{Temperature: g.in.Temperature, MaxTokens: g.in.MaxTokens, Schema: g.schema}
		if g.in.System != "" {
			req.Messages = append(req.Messages, llm.Message{Role: "system", Content: g.in.System})
		}
		if g.template == nil {
			body := g.body(row)
			req.Messages = append(req.Messages, body.Messages...)
			req.Temperature = cmp.Or(req.Temperature, body.Temperature)
			req.MaxTokens = cmp.Or(req.MaxTokens, body.MaxAnswer, body.MaxTokens)
		} else {
			text, _ := g.template.Render(row.Fields)
			req.Messages = append(req.Messages, llm.Message{Role: "user", Content: text})
		}
		for n := range g.in.N {
			step := "generate"
			if n > 0 {
				step = fmt.Sprintf("generate-%d", n+1) // another answer to the same request
			}
			calls = append(calls, rowCall{rows: []int{i}, step: step, request: req, tokens: call.EstimateTokens(req)})
		}
	}
	return calls
}

// generated is what a row of the kind generate gets.
type generated struct {
	Text  string            `json:"text,omitempty"`
	JSON  json.RawMessage   `json:"json,omitempty"`  // valid by the output schema
	Texts []string          `json:"texts,omitempty"` // of a task with several answers a row
	JSONs []json.RawMessage `json:"jsons,omitempty"`
}

func (g *generation) result(_ rows.Row, answers []rowAnswer) (rowResult, error) {
	var all generated
	for _, a := range answers {
		if g.schema != nil {
			all.JSONs = append(all.JSONs, json.RawMessage(a.Text))
		} else {
			all.Texts = append(all.Texts, a.Text)
		}
	}
	if len(answers) > 1 {
		return all, nil
	}
	if g.schema != nil {
		return generated{JSON: all.JSONs[0]}, nil
	}
	return generated{Text: all.Texts[0]}, nil
}

func (g generated) values() map[string]any {
	switch {
	case g.JSONs != nil:
		return map[string]any{"jsons": g.JSONs}
	case g.Texts != nil:
		return map[string]any{"texts": g.Texts}
	case g.JSON != nil:
		return map[string]any{"json": g.JSON}
	default:
		return map[string]any{"text": g.Text}
	}
}

func (g generated) vector() []float32 { return nil }

func (g *generation) output() (name, contentType string) { return tableOrLines(g.in.Output) }

func (g *generation) open(w io.Writer, _ int) rows.Output {
	column := "text"
	if g.schema != nil {
		column = "json"
	}
	if g.in.N > 1 {
		column += "s"
	}
	return openTableOrLines(w, g.in.Output, column)
}

// tableOrLines is the artifact of results that are texts.
func tableOrLines(format string) (name, contentType string) {
	if format == "csv" {
		return "results.csv", "text/csv; charset=utf-8"
	}
	return "results.jsonl", results.JSONLinesType
}

func openTableOrLines(w io.Writer, format string, columns ...string) rows.Output {
	if format == "csv" {
		return rows.NewTable(w, append([]string{"status"}, append(columns, "error")...))
	}
	return rows.NewJSONLines(w)
}
