package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	activities "longhaul/activities/agent"
	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/schema"
	"longhaul/internal/task"
	"longhaul/workflows/documents"
	"longhaul/workflows/lifecycle"
)

// The steps of an agent task, as its readers see them.
const (
	stepPrepare = "prepare"
	stepWork    = "work"
	stepReport  = "report"
)

var steps = []string{stepPrepare, stepWork, stepReport, lifecycle.StepStore}

var do *activities.Activities // names activities; never called

// Kind describes the kind.
func Kind() lifecycle.Kind {
	return lifecycle.Kind{
		Name: "agent", Title: "Work towards a goal",
		Description:   "Lets a model work towards a goal with tools (web pages, documents, files, HTTP tools, MCP servers, other tasks), asks a person before calls that need approval, and writes a report or JSON of a schema.",
		Steps:         steps,
		Input:         func() lifecycle.Input { return new(task.AgentInput) },
		Example:       `{"kind":"agent","input":{"goal":"What time is it in Tokyo and in Lima, and how many hours lie between them?","tools":[{"builtin":"time"},{"builtin":"calculator"}]}}`,
		TakesMessages: true,
		Check:         checkAgent,
		Workflow:      Run,
		Activities:    activities.New,
	}
}

// checkAgent refuses an output schema that is invalid.
func checkAgent(in lifecycle.Input) error {
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

// Carry is the progress that an agent takes into its next run. It is small however long the conversation is: the
// conversation is in the bucket.
type Carry struct {
	Limits    activities.AgentLimits `json:"limits,omitzero"`
	Documents []string               `json:"documents,omitempty"`  // what the documents that can be searched are called
	Turn      int                    `json:"turn,omitempty"`       // the last turn that was made
	Memory    int                    `json:"memory,omitempty"`     // the turns up to this one are remembered as a whole
	Compacted int                    `json:"compacted,omitempty"`  // how often that was done
	Shrunk    int                    `json:"shrunk,omitempty"`     // how often results of tools are shown shorter
	ToolCalls int                    `json:"tool_calls,omitempty"` // that were carried out
	Context   int                    `json:"context,omitempty"`    // tokens that the conversation has, about
	Messages  []string               `json:"messages,omitempty"`   // keys of what a person said and the model has not heard
	Heard     []string               `json:"heard,omitempty"`      // keys of what it has heard, the newest
	Recent    []string               `json:"recent,omitempty"`     // the newest calls, by what they are
	Ignored   int                    `json:"ignored,omitempty"`    // repeated calls in a row that were not made
	Stopped   string                 `json:"stopped,omitempty"`    // the limit that ended it
	Answered  bool                   `json:"answered,omitempty"`   // the last turn is the answer
}

// agent is an agent at work.
type agent struct {
	Carry
	run      *lifecycle.Run
	replies  map[string]bool // requests that somebody answered
	asking   workflow.Semaphore
	starting workflow.Semaphore // tasks, where money is counted
	failed   error              // of a last turn that gave nothing
}

// Run works towards a goal: turn by turn the model says what to do, tools do it, and a person is asked where one must
// approve.
func Run(ctx workflow.Context, start record.Start[Carry]) (record.Ending, error) {
	return lifecycle.Execute(ctx, start, steps, func(run *lifecycle.Run) lifecycle.Work {
		g := &agent{run: run, replies: map[string]bool{}, asking: workflow.NewSemaphore(ctx, mostAsked), starting: workflow.NewSemaphore(ctx, 1)}
		if start.Carry != nil {
			g.Carry = *start.Carry
		}
		return g
	})
}

func (g *agent) Do(ctx workflow.Context) error {
	lifecycle.Listen(ctx, record.SignalInput, g.hear)
	if err := g.prepare(ctx); err != nil {
		return err
	}
	g.run.Enter(stepWork)
	for !g.Answered {
		if ctx.Err() != nil { // a new run would not know of it
			return ctx.Err()
		}
		if lifecycle.HistoryLong(ctx) {
			return lifecycle.ContinueAsNew(ctx, g.run, &g.Carry)
		}
		g.stop(ctx)
		turn, err := g.turn(ctx)
		if lifecycle.TooLong(err) && g.makeRoom(ctx) {
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

func (g *agent) Finish(ctx workflow.Context, _ *task.Error) (finished results.Finished, err error) {
	books := activities.AgentFinish{
		Task: g.run.Facts.Ref(), InputKey: g.run.Facts.InputKey,
		Turns: g.Turn, ToolCalls: g.ToolCalls, Compacted: g.Compacted, Answered: g.Answered, Stopped: g.Stopped,
	}
	err = workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, lifecycle.StepStore, "store the result"), do.FinishAgent, books).Get(ctx, &finished)
	if err == nil && finished.Outcome == task.None && g.failed != nil {
		finished.First = lifecycle.Reason(g.failed) // rather than that nothing came of it
	}
	return finished, err
}

// prepare gets the documents and the tools ready, once, and learns the limits.
func (g *agent) prepare(ctx workflow.Context) error {
	if g.Limits.Steps > 0 {
		return nil
	}
	t, key := g.run.Facts.Ref(), g.run.Facts.InputKey
	g.run.Say(ctx, "getting documents and tools ready")
	documents, err := documents.ReadAll(ctx, documents.Steps{Fetch: stepPrepare, Read: stepPrepare}, t, key)
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
	return workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepPrepare, "get the tools ready"), do.PrepareAgent, req).Get(ctx, &g.Limits)
}

// turn makes one model call.
func (g *agent) turn(ctx workflow.Context) (activities.Turn, error) {
	req := activities.TurnRequest{
		Task: g.run.Facts.Ref(), InputKey: g.run.Facts.InputKey, Documents: g.Documents,
		Turn: g.Turn + 1, Memory: g.Memory, Messages: g.Messages, Shrunk: g.Shrunk, Last: g.lastOrder(),
	}
	g.run.Say(ctx, fmt.Sprintf("turn %d: thinking", req.Turn))
	var turn activities.Turn
	err := lifecycle.RunPaid(ctx, lifecycle.ModelCall(ctx, stepWork, req.Task, fmt.Sprintf("turn %d", req.Turn)), do.AgentTurn, req, &turn)
	g.run.Spend(ctx, turn.Answer, err)
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
		g.run.Enter(stepReport)
	}
	return turn, nil
}

// lastOrder tells the model that it must come to an end: because of a limit, or because the goal is reached and the
// result has a schema.
func (g *agent) lastOrder() string {
	const noTools = "No tool can be used any more. "
	switch {
	case g.Stopped != "" && g.Limits.Output:
		return "The work ends here: " + g.Stopped + ". " + noTools + "Give the result as JSON now, with what you have."
	case g.Stopped != "":
		return "The work ends here: " + g.Stopped + ". " + noTools + "Write the report now, with what you have, and say what is missing."
	case g.Limits.Output && g.run.At(stepReport):
		return "Give the result as JSON now."
	default:
		return ""
	}
}

// stop finds out whether a limit ends the work with the next turn.
func (g *agent) stop(ctx workflow.Context) {
	over := g.run.OverBudget()
	switch {
	case g.Stopped != "":
	case g.Turn+1 >= g.Limits.Steps:
		g.Stopped = fmt.Sprintf("the limit of %d steps is reached", g.Limits.Steps)
	case g.ToolCalls >= g.Limits.ToolCalls:
		g.Stopped = fmt.Sprintf("the limit of %d tool calls is reached", g.Limits.ToolCalls)
	case g.Ignored >= mostIgnored:
		g.Stopped = "the same call was asked for again and again"
	case g.run.NearBudget():
		g.Stopped = "the budget is nearly used up"
	case over != nil:
		g.Stopped = over.Detail
	}
}

// turnsKept is how many of the newest turns are never compacted.
const turnsKept = 3

// older returns the last turn that may be compacted.
func (g *agent) older() int { return g.Turn - turnsKept }

// mostShrunk is how often results are shown shorter: to a quarter each time.
const mostShrunk = 3

// makeRoom shortens a conversation that the model finds too long: older turns become a memory, or else tool results
// are shown shorter. It reports whether it could.
func (g *agent) makeRoom(ctx workflow.Context) bool {
	if g.older() > g.Memory {
		return g.compact(ctx) == nil
	}
	g.Shrunk++
	return g.Shrunk <= mostShrunk
}

// compact turns the older part of the conversation into a memory before it is too long for the model.
func (g *agent) compact(ctx workflow.Context) error {
	upto := g.older()
	about := fmt.Sprintf("compact turns %d to %d", g.Memory+1, upto)
	g.run.Say(ctx, "the conversation is long: "+about)
	req := activities.CompactRequest{Task: g.run.Facts.Ref(), InputKey: g.run.Facts.InputKey, Memory: g.Memory, Upto: upto}
	var answer call.Answer
	err := lifecycle.RunPaid(ctx, lifecycle.ModelCall(ctx, stepWork, req.Task, about), do.CompactConversation, req, &answer)
	g.run.Spend(ctx, answer, err)
	if err == nil {
		g.Memory, g.Context, g.Compacted = upto, 0, g.Compacted+1
	}
	return err
}

// hear notes an answer or a message. A duplicate counts once.
func (g *agent) hear(said record.Message) {
	if said.Request != "" {
		g.replies[said.Request] = true
		return
	}
	if !slices.Contains(g.Messages, said.Message) && !slices.Contains(g.Heard, said.Message) {
		g.Messages = append(g.Messages, said.Message)
	}
}
