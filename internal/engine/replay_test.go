package engine

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows"
)

// A budget that cannot be kept is refused of a replay, too, be it one or one of many.
func TestReplay_budgetWithoutPrice(t *testing.T) {
	t.Parallel()
	e := keeper(t, false)
	before := workflows.Facts{ID: newID(task.Draft{}), Kind: "summary", Tenant: "acme", InputKey: "input"}
	input := []byte(`{"documents":[{"text":"a"}]}`)
	require.NoError(t, e.Bucket.Put(t.Context(), "input", "application/json", input))
	facts, err := json.Marshal(before)
	require.NoError(t, err)
	order := task.ReplayOrder{Overrides: task.Overrides{Budget: 5}}

	_, _, err = e.again(t.Context(), storage.Grave{Facts: facts}, newID(task.Draft{}), order)
	require.ErrorContains(t, err, "the price of the model is not configured")
	require.Equal(t, "/overrides", task.AsError(err).Errors[0].Pointer)

	_, err = workflows.Inputs{}.Again(facts, input, order, 0, before.CreatedAt)
	require.ErrorContains(t, err, "the price of the model is not configured")
	priced := workflows.Inputs{Priced: func(string, string) bool { return true }}
	_, err = priced.Again(facts, input, order, 0, before.CreatedAt)
	require.NoError(t, err)
}
