package simulated_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/openai"
	"longhaul/internal/llm/simulated"
)

const text = "The lighthouse was built in 1871. Its walls are of granite. Storms break over it in winter."

// start runs a provider that does not wait.
func start(t *testing.T) string {
	t.Helper()
	url, stop, err := simulated.Start(t.Context(), simulated.Options{Latency: -1})
	require.NoError(t, err)
	t.Cleanup(stop)
	return url
}

func post(t *testing.T, url, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, res.Header, string(got)
}

// TestThroughTheClient asks the way the product does.
func TestThroughTheClient(t *testing.T) {
	t.Parallel()
	client, err := openai.New(openai.Config{BaseURL: start(t)})
	require.NoError(t, err)
	names, err := client.Models(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{simulated.Model}, names)

	req := llm.Request{Model: "any", Messages: []llm.Message{
		{Role: "system", Content: "Length: at most 12 words."}, {Role: "user", Content: "<document name=\"a\">\n" + text + "\n</document>"},
	}}
	var steps []llm.Progress
	got, err := client.Complete(t.Context(), req, func(p llm.Progress) { steps = append(steps, p) })
	require.NoError(t, err)
	require.True(t, got.Simulated)
	require.Equal(t, simulated.Model, got.Model)
	require.Equal(t, "stop", got.FinishReason)
	require.Equal(t, "The lighthouse was built in 1871. Storms break over it in winter.", got.Text)
	require.True(t, got.Usage.Known)
	require.Positive(t, got.Usage.InputTokens*got.Usage.OutputTokens)
	require.Greater(t, len(steps), 1)
	require.Equal(t, len(got.Text), steps[len(steps)-1].Bytes)

	req.MaxTokens = 3
	got, err = client.Complete(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, "length", got.FinishReason)
	require.LessOrEqual(t, got.Usage.OutputTokens, int64(3))
}

// TestEmbeddingsThroughTheClient come out the same as numbers and as base64, in as many calls as it takes.
func TestEmbeddingsThroughTheClient(t *testing.T) {
	t.Parallel()
	url := start(t)
	texts := make([]string, 200)
	for i := range texts {
		texts[i] = fmt.Sprintf("lighthouse number %d", i)
	}
	var before [][]float32
	for _, profile := range []string{"generic", "openai"} {
		client, err := openai.New(openai.Config{BaseURL: url, Profile: profile})
		require.NoError(t, err)
		got, err := client.Embed(t.Context(), llm.EmbedRequest{Model: "any", Texts: texts, Dimensions: 64})
		require.NoError(t, err)
		require.True(t, got.Simulated)
		require.True(t, got.Usage.Known)
		require.Len(t, got.Vectors, len(texts))
		if before != nil {
			require.Equal(t, before, got.Vectors)
		}
		before = got.Vectors
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	url, stop, err := simulated.Start(t.Context(), simulated.Options{Latency: 100 * time.Millisecond})
	require.NoError(t, err)
	defer stop()
	client, err := openai.New(openai.Config{BaseURL: url})
	require.NoError(t, err)
	began := time.Now()
	_, err = client.Complete(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{{Role: "user", Content: text}}}, nil)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	url, stop, err := simulated.Start(ctx, simulated.Options{Latency: time.Hour})
	require.NoError(t, err)
	defer stop()
	body := strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":"` + text + `"}]}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", body)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	cancel()
	_, err = io.ReadAll(res.Body)
	require.Error(t, err)
}

func TestWhole(t *testing.T) {
	t.Parallel()
	status, header, body := post(t, start(t)+"/chat/completions", `{"model":"x","messages":[{"role":"user","content":"`+text+`"}]}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "true", header.Get("X-Longhaul-Simulated"))
	var got struct {
		Object, Model string
		Choices       []struct {
			Message      struct{ Role, Content string }
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, "chat.completion", got.Object)
	require.Equal(t, simulated.Model, got.Model)
	require.Equal(t, text, got.Choices[0].Message.Content)
	require.Equal(t, "stop", got.Choices[0].FinishReason)
	require.Positive(t, got.Usage.Total)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	url := start(t)
	tests := map[string]struct{ path, body, want string }{
		"no JSON":         {"/chat/completions", `{`, "not the JSON"},
		"no messages":     {"/chat/completions", `{}`, "no message of the user"},
		"no input":        {"/embeddings", `{}`, "input must be"},
		"an empty input":  {"/embeddings", `{"input":["a",""]}`, "input 1 is empty"},
		"tokens as input": {"/embeddings", `{"input":[1,2]}`, "not the JSON"},
		"too many axes":   {"/embeddings", `{"input":"a","dimensions":5000}`, "dimensions must be"},
		"fewer than none": {"/embeddings", `{"input":"a","dimensions":-1}`, "dimensions must be"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, _, body := post(t, url+test.path, test.body)
			require.Equal(t, http.StatusBadRequest, status)
			var got struct {
				Error struct{ Message, Type string }
			}
			require.NoError(t, json.Unmarshal([]byte(body), &got))
			require.Contains(t, got.Error.Message, test.want)
			require.Equal(t, "invalid_request_error", got.Error.Type)
		})
	}
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	url := start(t) + "/embeddings"
	vectors := embed[[]float64](t, url, `{"input":["the storm broke the lighthouse","a lighthouse in a storm","penguins eat fish"],"dimensions":256}`)
	require.Len(t, vectors, 3)
	for _, v := range vectors {
		require.Len(t, v, 256)
		require.InDelta(t, 1, dot(v, v), 1e-6)
	}
	require.Greater(t, dot(vectors[0], vectors[1]), dot(vectors[0], vectors[2])+0.2)
	require.Equal(t, vectors[:1], embed[[]float64](t, url, `{"input":"the storm broke the lighthouse","dimensions":256}`))
	require.Len(t, embed[[]float64](t, url, `{"input":"x"}`)[0], 1536)

	packed, err := base64.StdEncoding.DecodeString(embed[string](t, url, `{"input":"penguins eat fish","dimensions":256,"encoding_format":"base64"}`)[0])
	require.NoError(t, err)
	for i, want := range vectors[2] {
		require.InDelta(t, want, math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:])), 1e-6)
	}
}

func embed[V any](t *testing.T, url, body string) []V {
	t.Helper()
	status, _, answer := post(t, url, body)
	require.Equal(t, http.StatusOK, status, answer)
	var got struct {
		Data []struct {
			Index     int
			Embedding V
		}
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &got))
	vectors := make([]V, len(got.Data))
	for i, d := range got.Data {
		require.Equal(t, i, d.Index)
		vectors[i] = d.Embedding
	}
	return vectors
}

func dot(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
