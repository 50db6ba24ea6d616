package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The documents that the README summarizes must be read without loss.
func TestExamples(t *testing.T) {
	t.Parallel()
	e := pdfExtractor(t, Limits{})
	for name, phrases := range map[string][]string{
		"lighthouse-keeping.pdf": {"How a Small Flame Is Seen at Sea", "The art of the lighthouse is not to make more light but to waste less of it.", "which headland is before him.", "let so little light do so much."},
		"tea-terraces-zh.md":     {"# 云雾之间的茶田", "四斤半鲜叶才能做成一斤干茶", "修埂的日子从来没有改过。"},
		"bridge-inspection.docx": {"# Inspection of the Weir Lane Footbridge", "## Findings", "| East pier, mortar | Poor | Repoint below water | November |", "due in six years."},
	} {
		path := filepath.Join("..", "..", "examples", "documents", name)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(64<<10), "small enough for the repository")
		text, err := e.Extract(testContext(t), Input{Path: path, Name: name}, nil)
		require.NoError(t, err)
		require.Empty(t, text.Warnings)
		require.Equal(t, strings.TrimPrefix(filepath.Ext(name), "."), strings.Replace(text.Format, "markdown", "md", 1))
		for _, phrase := range phrases {
			require.Contains(t, text.Markdown, phrase)
		}
	}
}
