package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"longhaul/activities/call"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/tool"
)

// The steps under which an agent's answers stand in the ledger. They are for ever.
const (
	stepTurn    = "turn"
	stepCompact = "compact"
)

// PrepareRequest asks to get an agent's tools ready.
type PrepareRequest struct {
	Task     record.TaskRef `json:"task,omitzero"`
	InputKey string         `json:"input_key,omitempty"`
}

// AgentLimits are what an agent must keep.
type AgentLimits struct {
	Steps        int           `json:"steps,omitempty"` // turns of the model
	ToolCalls    int           `json:"tool_calls,omitempty"`
	Context      int           `json:"context,omitempty"`       // tokens that a conversation may have
	AnswerWithin time.Duration `json:"answer_within,omitempty"` // that a person has
	Output       bool          `json:"output,omitempty"`        // the result must be of a form
}

// PrepareAgent finds out what tools an agent has, and keeps their definitions for its whole life. Run again
// it leaves them as they are.
func (a *Activities) PrepareAgent(ctx context.Context, req PrepareRequest) (AgentLimits, error) {
	heart := call.StartHeartbeat(ctx, "preparing")
	defer heart.Stop()
	var in task.AgentInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return AgentLimits{}, err
	}
	limits := AgentLimits{
		Steps: in.MaxSteps, ToolCalls: in.MaxToolCalls, Context: a.ContextTokens,
		AnswerWithin: time.Duration(in.AnswerWithin) * time.Second, Output: in.OutputSchema != nil,
	}
	tools, err := a.Tools.Define(ctx, wholeSet(in))
	if err != nil {
		return limits, call.DocumentError(ctx, err)
	}
	_, err = a.Bucket.PutNewJSON(ctx, storage.AgentToolsKey(req.Task.ID), tools)
	return limits, err
}

// wholeSet is the tools that were asked for, and those that go with them.
func wholeSet(in task.AgentInput) []task.ToolSpec {
	tools := slices.Clone(in.Tools)
	has := func(builtin string) bool {
		return slices.ContainsFunc(tools, func(s task.ToolSpec) bool { return s.Builtin == builtin })
	}
	if len(in.Documents) > 0 && !has(tool.Search) {
		tools = append(tools, task.ToolSpec{Builtin: tool.Search})
	}
	if len(tools) > 0 && !has(tool.ReadMore) {
		tools = append(tools, task.ToolSpec{Builtin: tool.ReadMore})
	}
	return tools
}

// TurnRequest asks for one turn of an agent's model.
type TurnRequest struct {
	Task      record.TaskRef `json:"task,omitzero"`
	InputKey  string         `json:"input_key,omitempty"`
	Documents []string       `json:"documents,omitempty"` // what is called what, of those that can be searched
	Turn      int            `json:"turn,omitempty"`      // its number, from 1
	Memory    int            `json:"memory,omitempty"`    // the turns up to this one are remembered as a whole; 0 for none
	Messages  []string       `json:"messages,omitempty"`  // keys of replies that the model has not heard yet
	Shrunk    int            `json:"shrunk,omitempty"`    // how often results of tools are shown shorter
	Last      string         `json:"last,omitempty"`      // why it must come to an end now, for the model; "" lets it go on
}

// Turn is what a workflow must know of a turn.
type Turn struct {
	Calls   []ToolUse   `json:"calls,omitempty"`
	Context int         `json:"context,omitempty"` // tokens that the conversation has now, about
	Answer  call.Answer `json:"answer,omitzero"`
}

// ToolUse is what a workflow must know of a tool call.
type ToolUse struct {
	Tool      string          `json:"tool,omitempty"`
	Builtin   string          `json:"builtin,omitempty"`  // of longhaul's own
	Same      string          `json:"same,omitempty"`     // the same for the same call of the same tool
	Fault     bool            `json:"fault,omitempty"`    // it cannot be carried out
	Done      bool            `json:"done,omitempty"`     // it was, by the task that this one runs again
	Approval  bool            `json:"approval,omitempty"` // a person must approve it
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Question  string          `json:"question,omitempty"`
	Choices   []string        `json:"choices,omitempty"`
}

// AgentTurn is one model call: the next turn of the conversation.
func (a *Activities) AgentTurn(ctx context.Context, req TurnRequest) (Turn, error) {
	heart := call.StartHeartbeat(ctx, fmt.Sprintf("thinking, turn %d", req.Turn))
	defer heart.Stop()
	var in task.AgentInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return Turn{}, err
	}
	tools, err := a.agentTools(ctx, req.Task)
	if err != nil {
		return Turn{}, err
	}
	said, err := a.heard(ctx, req)
	if err != nil {
		return Turn{}, err
	}
	heard := said
	if req.Last != "" {
		heard = append(slices.Clone(said), req.Last)
	}
	ask := llm.Request{Tools: offered(tools)}
	if ask.Messages, err = a.conversation(ctx, req, in); err != nil {
		return Turn{}, err
	}
	for _, text := range heard {
		ask.Messages = append(ask.Messages, llm.Message{Role: "user", Content: text})
	}
	if req.Last != "" {
		ask.ToolChoice = "none"
		if ask.Schema, err = resultForm(in); err != nil {
			return Turn{}, err
		}
	}
	a.Call.ShowText(ctx, heart, req.Task, nil, call.PlainText)
	answer, err := a.Call.Ask(ctx, heart, req.Task, stepTurn, ask)
	if err != nil {
		return Turn{}, err
	}
	ctx = context.WithoutCancel(ctx) // it is paid for: a cancel must not keep the task from telling so
	given, err := a.Call.Entry(ctx, answer.Key)
	if err != nil {
		return Turn{}, err
	}
	kept := turn{Heard: heard, Said: said, Answer: numbered(given.Response, req.Turn)}
	if err := a.Bucket.PutJSON(ctx, storage.AgentTurnKey(req.Task.ID, req.Turn), kept); err != nil {
		return Turn{}, err
	}
	calls := uses(kept.Answer.ToolCalls, tools)
	if err := a.markDone(ctx, req, kept.Answer.ToolCalls, calls); err != nil {
		return Turn{}, err
	}
	return Turn{Calls: calls, Context: size(ask.Messages, given), Answer: answer}, nil
}

// markDone marks the calls that a task which is run again has carried out: nobody need be asked about them, and their results are on record.
func (a *Activities) markDone(ctx context.Context, req TurnRequest, calls []llm.ToolCall, uses []ToolUse) error {
	if req.Task.Before == "" {
		return nil
	}
	for i, c := range calls {
		key, err := doneKey(req.Task, req.Turn, i, c)
		if err != nil {
			return err
		}
		if uses[i].Done, err = a.Bucket.Exists(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// resultForm is what the result must look like; nil for a report.
func resultForm(in task.AgentInput) (*llm.Schema, error) {
	if in.OutputSchema == nil {
		return nil, nil
	}
	text, err := json.Marshal(in.OutputSchema)
	return &llm.Schema{Name: "result", JSON: text}, err
}

func (a *Activities) agentTools(ctx context.Context, t record.TaskRef) (tools []tool.Definition, err error) {
	err = a.Bucket.GetJSON(ctx, storage.AgentToolsKey(t.ID), &tools)
	return tools, err
}

func offered(tools []tool.Definition) []llm.Tool {
	var all []llm.Tool
	for _, d := range tools {
		all = append(all, llm.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
	}
	return all
}

// mostShown is how long the arguments of a call may be that a person is to approve, in bytes: they stand in the
// task that everybody reads.
const mostShown = 16 << 10

// uses tells of calls what a workflow must know.
func uses(calls []llm.ToolCall, tools []tool.Definition) []ToolUse {
	var all []ToolUse
	for _, c := range calls {
		sum := sha256.Sum256([]byte(c.Name + "\x00" + string(c.Arguments)))
		use := ToolUse{Tool: c.Name, Same: hex.EncodeToString(sum[:8]), Fault: c.Fault != ""}
		if d, ok := find(tools, c.Name); ok && !use.Fault {
			use.Builtin, use.Approval = d.Spec.Builtin, d.Approval
			use.Fault = toPerson(d) && tooLarge(c.Arguments)
		}
		if use.Approval && !use.Fault {
			use.Arguments = c.Arguments
		}
		if use.Builtin == tool.AskUser && !use.Fault {
			var asked tool.AskUserArguments
			_ = json.Unmarshal(c.Arguments, &asked) // valid by the tool's schema
			use.Question, use.Choices = asked.Question, asked.Choices
		}
		all = append(all, use)
	}
	return all
}

// toPerson reports whether a person is shown the arguments of a tool's calls.
func toPerson(d tool.Definition) bool { return d.Approval || d.Spec.Builtin == tool.AskUser }

// tooLarge reports whether arguments are more than a person is shown, as JSON writes them.
func tooLarge(arguments json.RawMessage) bool {
	text, err := json.Marshal(arguments)
	return err != nil || len(text) > mostShown
}

func find(tools []tool.Definition, name string) (tool.Definition, bool) {
	for _, d := range tools {
		if d.Name == name {
			return d, true
		}
	}
	return tool.Definition{}, false
}
