package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The program of examples/go-client, which is a module of its own, does what it says: a refused field, a result, and a replay that makes no call.
func TestExample_goClient(t *testing.T) {
	s := newStack(t)
	program := exec.CommandContext(t.Context(), "go", "run", "-C", "../examples/go-client", ".")
	program.Env = append(os.Environ(), "LONGHAUL_API=http://"+s.address)
	out, err := program.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, want := range []string{"refused: /input/language ", "\nsucceeded 100%, 2 of 2\n", "\nharbour: ", "\nbridge: ", "\nreplay: succeeded, 0 requests after 2 before\n"} {
		require.Contains(t, string(out), want)
	}
	require.Equal(t, 2, s.provider.Counts().Total, "one call a document, and none for the replay")
}
