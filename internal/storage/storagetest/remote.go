// Package storagetest opens buckets for tests.
package storagetest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"longhaul/internal/storage"
)

// Remote opens a bucket on an S3 server in memory. Front wraps the server, to watch or to disturb its requests.
func Remote(t *testing.T, front func(store http.Handler) http.Handler) *storage.Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "user")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("longhaul"))
	store := httptest.NewServer(front(gofakes3.New(backend).Server()))
	t.Cleanup(store.Close)
	bucket, err := storage.Open(t.Context(), "s3://longhaul?endpoint="+store.URL+"&use_path_style=true&region=us-east-1"+
		"&request_checksum_calculation=when_required&response_checksum_validation=when_required")
	require.NoError(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket
}
