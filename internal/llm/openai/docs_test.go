package openai_test

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
	"longhaul/internal/llm/openai"
)

var update = flag.Bool("update", false, "write docs/providers.md anew")

// TestDocs_followTheTests keeps docs/providers.md what the cases of the tests say.
// After a change of a case or a profile: go test ./internal/llm/openai -run Docs -update
func TestDocs_followTheTests(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "providers.md")
	want := document()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "docs/providers.md is behind the tests: go test ./internal/llm/openai -run Docs -update")
}

// TestDocs_everyProfileHasManners: a profile without tests of its errors is a guess.
func TestDocs_everyProfileHasManners(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, m := range manners() {
		tested[m.profile] = true
	}
	require.ElementsMatch(t, openai.Profiles(), slices.Collect(maps.Keys(tested)))
}

// TestDocs_everyRuleIsTested: a rule of a profile that decides on no error of the tests could say anything.
func TestDocs_everyRuleIsTested(t *testing.T) {
	t.Parallel()
	decided := map[string]map[int]bool{}
	for _, m := range manners() {
		if decided[m.profile] == nil {
			decided[m.profile] = map[int]bool{}
		}
		body := strings.TrimPrefix(string(m.reply.Parts[len(m.reply.Parts)-1]), "data: ")
		decided[m.profile][openai.Deciding(m.profile, m.err.status, []byte(body))] = true
	}
	for name, p := range openai.Table() {
		for i := range p.Rules {
			require.True(t, decided[name][i], "rule %d of %s: %+v", i, name, p.Rules[i])
		}
	}
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Providers

What providers send, and what longhaul makes of it. This page is made from the cases of the tests in
` + "`internal/llm/openai`" + `, each of which sends the provider's bytes over a socket and counts one request:
` + "`go test ./internal/llm/openai -run Docs -update`" + `.

An outcome is one of four. **Answered**: the answer is complete. **Waits**: the provider asks to slow down;
trying again uses up no attempts. **Tried again**: a passing fault; it uses up an attempt. **Final**: trying
again cannot help. The code is the one that the task or item shows.

## Profiles

What is peculiar to a provider (setting ` + "`llm.profile`" + `; by itself that of the base URL's host, or generic). A limit that is not known in advance is learned from
the first refusal. Every call is a stream.

`)
	profiles(&b)
	wire := map[string]string{}
	for name, c := range robustness() {
		wire[name] = outcome(c.ok, c.err)
	}
	forms := map[string]string{}
	for name, c := range robustForms() {
		forms[name] = outcome(c.ok, c.err)
	}
	calls := map[string]string{}
	for name, c := range robustTools() {
		calls[name] = outcome(c.ok, c.err)
		if slices.ContainsFunc(c.calls, func(call llm.ToolCall) bool { return call.Fault != "" }) {
			calls[name] += ", with what is wrong for the model to mend"
		}
	}
	vectors := map[string]string{}
	for name, c := range robustEmbeddings() {
		vectors[name] = outcome(&answered{}, c.err)
		if c.batch {
			vectors[name] = "halved, if there are more texts than one; else " + vectors[name]
		}
	}
	own := map[string]string{}
	for name, c := range manners() {
		own[name] = outcome(c.ok, c.err)
	}
	section(&b, "On the wire, whoever it is", "The bytes of an answer, of a stream or of an error.", wire)
	section(&b, "Answers of a schema", "What came although JSON of a schema was asked for. A breach is told together with the answer, so that the model can be asked to mend it.", forms)
	section(&b, "Tool calls", "What came although, or because, tools were offered.", calls)
	section(&b, "Embeddings", "Answers to a call with three texts.", vectors)
	section(&b, "Errors of each provider", "The status is that of HTTP; 200 is an error in a stream that had begun.", own)
	return b.String()
}

func profiles(b *strings.Builder) {
	table := openai.Table()
	b.WriteString("| profile | limit of tokens is sent as | JSON of a schema | wait without a hint | texts in one call | tokens in one call | vectors | limits in headers | usage | reasoning | rules of its own |\n|-|-|-|-|-|-|-|-|-|-|-|\n")
	for _, name := range slices.Sorted(maps.Keys(table)) {
		p := table[name]
		vectors, usage, thoughts := "numbers", "the model's", "kept"
		if p.Thoughts {
			thoughts = "kept, and sent back"
		}
		if p.Base64 {
			vectors = "base64"
		}
		if p.Estimates {
			usage = "a relay's count"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %d |\n", name, cmp.Or(p.LimitField, "by the model's name"), p.Format,
			either(p.Wait, "backoff"), either(p.Embeds.Inputs, "learned"), either(p.Embeds.Tokens, "not known"), vectors, either(p.LimitsPer, "not heeded"), usage, thoughts, len(p.Rules))
	}
}

// either shows a value, or a word for none.
func either[T comparable](value T, none string) string {
	var zero T
	if value == zero {
		return none
	}
	return fmt.Sprint(value)
}

func section(b *strings.Builder, title, words string, rows map[string]string) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| case | outcome |\n|-|-|\n", title, words)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(b, "| %s | %s |\n", name, rows[name])
	}
}

// outcome puts what a case must come to into words.
func outcome(ok *answered, err *refused) string {
	if err == nil {
		if ok.reason == "length" {
			return "answered, and cut at the limit of tokens"
		}
		return "answered"
	}
	said := map[llm.Class]string{llm.Wait: "waits", llm.Retry: "tried again", llm.Final: "final"}[err.class]
	if err.tries > 0 {
		said += fmt.Sprintf(", met %d times at most", err.tries)
	}
	switch {
	case err.after > 0 && err.class == llm.Wait:
		said += " " + err.after.String()
	case err.after > 0:
		said += " after " + err.after.String()
	}
	return said + ": `" + string(err.code) + "`"
}
