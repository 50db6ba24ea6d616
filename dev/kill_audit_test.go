package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

func TestKillAudit_countsRepeatedCalls(t *testing.T) {
	t.Parallel()
	used := llmtest.Usage{Input: 10, Output: 2}
	bucket := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(bucket, "ledger", "task"), 0o700))
	write := func(name, hash string) {
		path := filepath.Join(bucket, "ledger", "task", name)
		require.NoError(t, os.WriteFile(path, []byte(`{"text":"The answer to prompt `+hash+` of 9 bytes."}`), 0o600))
	}
	const recorded, inFlight, answered = "00000000000a", "00000000000b", "00000000000c"
	write("a.json", recorded)
	write("b.json.tmp", inFlight) // not renamed yet
	before := time.Now()
	var audit killAudit
	n, err := audit.addKill(bucket)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	after := time.Now().Add(time.Second)

	calls := []llmtest.Call{
		{Hash: recorded, Began: before, Told: used},
		{Hash: inFlight, Began: before, Gone: true},
		{Hash: answered, Began: before, Told: used},
		{Hash: inFlight, Began: after, Told: used},
		{Hash: answered, Began: after, Told: used},
	}
	want := callCounts{calls: 5, repeated: 2, unrecorded: 1, used: llmtest.Usage{Input: 40, Output: 8}, lost: used}
	require.Equal(t, want, audit.count(calls))

	calls = append(calls, llmtest.Call{Hash: recorded, Began: after, Told: used})
	require.Equal(t, 1, audit.count(calls).paidTwice)
}

func TestKillAudit_emptyBucket(t *testing.T) {
	t.Parallel()
	var audit killAudit
	n, err := audit.addKill(t.TempDir())
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestCorrectItems(t *testing.T) {
	t.Parallel()
	calls := []llmtest.Call{{Hash: "00000000000a", Prompt: "Summarise: " + documentName(0)}, {Hash: "00000000000b", Prompt: "Summarise: " + documentName(1)}}
	item := func(index int, hash string) task.Item {
		return task.Item{Index: index, Result: []byte(`"The answer to prompt ` + hash + ` of 9 bytes."`)}
	}
	require.Equal(t, 2, correctItems(calls, []task.Item{item(0, "00000000000a"), item(1, "00000000000b")}))
	require.Equal(t, 1, correctItems(calls, []task.Item{item(0, "00000000000b"), item(1, "00000000000b")}), "the answer about another document")
	require.Zero(t, correctItems(calls, []task.Item{item(0, "00000000000f"), {Index: 1}}), "an unknown answer and no answer")
}

func TestSettings_shortNames(t *testing.T) {
	data := t.TempDir()
	opts, cfg, err := settings([]string{"--api", "127.0.0.1:9000", "--data", data, "--memory", "--temporal-port", "0"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{uiPort: 8233, memory: true}, opts)
	require.Equal(t, "127.0.0.1:9000", cfg.API.Listen)
	require.Equal(t, data, cfg.DataDir)
}
