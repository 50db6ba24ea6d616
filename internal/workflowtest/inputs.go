package workflowtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// Uses is an answer that calls a tool for each query.
func Uses(name string, queries ...string) llmtest.Reply {
	var calls []llmtest.ToolCall
	for _, q := range queries {
		calls = append(calls, llmtest.ToolCall{Name: name, Arguments: fmt.Sprintf(`{"q":%q}`, q)})
	}
	return llmtest.ToolCalls(llmtest.Usage{Input: 100, Output: 10}, calls...)
}

// Says is an answer in words.
func Says(text string) llmtest.Reply {
	return llmtest.Answer(text, llmtest.Usage{Input: 100, Output: 10})
}

// Texts makes n short documents, each with a marker of its own.
func Texts(n int) []task.Document {
	docs := make([]task.Document, n)
	for i := range docs {
		docs[i].Text = fmt.Sprintf("Report %s. The bridge was inspected and found sound.", Marker(i))
	}
	return docs
}

// Marker is the marker of the ith short document: [doc-000] and so on.
func Marker(i int) string { return fmt.Sprintf("[doc-%03d]", i) }

// Long makes a text of about so many parts of 200 tokens; part i holds its marker.
func Long(parts int) string {
	var b strings.Builder
	for i := range parts {
		fmt.Fprintf(&b, "# Section %s\n\n", Part(i))
		for range 11 {
			b.WriteString("The keeper climbed the stairs at dusk and lit the lamp above the sea. ")
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// Part is the marker of the ith part of a long text.
func Part(i int) string { return fmt.Sprintf("[part-%03d]", i) }

// Rows makes n rows with an id and a name.
func Rows(n int) []json.RawMessage {
	rows := make([]json.RawMessage, n)
	for i := range rows {
		rows[i] = json.RawMessage(fmt.Sprintf(`{"id":"p%d","name":"product %04d."}`, i, i))
	}
	return rows
}
