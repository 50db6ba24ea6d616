package openai

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/schema"
)

// inside makes an exchange that has no socket.
func inside(t testing.TB) *exchange {
	t.Helper()
	c, err := New(Config{Name: "acme", BaseURL: "http://127.0.0.1:1/v1", Key: "sk-MARKER-0123456789", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	x := c.open(context.Background(), nil)
	t.Cleanup(x.close)
	x.sent = true
	x.status = http.StatusOK
	return x
}

// FuzzEvents holds that a body comes out the same however its bytes come in, as lines of JSON objects
// that go-openai takes, or ends with an error that is fit to be shown.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"data: {\"choices\":[]}\n\n", "\ufeff: x\r\rdata:{\"a\":1,\r\ndata: \"choices\":2}\r\n\r\ndata: [DONE]", "event: error\ndata: x\n\n",
		`{"choices":[]}`, "null", "<html>", "data: {\"error\":null,\"choices\":[]}\ndata: {\"choices\":[]}\n", "data", "\r\n\r", "event: e\n\ndata: {}\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, err := io.ReadAll(newEvents(inside(t), io.NopCloser(strings.NewReader(string(body)))))
		bytewise, err2 := io.ReadAll(newEvents(inside(t), io.NopCloser(iotest.OneByteReader(strings.NewReader(string(body))))))
		require.Equal(t, string(whole), string(bytewise))
		require.Equal(t, err, err2)
		shown(t, err)
		for line := range strings.Lines(string(whole)) {
			data, ok := strings.CutPrefix(line, "data: {")
			require.True(t, ok, line)
			require.False(t, strings.HasPrefix(data, `"error":`), line)
			require.True(t, strings.HasSuffix(line, "\n"), line)
		}
	})
}

// FuzzFailure holds that whatever a provider sends as an error can be shown, and never its key.
func FuzzFailure(f *testing.F) {
	for _, seed := range []string{
		`{"error":{"message":"x","type":"t","code":429}}`, `{"error":"text"}`, `{"detail":[{"loc":["a",1],"msg":"m"}]}`, `[{"error":{}}]`,
		`{"error":{"message":{"message":[null,1,"sk-MARKER-0123456789"]}}}`, `<html><script>x</script>sk-MARKER-0123456789`, `{"code":1e999,"message":"try again in 9e9h"}`, "\xff\x00", "\x01<x",
	} {
		f.Add(500, []byte(seed), "7")
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, after string) {
		x := inside(t)
		x.status = status
		x.header = http.Header{"Retry-After": {after}}
		e := x.said(x.complaint(body))
		shown(t, e)
		require.Contains(t, []llm.Class{llm.Retry, llm.Wait, llm.Final}, e.Class)
		require.GreaterOrEqual(t, e.RetryAfter, time.Duration(0))
		require.LessOrEqual(t, e.RetryAfter, maxHint)
		require.NotEmpty(t, e.Message)
		require.NotContains(t, e.Message+e.ProviderCode+e.RequestID, x.client.config.Key)
	})
}

// FuzzEmbeddings holds that whatever is taken for vectors is as many as there are texts, all of one length
// and of finite numbers, and everything else an error that is fit to be shown.
func FuzzEmbeddings(f *testing.F) {
	for _, seed := range []string{
		`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":"AACAPwAAAEA="}],"usage":{"prompt_tokens":3}}`, `{"data":[{"embedding":[1]},{"embedding":[null]}]}`,
		`{"data":[{"index":"0","embedding":[1]},{"index":1e99,"embedding":[1]}]}`, `{"data":[{"index":-1,"embedding":"AADAfw=="},{"index":-1}]}`, `{"data":{}}`, `{}`,
	} {
		f.Add([]byte(seed), 2)
	}
	f.Fuzz(func(t *testing.T, body []byte, dimensions int) {
		x := inside(t)
		got, err := x.embeddings(body, llm.EmbedRequest{Texts: []string{"a", "b"}, Dimensions: dimensions})
		shown(t, err)
		if err != nil {
			return
		}
		require.Len(t, got.Vectors, 2)
		require.Len(t, got.Vectors[1], len(got.Vectors[0]))
		for _, n := range append(got.Vectors[0], got.Vectors[1]...) {
			require.False(t, math.IsNaN(float64(n)) || math.IsInf(float64(n), 0))
		}
	})
}

// FuzzForm holds that what is taken as an answer of a schema is JSON, and part of what came.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"{}", "```json\n{}\n```", "<think>{</think>[1]", "a</think>", "```", "``````", "<think>", "{\"a\":1}```"} {
		f.Add(seed)
	}
	compiled, err := schema.Compile(json.RawMessage(`{"type":"object"}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		x := inside(t)
		x.form = &form{compiled, Prompt}
		got, err := x.fit(text, false)
		shown(t, err)
		if err == nil {
			require.True(t, json.Valid([]byte(got)))
			require.Contains(t, text, got)
		}
	})
}

// FuzzCalls holds that whatever a provider sends as tool calls comes to calls with ids of their own and
// arguments that are JSON objects, or to an error that is fit to be shown.
func FuzzCalls(f *testing.F) {
	for _, seed := range [][2]string{
		{`[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]`, `[{"index":0,"function":{"arguments":"{}"}}]`},
		{`[{"id":"a","function":{"name":"f"}},{"id":"a","function":{"name":"g","arguments":{"a":1}}}]`, `[{"function":{"arguments":"{"}},{"function":{"arguments":"}"}}]`},
		{`{"index":"x","id":7,"function":{"name":"call_1","arguments":[1]}}`, `[{"function":{"name":"f","arguments":"\"{}\""}},{"id":"call_1","function":{"name":"f"}}]`},
		{`[{"function":{"name":"f","arguments":"\ud83d"}}]`, `"x"`},
		{`[[]]`, `[{"function":7},{"id":{}}]`},
		{`[{"index":-1,"function":{"name":"f","arguments":"null"}}]`, `7`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	compiled, err := schema.Compile(json.RawMessage(`{"type":"object","maxProperties":1}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, one, two []byte) {
		x := inside(t)
		x.tools = tools{"f": compiled}
		var a answer
		for _, list := range [][]byte{one, two, one} {
			_, err := a.add([]byte(`{"choices":[{"delta":{"tool_calls":` + string(list) + `}}]}`))
			_, err2 := a.add([]byte(`{"choices":[{"delta":{"function_call":` + string(list) + `}}]}`))
			if err != nil || err2 != nil {
				return
			}
		}
		a.finish = "tool_calls"
		got, err := x.conclude(&a)
		shown(t, err)
		ids := map[string]bool{}
		for _, c := range got.ToolCalls {
			require.False(t, c.ID == "" || ids[c.ID], "%q is there twice, or blank", c.ID)
			ids[c.ID] = true
			require.NotEmpty(t, c.Name)
			require.True(t, json.Valid(c.Arguments))
			require.Equal(t, byte('{'), c.Arguments[0])
			require.True(t, c.Name == "f" || c.Fault != "")
		}
	})
}

// shown holds an error to what may be shown of one.
func shown(t *testing.T, err error) {
	t.Helper()
	e, ok := err.(*llm.Error) //nolint:errorlint // it must come unwrapped
	if err == nil {
		return
	}
	require.True(t, ok, "%T: %v", err, err)
	require.True(t, utf8.ValidString(e.Message))
	require.LessOrEqual(t, utf8.RuneCountInString(e.Message), maxMessage)
	require.NotContains(t, e.Message, "\n")
	require.NotEmpty(t, e.Code)
}

// FuzzText holds that pieces of a JSON string, cut anywhere but inside an escape, add up to it.
func FuzzText(f *testing.F) {
	f.Add("a🚀ü\\\"\u2028", uint8(3))
	f.Fuzz(func(t *testing.T, want string, size uint8) {
		quoted, err := json.Marshal(want)
		require.NoError(t, err)
		var whole string
		require.NoError(t, json.Unmarshal(quoted, &whole))
		var got text
		inner := quoted[1 : len(quoted)-1]
		for len(inner) > 0 {
			n := piece(inner, int(size%7)+1)
			got.add(raw(`"` + string(inner[:n]) + `"`))
			inner = inner[n:]
		}
		got.flush()
		require.Equal(t, whole, got.String())
	})
}

// piece is the first place at or after n bytes that is not inside an escape.
func piece(inner []byte, n int) int {
	for i := 0; i < len(inner); {
		if i >= n {
			return i
		}
		switch {
		case inner[i] != '\\':
			i++
		case inner[i+1] == 'u':
			i += 6
		default:
			i += 2
		}
	}
	return len(inner)
}
