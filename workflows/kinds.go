package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/workflows/agent"
	"longhaul/workflows/lifecycle"
	notifyflows "longhaul/workflows/notify"
	"longhaul/workflows/qa"
	"longhaul/workflows/replay"
	"longhaul/workflows/rows"
	"longhaul/workflows/summary"
	"longhaul/workflows/translate"
	"longhaul/workflows/video"
)

// Kinds lists every kind that this build can run. A new kind is one line here.
func Kinds() []lifecycle.Kind {
	return []lifecycle.Kind{
		summary.Kind(), agent.Kind(), qa.Kind(), video.Kind(), rows.Generate(), rows.Classify(), rows.Embed(), translate.Kind(), replay.Kind(),
	}
}

// Register registers the workflows of all kinds, and those that send notifications.
func Register(r worker.WorkflowRegistry) {
	for _, kind := range Kinds() {
		r.RegisterWorkflowWithOptions(kind.Workflow, workflow.RegisterOptions{Name: kind.Name})
		for name, child := range kind.Children {
			r.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: name})
		}
	}
	notifyflows.Register(r)
}

// Find returns the kind of a name.
func Find(name string) (lifecycle.Kind, bool) {
	for _, kind := range Kinds() {
		if kind.Name == name {
			return kind, true
		}
	}
	return lifecycle.Kind{}, false
}

// Activities builds the activities of all kinds and returns them by task queue and name. Kinds that share
// activities register them once.
func Activities(p activities.Parts) map[string]map[string]any {
	all := p.Shared()
	for _, kind := range Kinds() {
		all = append(all, kind.Activities(p))
	}
	return activities.ByQueue(all)
}

// Simulate answers a prompt as the simulated model, if it is a prompt of a kind that simulates its own.
func Simulate(system, user string) (answer string, ok bool) {
	for _, kind := range Kinds() {
		if kind.Simulate == nil {
			continue
		}
		if answer, ok := kind.Simulate(system, user); ok {
			return answer, true
		}
	}
	return "", false
}
