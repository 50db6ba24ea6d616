package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/client"
	"longhaul/internal/app"
	"longhaul/internal/llm/llmtest"
)

// examples/summary.sh works for a reader who has only this repository.
func TestExample_summary(t *testing.T) {
	s := newStack(t)
	script := exec.CommandContext(t.Context(), "bash", filepath.Join("..", "examples", "summary.sh"))
	script.Env = append(os.Environ(), "LONGHAUL_API=http://"+s.address)
	out, err := script.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, want := range []string{"## Over all documents", "## lighthouse-keeping.pdf", "## bridge-inspection.docx", "## tea-terraces-zh.md", "3 of 3"} {
		require.Contains(t, string(out), want)
	}
	require.Equal(t, 4, s.provider.Counts().Total, "one call for each document and one for the digest")
	require.Contains(t, s.provider.CallsWith("tea-terraces")[0].Prompt, "鲜叶", "the Chinese text is unchanged")
}

// examples/trip.sh prints the booking, waits for approval and books once.
func TestExample_trip(t *testing.T) {
	s := newStack(t, "LONGHAUL_TOOLS_ALLOW_PRIVATE=127.0.0.1:8090")
	use := func(name, arguments string) llmtest.Reply {
		return llmtest.ToolCalls(llmtest.Usage{Input: 50, Output: 5}, llmtest.ToolCall{Name: name, Arguments: arguments})
	}
	s.scriptTurns(use("find_hotels", `{"city":"Lisbon"}`), use("book_hotel", `{"hotel":"h2","from":"2027-05-14","nights":3}`), finalAnswer("# Three nights on the hill"))
	script := exec.CommandContext(t.Context(), "bash", filepath.Join("..", "examples", "trip.sh"))
	script.Env = append(os.Environ(), "LONGHAUL_API=http://"+s.address)
	out, err := script.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, want := range []string{`may book_hotel be called with {"hotel":"h2","from":"2027-05-14","nights":3}?`, "succeeded", `[{"booking":"B001","hotel":"h2","from":"2027-05-14","nights":3}]`} {
		require.Contains(t, string(out), want)
	}
	require.Contains(t, s.provider.Calls()[1].Results[0], "Hotel do Monte")
	require.Equal(t, 3, s.provider.Counts().Total)
}

// examples/go-client, a module of its own, prints a refused field, a result, and a replay that makes no call.
func TestExample_goClient(t *testing.T) {
	s := newStack(t)
	program := exec.CommandContext(t.Context(), "go", "run", "-C", "../examples/go-client", ".")
	program.Env = append(os.Environ(), "LONGHAUL_API=http://"+s.address)
	out, err := program.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, want := range []string{"refused: /input/language ", "\nsucceeded 100%, 2 of 2\n", "\nharbour: ", "\nbridge: ", "\nreplay: succeeded, 0 requests after 2 before\n"} {
		require.Contains(t, string(out), want)
	}
	require.Equal(t, 2, s.provider.Counts().Total, "one call for each document and none for the replay")
}

// The package client has an input type for every kind, with the fields of the kind's schema.
func TestClient_inputOfEveryKind(t *testing.T) {
	inputs := map[string]any{
		"summary": client.SummaryInput{}, "translate": client.TranslateInput{}, "qa": client.QAInput{}, "agent": client.AgentInput{},
		"video": client.VideoInput{}, "generate": client.GenerateInput{}, "classify": client.ClassifyInput{}, "embed": client.EmbedInput{},
		"replay": client.ReplayInput{},
	}
	for _, kind := range app.Kinds() {
		require.Contains(t, inputs, kind.Name)
		var schema struct{ Properties map[string]json.RawMessage }
		require.NoError(t, json.Unmarshal(kind.InputSchema, &schema))
		var fields []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(inputs[kind.Name])) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				fields = append(fields, name)
			}
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(schema.Properties)), fields, kind.Name)
		delete(inputs, kind.Name)
	}
	require.Empty(t, inputs, "a kind that is gone")
}
