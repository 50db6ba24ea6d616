package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"

	"longhaul/internal/fakeserver"
)

// dimensions is how long the vectors of the default answer are when a call does not say.
const dimensions = 8

// Vector is what the default answer gives for a text: its hash over and over, so that vectors can be
// matched to texts. Every number is between 0 and 1.
func Vector(text string, dimensions int) []float32 {
	sum := sha256.Sum256([]byte(text))
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(sum[i%len(sum)]) / 256
	}
	return v
}

// Floats is the JSON of a vector as a list of numbers.
func Floats(v []float32) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // the numbers of Vector always marshal
	}
	return string(data)
}

// Base64 is the JSON of a vector as base64 of little-endian float32.
func Base64(v []float32) string {
	var data []byte
	for _, n := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(n))
	}
	return fakeserver.Quote(base64.StdEncoding.EncodeToString(data))
}

// Item is the JSON of one embedding in an answer; the embedding is JSON of any sort.
func Item(index int, embedding string) string {
	return fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, index, embedding)
}

// Embeddings is an answer of these items.
func Embeddings(input int, items ...string) Reply {
	return Raw("application/json", fmt.Sprintf(`{"object":"list","model":"llmtest-1","data":[%s],"usage":{"prompt_tokens":%d,"total_tokens":%d}}`,
		strings.Join(items, ","), input, input))
}

// TooMany refuses a call for embeddings that has more texts than a limit.
func TooMany(limit int) Reply {
	return Fail(http.StatusBadRequest, fmt.Sprintf(`{"error":{"message":"batch size is invalid, it should not be larger than %d.: input.contents","type":"InvalidParameter","param":null,"code":"InvalidParameter"}}`, limit))
}

// embed is the good answer to a call for embeddings.
func embed(call Call) Reply {
	length, used := call.Dimensions, 0
	if length == 0 {
		length = dimensions
	}
	items := make([]string, len(call.Inputs))
	for i, text := range call.Inputs {
		used += len(text)/4 + 1
		vector := Floats(Vector(text, length))
		if call.Base64 {
			vector = Base64(Vector(text, length))
		}
		items[i] = Item(i, vector)
	}
	return Embeddings(used, items...)
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
