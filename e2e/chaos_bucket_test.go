package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
)

// faultyBucket is an S3 server that fails on demand and remembers when the answer to each prompt was first recorded.
type faultyBucket struct {
	*httptest.Server
	down    atomic.Bool
	refused atomic.Int64 // number of failed requests

	mu       sync.Mutex
	recorded map[string]time.Time // by prompt hash
}

func newFaultyBucket(t *testing.T) *faultyBucket {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("longhaul"))
	f := &faultyBucket{recorded: map[string]time.Time{}}
	store := gofakes3.New(backend).Server()
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.down.Load() {
			f.fail(w)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client was killed
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		store.ServeHTTP(w, r)
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/ledger/") {
			f.noteRecorded(body)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// fail refuses every second request and resets the connection of the others.
func (f *faultyBucket) fail(w http.ResponseWriter) {
	if f.refused.Add(1)%2 == 0 {
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "SlowDown", http.StatusServiceUnavailable)
}

func (f *faultyBucket) noteRecorded(body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, hash := range llmtest.Recorded(body) {
		if _, known := f.recorded[hash]; !known {
			f.recorded[hash] = time.Now()
		}
	}
}

// recordedAt returns the time at which the answer to a prompt was first recorded; zero if unknown.
func (f *faultyBucket) recordedAt(hash string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.recorded[hash]
}

func (f *faultyBucket) settings() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=user", "AWS_SECRET_ACCESS_KEY=secret",
		"LONGHAUL_BUCKET_URL=s3://longhaul?endpoint=" + f.URL + "&use_path_style=true&region=us-east-1" +
			"&request_checksum_calculation=when_required&response_checksum_validation=when_required",
	}
}
