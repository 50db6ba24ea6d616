package localtemporal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"longhaul/internal/cluster"
)

const (
	actAs   = "LONGHAUL_TEST_ACT_AS" // the program that this test binary plays as a child process
	pidFile = "LONGHAUL_TEST_PIDS"   // the file to which a child appends its process id
)

func TestMain(m *testing.M) {
	switch os.Getenv(actAs) {
	case "":
		os.Exit(m.Run())
	case "temporal":
		writePID()
		fmt.Println(`ready {"address":"127.0.0.1:7","ui":"http://127.0.0.1:8"}`)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "temporal that refuses":
		fmt.Fprintln(os.Stderr, ProgramName+": the database was written by Temporal 0.1")
		os.Exit(1)
	case "parent":
		_ = os.Setenv(actAs, "temporal")
		if _, err := Start(context.Background(), Options{Program: os.Args[0], Log: slog.Default()}); err != nil {
			panic(err)
		}
		select {}
	}
}

func writePID() {
	f, err := os.OpenFile(os.Getenv(pidFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		panic(err)
	}
}

func TestStart_returnsTheReasonOfTheProgram(t *testing.T) {
	t.Setenv(actAs, "temporal that refuses")
	_, err := Start(t.Context(), Options{Program: os.Args[0], Log: slog.New(slog.DiscardHandler)})
	require.EqualError(t, err, "start Temporal: the database was written by Temporal 0.1")

	_, err = Start(t.Context(), Options{Program: "/nonexistent", Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "/nonexistent")
}

func TestServer_restartsAKilledProgram(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	t.Setenv(actAs, "temporal")
	t.Setenv(pidFile, pids)
	s, err := Start(t.Context(), Options{Program: os.Args[0], Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.Equal(t, ready{Address: "127.0.0.1:7", UI: "http://127.0.0.1:8"}, s.ready)

	first := waitPID(t, pids, 1)
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	second := waitPID(t, pids, 2)
	require.NotEqual(t, first, second)

	s.Stop()
	require.False(t, alive(first))
	require.False(t, alive(second))
}

func TestServer_programDiesWithItsParent(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), actAs+"=parent", pidFile+"="+pids)
	require.NoError(t, parent.Start())
	child := waitPID(t, pids, 1)
	require.True(t, alive(child))

	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.Eventually(t, func() bool { return !alive(child) }, 30*time.Second, 10*time.Millisecond)
}

// The real program serves, is killed, and serves again with its database.
func TestServer_realProgram(t *testing.T) {
	binary := filepath.Join("..", "..", "bin", ProgramName)
	if builtVersion(binary) == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("missing ", binary)
		}
		t.Skip("needs ", binary, ", built by make test")
	}
	log := slog.New(slog.DiscardHandler)
	data := t.TempDir()
	s, err := Start(t.Context(), Options{Program: binary, Data: data, Log: log})
	require.NoError(t, err)
	defer s.Stop()

	connection, err := cluster.Connect(cluster.Options{Address: s.Address, Log: log})
	require.NoError(t, err)
	defer connection.Close()
	require.NoError(t, connection.Wait(t.Context()))
	key := temporal.NewSearchAttributeKeyKeyword("LonghaulTest")
	require.NoError(t, connection.EnsureSearchAttributes(t.Context(), key))

	text, err := os.ReadFile(filepath.Join(data, "LOCK"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.NoError(t, connection.Wait(t.Context()))
	require.NoError(t, connection.EnsureSearchAttributes(t.Context(), key), "the attribute registered before the kill is still there")
}

func TestFindProgram(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sub := filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(sub, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "temporal"), 0o700))
	modfile := filepath.Join(root, "temporal", "go.mod")
	require.NoError(t, os.WriteFile(modfile, []byte("module x\n\nrequire (\n\tgo.temporal.io/server v1.2.3\n)\n"), 0o600))

	path, err := FindProgram(t.Context(), "/named", sub, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "/named", path)

	found, err := sourceRoot(sub)
	require.NoError(t, err)
	require.Equal(t, root, found)

	version, err := wantedVersion(modfile)
	require.NoError(t, err)
	require.Equal(t, "v1.2.3", version)
	require.Empty(t, builtVersion(os.Args[0]), "a Go program without a server")
	require.Empty(t, builtVersion(modfile), "not a program")
}

// waitPID waits until n children have started and returns the process id of the last.
func waitPID(t *testing.T, path string, n int) int {
	t.Helper()
	var pid int
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(path)
		all := strings.Fields(string(text))
		if len(all) < n {
			return false
		}
		pid, _ = strconv.Atoi(all[n-1])
		return true
	}, 30*time.Second, 10*time.Millisecond)
	return pid
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
