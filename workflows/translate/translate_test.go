package translate_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	activities "longhaul/activities/translate"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/record"
	"longhaul/internal/record/recordtest"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/workflowtest"
	"longhaul/workflows/translate"
)

func TestMain(m *testing.M) { workflowtest.Main(m) }

type bench struct{ *workflowtest.Bench }

// newBench translates by upper case, so that every form of Markdown stays what it is.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{workflowtest.New(t)}
	b.Provider.Handle(shout)
	return b
}

func shout(c llmtest.Call) llmtest.Reply {
	_, text, _ := strings.Cut(c.Prompt, "<text name=")
	_, text, _ = strings.Cut(text, "\n")
	return workflowtest.Says(strings.ToUpper(strings.TrimSuffix(text, "\n</text>")))
}

func (b *bench) translate(documents ...task.Document) record.Snapshot {
	return b.Run(b.WriteInput("translate", &task.TranslateInput{Documents: documents, Language: "German"}))
}

func (b *bench) output() (out activities.Output) {
	b.ReadResult(&out)
	return out
}

func (b *bench) artifact(name string) string {
	text, err := b.Bucket.Get(b.T.Context(), storage.ArtifactKey(b.ID, name))
	require.NoError(b.T, err)
	return string(text)
}

func TestStored(t *testing.T) {
	t.Parallel()
	recordtest.Workflow(t, translate.Run)
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.RequirePrompts(map[string]workflowtest.Prompt{"translate": {Holds: "Translate the text", Version: 1}}, shout, func() {
		in := &task.TranslateInput{Documents: workflowtest.Texts(1), Language: "German", Instructions: "Use the formal address."}
		require.Equal(t, task.Succeeded, b.Run(b.WriteInput("translate", in)).State)
	})
}

func TestTranslate_everyDocumentOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.translate(workflowtest.Texts(20)...)
	require.Equal(t, task.Succeeded, s.State)
	require.Equal(t, 20, b.Provider.Counts().Total)
	require.EqualValues(t, 20, s.Usage.Requests)
	for i, d := range b.output().Documents {
		require.Equal(t, strings.ToUpper(workflowtest.Texts(20)[i].Text), d.Text)
		require.Equal(t, d.Text, b.artifact(d.Artifact))
	}
}

// A long document is translated part by part, and the parts are joined as they were in the source.
func TestTranslate_partsKeepTheirForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := workflowtest.Long(6) + "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- one\n- two\n"
	require.Equal(t, task.Succeeded, b.translate(task.Document{Text: text}).State)
	d := b.output().Documents[0]
	require.Greater(t, d.Parts, 5)
	require.Equal(t, d.Parts, b.Provider.Counts().Total)
	source := strings.ReplaceAll(strings.ToUpper(text), " \n", "\n") // readers drop white space at the end of a line
	require.True(t, strings.TrimSpace(source) == strings.TrimSpace(b.artifact(d.Artifact)))
}

// A part that the model finds too long is translated in halves.
func TestTranslate_tooLongForTheModel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := strings.Repeat("The keeper lit the lamp. ", 20)
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		if strings.Count(c.Prompt, "keeper") > 12 {
			return llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"too long","code":"context_length_exceeded"}}`)
		}
		return shout(c)
	})
	require.Equal(t, task.Succeeded, b.translate(task.Document{Text: text}).State)
	require.Equal(t, 3, b.Provider.Counts().Total, "one refused, and one for each half")
	require.Equal(t, strings.TrimSpace(strings.ToUpper(text)), strings.TrimSpace(b.output().Documents[0].Text))
}

// A document that fails leaves the others as they are, and a replay pays for that document alone.
func TestTranslate_failureAndReplay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	broken := true
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		if broken && strings.Contains(c.Prompt, workflowtest.Marker(1)) {
			return llmtest.Fail(http.StatusBadRequest, `{"error":{"message":"no","code":"content_filter"}}`)
		}
		return shout(c)
	})
	s := b.translate(workflowtest.Texts(3)...)
	require.Equal(t, task.Succeeded, s.State)
	require.Equal(t, task.Partial, s.Outcome)
	require.True(t, s.DeadLetter)
	require.Equal(t, task.ContentFiltered, b.Items()[1].Error.Code)
	require.Equal(t, "translate", b.Items()[1].Error.Step)
	before := b.Provider.Counts().Total

	first := b.WriteInput("translate", &task.TranslateInput{Documents: workflowtest.Texts(3), Language: "German"})
	broken, b.ID = false, "task_bbbbbbbbbbbbbbbbbbbbbbbbbb"
	b.Renew()
	facts := b.WriteInput("translate", &task.TranslateInput{Documents: workflowtest.Texts(3), Language: "German"})
	facts.ReplayOf, facts.Keep = first.ID, &record.Kept{ID: first.ID, InputKey: first.InputKey}
	s = b.Run(facts)
	require.Equal(t, task.Full, s.Outcome)
	require.Equal(t, before+1, b.Provider.Counts().Total)
	require.True(t, b.Items()[0].Cached)
	for _, d := range b.output().Documents {
		require.Contains(t, d.Href, b.ID)
		require.NotEmpty(t, b.artifact(d.Artifact))
	}
}

// A document that cannot be fetched or read costs no call, and its item has the name that the client knows it by.
func TestTranslate_badDocumentsCostNoCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	broken, err := b.Parts.Files.Save(t.Context(), "acme", "broken.docx", "", strings.NewReader("PK\x03\x04 and nothing more"), 1<<20)
	require.NoError(t, err)
	s := b.translate(
		task.Document{FileID: broken.ID},
		task.Document{Name: "tide tables", URL: "http://127.0.0.1:9/secret?token=abc"},
		task.Document{URL: "http://127.0.0.1:9/secret?token=abc"},
		workflowtest.Texts(1)[0],
	)
	require.Equal(t, task.Partial, s.Outcome)
	require.Equal(t, 1, b.Provider.Counts().Total)
	items := b.Items()
	require.Equal(t, task.DocumentBroken, items[0].Error.Code)
	require.Equal(t, "broken.docx", items[0].Name)
	require.Equal(t, task.FetchBlocked, items[1].Error.Code)
	require.Equal(t, "tide tables", items[1].Name)
	require.Equal(t, "http://127.0.0.1:9/secret", items[2].Name)
	require.Equal(t, task.ItemSucceeded, items[3].Status)
}

// A cancel keeps what is translated, and every document has an outcome.
func TestTranslate_cancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Provider.Handle(func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(c.Prompt, workflowtest.Marker(2)) {
			return llmtest.RateLimit(600)
		}
		return shout(c)
	})
	b.Env.RegisterDelayedCallback(b.Env.CancelWorkflow, 5*time.Minute)
	s := b.translate(workflowtest.Texts(4)...)
	require.Equal(t, task.Cancelled, s.State)
	require.Equal(t, task.Counts{Total: 4, Succeeded: 3, Cancelled: 1}, s.Progress.Counts)
	require.Equal(t, task.ItemCancelled, b.Items()[2].Status)
}

// A history that grows long continues in a new run, and no document is paid for twice.
func TestTranslate_continuesAsNew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	facts := b.WriteInput("translate", &task.TranslateInput{Documents: workflowtest.Texts(40), Language: "German"})
	var start any = record.Start[translate.Carry]{Facts: facts}
	runs := 0
	for ; ; runs++ {
		b.Env.SetContinueAsNewSuggested(runs == 0)
		b.Execute("translate", start)
		next, ok := workflowtest.Continued[record.Start[translate.Carry]](b.Bench)
		if !ok {
			break
		}
		start = next
		b.Renew()
	}
	require.Equal(t, 1, runs)
	require.Equal(t, task.Succeeded, b.State().State)
	require.Equal(t, 40, b.Provider.Counts().Total)
}
