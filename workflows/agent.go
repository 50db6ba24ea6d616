package workflows

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities"
	"longhaul/internal/schema"
	"longhaul/internal/task"
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
		check:       checkAgent,
		run:         Agent,
	}
}

// checkAgent refuses what an agent would find out only in the end.
func checkAgent(in Input) error {
	form := in.(*task.AgentInput).OutputSchema //nolint:forcetypeassert // it is the kind's own
	if form == nil {
		return nil
	}
	text, err := json.Marshal(form)
	if err == nil {
		_, err = schema.Compile(text)
	}
	if err != nil {
		return task.Errorf(task.Invalid, "%s", err).At("/input/output_schema")
	}
	return nil
}

// AgentCarry is what an agent takes along into its next run. It is small however long the conversation is: that is in the
// bucket.
type AgentCarry struct {
	Limits    activities.AgentLimits
	Documents []string // what the documents that can be searched are called
	Turn      int      // the last turn that was made
	Memory    int      // the turns up to this one are remembered as a whole
	Compacted int      // how often that was done
	Shrunk    int      // how often results of tools are shown shorter
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
	run      *Run
	replies  map[string]bool // requests that somebody answered
	asking   workflow.Semaphore
	starting workflow.Semaphore // tasks, where money is counted
	failed   error              // of a last turn that gave nothing
}

// Agent works towards a goal: turn by turn the model says what is to be done, the tools do it, and a person is asked
// where one must be.
func Agent(ctx workflow.Context, start Start) (Ending, error) {
	return conduct(ctx, start, agentSteps, func(run *Run) work {
		g := &agent{run: run, replies: map[string]bool{}, asking: workflow.NewSemaphore(ctx, mostAsked), starting: workflow.NewSemaphore(ctx, 1)}
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
			return g.run.goOn(ctx, Start{Agent: &g.AgentCarry})
		}
		g.stop(ctx)
		turn, err := g.turn(ctx)
		if tooLong(err) && g.makeRoom(ctx) {
			continue
		}
		if err != nil && g.Stopped != "" && ctx.Err() == nil {
			g.failed = err // it ends with what it said before
			return nil
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
	if err == nil && finished.Outcome == task.None && g.failed != nil {
		finished.First = reason(g.failed) // rather than that nothing came of it
	}
	return finished, err
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
		Turn: g.Turn + 1, Memory: g.Memory, Messages: g.Messages, Shrunk: g.Shrunk, Last: g.lastOrder(),
	}
	g.run.say(ctx, fmt.Sprintf("turn %d: thinking", req.Turn))
	var turn activities.Turn
	err := pay(ctx, modelCall(ctx, req.Task, fmt.Sprintf("turn %d", req.Turn)), call.AgentTurn, req, &turn)
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

// lastOrder is what the model is told when it must come to an end: because of a limit, or because it has reached the
// goal and the result is to be of a form.
func (g *agent) lastOrder() string {
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
func (g *agent) stop(ctx workflow.Context) {
	over := g.run.overBudget()
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
	case over != nil && workflow.GetVersion(ctx, "budgets that cannot be kept", workflow.DefaultVersion, 1) != workflow.DefaultVersion:
		g.Stopped = over.Detail
	}
}

// turnsKept is how many of the newest turns are never compacted.
const turnsKept = 3

// older is the last turn that may be compacted.
func (g *agent) older() int { return g.Turn - turnsKept }

// mostShrunk is how often results are shown shorter: to a quarter each time.
const mostShrunk = 3

// makeRoom makes a conversation shorter that the model finds too long, and reports whether it could: the older turns become a memory,
// and if there are none, the results of tools are shown shorter.
func (g *agent) makeRoom(ctx workflow.Context) bool {
	if g.older() > g.Memory {
		return g.compact(ctx) == nil
	}
	g.Shrunk++
	return g.Shrunk <= mostShrunk
}

// compact turns the older part of the conversation into a memory of it, before it outgrows the model.
func (g *agent) compact(ctx workflow.Context) error {
	upto := g.older()
	about := fmt.Sprintf("compact turns %d to %d", g.Memory+1, upto)
	g.run.say(ctx, "the conversation is long: "+about)
	req := activities.CompactRequest{Task: g.run.Facts.task(), InputKey: g.run.Facts.InputKey, Memory: g.Memory, Upto: upto}
	var answer activities.Answer
	err := pay(ctx, modelCall(ctx, req.Task, about), call.CompactConversation, req, &answer)
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
