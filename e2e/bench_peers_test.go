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

// asynq is how long asynq on Redis takes for the calls of so many rows, and the CPU of its processes: the client that puts the jobs in, the
// worker that makes the calls, and Redis, which writes its log once a second. It is false where there is no Redis.
func asynq(b *testing.B, provider *llmtest.Provider, rows, width int) (wall, cpu time.Duration, ok bool) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		b.Log("not measured beside asynq: there is no redis-server here (Debian has it in the package of that name)")
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

// buildPeers builds the program that uses asynq, a module of its own.
func buildPeers(b *testing.B) string {
	dir, _ := programs()
	path, err := filepath.Abs(filepath.Join(dir, "peers"))
	require.NoError(b, err)
	build := exec.CommandContext(b.Context(), "go", "build", "-o", path, ".")
	build.Dir, build.Stderr = "peers", os.Stderr
	require.NoError(b, build.Run())
	return path
}

// peer starts a program that the benchmark ends.
func peer(b *testing.B, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(b.Context(), name, args...)
	c.Stderr = os.Stderr
	require.NoError(b, c.Start())
	return c
}

// stop stops a program and gives the CPU that it has used.
func stop(c *exec.Cmd) time.Duration {
	_ = c.Process.Signal(syscall.SIGTERM)
	_ = c.Wait() // how it ends is its own business
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
	}, time.Minute, 20*time.Millisecond, "Redis does not answer")
}
