package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// A replay with a budget for a model without a price is refused, alone and in a bulk replay.
func TestReplay_budgetWithoutPrice(t *testing.T) {
	t.Parallel()
	e := newBucketEngine(t, false)
	original := record.Facts{ID: newID(task.Draft{}), Kind: "summary", Tenant: "acme", InputKey: "input"}
	input := []byte(`{"documents":[{"text":"a"}]}`)
	require.NoError(t, e.Bucket.Put(t.Context(), "input", "application/json", input))
	order := task.ReplayOrder{Overrides: task.Overrides{Budget: 5}}

	_, _, err := e.startReplay(t.Context(), storage.StoredDeadLetter{Facts: original}, newID(task.Draft{}), order)
	require.ErrorContains(t, err, "the price of the model is not configured")
	require.Equal(t, "/overrides", task.AsError(err).Errors[0].Pointer)

	_, err = workflows.Inputs{}.Replay(original, input, order, 0, original.CreatedAt)
	require.ErrorContains(t, err, "the price of the model is not configured")
	priced := workflows.Inputs{Priced: func(string, string) bool { return true }}
	_, err = priced.Replay(original, input, order, 0, original.CreatedAt)
	require.NoError(t, err)
}

// Finished items are kept by their index, so a replay that changes the length of the input list is refused before it starts, alone and in a
// bulk replay.
func TestReplay_listLengthMustNotChange(t *testing.T) {
	t.Parallel()
	for kind, inputs := range map[string][2]string{
		"summary": {`{"documents":[{"text":"a"},{"text":"b"}]}`, `{"documents":[{"text":"a"}]}`},
		"qa":      {`{"questions":["a"],"documents":[{"text":"b"}]}`, `{"questions":["a","b"]}`},
		"video":   {`{"prompt":"a"}`, `{"prompt":null,"prompts":["a","b"]}`},
	} {
		e := newBucketEngine(t, false)
		original := record.Facts{ID: newID(task.Draft{}), Kind: kind, Tenant: "acme", InputKey: "input"}
		require.NoError(t, e.Bucket.Put(t.Context(), "input", "application/json", []byte(inputs[0])))
		order := task.ReplayOrder{Overrides: task.Overrides{Input: json.RawMessage(inputs[1])}}
		_, _, err := e.startReplay(t.Context(), storage.StoredDeadLetter{Facts: original}, newID(task.Draft{}), order)
		require.ErrorContains(t, err, "replay with scope all", kind)
		require.Equal(t, "/overrides/input", task.AsError(err).Errors[0].Pointer)
		_, err = workflows.Inputs{}.Replay(original, []byte(inputs[0]), order, 0, original.CreatedAt)
		require.ErrorContains(t, err, "replay with scope all", kind)
		order.Scope = task.ScopeAll
		_, err = workflows.Inputs{}.Replay(original, []byte(inputs[0]), order, 0, original.CreatedAt)
		require.NoError(t, err, kind)
	}
}

// A dead letter is replayed once, also after Temporal has deleted the replay.
func TestReplayDead_once(t *testing.T) {
	t.Parallel()
	_, engines := newFake(t, 1)
	e, id := engines[0], newID(task.Draft{})
	require.NoError(t, e.letters().Write(t.Context(), "acme", storage.StoredDeadLetter{
		DeadLetter: task.DeadLetter{ID: id, Status: task.DeadOpen, At: time.Now()}, Facts: record.Facts{InputKey: "gone"},
	}))
	_, _, err := e.ReplayDead(t.Context(), "acme", id, task.ReplayOrder{})
	require.ErrorContains(t, err, "the input of the task has been removed", "the replay was attempted")
	require.NoError(t, e.recordReplay(t.Context(), "acme", id, task.Task{ID: record.ReplayID(id)}))
	_, _, err = e.ReplayDead(t.Context(), "acme", id, task.ReplayOrder{})
	require.Equal(t, task.Gone, task.AsError(err).Code)
	require.ErrorContains(t, err, record.ReplayID(id))
}
