package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/client"
	"longhaul/internal/app"
)

// The program of examples/go-client, which is a module of its own, does what it says: a refused field, a result, and a replay that makes no call.
func TestExample_goClient(t *testing.T) {
	s := newStack(t)
	program := exec.CommandContext(t.Context(), "go", "run", "-C", "../examples/go-client", ".")
	program.Env = append(os.Environ(), "LONGHAUL_API=http://"+s.address)
	out, err := program.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, want := range []string{"refused: /input/language ", "\nsucceeded 100%, 2 of 2\n", "\nharbour: ", "\nbridge: ", "\nreplay: succeeded, 0 requests after 2 before\n"} {
		require.Contains(t, string(out), want)
	}
	require.Equal(t, 2, s.provider.Counts().Total, "one call a document, and none for the replay")
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
