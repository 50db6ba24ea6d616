package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/activity"

	"longhaul/activities/call"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/tool"
)

// ToolRequest asks to carry out a tool call of a turn.
type ToolRequest struct {
	Task    record.TaskRef `json:"task,omitzero"`
	Turn    int            `json:"turn,omitempty"`
	Call    int            `json:"call,omitempty"`    // its place in the turn, from 0
	Request string         `json:"request,omitempty"` // id of the request for input that had to be answered first; "" for none
	Instead string         `json:"instead,omitempty"` // what to tell the model instead of carrying the call out; "" carries it out
	Child   string         `json:"child,omitempty"`   // id of the task that the call started; "" for none
}

// ToolDone is what came of a tool call.
type ToolDone struct {
	IsError bool        `json:"is_error,omitempty"`
	Decided task.Action `json:"decided,omitempty"` // decision of a person or of a timeout; "": the call required no approval
}

// RunTool carries out a tool call and keeps its result. A call that has its result is not made again. One that
// may change something is made once: if its end is not known, because a worker was lost in the middle of it, the
// model is told just that.
func (a *Activities) RunTool(ctx context.Context, req ToolRequest) (ToolDone, error) {
	heart := call.StartHeartbeat(ctx, "using a tool")
	defer heart.Stop()
	key := storage.AgentCallKey(req.Task.ID, req.Turn, req.Call, "result.json")
	var done callResult
	err := a.Bucket.GetJSON(ctx, key, &done)
	if err == nil {
		return ToolDone{IsError: done.IsError}, nil
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return ToolDone{}, err
	}
	r := &toolRun{Activities: a, req: req, heart: heart}
	if err := r.load(ctx); err != nil {
		return ToolDone{}, err
	}
	kept, err := r.result(ctx)
	if err != nil {
		return ToolDone{}, err
	}
	return ToolDone{IsError: kept.IsError, Decided: r.reply.Action}, a.Bucket.PutJSON(context.WithoutCancel(ctx), key, kept)
}

// result is that of the call: the one on record, if it was carried out before by this task or by one that it runs again, or a new one.
func (r *toolRun) result(ctx context.Context) (kept callResult, err error) {
	if found, err := r.Activities.Call.Ledger.Look(ctx, r.done, &kept); err != nil || found {
		return kept, err
	}
	result, err := r.carryOut(ctx)
	if err != nil {
		return kept, err
	}
	kept = callResult{Text: result.Text, IsError: result.IsError}
	if result.Truncated {
		kept.Text += "\n[the end is missing: the result was longer than can be kept]"
	}
	if r.turnedDown {
		return kept, nil
	}
	return kept, r.Activities.Call.Record(ctx, r.done, kept)
}

// stepTool is where the results of tool calls stand in the ledger. The name is for ever.
const stepTool = "tool"

// doneKey names a tool call in the ledger: the same for the same call at the same place of a task that is run again.
func doneKey(t record.TaskRef, turn, n int, c llm.ToolCall) (string, error) {
	return storage.LedgerKey(t.Lineage, stepTool, []any{turn, n, c.Name, string(c.Arguments)})
}

// toolRun is a tool call at work.
type toolRun struct {
	*Activities
	req   ToolRequest
	heart *call.Heartbeat
	call  llm.ToolCall
	tool  tool.Definition
	reply task.Reply
	done  string // key of its result in the ledger

	turnedDown bool // it was not carried out
}

// load finds out what is to be done, and what a person said about it.
func (r *toolRun) load(ctx context.Context) error {
	var kept turn
	if err := r.Bucket.GetJSON(ctx, storage.AgentTurnKey(r.req.Task.ID, r.req.Turn), &kept); err != nil {
		return err
	}
	r.call = kept.Answer.ToolCalls[r.req.Call]
	var err error
	if r.done, err = doneKey(r.req.Task, r.req.Turn, r.req.Call, r.call); err != nil {
		return err
	}
	tools, err := r.agentTools(ctx, r.req.Task)
	if err != nil {
		return err
	}
	r.tool, _ = find(tools, r.call.Name)
	r.heart.Update(func(b *record.Heartbeat) { b.Stage = "using " + r.call.Name })
	if r.req.Request != "" {
		r.reply, err = r.standing(ctx)
	}
	return err
}

// standing is the reply that counts: the person's, or the clock's if that was first.
func (r *toolRun) standing(ctx context.Context) (task.Reply, error) {
	key := storage.ReplyKey(r.req.Task.ID, r.req.Request)
	expired := task.Reply{Request: r.req.Request, Action: task.Expire}
	if wrote, err := r.Bucket.PutNewJSON(ctx, key, expired); err != nil || wrote {
		return expired, err
	}
	var reply task.Reply
	err := r.Bucket.GetJSON(ctx, key, &reply)
	return reply, err
}

// carryOut does what was asked for, or says why not.
func (r *toolRun) carryOut(ctx context.Context) (tool.Result, error) {
	if refused := r.refused(); refused != nil {
		r.turnedDown = true
		return *refused, nil
	}
	if r.reply.Action == task.Respond {
		return tool.Result{Text: r.reply.Text}, nil
	}
	if r.req.Child != "" {
		return r.childResult(ctx)
	}
	if own, ok := ownTools[r.tool.Spec.Builtin]; ok {
		return own(r, ctx)
	}
	return r.once(ctx)
}

// refused is what the model is told of a call that is not to be made; nil for one that is.
func (r *toolRun) refused() *tool.Result {
	switch {
	case r.req.Instead != "":
		return refusal("%s", r.req.Instead)
	case r.call.Fault != "":
		return refusal("%s", r.call.Fault)
	case toPerson(r.tool) && tooLarge(r.call.Arguments):
		return refusal("the arguments have %d bytes, more than the %d that a person can be shown; make them shorter", len(r.call.Arguments), mostShown)
	case r.reply.Action == task.Deny:
		return refusal("a person denied this call and it was not made. %s", r.reply.Reason)
	case r.reply.Action == task.Expire:
		return refusal("nobody answered in time, and nothing was done")
	case r.reply.Action == task.Approve:
		return r.edit()
	default:
		return nil
	}
}

func refusal(format string, args ...any) *tool.Result {
	return &tool.Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

// edit takes over the arguments that a person gave instead, if they fit the tool.
func (r *toolRun) edit() *tool.Result {
	if len(r.reply.Arguments) == 0 {
		return nil
	}
	if err := r.tool.Check(r.reply.Arguments); err != nil {
		return refusal("a person changed the arguments to ones that do not fit the tool. %s", err)
	}
	r.call.Arguments = r.reply.Arguments
	return nil
}

// once makes a call that goes out. Before one that may change something a mark is set: an attempt that finds it does
// not know how far the one before came, and makes no other.
func (r *toolRun) once(ctx context.Context) (tool.Result, error) {
	if !r.tool.Safe {
		first, err := r.Bucket.PutNewJSON(ctx, strings.TrimSuffix(r.done, ".json")+"-sent.json", r.call)
		if err != nil {
			return tool.Result{}, err
		}
		if !first {
			return *unknownEnd(), nil
		}
	}
	result, err := r.Tools.Run(ctx, r.tool, tool.Call{
		ID: r.req.Task.ID + "-" + callID(r.req.Turn, r.req.Call), Tenant: r.req.Task.Tenant, Arguments: r.call.Arguments,
	})
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return tool.Result{}, call.Stopped(ctx, record.CallState{})
	case !r.tool.Safe:
		r.Activities.Call.Log.Warn("tool call with an unknown end", "task", r.req.Task.ID, "tool", r.tool.Name, "error", err)
		return *unknownEnd(), nil
	}
	attempt := int(activity.GetInfo(ctx).Attempt)
	if retry, _ := call.Decide(call.SafeTool, call.Try{Reason: call.Fault, Count: attempt}, 0); retry {
		return tool.Result{}, err
	}
	return *refusal("the call failed %d times: %s", attempt, err), nil
}

func unknownEnd() *tool.Result {
	return refusal("the connection was lost in the middle of this call. It is not known whether it was carried out, and it is not made again by itself: find out before you repeat it")
}

// ownTools are those that need to know the task.
var ownTools = map[string]func(r *toolRun, ctx context.Context) (tool.Result, error){
	tool.WriteArtifact: (*toolRun).writeArtifact,
	tool.ReadMore:      (*toolRun).readMore,
	tool.Search:        (*toolRun).search,
}

// arguments reads the call's arguments, which are valid by the tool's schema.
func (r *toolRun) arguments(into any) error {
	if err := json.Unmarshal(r.call.Arguments, into); err != nil {
		return fmt.Errorf("arguments of %s: %w", r.call.Name, err)
	}
	return nil
}
