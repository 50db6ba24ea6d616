package tool

import (
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// The tools that longhaul brings along. A Kit runs the first three; the others need the task. ReadMore is no task's
// to ask for: an agent offers it by itself.
const (
	Fetch         = "fetch"
	Calculator    = "calculator"
	Time          = "time"
	Search        = "search"
	WriteArtifact = "write_artifact"
	RunTask       = "run_task"
	AskUser       = "ask_user"
	ReadMore      = "read_more"
)

// FetchArguments are those of fetch.
type FetchArguments struct {
	URL    string `json:"url" jsonschema:"minLength=1,maxLength=2048,description=the address\\, with http or https"`
	Offset int    `json:"offset,omitempty" jsonschema:"minimum=0,description=where in the text to begin\\, in characters"`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=1,description=how many characters to give\\, all if left out"`
}

// CalculatorArguments are those of calculator.
type CalculatorArguments struct {
	Expression string `json:"expression" jsonschema:"minLength=1,maxLength=2000,description=such as (1.19*250)^2 or sqrt(2)/max(3\\,4)"`
}

// TimeArguments are those of time.
type TimeArguments struct {
	Zone string `json:"zone,omitempty" jsonschema:"maxLength=64,description=an IANA time zone such as Europe/Berlin; UTC if left out"`
}

// SearchArguments are those of search.
type SearchArguments struct {
	Query string `json:"query" jsonschema:"minLength=1,maxLength=1000,description=what to look for\\, in words"`
	Limit int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=20,description=the most passages to give; 5 if left out"`
}

// WriteArtifactArguments are those of write_artifact.
type WriteArtifactArguments struct {
	Name    string `json:"name" jsonschema:"pattern=^[A-Za-z0-9_-][A-Za-z0-9._-]{0\\,99}$,description=file name with its extension\\, such as prices.csv"`
	Content string `json:"content" jsonschema:"description=the whole text of the file"`
}

// RunTaskArguments are those of run_task.
type RunTaskArguments struct {
	Kind  string         `json:"kind" jsonschema:"minLength=1,maxLength=64,description=the kind of the task\\, such as summary"`
	Input map[string]any `json:"input" jsonschema:"description=the input as that kind takes it"`
}

// AskUserArguments are those of ask_user.
type AskUserArguments struct {
	Question string   `json:"question" jsonschema:"minLength=1,maxLength=2000,description=one question that can be understood by itself"`
	Choices  []string `json:"choices,omitempty" jsonschema:"maxItems=10,description=answers to choose from\\, where that is possible"`
}

// ReadMoreArguments are those of read_more.
type ReadMoreArguments struct {
	Call   string `json:"call" jsonschema:"minLength=1,maxLength=200,description=id of the call whose result was cut\\, as told with it"`
	Offset int    `json:"offset" jsonschema:"minimum=0,description=where to go on\\, in characters"`
}

type builtin struct {
	name, description string
	arguments         any
	safe              bool
}

func builtins() []builtin {
	return []builtin{
		{Fetch, "Gets the text of a web page or a document (PDF, DOCX, HTML, EPUB, Markdown, CSV, plain text) from its public address. " +
			"A long text can be read in pieces, with offset and limit.", FetchArguments{}, true},
		{Calculator, "Computes an expression, exactly wherever that is possible: + - * / % ^ and parentheses, pi and e, and the functions " +
			functionNames() + ". Angles are in radians, % is the remainder, log is natural.", CalculatorArguments{}, true},
		{Time, "Tells the present date and time, with the day of the week, in a time zone.", TimeArguments{}, true},
		{Search, "Finds the passages of the task's documents that fit a question best. Each comes with its document and place.", SearchArguments{}, true},
		{WriteArtifact, "Writes a text file that whoever gave the task can download. Writing to the same name again replaces it.", WriteArtifactArguments{}, false},
		{RunTask, "Runs another task, such as a summary of documents, waits for its end and gives its result. It costs money and may take long.", RunTaskArguments{}, false},
		{AskUser, "Asks the person who gave the task, and waits for the answer. Use it only for what cannot be found out or decided without them: " +
			"it may take a day, and there may be no answer.", AskUserArguments{}, false},
		{ReadMore, "Gives the next piece of a tool's result that was too long to be shown at once.", ReadMoreArguments{}, true},
	}
}

func builtinNames() []string {
	var names []string
	for _, b := range builtins() {
		names = append(names, b.name)
	}
	return names
}

// defineBuiltin gives the definition of a tool that longhaul brings along; false when there is none of that name.
func defineBuiltin(spec task.ToolSpec) (Definition, bool) {
	for _, b := range builtins() {
		if b.name != spec.Builtin {
			continue
		}
		// To be asked whether one may be asked would be one question too many.
		approval := spec.Approval == task.Always && b.name != AskUser && b.name != ReadMore
		return Definition{
			Name: b.name, Description: b.description, Parameters: schema.Of(b.arguments), Approval: approval, Safe: b.safe, Spec: spec,
		}, true
	}
	return Definition{}, false
}
