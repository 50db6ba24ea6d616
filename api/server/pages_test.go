package server_test

import (
	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

const rows = "document.querySelectorAll('tbody tr').length"

// start makes a task.
func (w *window) start(tenant string, labels map[string]string) string {
	w.t.Helper()
	made, _, err := w.tasks.Create(w.ctx, task.Draft{Tenant: tenant, Kind: "summary", Options: task.Options{Labels: labels}})
	require.NoError(w.t, err)
	return made.ID
}
