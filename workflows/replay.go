package workflows

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/workflows/lifecycle"
)

// Replay makes the facts and the input of a task that runs another one again. It has the lineage of that one, and so finds every answer that was
// paid for. The id is that of the new task; kept is how many items have succeeded. An error of the order is a *task.Error.
func Replay(before record.Facts, input []byte, order task.ReplayOrder, id string, kept int, now time.Time) (record.Facts, lifecycle.Input, error) {
	order.Normalize()
	kind, ok := Find(before.Kind)
	if !ok {
		return record.Facts{}, nil, task.Errorf(task.Invalid, "this build has no kind %q", before.Kind)
	}
	in, err := kind.Patch(input, order.Overrides.Input)
	if err != nil {
		return record.Facts{}, nil, err
	}
	if err := samePlaces(kind, input, in, order.Scope); err != nil {
		return record.Facts{}, nil, err
	}
	hash, err := orderHash(before.ID, order)
	if err != nil {
		return record.Facts{}, nil, err
	}
	f := before
	f.ID, f.ReplayOf, f.Scope, f.Parent, f.StartAt, f.CreatedAt, f.BodyHash = id, before.ID, order.Scope, "", nil, now.UTC(), hash
	f.InputKey = storage.InputKey(id, hash[:16])
	f.Keep, f.Kept = nil, 0
	if order.Scope == task.ScopeFailed {
		f.Keep, f.Kept = &record.Kept{ID: before.ID, InputKey: before.InputKey, Model: before.Model}, kept
	}
	if order.Overrides.Model != "" {
		f.Model = order.Overrides.Model
	}
	if order.Overrides.Budget > 0 {
		f.Budget = order.Overrides.Budget
	}
	f.Deadline, err = replayDeadline(before, order.Overrides.Deadline, f.CreatedAt)
	return f, in, err
}

// replayDeadline is as far from now as that of the task before was from its acceptance, unless another is asked for.
func replayDeadline(before record.Facts, want string, now time.Time) (*time.Time, error) {
	switch {
	case want != "":
		within, err := time.ParseDuration(want)
		if err != nil || within <= 0 {
			return nil, task.Errorf(task.Invalid, "must be a duration from now, such as 2h").At("/overrides/deadline")
		}
		return new(now.Add(within)), nil
	case before.Deadline != nil:
		return new(now.Add(before.Deadline.Sub(before.CreatedAt))), nil
	default:
		return nil, nil
	}
}

// orderHash tells one order of a replay from another.
func orderHash(id string, order task.ReplayOrder) (string, error) {
	text, err := json.Marshal([]any{id, order})
	if err != nil {
		return "", fmt.Errorf("order of a replay of %s: %w", id, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// samePlaces refuses a different number of items where succeeded items are kept by their place.
func samePlaces(kind lifecycle.Kind, input []byte, in lifecycle.Input, scope task.Scope) error {
	now, listed := in.(lifecycle.Listed)
	if !listed || scope != task.ScopeFailed {
		return nil
	}
	was, err := kind.Decode(input)
	if err != nil {
		return err
	}
	if before := was.(lifecycle.Listed).Items(); before != now.Items() { //nolint:forcetypeassert // both are of one kind
		return task.Errorf(task.Invalid, "the task that is run again has %d items and this one %d, so none can be kept by its place; replay with scope all", before, now.Items()).At("/overrides/input")
	}
	return nil
}
