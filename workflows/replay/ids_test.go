package replay_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/record"
	"longhaul/internal/schema"
	"longhaul/workflows"
)

// What a bulk replay is told to run again are ids of tasks, each once: it carries them in its history.
func TestReplays_ids(t *testing.T) {
	t.Parallel()
	kind, _ := workflows.Find(record.KindReplay)
	form, err := schema.Compile(schema.Of(kind.Input()))
	require.NoError(t, err)
	one, other := strings.Repeat("a", 26), strings.Repeat("b", 26)
	tests := map[string]struct {
		input   string
		refused string
	}{
		"two":      {`{"ids":["task_` + one + `","task_` + other + `"]}`, ""},
		"twice":    {`{"ids":["task_` + one + `","task_` + one + `"]}`, "/ids"},
		"too long": {`{"ids":["task_` + strings.Repeat("a", 1<<20) + `"]}`, "/ids/0"},
		"no id":    {`{"ids":["../../etc"]}`, "/ids/0"},
		"none":     {`{"ids":[]}`, "/ids"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := form.Check([]byte(test.input))
			if test.refused == "" {
				require.Empty(t, found)
				return
			}
			require.Equal(t, test.refused, found[0].Pointer)
			require.Less(t, len(found[0].Detail), 1000)
		})
	}
}
