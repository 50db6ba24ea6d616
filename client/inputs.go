package client

import "longhaul/internal/task"

// Inputs of the kinds, for NewTask.Input. Client.Kinds returns the JSON Schema of each.
type (
	SummaryInput   = task.SummaryInput
	QAInput        = task.QAInput
	AgentInput     = task.AgentInput
	VideoInput     = task.VideoInput
	GenerateInput  = task.GenerateInput
	ClassifyInput  = task.ClassifyInput
	EmbedInput     = task.EmbedInput
	ReplayInput    = task.ReplayInput
	TranslateInput = task.TranslateInput
)

// Document is one document of an input. Exactly one of URL, FileID and Text is set.
type Document = task.Document

// RowSource is where the rows of GenerateInput, ClassifyInput and EmbedInput come from: Rows or File.
type RowSource = task.RowSource

// RowFile is a file of rows. Exactly one of URL and FileID is set.
type RowFile = task.RowFile

// Label is a label that ClassifyInput chooses from.
type Label = task.Label

// VideoImage is the first picture of a video. Exactly one of FileID and URL is set.
type VideoImage = task.VideoImage

// QAMode is how much of the documents QAInput reads for an answer.
type QAMode = task.QAMode

// The modes.
const (
	Auto     = task.Auto     // decides for each question
	Retrieve = task.Retrieve // the passages that fit the question best
	FullText = task.FullText // everything
)

// ToolSpec is a tool of AgentInput. Exactly one of Builtin, HTTP, Configured and MCP is set.
type ToolSpec = task.ToolSpec

// HTTPTool is a tool that calls an address.
type HTTPTool = task.HTTPTool

// Approval is when a person must approve a call of a tool.
type Approval = task.Approval

// The approvals. ByPolicy asks for calls that may change something.
const (
	Always   = task.Always
	Never    = task.Never
	ByPolicy = task.ByPolicy
)
