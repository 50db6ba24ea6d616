package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The demonstration that anybody can run shows what it promises.
func TestKillDemo(t *testing.T) {
	t.Parallel()
	dir, temporal := programs()
	var out strings.Builder
	d := &killDemo{documents: 60, kills: 2, worker: []string{filepath.Join(dir, "worker")}, temporal: temporal, out: &out}
	err := d.run(t.Context())
	t.Log(out.String())
	require.NoError(t, err)
	require.NoDirExists(t, d.dir)
	require.Regexp(t, `(?m)^calls repeated after an answer +0 `, out.String())
}
