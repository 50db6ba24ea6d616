package simulated

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"strings"
)

// What a request for embeddings may ask for.
const (
	defaultDimensions = 1536
	maxDimensions     = 4096
	maxInputs         = 2048
)

func embeddings(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Input      inputs `json:"input"`
		Dimensions int    `json:"dimensions"`
		Encoding   string `json:"encoding_format"`
	}
	if !decode(w, r, &req) {
		return
	}
	if req.Dimensions == 0 {
		req.Dimensions = defaultDimensions
	}
	switch {
	case len(req.Input) == 0 || len(req.Input) > maxInputs:
		refuse(w, http.StatusBadRequest, fmt.Sprintf("input must be 1 to %d texts", maxInputs))
		return
	case req.Dimensions < 1 || req.Dimensions > maxDimensions:
		refuse(w, http.StatusBadRequest, fmt.Sprintf("dimensions must be 1 to %d", maxDimensions))
		return
	}
	data, used := make([]any, len(req.Input)), 0
	for i, text := range req.Input {
		if text == "" {
			refuse(w, http.StatusBadRequest, fmt.Sprintf("input %d is empty", i))
			return
		}
		used += tokens(text)
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": encode(vector(text, req.Dimensions), req.Encoding)}
	}
	answer(w, http.StatusOK, map[string]any{
		"object": "list", "model": Model, "data": data,
		"usage": map[string]any{"prompt_tokens": used, "total_tokens": used},
	})
}

// inputs is one text or a list of them.
type inputs []string

// UnmarshalJSON takes either.
func (in *inputs) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*in = inputs{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(in))
}

// vector places a text by its terms: texts that share words are near each other. Its length is 1.
func vector(text string, dimensions int) []float32 {
	sums := make([]float64, dimensions)
	list := terms(text)
	if len(list) == 0 {
		list = []string{strings.TrimSpace(text)}
	}
	for _, term := range list {
		hash := fnv.New64a()
		_, _ = io.WriteString(hash, term)
		h := hash.Sum64()
		sums[h%uint64(dimensions)] += 1 - 2*float64(h>>63)
	}
	return unit(sums)
}

// unit scales a vector to length 1. One whose terms cancelled out points along the first axis.
func unit(sums []float64) []float32 {
	var square float64
	for _, x := range sums {
		square += x * x
	}
	if square == 0 {
		sums[0], square = 1, 1
	}
	v := make([]float32, len(sums))
	for i, x := range sums {
		v[i] = float32(x / math.Sqrt(square))
	}
	return v
}

// encode gives a vector as it was asked for: numbers, or base64 of little-endian float32.
func encode(v []float32, format string) any {
	if format != "base64" {
		return v
	}
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
