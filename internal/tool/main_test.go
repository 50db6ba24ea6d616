package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"longhaul/internal/document"
	"longhaul/internal/task"
)

// TestMain is a child that reads documents, or an MCP server, when it was started as one.
func TestMain(m *testing.M) {
	document.ServeIfChild()
	if len(os.Args) > 1 && os.Args[1] == "mcp" {
		serveMCP(os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "parent" {
		beParent()
		return
	}
	os.Exit(m.Run())
}

// serveMCP speaks MCP over its standard input and output, or says nothing at all.
func serveMCP(args []string) {
	if len(args) > 0 && args[0] == "mute" {
		select {}
	}
	_ = mcpServer().Run(context.Background(), &mcp.StdioTransport{})
}

// beParent starts a server that heeds nothing, tells its pid, and waits to be killed.
func beParent() {
	p, err := startProcess(Server{Command: os.Args[0], Args: []string{"mcp", "mute"}}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.cmd.Process.Pid)
	select {}
}

// newKit makes a Kit with a reader, and closes it after the test.
func newKit(t testing.TB, options Options) *Kit {
	t.Helper()
	if options.Reader == nil {
		options.Reader = document.NewExtractor(document.Options{Workers: 1})
		t.Cleanup(func() { require.NoError(t, options.Reader.Close()) })
	}
	options.Scratch = t.TempDir()
	k, err := New(options)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, k.Close())
		left, err := os.ReadDir(options.Scratch)
		require.NoError(t, err)
		require.Empty(t, left, "what was read is removed")
	})
	return k
}

// define gives the one definition of a tool.
func define(t testing.TB, k *Kit, spec task.ToolSpec) Definition {
	t.Helper()
	all, err := k.Define(testContext(t), []task.ToolSpec{spec})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// run makes a call that has a known end.
func run(t testing.TB, k *Kit, d Definition, arguments string) Result {
	t.Helper()
	r, err := k.Run(testContext(t), kept(t, d), Call{ID: "call-1", Tenant: "acme", Arguments: json.RawMessage(arguments)})
	require.NoError(t, err)
	return r
}

// kept is a definition as it comes back from where it was kept.
func kept(t testing.TB, d Definition) Definition {
	t.Helper()
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	var back Definition
	require.NoError(t, json.Unmarshal(raw, &back))
	return back
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func secret(name, value string, hosts ...string) Secret {
	return Secret{Name: name, Value: func() string { return value }, Hosts: hosts}
}

func logger(w *buffer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// object is a JSON Schema of an object with properties of any type.
func object(properties ...string) map[string]any {
	of := map[string]any{}
	for _, name := range properties {
		of[name] = map[string]any{}
	}
	return map[string]any{"type": "object", "properties": of}
}
