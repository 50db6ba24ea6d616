package workflows

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
)

// ChildID is the id of the task that a tool call of another starts: always the same for the same call.
func ChildID(parent string, turn, call int) string {
	return idOf(fmt.Sprintf("%s/%d/%d", parent, turn, call))
}

// idOf is the task id that a text always gives.
func idOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "task_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
}

// startChild starts a task on behalf of another, and waits for its end. It is a task like any other, with a state, items and
// a result of its own; a cancel of the parent reaches it. It may cost what is left of the parent's budget; 0 is no limit. The ending tells what it did
// cost beside an error, too.
func startChild(ctx workflow.Context, parent Facts, id string, made activities.Child, budget float64) (ending Ending, err error) {
	kind, _ := Find(made.Kind)
	facts := Facts{
		ID: id, Kind: made.Kind, Tenant: parent.Tenant, Lineage: id, Labels: parent.Labels, Priority: parent.Priority,
		Model: kind.inherits(parent.Model), Queue: parent.Queue, CreatedAt: workflow.Now(ctx).UTC(), Deadline: parent.Deadline, Budget: budget, Parent: parent.ID,
		Headline: made.Headline, InputKey: made.InputKey,
	}
	if err = employ(ctx, childTask(facts), made.Kind, Start{Facts: facts}, &ending); err != nil {
		ending = endingOf(err)
	}
	return ending, err
}

// childTask is for a child workflow that is a task.
func childTask(f Facts) workflow.ChildWorkflowOptions {
	kind, _ := Find(f.Kind)
	first := FirstSnapshot(kind, f)
	options := child(f.ID, f.Headline)
	options.Memo = map[string]any{MemoFacts: f, MemoState: first}
	options.TypedSearchAttributes = f.Attributes(first)
	return options
}
