package agent

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	activities "longhaul/activities/agent"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/internal/tool"
	"longhaul/workflows/lifecycle"
)

// use carries out the calls of a turn side by side. Every call gets a result, whatever becomes of it.
func (g *agent) use(ctx workflow.Context, calls []activities.ToolUse) error {
	if len(calls) == 0 {
		return nil
	}
	requests := make([]activities.ToolRequest, len(calls))
	var names []string
	for i, c := range calls {
		requests[i] = activities.ToolRequest{Task: g.run.Facts.Ref(), Turn: g.Turn, Call: i}
		switch {
		case c.Fault:
		case g.repeated(c.Same):
			requests[i].Instead = fmt.Sprintf("you have made this very call %d times; it is not made again. Do something else, or come to an end", mostSame)
		case g.ToolCalls >= g.Limits.ToolCalls:
			requests[i].Instead = fmt.Sprintf("the limit of %d tool calls is reached; the call was not made", g.Limits.ToolCalls)
		default:
			g.ToolCalls++
		}
		names = append(names, c.Tool)
	}
	g.run.Say(ctx, fmt.Sprintf("turn %d: using %s", g.Turn, task.Brief(strings.Join(names, ", "))))
	return lifecycle.FirstError(lifecycle.Each(ctx, lifecycle.MaxCalls, len(calls), func(ctx workflow.Context, i int) error {
		return g.one(ctx, calls[i], requests[i])
	}))
}

// one carries out one call: after a person was asked if one must be, as a task of its own if that is what it is.
func (g *agent) one(ctx workflow.Context, use activities.ToolUse, req activities.ToolRequest) error {
	goes := req.Instead == "" && !use.Fault && !use.Done
	if goes && (use.Approval || use.Builtin == tool.AskUser) {
		var err error
		if req.Request, err = g.askPerson(ctx, use, req.Call); err != nil {
			return err
		}
	}
	if goes && use.Builtin == tool.RunTask {
		if err := g.runTask(ctx, &req); err != nil {
			return err
		}
	}
	about := fmt.Sprintf("turn %d: %s", req.Turn, use.Tool)
	return lifecycle.RunPaid(ctx, lifecycle.ToolWork(ctx, stepWork, about), do.RunTool, req, nil)
}

// mostAsked is how much a person is asked at a time: all of it stands in the task that everybody reads.
const mostAsked = 8

// askPerson waits for a person's word about a call, until the time for it is over, and names the request. What was
// decided is in the bucket.
func (g *agent) askPerson(ctx workflow.Context, use activities.ToolUse, n int) (string, error) {
	if err := g.asking.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer g.asking.Release(1)
	now := workflow.Now(ctx)
	req := task.InputRequest{
		ID: fmt.Sprintf("call-%d-%d", g.Turn, n+1), Kind: "approval", Tool: use.Tool, Arguments: use.Arguments,
		CreatedAt: now, ExpiresAt: now.Add(g.Limits.AnswerWithin),
	}
	if use.Builtin == tool.AskUser {
		req.Kind, req.Tool, req.Question, req.Choices = "question", "", use.Question, use.Choices
	}
	if err := g.run.Require(ctx, req); err != nil {
		return "", err
	}
	_, err := workflow.AwaitWithTimeout(ctx, g.Limits.AnswerWithin, func() bool { return g.replies[req.ID] })
	g.run.Settled(ctx, req.ID)
	return req.ID, err
}

// runTask starts the task that a call asks for, and waits for its end.
func (g *agent) runTask(ctx workflow.Context, req *activities.ToolRequest) error {
	id := record.ChildID(g.run.Facts.ID, req.Turn, req.Call)
	var made activities.Child
	prepare := activities.ChildRequest{Task: req.Task, Turn: req.Turn, Call: req.Call, ID: id, Request: req.Request, Budget: g.run.Facts.Budget}
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepWork, "prepare a task"), do.PrepareChild, prepare).Get(ctx, &made); err != nil {
		return err
	}
	if made.Refused != "" {
		req.Instead = made.Refused
		return nil
	}
	switch err := g.start(ctx, id, made); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		req.Instead = fmt.Sprintf("the task %s did not succeed: %s", id, lifecycle.Reason(err).Detail)
	default:
		req.Child = id
	}
	return nil
}

// start starts a task, waits for its end, and adds what it cost. Where money is counted they come one after the other, so that no two spend the same
// rest of it.
func (g *agent) start(ctx workflow.Context, id string, made activities.Child) error {
	if g.run.Facts.Budget > 0 {
		if err := g.starting.Acquire(ctx, 1); err != nil {
			return err
		}
		defer g.starting.Release(1)
		if why := g.run.OverBudget(); why != nil {
			return why
		}
	}
	if err := lifecycle.WaitUnpaused(ctx); err != nil {
		return err
	}
	parent := g.run.Facts
	facts := record.Facts{
		ID: id, Kind: made.Kind, Tenant: parent.Tenant, Lineage: id, Labels: parent.Labels, Priority: parent.Priority, Model: made.Model, Queue: parent.Queue,
		CreatedAt: workflow.Now(ctx).UTC(), Deadline: parent.Deadline, Budget: g.run.BudgetLeft(), Parent: parent.ID, Headline: made.Headline, InputKey: made.InputKey,
	}
	ending, err := lifecycle.StartTask(ctx, facts, made.Steps)
	g.run.State.Started = g.run.State.Started.Add(ending.Usage)
	return err
}

// How often the very same call is carried out within the newest calls, and how many more of them in a row end the
// work.
const (
	mostSame    = 3
	mostIgnored = 5
	recentCalls = 20
	heardKept   = 100
)

// repeated notes a call, and reports whether it was asked for too often.
func (g *agent) repeated(same string) bool {
	n := 0
	for _, recent := range g.Recent {
		if recent == same {
			n++
		}
	}
	g.Recent = newest(append(g.Recent, same), recentCalls)
	if n < mostSame {
		g.Ignored = 0
		return false
	}
	g.Ignored++
	return true
}

// newest are the last n of a list.
func newest(list []string, n int) []string { return slices.Clone(list[max(len(list)-n, 0):]) }
