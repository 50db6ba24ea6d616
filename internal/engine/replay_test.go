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

// A budget that cannot be kept is refused of a replay, too, be it one or one of many.
func TestReplay_budgetWithoutPrice(t *testing.T) {
	t.Parallel()
	e := keeper(t, false)
	before := record.Facts{ID: newID(task.Draft{}), Kind: "summary", Tenant: "acme", InputKey: "input"}
	input := []byte(`{"documents":[{"text":"a"}]}`)
	require.NoError(t, e.Bucket.Put(t.Context(), "input", "application/json", input))
	order := task.ReplayOrder{Overrides: task.Overrides{Budget: 5}}

	_, _, err := e.again(t.Context(), storage.StoredDeadLetter{Facts: before}, newID(task.Draft{}), order)
	require.ErrorContains(t, err, "the price of the model is not configured")
	require.Equal(t, "/overrides", task.AsError(err).Errors[0].Pointer)

	_, err = workflows.Inputs{}.Replay(before, input, order, 0, before.CreatedAt)
	require.ErrorContains(t, err, "the price of the model is not configured")
	priced := workflows.Inputs{Priced: func(string, string) bool { return true }}
	_, err = priced.Replay(before, input, order, 0, before.CreatedAt)
	require.NoError(t, err)
}

// Items that are kept by their place need a list as long as it was: another one is refused before anything is started, be it one replay or one of
// many, and the dead letter stays open.
func TestReplay_listsKeepTheirLength(t *testing.T) {
	t.Parallel()
	for kind, inputs := range map[string][2]string{
		"summary": {`{"documents":[{"text":"a"},{"text":"b"}]}`, `{"documents":[{"text":"a"}]}`},
		"qa":      {`{"questions":["a"],"documents":[{"text":"b"}]}`, `{"questions":["a","b"]}`},
		"video":   {`{"prompt":"a"}`, `{"prompt":null,"prompts":["a","b"]}`},
	} {
		e := keeper(t, false)
		before := record.Facts{ID: newID(task.Draft{}), Kind: kind, Tenant: "acme", InputKey: "input"}
		require.NoError(t, e.Bucket.Put(t.Context(), "input", "application/json", []byte(inputs[0])))
		order := task.ReplayOrder{Overrides: task.Overrides{Input: json.RawMessage(inputs[1])}}
		_, _, err := e.again(t.Context(), storage.StoredDeadLetter{Facts: before}, newID(task.Draft{}), order)
		require.ErrorContains(t, err, "replay with scope all", kind)
		require.Equal(t, "/overrides/input", task.AsError(err).Errors[0].Pointer)
		_, err = workflows.Inputs{}.Replay(before, []byte(inputs[0]), order, 0, before.CreatedAt)
		require.ErrorContains(t, err, "replay with scope all", kind)
		order.Scope = task.ScopeAll
		_, err = workflows.Inputs{}.Replay(before, []byte(inputs[0]), order, 0, before.CreatedAt)
		require.NoError(t, err, kind)
	}
}

// A dead letter is run again once, also when Temporal has forgotten that it was.
func TestReplayDead_once(t *testing.T) {
	t.Parallel()
	_, engines := newFake(t, 1)
	e, id := engines[0], newID(task.Draft{})
	require.NoError(t, e.letters().Write(t.Context(), "acme", storage.StoredDeadLetter{
		DeadLetter: task.DeadLetter{ID: id, Status: task.DeadOpen, At: time.Now()}, Facts: record.Facts{InputKey: "gone"},
	}))
	_, _, err := e.ReplayDead(t.Context(), "acme", id, task.ReplayOrder{})
	require.ErrorContains(t, err, "the input of the task has been removed", "it goes to work")
	require.NoError(t, e.noteReplay(t.Context(), "acme", id, task.Task{ID: record.ReplayID(id)}))
	_, _, err = e.ReplayDead(t.Context(), "acme", id, task.ReplayOrder{})
	require.Equal(t, task.Gone, task.AsError(err).Code)
	require.ErrorContains(t, err, record.ReplayID(id))
}
