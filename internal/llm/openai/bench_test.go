package openai

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	goopenai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
)

const benchChunks = 1000

// benchBody is a stream as OpenAI sends one.
func benchBody() string {
	var b strings.Builder
	for i := range benchChunks {
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-AbCdEfGhIjKlMnOp","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5-mini-2026-08-07","service_tier":"default","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aBcDeF"}`+"\n\n", i)
	}
	b.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" + `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1000}}` + "\n\ndata: [DONE]\n\n")
	return b.String()
}

// canned is a transport that answers every request with one body.
type canned string

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(c))), Request: req}, nil
}

// BenchmarkWire is a whole call without a socket: MB/s of the provider's bytes.
func BenchmarkWire(b *testing.B) {
	body := benchBody()
	c, err := New(Config{BaseURL: "http://127.0.0.1:1/v1"})
	require.NoError(b, err)
	c.http.Transport = canned(body)
	req := llm.Request{Model: "m", Messages: []llm.Message{{Role: "user", Content: "x"}}}
	report(b, body, func() {
		got, err := c.Complete(b.Context(), req, func(llm.Progress) {})
		require.NoError(b, err)
		require.Equal(b, int64(1000), got.Usage.OutputTokens)
	})
}

// BenchmarkPlain is go-openai alone on the same bytes.
func BenchmarkPlain(b *testing.B) {
	body := benchBody()
	config := goopenai.DefaultConfig("")
	config.HTTPClient = &http.Client{Transport: canned(body)}
	c := goopenai.NewClientWithConfig(config)
	req := goopenai.ChatCompletionRequest{Model: "m", Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: "x"}}}
	report(b, body, func() {
		stream, err := c.CreateChatCompletionStream(b.Context(), req)
		require.NoError(b, err)
		defer func() { _ = stream.Close() }()
		var text strings.Builder
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(b, err)
			if len(chunk.Choices) > 0 {
				text.WriteString(chunk.Choices[0].Delta.Content)
			}
		}
		require.NotEmpty(b, text.String())
	})
}

// BenchmarkEmbeddings reads 256 vectors of 1536 numbers, as numbers and as base64.
func BenchmarkEmbeddings(b *testing.B) {
	const inputs, length = 256, 1536
	for name, vector := range map[string]string{
		"numbers": "[" + strings.TrimSuffix(strings.Repeat("0.012345678,", length), ",") + "]",
		"base64":  `"` + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{10, 63, 74, 60}, length)) + `"`,
	} {
		items, texts := make([]string, inputs), make([]string, inputs)
		for i := range items {
			items[i], texts[i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, vector), "x"
		}
		body := `{"object":"list","data":[` + strings.Join(items, ",") + `],"usage":{"prompt_tokens":256}}`
		b.Run(name, func(b *testing.B) {
			c, err := New(Config{BaseURL: "http://127.0.0.1:1/v1"})
			require.NoError(b, err)
			c.http.Transport = canned(body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				got, err := c.Embed(b.Context(), llm.EmbedRequest{Model: "m", Texts: texts})
				require.NoError(b, err)
				require.Len(b, got.Vectors[inputs-1], length)
			}
		})
	}
}

func report(b *testing.B, body string, call func()) {
	b.Helper()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	allocs := testing.AllocsPerRun(5, call)
	for b.Loop() {
		call()
	}
	b.ReportMetric(allocs/benchChunks, "allocs/chunk")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
}
