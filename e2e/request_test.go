package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

func (s *stack) get(path string) (int, string) { return s.request(http.MethodGet, path, "") }

func (s *stack) post(path, body string, headers ...string) (int, string) {
	return s.request(http.MethodPost, path, body, headers...)
}

// request makes one request; status 0 means that it failed.
func (s *stack) request(method, path, body string, headers ...string) (int, string) {
	status, answer, _ := s.exchange(method, path, body, headers...)
	return status, answer
}

// exchange is request with the headers of the answer.
func (s *stack) exchange(method, path, body string, headers ...string) (int, string, http.Header) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.address+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return answer.StatusCode, string(data), answer.Header
}

// httpGet requests a URL of another server than the API; status 0 means that the request failed.
func httpGet(t testing.TB, url string) (int, string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// taskID returns the id of the task in an answer.
func taskID(t testing.TB, answer string) string {
	t.Helper()
	var got task.Task
	require.NoError(t, json.Unmarshal([]byte(answer), &got), answer)
	return got.ID
}
