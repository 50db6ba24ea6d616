package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// newBucketEngine returns an engine with a bucket in memory and without Temporal.
func newBucketEngine(t *testing.T, mail bool) *Engine {
	t.Helper()
	b, err := storage.Open(t.Context(), "mem://")
	require.NoError(t, err)
	return New(Parts{Bucket: b, Mail: mail})
}

func TestWebhooks_secrets(t *testing.T) {
	t.Parallel()
	e := newBucketEngine(t, true)
	first, err := e.AddWebhook(t.Context(), "acme", task.Webhook{URL: "https://example.com/?token=hidden"})
	require.NoError(t, err)
	require.Equal(t, "https://example.com/?...", first.URL)
	second, err := e.RotateWebhook(t.Context(), "acme", first.ID)
	require.NoError(t, err)
	third, err := e.RotateWebhook(t.Context(), "acme", first.ID)
	require.NoError(t, err)
	kept, err := e.endpoints.Get(t.Context(), "acme", first.ID)
	require.NoError(t, err)
	require.Equal(t, []string{third.Secret, second.Secret, first.Secret}, kept.Signing(time.Now()))
	require.Equal(t, []string{third.Secret}, kept.Signing(time.Now().Add(25*time.Hour)))
	require.Equal(t, "https://example.com/?token=hidden", kept.URL)
	_, err = e.RotateWebhook(t.Context(), "other", first.ID)
	require.Equal(t, task.NotFound, task.AsError(err).Code)

	box, err := e.AddWebhook(t.Context(), "acme", task.Webhook{URL: "mailto:ops@example.com"})
	require.NoError(t, err)
	require.Empty(t, box.Secret)
	_, err = e.RotateWebhook(t.Context(), "acme", box.ID)
	require.Equal(t, task.Conflict, task.AsError(err).Code)
}

func TestWebhooks_limits(t *testing.T) {
	t.Parallel()
	e := newBucketEngine(t, false)
	_, err := e.AddWebhook(t.Context(), "acme", task.Webhook{URL: "mailto:ops@example.com"})
	require.ErrorContains(t, err, "smtp.host")
	for range maxWebhooks {
		_, err := e.AddWebhook(t.Context(), "acme", task.Webhook{URL: "https://example.com/"})
		require.NoError(t, err)
	}
	_, err = e.AddWebhook(t.Context(), "acme", task.Webhook{URL: "https://example.com/"})
	require.Equal(t, task.TooMany, task.AsError(err).Code)
	_, err = e.AddWebhook(t.Context(), "other", task.Webhook{URL: "https://example.com/"})
	require.NoError(t, err)
	page, err := e.Webhooks(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, page.Data, maxWebhooks)
	require.NoError(t, e.DeleteWebhook(t.Context(), "acme", page.Data[0].ID))
	require.Equal(t, task.NotFound, task.AsError(e.DeleteWebhook(t.Context(), "acme", page.Data[0].ID)).Code)
}

func TestStoreNotice(t *testing.T) {
	t.Parallel()
	e := newBucketEngine(t, false)
	facts := record.Facts{ID: "task_x", BodyHash: "0123456789abcdef0"}
	key, err := e.storeNotice(t.Context(), draft(nil), facts)
	require.NoError(t, err)
	require.Empty(t, key, "without receivers nothing is stored")
	_, err = e.storeNotice(t.Context(), draft(func(d *task.Draft) { d.Email = "ops@example.com" }), facts)
	require.ErrorContains(t, err, "smtp.host")
	unknownSecret := draft(func(d *task.Draft) {
		d.Webhook = &task.Webhook{URL: "https://example.com/", Secret: "wh_aaaaaaaaaaaaaaaaaaaaaaaaaa"}
	})
	_, err = e.storeNotice(t.Context(), unknownSecret, facts)
	require.Equal(t, "/webhook/secret", task.AsError(err).Errors[0].Pointer)

	webhook, err := e.AddWebhook(t.Context(), "acme", task.Webhook{URL: "https://example.com/"})
	require.NoError(t, err)
	key, err = e.storeNotice(t.Context(), draft(nil), facts)
	require.NoError(t, err)
	var kept storage.Notice
	require.NoError(t, e.Bucket.GetJSON(t.Context(), key, &kept))
	require.Equal(t, []string{webhook.ID}, kept.Endpoints)
}
