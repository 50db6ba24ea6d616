// Package agent holds the activities of the kind agent: turns of the model, tool calls, and the conversation.
package agent

import (
	"longhaul/activities"
	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/record"
	"longhaul/internal/retrieval"
	"longhaul/internal/storage"
)

// Activities are the activities of the kind.
type Activities struct {
	Bucket        *storage.Bucket
	Tools         activities.Toolbox
	Kinds         activities.Kinds // of tasks that an agent starts
	ContextTokens int
	Indexes       *retrieval.Cache
	Call          *call.Caller
	Results       *results.Store
}

// New builds the activities of the kind.
func New(p activities.Parts) activities.Queued {
	return &Activities{
		Bucket: p.Bucket, Tools: p.Tools, Kinds: p.Kinds, ContextTokens: p.ContextTokens, Indexes: p.Indexes, Call: p.Call, Results: p.Results,
	}
}

// Queues lists the activities by task queue.
func (a *Activities) Queues() map[string][]any {
	return map[string][]any{
		record.QueueDocuments: {a.PrepareAgent, a.PrepareChild, a.FinishAgent},
		record.QueueLLM:       {a.AgentTurn, a.CompactConversation},
		record.QueueTools:     {a.RunTool},
	}
}
