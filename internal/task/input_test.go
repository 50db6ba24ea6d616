package task_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

func TestBrief(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"short":                {"tide tables", "tide tables"},
		"60 characters":        {strings.Repeat("港", 60), strings.Repeat("港", 60)},
		"61 characters":        {strings.Repeat("港", 61), strings.Repeat("港", 59) + "…"},
		"lines":                {" book\r\n\n a room\tnow\u2028", "book a room now"},
		"terminal sequences":   {"a\x1b[31m\x07b\u009bc", "a[31mbc"},
		"direction of writing": {"invoice\u202efdp.exe", "invoicefdp.exe"},
		"joined emoji":         {"👩\u200d🔬", "👩\u200d🔬"},
		"no visible character": {"\n\u202e\x00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, task.Brief(test.text))
		})
	}
}

// Every headline is one line, whatever the input contains.
func TestHeadline_oneLine(t *testing.T) {
	t.Parallel()
	const text = "one\ntwo\x1b[2J"
	for name, in := range map[string]interface{ Headline() string }{
		"summary":            &task.SummaryInput{Documents: []task.Document{{Name: text}}},
		"summary of several": &task.SummaryInput{Documents: []task.Document{{Name: text}, {}}},
		"translate":          &task.TranslateInput{Language: text, Documents: []task.Document{{Name: text}}},
		"qa":                 &task.QAInput{Questions: []string{text}},
		"agent":              &task.AgentInput{Goal: text},
		"video":              &task.VideoInput{Prompts: []string{text}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, in.Headline(), "one two")
			require.NotContains(t, in.Headline(), "\n")
			require.NotContains(t, in.Headline(), "\x1b")
		})
	}
}
