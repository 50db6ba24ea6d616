package storage

import (
	"fmt"
	"regexp"
	"strings"
)

// Keys of a task. Every key of a task begins with the task's prefix, so that a task can be erased by prefix.

// InputKey is the key of a task's input. It contains the hash of the request body, so that concurrent requests with
// one idempotency key and different bodies do not overwrite each other's input.
func InputKey(taskID, bodyHash string) string {
	return "tasks/" + taskID + "/input-" + bodyHash + ".json"
}

// WorkersPrefix is the prefix of the workers' reports.
const WorkersPrefix = "system/workers/"

// WorkerKey is the key of a worker's report, a task.WorkerReport.
func WorkerKey(id string) string { return WorkersPrefix + id + ".json" }

// ItemKey is the key of an item with an outcome, a task.Item.
func ItemKey(taskID string, index int) string {
	return fmt.Sprintf("tasks/%s/items/%06d.json", taskID, index)
}

// ItemsPrefix is the prefix of a task's items.
func ItemsPrefix(taskID string) string { return "tasks/" + taskID + "/items/" }

// ItemsKey is the key of the list of all items, one task.Item per line, written when a task ends.
func ItemsKey(taskID string) string { return "tasks/" + taskID + "/items.jsonl" }

// ResultKey is the key of a task's result in JSON.
func ResultKey(taskID string) string { return "tasks/" + taskID + "/result.json" }

// GroupKey is the key of the part of a batch that one child workflow processes.
func GroupKey(taskID string, group int) string {
	return fmt.Sprintf("tasks/%s/groups/%05d.json", taskID, group)
}

// DocumentKey is the key of data about a document of a task, such as its inline text or its extracted text.
func DocumentKey(taskID string, index int, what string) string {
	return fmt.Sprintf("tasks/%s/documents/%06d/%s", taskID, index, what)
}

// LiveKey is the key of a long text that a running call is writing.
func LiveKey(taskID, call string) string { return "tasks/" + taskID + "/live/" + call + ".txt" }

// PaperKey is what a task of a kind works by, made once and read by every step.
func PaperKey(taskID string) string { return "tasks/" + taskID + "/paper.json" }

// ConversationKey is the key of the questions and answers of a task and its predecessors.
func ConversationKey(taskID string) string { return "tasks/" + taskID + "/conversation.json" }

// QuestionKey is the key of the vector of a task's question.
func QuestionKey(taskID string, index int) string {
	return fmt.Sprintf("tasks/%s/questions/%06d.vector", taskID, index)
}

// PassagesKey is the key of data derived from a text, such as passage borders and vectors. It contains the text's
// hash, so that the tasks of a tenant share it.
func PassagesKey(tenant, textHash, what string) string {
	return "passages/" + tenant + "/" + textHash + "/" + what
}

// ArtifactsPrefix is the prefix of a task's artifacts.
func ArtifactsPrefix(taskID string) string { return "tasks/" + taskID + "/artifacts/" }

var artifactName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)

// ArtifactName reports whether a name is allowed for an artifact: it must not leave its folder in any bucket, nor end
// in .attrs, which a folder bucket uses itself.
func ArtifactName(name string) bool {
	return artifactName.MatchString(name) && !strings.HasSuffix(name, ".attrs")
}

// ArtifactKey is the key of an artifact. The name is chosen by longhaul or checked with ArtifactName.
func ArtifactKey(taskID, name string) string { return ArtifactsPrefix(taskID) + name }

// AgentToolsKey is the key of an agent's tools, as defined at its start.
func AgentToolsKey(taskID string) string { return "tasks/" + taskID + "/agent/tools.json" }

// AgentTurnKey is the key of a turn of an agent's conversation.
func AgentTurnKey(taskID string, turn int) string {
	return fmt.Sprintf("tasks/%s/agent/%05d/turn.json", taskID, turn)
}

// AgentCallKey is the key of data about a tool call in a turn.
func AgentCallKey(taskID string, turn, call int, what string) string {
	return fmt.Sprintf("tasks/%s/agent/%05d/call-%03d-%s", taskID, turn, call, what)
}

// AgentMemoryKey is the key of the summary that replaces an agent's turns before a turn.
func AgentMemoryKey(taskID string, turn int) string {
	return fmt.Sprintf("tasks/%s/agent/%05d/memory.json", taskID, turn)
}

// RowsKey is the key of data about a task's rows: the normalized rows, and their shards.
func RowsKey(taskID, what string) string { return "tasks/" + taskID + "/rows/" + what }

// RowJournal is the prefix of the journal of the shard that begins with the given row.
func RowJournal(lineage string, from int) string {
	return fmt.Sprintf("ledger/%s/rows/%09d/", lineage, from)
}

// RowFlaw is the key of a defect recorded for a call of a rows task.
func RowFlaw(lineage, key string) string { return "ledger/" + lineage + "/flaws/" + key }

// RepliesPrefix is the prefix of the replies sent to a task.
func RepliesPrefix(taskID string) string { return "tasks/" + taskID + "/replies/" }

// ReplyKey is the key of a reply: the answer to a request for input, or a message.
func ReplyKey(taskID, id string) string { return RepliesPrefix(taskID) + id + ".json" }

// NoticeKey is the key of the receivers of a task's messages. It contains the hash of the request body, as InputKey
// does.
func NoticeKey(taskID, bodyHash string) string {
	return "tasks/" + taskID + "/notify-" + bodyHash + ".json"
}

// DeliveriesPrefix is the prefix of a task's messages.
func DeliveriesPrefix(taskID string) string { return "tasks/" + taskID + "/deliveries/" }

// DeliveryKey is the key of a message to one address and its state.
func DeliveryKey(taskID, id string) string { return DeliveriesPrefix(taskID) + id + ".json" }

// AlertsPrefix is the prefix of failures not yet reported to a mailbox, one object each.
func AlertsPrefix(tenant, endpoint string) string {
	return "alerts/" + tenant + "/" + endpoint + "/waiting/"
}

// AlertWindowKey is the key that marks that a mailbox was written to in a time window.
func AlertWindowKey(tenant, endpoint string, window int64) string {
	return fmt.Sprintf("alerts/%s/%s/windows/%012d.json", tenant, endpoint, window)
}
