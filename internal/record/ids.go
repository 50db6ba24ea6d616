package record

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// ReplayID returns the id of the replay of a dead letter. It depends on the dead letter alone, so concurrent and
// repeated requests start one replay. A replay that fails is a dead letter with an id of its own.
func ReplayID(id string) string { return hashID("replay\x00" + id) }

// ChildID returns the id of the task that a tool call starts. It depends on the place of the call alone, so a
// retry starts no second task.
func ChildID(parent string, turn, call int) string {
	return hashID(fmt.Sprintf("%s/%d/%d", parent, turn, call))
}

// GroupID returns the workflow id of the nth group of a task's documents.
func GroupID(taskID string, n int) string { return fmt.Sprintf("%s.group-%d", taskID, n) }

// ActivityID names the nth activity of a workflow after the step that it works for, so that readers of pending
// activities and of the history know the step.
func ActivityID(step string, n int) string { return fmt.Sprintf("%s.%d", step, n) }

// StepOfActivity returns the step of an activity id; "" for an activity that works for no step.
func StepOfActivity(id string) string {
	step, _, found := strings.Cut(id, ".")
	if !found {
		return ""
	}
	return step
}

func hashID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "task_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
}
