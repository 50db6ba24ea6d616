package longhaul_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	testName = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w*`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)[A-Z]\w*)\(`)
)

// Each test and benchmark that a Markdown file names exists.
func TestDocs_nameExistingTests(t *testing.T) {
	exists := map[string]bool{}
	for _, text := range readFiles(t, "_test.go") {
		for _, found := range testFunc.FindAllStringSubmatch(text, -1) {
			exists[found[1]] = true
		}
	}
	named := 0
	for file, text := range readFiles(t, ".md") {
		for _, name := range testName.FindAllString(text, -1) {
			named++
			require.True(t, exists[name], "%s names %s, which does not exist", file, name)
		}
	}
	require.NotZero(t, named)
}

// readFiles returns the texts of all files of this repository whose name ends with suffix, by path.
func readFiles(t *testing.T, suffix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "data", "node_modules"}, entry.Name())):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, suffix):
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	require.NoError(t, err)
	return all
}
