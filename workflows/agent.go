package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/task"
	"longhaul/internal/tool"
)

// The steps of an agent task, as its readers see them.
const (
	stepPrepare = "prepare"
	stepWork    = "work"
	stepReport  = "report"
)

var agentSteps = []string{stepPrepare, stepWork, stepReport, stepStore}

// agentActivities says to which step each activity belongs.
var agentActivities = map[string]string{
	"PlanDocuments": stepPrepare, "FetchDocument": stepPrepare, "ReadDocuments": stepPrepare, "PrepareAgent": stepPrepare,
	"AgentTurn": stepWork, "RunTool": stepWork, "PrepareChild": stepWork, "CompactConversation": stepWork,
	"FinishAgent": stepStore,
}

// agentKind is the kind as readers and workers know it.
func agentKind() Kind {
	return Kind{
		Name: "agent", Title: "Work towards a goal",
		Description: "Lets a model work towards a goal with tools (web pages, documents, files, HTTP tools, MCP servers, other tasks), asks a person before calls that need approval, and writes a report or JSON of a schema.",
		Steps:       agentSteps,
		StepOf:      agentActivities,
		Input:       func() Input { return new(task.AgentInput) },
		Example:     `{"kind":"agent","input":{"goal":"What time is it in Tokyo and in Lima, and how many hours lie between them?","tools":[{"builtin":"time"},{"builtin":"calculator"}]}}`,
		Hears:       true,
		run:         Agent,
	}
}

// AgentCarry is what an agent takes along into its next run. It is small however long the conversation is: that is in the
// bucket.
type AgentCarry struct {
	Limits    activities.AgentLimits
	Documents []string // what the documents that can be searched are called
	Turn      int      // the last turn that was made
	Memory    int      // the turns up to this one are remembered as a whole
	Compacted int      // how often that was done
	ToolCalls int      // that were carried out
	Context   int      // tokens that the conversation has, about
	Messages  []string // keys of what a person said and the model has not heard
	Heard     []string // keys of what it has heard, the newest
	Recent    []string // the newest calls, by what they are
	Ignored   int      // repeated calls in a row that were not made
	Stopped   string   // the limit that ended it
	Answered  bool     // the last turn is the answer
}

// agent is an agent at work.
type agent struct {
	AgentCarry
	run     *Run
	replies map[string]bool // requests that somebody answered
}

// Agent works towards a goal: turn by turn the model says what is to be done, the tools do it, and a person is asked
// where one must be.
func Agent(ctx workflow.Context, start Start) (Ending, error) {
	return conduct(ctx, start, agentSteps, func(run *Run) work {
		g := &agent{run: run, replies: map[string]bool{}}
		if start.Agent != nil {
			g.AgentCarry = *start.Agent
		}
		return g
	})
}

func (g *agent) do(ctx workflow.Context) error {
	listen(ctx, SignalInput, g.hear)
	if err := g.prepare(ctx); err != nil {
		return err
	}
	g.run.enter(stepWork)
	for !g.Answered {
		if ctx.Err() != nil { // a new run would not know of it
			return ctx.Err()
		}
		if historyLong(ctx) {
			return g.goOn(ctx)
		}
		g.stop()
		turn, err := g.turn(ctx)
		if tooLong(err) && g.older() > g.Memory {
			err = g.compact(ctx)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if err := g.use(ctx, turn.Calls); err != nil {
			return err
		}
		if g.Context > g.Limits.Context*7/10 && g.older() > g.Memory && !g.Answered {
			if err := g.compact(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *agent) finish(ctx workflow.Context, _ *task.Error) (finished activities.Finished, err error) {
	books := activities.AgentFinish{
		Task: g.run.Facts.task(), InputKey: g.run.Facts.InputKey,
		Turns: g.Turn, ToolCalls: g.ToolCalls, Compacted: g.Compacted, Answered: g.Answered, Stopped: g.Stopped,
	}
	err = workflow.ExecuteActivity(documentWork(ctx, "store the result"), call.FinishAgent, books).Get(ctx, &finished)
	return finished, err
}

// goOn continues in a new run, with everything that was said to the task by now.
func (g *agent) goOn(ctx workflow.Context) error {
	inbox := workflow.GetSignalChannel(ctx, SignalInput)
	for {
		var said Said
		if !inbox.ReceiveAsync(&said) {
			break
		}
		g.hear(said)
	}
	return g.run.goOn(ctx, Start{Agent: &g.AgentCarry})
}

// prepare gets the documents and the tools ready, once, and learns the limits.
func (g *agent) prepare(ctx workflow.Context) error {
	if g.Limits.Steps > 0 {
		return nil
	}
	t, key := g.run.Facts.task(), g.run.Facts.InputKey
	g.run.say(ctx, "getting documents and tools ready")
	documents, err := readAll(ctx, t, key)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if d.Error != nil {
			return d.Error
		}
		g.Documents = append(g.Documents, d.Label)
	}
	req := activities.PrepareRequest{Task: t, InputKey: key}
	return workflow.ExecuteActivity(documentWork(ctx, "get the tools ready"), call.PrepareAgent, req).Get(ctx, &g.Limits)
}

// turn lets the model have its say.
func (g *agent) turn(ctx workflow.Context) (activities.Turn, error) {
	req := activities.TurnRequest{
		Task: g.run.Facts.task(), InputKey: g.run.Facts.InputKey, Documents: g.Documents,
		Turn: g.Turn + 1, Memory: g.Memory, Messages: g.Messages, Last: g.lastWords(),
	}
	g.run.say(ctx, fmt.Sprintf("turn %d: thinking", req.Turn))
	var turn activities.Turn
	err := workflow.ExecuteActivity(modelCall(ctx, req.Task, fmt.Sprintf("turn %d", req.Turn)), call.AgentTurn, req).Get(ctx, &turn)
	g.run.spend(ctx, turn.Answer, err)
	if err != nil {
		return turn, err
	}
	g.Turn, g.Context = req.Turn, turn.Context
	g.Heard = newest(append(g.Heard, req.Messages...), heardKept)
	g.Messages = slices.DeleteFunc(g.Messages, func(key string) bool { return slices.Contains(req.Messages, key) })
	if len(turn.Calls) > 0 {
		return turn, nil
	}
	unheard := len(g.Messages) > 0 && g.Stopped == ""
	g.Answered = !unheard && (req.Last != "" || !g.Limits.Output)
	if !unheard {
		g.run.enter(stepReport)
	}
	return turn, nil
}

// lastWords is what the model is told when it must come to an end: because of a limit, or because it has reached the
// goal and the result is to be of a form.
func (g *agent) lastWords() string {
	const noTools = "No tool can be used any more. "
	switch {
	case g.Stopped != "" && g.Limits.Output:
		return "The work ends here: " + g.Stopped + ". " + noTools + "Give the result as JSON now, with what you have."
	case g.Stopped != "":
		return "The work ends here: " + g.Stopped + ". " + noTools + "Write the report now, with what you have, and say what is missing."
	case g.Limits.Output && g.run.at(stepReport):
		return "Give the result as JSON now."
	default:
		return ""
	}
}

// stop finds out whether a limit ends the work with the next turn.
func (g *agent) stop() {
	switch {
	case g.Stopped != "":
	case g.Turn+1 >= g.Limits.Steps:
		g.Stopped = fmt.Sprintf("the limit of %d steps is reached", g.Limits.Steps)
	case g.ToolCalls >= g.Limits.ToolCalls:
		g.Stopped = fmt.Sprintf("the limit of %d tool calls is reached", g.Limits.ToolCalls)
	case g.Ignored >= mostIgnored:
		g.Stopped = "the same call was asked for again and again"
	case g.run.nearBudget():
		g.Stopped = "the budget is nearly used up"
	}
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

// use carries out the calls of a turn side by side. Every call gets a result, whatever becomes of it.
func (g *agent) use(ctx workflow.Context, calls []activities.ToolUse) error {
	if len(calls) == 0 {
		return nil
	}
	requests := make([]activities.ToolRequest, len(calls))
	var names []string
	for i, c := range calls {
		requests[i] = activities.ToolRequest{Task: g.run.Facts.task(), Turn: g.Turn, Call: i}
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
	g.run.say(ctx, fmt.Sprintf("turn %d: using %s", g.Turn, task.Brief(strings.Join(names, ", "))))
	return first(each(ctx, callsAtOnce, len(calls), func(ctx workflow.Context, i int) error {
		return g.one(ctx, calls[i], requests[i])
	}))
}

// one carries out one call: after a person was asked if one must be, as a task of its own if that is what it is.
func (g *agent) one(ctx workflow.Context, use activities.ToolUse, req activities.ToolRequest) error {
	goes := req.Instead == "" && !use.Fault
	if goes && (use.Approval || use.Builtin == tool.AskUser) {
		var err error
		if req.Request, err = g.askPerson(ctx, use, req.Call); err != nil {
			return err
		}
	}
	if goes && use.Builtin == tool.RunTask {
		if err := g.child(ctx, &req); err != nil {
			return err
		}
	}
	about := fmt.Sprintf("turn %d: %s", req.Turn, use.Tool)
	return workflow.ExecuteActivity(toolWork(ctx, about), call.RunTool, req).Get(ctx, nil)
}

// askPerson waits for a person's word about a call, until the time for it is over, and names the request. What was
// decided is in the bucket.
func (g *agent) askPerson(ctx workflow.Context, use activities.ToolUse, n int) (string, error) {
	now := workflow.Now(ctx)
	req := task.InputRequest{
		ID: fmt.Sprintf("call-%d-%d", g.Turn, n+1), Kind: "approval", Tool: use.Tool, Arguments: use.Arguments,
		CreatedAt: now, ExpiresAt: now.Add(g.Limits.AnswerWithin),
	}
	if use.Builtin == tool.AskUser {
		req.Kind, req.Tool, req.Question, req.Choices = "question", "", use.Question, use.Choices
	}
	if err := g.run.require(ctx, req); err != nil {
		return "", err
	}
	_, err := workflow.AwaitWithTimeout(ctx, g.Limits.AnswerWithin, func() bool { return g.replies[req.ID] })
	g.run.settled(ctx, req.ID)
	return req.ID, err
}

// child starts the task that a call asks for, and waits for its end.
func (g *agent) child(ctx workflow.Context, req *activities.ToolRequest) error {
	id := ChildID(g.run.Facts.ID, req.Turn, req.Call)
	var made activities.Child
	prepare := activities.ChildRequest{Task: req.Task, Turn: req.Turn, Call: req.Call, ID: id, Request: req.Request}
	if err := workflow.ExecuteActivity(documentWork(ctx, "prepare a task"), call.PrepareChild, prepare).Get(ctx, &made); err != nil {
		return err
	}
	if made.Refused != "" {
		req.Instead = made.Refused
		return nil
	}
	err := startChild(ctx, g.run.Facts, id, made)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		req.Instead = fmt.Sprintf("the task %s did not succeed: %s", id, reason(err).Detail)
	default:
		req.Child = id
	}
	return nil
}

// turnsKept is how many of the newest turns are never compacted.
const turnsKept = 3

// older is the last turn that may be compacted.
func (g *agent) older() int { return g.Turn - turnsKept }

// compact turns the older part of the conversation into a memory of it, before it outgrows the model.
func (g *agent) compact(ctx workflow.Context) error {
	upto := g.older()
	about := fmt.Sprintf("compact turns %d to %d", g.Memory+1, upto)
	g.run.say(ctx, "the conversation is long: "+about)
	req := activities.CompactRequest{Task: g.run.Facts.task(), InputKey: g.run.Facts.InputKey, Memory: g.Memory, Upto: upto}
	var answer activities.Answer
	err := workflow.ExecuteActivity(modelCall(ctx, req.Task, about), call.CompactConversation, req).Get(ctx, &answer)
	g.run.spend(ctx, answer, err)
	if err == nil {
		g.Memory, g.Context, g.Compacted = upto, 0, g.Compacted+1
	}
	return err
}

// hear notes what was said. The same may be said twice; it counts once.
func (g *agent) hear(said Said) {
	if said.Request != "" {
		g.replies[said.Request] = true
		return
	}
	if !slices.Contains(g.Messages, said.Message) && !slices.Contains(g.Heard, said.Message) {
		g.Messages = append(g.Messages, said.Message)
	}
}
