package task

import (
	"cmp"
	"encoding/json"
	"time"
)

// AgentInput is the input of the kind agent.
type AgentInput struct {
	Goal         string         `json:"goal" jsonschema:"minLength=1,maxLength=20000,description=the goal\\, in words"`
	Tools        []ToolSpec     `json:"tools,omitempty" jsonschema:"maxItems=64,description=tools that the agent may use"`
	Documents    []Document     `json:"documents,omitempty" jsonschema:"maxItems=100,description=documents that the agent may search"`
	OutputSchema map[string]any `json:"output_schema,omitempty" jsonschema:"description=JSON Schema of the result; by default the result is a report in Markdown"`
	MaxSteps     int            `json:"max_steps,omitempty" jsonschema:"minimum=1,maximum=1000,default=30,description=maximum number of turns of the model"`
	MaxToolCalls int            `json:"max_tool_calls,omitempty" jsonschema:"minimum=1,maximum=5000,default=100,description=maximum number of tool calls"`
	AnswerWithin int            `json:"answer_within,omitempty" jsonschema:"minimum=1,maximum=2592000,default=86400,description=time for an approval or an answer\\, in seconds; afterwards the agent continues without it"`
}

// ToolSpec names a tool or an MCP server. Exactly one of the first four fields is set.
type ToolSpec struct {
	Builtin    string    `json:"builtin,omitempty" jsonschema:"oneof_required=builtin,enum=fetch,enum=search,enum=calculator,enum=time,enum=write_artifact,enum=run_task,enum=ask_user,description=built-in tool"`
	HTTP       *HTTPTool `json:"http,omitempty" jsonschema:"oneof_required=http,description=tool that sends an HTTP request"`
	Configured string    `json:"configured,omitempty" jsonschema:"oneof_required=configured,maxLength=64,description=the name of an HTTP tool in the configuration"`
	MCP        string    `json:"mcp,omitempty" jsonschema:"oneof_required=mcp,maxLength=64,description=the name of an MCP server in the configuration"`
	Only       []string  `json:"only,omitempty" jsonschema:"maxItems=64,description=tools of the MCP server; by default all"`
	Approval   Approval  `json:"approval,omitempty" jsonschema:"enum=always,enum=never,enum=policy,default=policy,description=whether a person must approve each call; policy requires it for calls that may change something"`
}

// Approval says when a tool call needs an approval.
type Approval string

// The approvals. ByPolicy requires approval for calls that may change something: HTTP methods other than GET and HEAD,
// and MCP tools that are not declared read-only.
const (
	Always   Approval = "always"
	Never    Approval = "never"
	ByPolicy Approval = "policy"
)

// HTTPTool is a tool that sends an HTTP request.
type HTTPTool struct {
	Name        string            `json:"name" jsonschema:"pattern=^[A-Za-z0-9_-]{1\\,64}$,description=name of the tool for the model"`
	Description string            `json:"description" jsonschema:"minLength=1,maxLength=2000,description=purpose of the tool\\, for the model"`
	Parameters  map[string]any    `json:"parameters,omitempty" jsonschema:"description=JSON Schema of the arguments; by default no arguments"`
	Method      string            `json:"method,omitempty" jsonschema:"enum=GET,enum=HEAD,enum=POST,enum=PUT,enum=PATCH,enum=DELETE,default=GET"`
	URL         string            `json:"url" jsonschema:"pattern=^https?://,maxLength=2048,description=address; {name} is replaced by the argument\\, other arguments go into the query or a JSON body"`
	Headers     map[string]string `json:"headers,omitempty" jsonschema:"description=request headers; {{secret:NAME}} in a value is replaced by a secret of the configuration\\, if the host may receive it"`
}

// Normalize fills in the defaults.
func (in *AgentInput) Normalize() {
	in.MaxSteps = cmp.Or(in.MaxSteps, 30)
	in.MaxToolCalls = cmp.Or(in.MaxToolCalls, 100)
	in.AnswerWithin = cmp.Or(in.AnswerWithin, 24*60*60)
}

// FileIDs returns the uploaded files in the input, by JSON Pointer.
func (in *AgentInput) FileIDs() map[string]string { return FileIDs(in.Documents) }

// Headline describes the input in one line, for lists of tasks.
func (in *AgentInput) Headline() string { return Brief(in.Goal) }

// InputRequest is a question or an approval that a task needs from a person.
type InputRequest struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind" enum:"approval,question"`
	Tool      string          `json:"tool,omitempty" doc:"tool to be called"`
	Arguments json.RawMessage `json:"arguments,omitempty" doc:"arguments of the call"`
	Question  string          `json:"question,omitempty"`
	Choices   []string        `json:"choices,omitempty" doc:"possible answers, if limited"`
	CreatedAt time.Time       `json:"created_at"`
	ExpiresAt time.Time       `json:"expires_at" doc:"when the task continues without an answer"`
}

// Reply is a person's reply to an InputRequest, or a message to the task.
type Reply struct {
	Request   string          `json:"request,omitempty"`   // id of the InputRequest; "" for a message
	Action    Action          `json:"action"`              // the decision
	Reason    string          `json:"reason,omitempty"`    // reason of a denial, for the model
	Arguments json.RawMessage `json:"arguments,omitempty"` // replace the requested arguments
	Text      string          `json:"text,omitempty"`      // answer or message
}

// Action is the decision on an InputRequest.
type Action string

// The actions. Expire is set when InputRequest.ExpiresAt has passed.
const (
	Approve Action = "approve"
	Deny    Action = "deny"
	Respond Action = "answer"
	Tell    Action = "message"
	Expire  Action = "expire"
)
