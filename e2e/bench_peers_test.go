package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
)

// asynq runs the same calls as jobs of asynq on Redis. It returns the wall time and the CPU time of client, worker and
// Redis, which syncs its log once a second; ok is false without redis-server.
func asynq(b *testing.B, provider *llmtest.Provider, rows, width int) (wall, cpu time.Duration, ok bool) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		b.Log("asynq is not measured: redis-server is not installed")
		return 0, 0, false
	}
	peers := buildPeers(b)
	address := freeAddress(b)
	_, port, _ := strings.Cut(address, ":")
	redis := peer(b, "redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", b.TempDir(), "--save", "", "--appendonly", "yes")
	waitRedis(b, address)
	worker := peer(b, peers, "work", address, provider.URL(), strconv.Itoa(width))
	client := exec.CommandContext(b.Context(), peers, "order", address, strconv.Itoa(rows))
	client.Stderr = os.Stderr
	said, err := client.Output()
	require.NoError(b, err)
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
	require.NoError(b, err)
	cpu = cpuOf(client) + stop(worker) + stop(redis)
	return time.Duration(seconds * float64(time.Second)), cpu, true
}

// buildPeers builds the program that uses asynq, which is a module of its own, and returns its path.
func buildPeers(b *testing.B) string {
	dir, _ := programs()
	path, err := filepath.Abs(filepath.Join(dir, "peers"))
	require.NoError(b, err)
	build := exec.CommandContext(b.Context(), "go", "build", "-o", path, ".")
	build.Dir, build.Stderr = "peers", os.Stderr
	require.NoError(b, build.Run())
	return path
}

// peer starts a program; stop ends it.
func peer(b *testing.B, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(b.Context(), name, args...)
	c.Stderr = os.Stderr
	require.NoError(b, c.Start())
	return c
}

// stop ends a program and returns the CPU time that it used.
func stop(c *exec.Cmd) time.Duration {
	_ = c.Process.Signal(syscall.SIGTERM)
	_ = c.Wait() // the exit status does not matter
	return cpuOf(c)
}

func cpuOf(c *exec.Cmd) time.Duration { return c.ProcessState.UserTime() + c.ProcessState.SystemTime() }

func waitRedis(b *testing.B, address string) {
	require.Eventually(b, func() bool {
		conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond, "no answer from Redis")
}
