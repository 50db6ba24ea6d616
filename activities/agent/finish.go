package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// AgentFinish closes the books of an agent, however it ends.
type AgentFinish struct {
	Task      record.TaskRef `json:"task,omitzero"`
	InputKey  string         `json:"input_key,omitempty"`
	Turns     int            `json:"turns,omitempty"`      // of the model
	ToolCalls int            `json:"tool_calls,omitempty"` // that were carried out
	Compacted int            `json:"compacted,omitempty"`  // how often the conversation was compacted
	Answered  bool           `json:"answered,omitempty"`   // the last turn is the answer
	Stopped   string         `json:"stopped,omitempty"`    // the limit that ended it early; "" for none
}

// AgentOutput is the result of an agent.
type AgentOutput struct {
	Report    string          `json:"report,omitempty"` // Markdown
	Output    json.RawMessage `json:"output,omitempty"` // valid by the output schema
	StoppedBy string          `json:"stopped_by,omitempty"`
	Turns     int             `json:"turns"`
	ToolCalls int             `json:"tool_calls"`
	Compacted int             `json:"compacted,omitempty"` // how often older turns were put into a memory of them
	Artifacts []string        `json:"artifacts,omitempty"`
}

// The artifacts that every agent leaves.
const (
	agentReport     = "report.md"
	agentTranscript = "transcript.jsonl"
)

// FinishAgent writes the result of an agent, its report and the transcript of its conversation. One that was cut off
// leaves what it had said by then. Run again it writes the same.
func (a *Activities) FinishAgent(ctx context.Context, req AgentFinish) (results.Finished, error) {
	heart := call.StartHeartbeat(ctx, "storing")
	defer heart.Stop()
	var in task.AgentInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return results.Finished{}, err
	}
	messages, err := a.turns(ctx, req.Task, 1, req.Turns, mostTold)
	if err != nil {
		return results.Finished{}, err
	}
	if err := a.Results.WriteItems(ctx, req.Task, nil); err != nil {
		return results.Finished{}, err
	}
	if err := a.storeTranscript(ctx, req.Task, messages); err != nil {
		return results.Finished{}, err
	}
	output := AgentOutput{StoppedBy: req.Stopped, Turns: req.Turns, ToolCalls: req.ToolCalls, Compacted: req.Compacted}
	final := lastWords(messages)
	if req.Answered && in.OutputSchema != nil {
		output.Output = json.RawMessage(final)
	} else {
		output.Report = final
	}
	finished := results.Finished{Outcome: task.None}
	if final == "" {
		return finished, nil
	}
	finished.Outcome = task.Partial
	if req.Answered && req.Stopped == "" {
		finished.Outcome = task.Full
	}
	finished.Result, err = a.storeAgent(ctx, req.Task, output)
	return finished, err
}

// lastWords is the newest text of the model that says anything.
func lastWords(messages []llm.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == "assistant" && m.Content != "" {
			return m.Content
		}
	}
	return ""
}

func (a *Activities) storeTranscript(ctx context.Context, t record.TaskRef, messages []llm.Message) error {
	text, err := results.JSONLines(messages)
	if err != nil {
		return err
	}
	return a.Bucket.Put(ctx, storage.ArtifactKey(t.ID, agentTranscript), results.JSONLinesType, text)
}

func (a *Activities) storeAgent(ctx context.Context, t record.TaskRef, output AgentOutput) (*record.Stored, error) {
	files, err := a.Bucket.List(ctx, storage.ArtifactsPrefix(t.ID))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Name != agentReport {
			output.Artifacts = append(output.Artifacts, f.Name)
		}
	}
	text := output.Report
	if output.Output != nil {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, output.Output, "", "  "); err != nil {
			return nil, fmt.Errorf("output of %s: %w", t.ID, err)
		}
		text = "```json\n" + pretty.String() + "\n```\n"
	}
	if output.StoppedBy != "" {
		text = "> Ended early: " + output.StoppedBy + "\n\n" + text
	}
	if err := a.Results.WriteReport(ctx, t, agentReport, text); err != nil {
		return nil, err
	}
	return a.Results.WriteResult(ctx, t, output)
}
