package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	code, out, _ := d.run("webhooks", "add", "https://example.com/hook", "--event", "task.failed", "--event", "task.cancelled")
	require.Equal(t, exitDone, code)
	id, secret, _ := strings.Cut(strings.TrimSpace(out), "\n")
	require.Equal(t, []string{"wh_1", "whsec_1"}, []string{id, secret})
	code, _, _ = d.run("webhooks", "add", "ops@example.com")
	require.Equal(t, exitDone, code)

	_, out, _ = d.run("webhooks", "list")
	require.Regexp(t, `wh_1 .*https://example.com/hook .*failed,cancelled`, out)
	require.Regexp(t, `wh_2 .*mailto:ops@example.com .*everything`, out)
	require.NotContains(t, out, "whsec_")
	code, out, _ = d.run("webhooks", "test", "wh_1")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "the ping did not arrive: it refused the connection")
	_, out, _ = d.run("webhooks", "rotate", "wh_1", "--json")
	require.Contains(t, out, `"secret": "whsec_3"`)
	code, _, _ = d.run("webhooks", "remove", "wh_1")
	require.Equal(t, exitDone, code)
	code, _, errOut := d.run("webhooks", "remove", "wh_1")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "no webhook")
	code, _, errOut = d.run("webhooks", "add", "nonsense")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errOut, "http or https address")
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	created, _, err := d.tasks.Create(t.Context(), task.Draft{Tenant: "default", Kind: "summary"})
	require.NoError(t, err)
	_, out, _ := d.run("deliveries", created.ID)
	require.Contains(t, out, "msg_"+created.ID+"  task.succeeded  failed")
	require.Contains(t, out, "0.50 s  it answered 500")
	code, _, errOut := d.run("redeliver", "msg_"+created.ID)
	require.Equal(t, exitDone, code)
	require.Contains(t, errOut, "longhaul deliveries "+created.ID)
}
