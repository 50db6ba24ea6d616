package storage

import (
	"fmt"
	"regexp"
	"strings"
)

// Where a task keeps its things. Every key of a task begins with its prefix, so that erasing a
// task is erasing a prefix.

// InputKey is a task's input, named by the hash of the request body: of two creations that race
// with one idempotency key and different bodies, neither overwrites the other's input.
func InputKey(taskID, bodyHash string) string {
	return "tasks/" + taskID + "/input-" + bodyHash + ".json"
}

// WorkersPrefix is where workers report, and WorkerKey where one does.
const WorkersPrefix = "system/workers/"

// WorkerKey is the report of a worker, a task.WorkerReport.
func WorkerKey(id string) string { return WorkersPrefix + id + ".json" }

// ItemKey is the record of an item that has its outcome, a task.Item.
func ItemKey(taskID string, index int) string {
	return fmt.Sprintf("tasks/%s/items/%06d.json", taskID, index)
}

// ItemsPrefix is where the records of a task's items are.
func ItemsPrefix(taskID string) string { return "tasks/" + taskID + "/items/" }

// ItemsKey is the list of all items, one task.Item a line, written when a task ends.
func ItemsKey(taskID string) string { return "tasks/" + taskID + "/items.jsonl" }

// ResultKey is a task's result as JSON.
func ResultKey(taskID string) string { return "tasks/" + taskID + "/result.json" }

// GroupKey is the share of a batch that one child workflow works on.
func GroupKey(taskID string, group int) string {
	return fmt.Sprintf("tasks/%s/groups/%05d.json", taskID, group)
}

// DocumentKey is something kept of one document of a task: its inline text, its extracted text.
func DocumentKey(taskID string, index int, what string) string {
	return fmt.Sprintf("tasks/%s/documents/%06d/%s", taskID, index, what)
}

// LiveKey is a long text that a call of a task is writing at the moment.
func LiveKey(taskID, call string) string { return "tasks/" + taskID + "/live/" + call + ".txt" }

// PaperKey is what a task of a kind works by, made once and read by every step.
func PaperKey(taskID string) string { return "tasks/" + taskID + "/paper.json" }

// ConversationKey is what was asked and answered in a task and in those before it.
func ConversationKey(taskID string) string { return "tasks/" + taskID + "/conversation.json" }

// QuestionKey is the vector of a task's question.
func QuestionKey(taskID string, index int) string {
	return fmt.Sprintf("tasks/%s/questions/%06d.vector", taskID, index)
}

// PassagesKey is something made of a text that a tenant's tasks may share, such as where its passages end and
// their vectors. It is named by the text's hash, so it belongs to no task.
func PassagesKey(tenant, textHash, what string) string {
	return "passages/" + tenant + "/" + textHash + "/" + what
}

// ArtifactsPrefix is where a task's artifacts are.
func ArtifactsPrefix(taskID string) string { return "tasks/" + taskID + "/artifacts/" }

var artifactName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)

// ArtifactName reports whether an artifact can have a name: one that stays in its folder, whatever the bucket is. A bucket
// that is a folder keeps notes of its own beside each file, in .attrs.
func ArtifactName(name string) bool {
	return artifactName.MatchString(name) && !strings.HasSuffix(name, ".attrs")
}

// ArtifactKey is the key of an artifact, whose name longhaul chose, or has checked by ArtifactName.
func ArtifactKey(taskID, name string) string { return ArtifactsPrefix(taskID) + name }

// AgentToolsKey is the tools of an agent, as they were defined when it began.
func AgentToolsKey(taskID string) string { return "tasks/" + taskID + "/agent/tools.json" }

// AgentTurnKey is one turn of an agent's conversation.
func AgentTurnKey(taskID string, turn int) string {
	return fmt.Sprintf("tasks/%s/agent/%05d/turn.json", taskID, turn)
}

// AgentCallKey is what is kept of a tool call of a turn.
func AgentCallKey(taskID string, turn, call int, what string) string {
	return fmt.Sprintf("tasks/%s/agent/%05d/call-%03d-%s", taskID, turn, call, what)
}

// AgentMemoryKey is what an agent remembers in place of its turns before one.
func AgentMemoryKey(taskID string, turn int) string {
	return fmt.Sprintf("tasks/%s/agent/%05d/memory.json", taskID, turn)
}

// RowsKey is something kept of the rows of a task: the rows as they were checked, and how they are shared out.
func RowsKey(taskID, what string) string { return "tasks/" + taskID + "/rows/" + what }

// RowJournal is where the answers of the shard are that begins with a row: a prefix.
func RowJournal(lineage string, from int) string {
	return fmt.Sprintf("ledger/%s/rows/%09d/", lineage, from)
}

// RowFlaw stands for a call of rows where something is kept beside its answer.
func RowFlaw(lineage, key string) string { return "ledger/" + lineage + "/flaws/" + key }

// RepliesPrefix is where what was said to a task is; ReplyKey is one of it: the answer to a request for input, or a message.
func RepliesPrefix(taskID string) string { return "tasks/" + taskID + "/replies/" }

// ReplyKey is the answer to a request for input, or a message.
func ReplyKey(taskID, id string) string { return RepliesPrefix(taskID) + id + ".json" }

// NoticeKey says who wants to hear of a task; like the input it is named by the hash of the request body.
func NoticeKey(taskID, bodyHash string) string {
	return "tasks/" + taskID + "/notify-" + bodyHash + ".json"
}

// DeliveriesPrefix is where a task's messages are; DeliveryKey is one of them.
func DeliveriesPrefix(taskID string) string { return "tasks/" + taskID + "/deliveries/" }

// DeliveryKey is a message to one address, and what became of it.
func DeliveryKey(taskID, id string) string { return DeliveriesPrefix(taskID) + id + ".json" }

// AlertsPrefix is where failures are that a mailbox has not been told of yet, one object each.
func AlertsPrefix(tenant, endpoint string) string {
	return "alerts/" + tenant + "/" + endpoint + "/waiting/"
}

// AlertWindowKey is there once a mailbox was written to in a window of time.
func AlertWindowKey(tenant, endpoint string, window int64) string {
	return fmt.Sprintf("alerts/%s/%s/windows/%012d.json", tenant, endpoint, window)
}
