package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"longhaul/internal/llm"
	"longhaul/internal/task"
)

// vectors is an answer with embeddings. Only what is read is declared.
type vectors struct {
	Model raw    `json:"model"`
	Usage raw    `json:"usage"`
	Data  []item `json:"data"`
}

type item struct {
	Index     count `json:"index"`
	Embedding raw   `json:"embedding"`
}

// embeddings reads an answer, and takes it only when each text has one vector, and all of them the same
// length.
func (x *exchange) embeddings(body []byte, req llm.EmbedRequest) (llm.Embeddings, error) {
	var answer vectors
	err := json.Unmarshal(body, &answer)
	if len(answer.Data) == 0 && len(body) <= maxErrorBody {
		if f := read(body); f.told {
			return llm.Embeddings{}, x.said(f)
		}
	}
	if err != nil {
		return llm.Embeddings{}, x.fail(llm.Retry, task.BadResponse, "the answer is no list of embeddings: %s", err)
	}
	got := llm.Embeddings{
		Model: answer.Model.text(), RequestID: x.requestID, Usage: answer.Usage.usage(),
		Simulated: x.header.Get("X-Longhaul-Simulated") == "true",
	}
	got.Usage.Estimated = got.Usage.Known && x.client.profile.Estimates
	if got.Vectors, err = x.sorted(answer.Data, len(req.Texts)); err == nil {
		err = x.even(got.Vectors, req.Dimensions)
	}
	if err != nil {
		return llm.Embeddings{}, spent(err, got.Usage)
	}
	return got, nil
}

// sorted puts the vectors of n texts into the order of the texts.
func (x *exchange) sorted(items []item, n int) ([][]float32, error) {
	if len(items) != n {
		return nil, x.fail(llm.Retry, task.BadResponse, "the answer has %d embeddings for %d texts", len(items), n)
	}
	blank := true // some servers write no index, or 0 for all: then the order is that of the texts
	for _, it := range items {
		blank = blank && it.Index.n == 0
	}
	all := make([][]float32, n)
	for i, it := range items {
		at := it.Index.n
		if blank {
			at = int64(i)
		}
		if at >= int64(n) || all[at] != nil || !blank && !it.Index.known {
			return nil, x.fail(llm.Retry, task.BadResponse, "the indexes of the embeddings are not those of the texts")
		}
		vector, err := it.Embedding.vector()
		if err != nil {
			return nil, x.fail(llm.Retry, task.BadResponse, "the embedding of text %d %s", at, err)
		}
		all[at] = vector
	}
	return all, nil
}

// even holds vectors to one length; 0 wanted is any.
func (x *exchange) even(all [][]float32, wanted int) error {
	for i, v := range all {
		if len(v) != len(all[0]) {
			return x.fail(llm.Retry, task.BadResponse, "the embedding of text %d has %d numbers, that of text 0 has %d", i, len(v), len(all[0]))
		}
	}
	if is := len(all[0]); wanted != 0 && is != wanted {
		e := x.fail(llm.Final, task.BadResponse, "the embeddings have %d numbers although %d were asked for; leave the dimensions to the model", is, wanted)
		e.Err = llm.ErrDimensions
		return e
	}
	return nil
}

// vector reads a vector: a list of numbers, or base64 of little-endian float32, whichever was asked for.
// The error ends a sentence that begins with what it is.
func (r raw) vector() (v []float32, err error) {
	if len(r) > 0 && r[0] == '"' {
		v, err = r.packed()
	} else {
		v, err = r.numbers()
	}
	if err == nil && len(v) == 0 {
		err = errors.New("is empty")
	}
	return v, err
}

// packed reads base64.
func (r raw) packed() ([]float32, error) {
	inner := r[1 : len(r)-1]
	if bytes.IndexByte(inner, '\\') >= 0 { // some write / as \/
		inner = raw(r.text())
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(inner)))
	n, err := base64.StdEncoding.Decode(data, inner)
	if err != nil || n%4 != 0 {
		return nil, errors.New("is not base64 of 32-bit numbers")
	}
	v := make([]float32, n/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if f := float64(v[i]); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errors.New("has a number in it that is none")
		}
	}
	return v, nil
}

// numbers reads a list of numbers and nothing else. The list is known to be valid JSON.
func (r raw) numbers() ([]float32, error) {
	if len(r) < 2 || r[0] != '[' {
		return nil, errors.New("is not a list of numbers")
	}
	inner := bytes.TrimSpace(r[1 : len(r)-1])
	if len(inner) == 0 {
		return nil, nil
	}
	v := make([]float32, 0, bytes.Count(inner, []byte(","))+1)
	for number := range bytes.SplitSeq(inner, []byte(",")) {
		f, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 32)
		if err != nil { // a null, a text, a list, or too large
			return nil, errors.New("is not a list of numbers")
		}
		v = append(v, float32(f))
	}
	return v, nil
}
