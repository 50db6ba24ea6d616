package openai

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
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
