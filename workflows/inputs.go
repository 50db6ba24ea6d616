package workflows

import (
	"time"

	"longhaul/activities"
	"longhaul/internal/record"
	"longhaul/internal/task"
)

// Inputs checks the inputs of tasks that other tasks start: activities.Kinds.
type Inputs struct {
	Priced func(kind, model string) bool // reports whether the price of a model is known; nil means never
}

// Prepare checks an input against the schema of its kind and fills in its defaults. Model and budget are those of the
// task that starts it. An error of the input is a *task.Error.
func (i Inputs) Prepare(name string, raw []byte, model string, budget float64) (activities.Prepared, error) {
	kind, ok := Find(name)
	if !ok || kind.TakesMessages || kind.Name == record.KindReplay {
		return activities.Prepared{}, task.Errorf(task.Invalid, "a task of kind %q cannot be started from here", name)
	}
	model = kind.Inherit(model)
	if (record.Facts{Kind: name, Model: model, Budget: budget}).CheckBudget("", i.Priced) != nil {
		return activities.Prepared{}, task.Errorf(task.Invalid,
			"a task of kind %q cannot be started from here: there is a budget, and the price of its model is not configured", name)
	}
	in, err := kind.Validate(raw, "")
	if err != nil {
		return activities.Prepared{}, err
	}
	return activities.Prepared{Input: in, Headline: in.Headline(), Model: model, Steps: len(kind.Steps)}, nil
}

// Replay makes the task that replays a dead letter. It always has the same id. Kept is the number of succeeded items.
func (i Inputs) Replay(before record.Facts, input []byte, order task.ReplayOrder, kept int, now time.Time) (activities.Replay, error) {
	facts, in, err := Replay(before, input, order, record.ReplayID(before.ID), kept, now)
	if err != nil {
		return activities.Replay{}, err
	}
	if err := facts.CheckBudget("/overrides", i.Priced); err != nil {
		return activities.Replay{}, err
	}
	facts.Headline = in.Headline()
	kind, _ := Find(facts.Kind)
	return activities.Replay{Facts: facts, Input: in, Steps: len(kind.Steps)}, nil
}
