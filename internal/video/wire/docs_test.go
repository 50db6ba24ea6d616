package wire_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
	"longhaul/internal/video/wire"
)

var update = flag.Bool("update", false, "write docs/video.md anew")

// TestDocs_followTheTests keeps docs/video.md what the cases of the tests say.
// After a change of a case or a dialect: go test ./internal/video/wire -run Docs -update
func TestDocs_followTheTests(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "video.md")
	want := document()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "docs/video.md is behind the tests: go test ./internal/video/wire -run Docs -update")
}

// TestDocs_everyDialectIsTested: a dialect without a start and a poll of its own is a guess.
func TestDocs_everyDialectIsTested(t *testing.T) {
	t.Parallel()
	started, polled := map[string]bool{}, map[string]bool{}
	for _, s := range starts() {
		started[cmp.Or(s.dialect, "ark")] = true
	}
	for _, p := range polls() {
		polled[cmp.Or(p.dialect, "videos")] = true
	}
	require.ElementsMatch(t, wire.Dialects(), slices.Collect(maps.Keys(started)))
	require.ElementsMatch(t, wire.Dialects(), slices.Collect(maps.Keys(polled)))
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Video providers

What providers of videos send, and what longhaul makes of it. This page is made from the cases of the tests in
` + "`internal/video/wire`" + `, each of which sends the provider's bytes over a socket: ` + "`go test ./internal/video/wire -run Docs -update`" + `.
What an error of a submit means is as in [providers.md](providers.md).

## Dialects

By itself a provider has the dialect of its base URL's host, or ` + "`videos`" + `.

`)
	dialectTable(&b)
	b.WriteString("\n## Words for states\n\nCapitals, spaces and signs do not count. Any other word means that the job goes on; it is told once.\n\n| state | words |\n|-|-|\n")
	words := wire.Words()
	for _, state := range []video.State{video.Queued, video.Running, video.Succeeded, video.Failed, video.Cancelled} {
		fmt.Fprintf(&b, "| %s | %s |\n", state, strings.Join(words[state], ", "))
	}
	section(&b, "Submits", "A submit is one request. **Ambiguous** means that a job may have been made, and will be charged for: it is looked for, and never sent again blindly.",
		rows(starts(), start.outcome))
	section(&b, "Polls", "An error of a poll never ends a job; its deadline does.", rows(polls(), poll.outcome))
	section(&b, "Downloads", "A video is fetched at once, from public addresses, the provider's own, and those that the operator allows. The key goes to the provider's own origin alone.",
		rows(downloads(), download.outcome))
	section(&b, "Looking for a lost job", "After an ambiguous submit, by the fence that was sent with it.", rows(searches(), search.outcome))
	section(&b, "Cancelling", "", rows(stops(), stopping.outcome))
	return b.String()
}

func dialectTable(b *strings.Builder) {
	b.WriteString("| dialect | submit | poll | video without an address | list of jobs | cancel | callback | errors as of |\n|-|-|-|-|-|-|-|-|\n")
	table := wire.Table()
	for _, name := range slices.Sorted(maps.Keys(table)) {
		d := table[name]
		list, _, _ := strings.Cut(d.List, "?")
		cancels := "no way"
		if d.Cancels {
			cancels = "while queued"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", name, d.Create, d.Job, cmp.Or(d.Content, "none"), cmp.Or(list, "none"), cancels, cmp.Or(d.Callback, "none"), d.Profile)
	}
}

// rows puts cases into a table: what each must come to.
func rows[C any](cases map[string]C, outcome func(C) string) map[string]string {
	all := map[string]string{}
	for name, c := range cases {
		all[name] = outcome(c)
	}
	return all
}

func section(b *strings.Builder, title, words string, rows map[string]string) {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if words != "" {
		fmt.Fprintf(b, "%s\n\n", words)
	}
	b.WriteString("| case | outcome |\n|-|-|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(b, "| %s | %s |\n", name, rows[name])
	}
}

// verdict puts a class and a code into words.
func verdict(class llm.Class, code task.Code) string {
	said := map[llm.Class]string{llm.Wait: "waits", llm.Retry: "tried again", llm.Final: "final"}[class]
	return fmt.Sprintf("%s: `%s`", said, code)
}

func (s start) outcome() string {
	switch {
	case s.err == nil:
		return "a job"
	case s.err.ambiguous:
		return "ambiguous: `" + string(s.err.code) + "`"
	}
	return "no job; " + verdict(s.err.class, s.err.code)
}

func (p poll) outcome() string {
	if p.err != nil {
		said := verdict(p.err.class, p.err.code)
		if p.err.missing {
			said += "; no such job, when it says so three times in a row and a minute after the start"
		}
		return said
	}
	return p.want.outcome()
}

func (s stand) outcome() string {
	said := string(s.state)
	if s.progress >= 0 {
		said += fmt.Sprintf(", %d %%", s.progress)
	}
	switch {
	case s.strange:
		return said + ", a strange word"
	case s.state == video.Failed && s.class == llm.Final:
		return said + ", another job would too: `" + string(s.code) + "`"
	case s.state == video.Failed:
		return said + ", another job may not: `" + string(s.code) + "`"
	case s.state == video.Succeeded && s.url == "":
		return said + ", and does not say where"
	}
	return said
}

func (d download) outcome() string {
	switch {
	case d.err == nil:
		return "the video"
	case d.err.moved:
		return "asked again for its address"
	}
	return verdict(d.err.class, d.err.code)
}

func (s search) outcome() string {
	switch {
	case s.blind:
		return "cannot be told"
	case s.found:
		return "found"
	}
	return "it was never started"
}

func (s stopping) outcome() string {
	return map[video.Stop]string{video.Stopped: "stopped", video.TooLate: "too late", video.Unstoppable: "goes on, and is charged for"}[s.want]
}
