package record

import (
	"time"

	"go.temporal.io/sdk/temporal"
)

// Task queues. Each has a pool of its own, so that the pools scale and time out separately.
const (
	QueueWorkflows = "longhaul-workflows" // workflow tasks
	QueueLLM       = "longhaul-llm"       // model calls of the first provider; other providers add "-<name>"
	QueueTools     = "longhaul-tools"     // tool calls of agents
	QueueVideo     = "longhaul-video"     // video jobs and their downloads
	QueueDocuments = "longhaul-documents" // fetching and reading documents, writing records
	QueueNotify    = "longhaul-notify"    // webhooks and mails
)

// Kinds that other packages treat specially.
const (
	KindReplay = "replay"
	KindEmbed  = "embed"
	KindVideo  = "video"
)

// Memo keys, queries and signals of a task's workflow.
const (
	MemoFacts   = "facts"  // Facts, written at the start
	MemoState   = "state"  // Snapshot, updated as the task proceeds
	QueryStatus = "status" // Snapshot, exact where the memo may be a second old

	SignalInput     = "input"          // Message: an answer to a request, or text for an agent
	SignalPause     = "pause"          // Pause: pause or resume
	SignalGroup     = "group_progress" // the progress of a child workflow, sent to its parent
	SignalVideoHint = "video_hint"     // int, the index of a video: poll its job now. The sender is not trusted
)

// Workflow types and signals of notifications.
const (
	TypeNotify  = "notify"  // one event of a task
	TypeDeliver = "deliver" // one message to one address; the workflow id is the message id
	TypePing    = "ping"    // one test message

	SignalRedeliver = "redeliver" // to TypeDeliver: send now and restart the retry schedule
)

// Search attributes, for lists and filters.
var (
	AttrTenant = temporal.NewSearchAttributeKeyKeyword("LonghaulTenant")
	AttrKind   = temporal.NewSearchAttributeKeyKeyword("LonghaulKind")
	AttrState  = temporal.NewSearchAttributeKeyKeyword("LonghaulState")
	AttrLabels = temporal.NewSearchAttributeKeyKeywordList("LonghaulLabels") // key:value
)

// WorkflowTaskTimeout limits one workflow task. Workflow tasks take milliseconds; after a worker was killed
// in the middle of one, the task resumes this much later.
const WorkflowTaskTimeout = 5 * time.Second
