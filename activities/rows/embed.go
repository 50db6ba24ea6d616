package rows

import (
	"io"
	"math"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/llm"
	"longhaul/internal/rows"
	"longhaul/internal/task"
)

// vectorization turns rows into vectors. Rows share calls as large as every provider takes; one that takes less is given halves.
type vectorization struct {
	in       *task.EmbedInput
	template *rows.Template
}

// Texts of one call for vectors, and their tokens: what the strictest of the usual providers take, so that a shard has the same
// calls whoever answers. Larger ones would save little.
const (
	embedTexts  = 64
	embedTokens = 8000
)

func newVectorization(in *task.EmbedInput) (*vectorization, error) {
	template, err := compileFor("text", in.Text)
	return &vectorization{in: in, template: template}, err
}

func (v *vectorization) check(columns []string) error { return needs("text", v.template, columns) }

func (v *vectorization) text(row rows.Row) (string, []string) { return v.template.Render(row.Fields) }

func (v *vectorization) calls(all []rows.Row, which []int) (calls []rowCall) {
	from, tokens := 0, 0
	for at, i := range which {
		text, _ := v.text(all[i])
		n := len(text)/2 + 1
		if at-from == embedTexts || at > from && tokens+n > embedTokens {
			calls, from, tokens = append(calls, v.call(all, which[from:at])), at, 0
		}
		tokens += n
	}
	if from < len(which) {
		calls = append(calls, v.call(all, which[from:]))
	}
	return calls
}

// call asks for the vectors of some rows at once, and knows how to ask for those of each half.
func (v *vectorization) call(all []rows.Row, which []int) rowCall {
	req := llm.EmbedRequest{Dimensions: v.in.Dimensions}
	for _, i := range which {
		text, _ := v.text(all[i])
		req.Texts = append(req.Texts, text)
	}
	call := rowCall{rows: which, step: "embed", request: req, tokens: req.Tokens()}
	if half := len(which) / 2; half > 0 {
		call.parts = func() []rowCall { return []rowCall{v.call(all, which[:half]), v.call(all, which[half:])} }
	}
	return call
}

// comparable reports whether the vectors of another task of the same model may stand beside these.
func (v *vectorization) comparable(before rowWork) bool {
	b, ok := before.(*vectorization)
	return ok && v.in.Dimensions == b.in.Dimensions && v.in.Unit == b.in.Unit
}

// embedded is what a row of the kind embed gets.
type embedded struct {
	Vector []float32 `json:"vector"`
}

func (e embedded) values() map[string]any { return nil }

func (e embedded) vector() []float32 { return e.Vector }

func (v *vectorization) result(_ rows.Row, answers []rowAnswer) (rowResult, error) {
	vector, err := v.vector(answers[0])
	return embedded{Vector: vector}, err
}

// vector takes a row's vector out of an answer.
func (v *vectorization) vector(a rowAnswer) ([]float32, error) {
	vector, err := call.UnpackVector(a.Vectors, a.place, a.of)
	if err != nil {
		return nil, err
	}
	if v.in.Unit {
		length := 0.0
		for _, x := range vector {
			length += float64(x) * float64(x)
		}
		if length = math.Sqrt(length); length > 0 {
			for i := range vector {
				vector[i] = float32(float64(vector[i]) / length)
			}
		}
	}
	return vector, nil
}

func (v *vectorization) output() (name, contentType string) {
	switch v.in.Output {
	case "npy":
		return "vectors.npy", "application/octet-stream"
	case "parquet":
		return "vectors.parquet", "application/vnd.apache.parquet"
	default:
		return "vectors.jsonl", results.JSONLinesType
	}
}

func (v *vectorization) open(w io.Writer, count int) rows.Output {
	switch v.in.Output {
	case "npy":
		return rows.NewMatrix(w, count)
	case "parquet":
		return rows.NewParquet(w, []string{"status", "error"}, true)
	default:
		return rows.NewJSONLines(w)
	}
}
