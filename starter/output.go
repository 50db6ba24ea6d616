package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
)

// note writes a line to standard error, beside the output.
func (c *cli) note(format string, args ...any) {
	_, _ = fmt.Fprintln(c.err, printable(fmt.Sprintf(format, args...)))
}

// print writes a line of output.
func (c *cli) print(format string, args ...any) {
	_, _ = fmt.Fprintln(c.out, printable(fmt.Sprintf(format, args...)))
}

// printable removes control characters, which could move the cursor or change colours: names, errors and answers of models come
// from outside.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && (r < 0x7f || r > 0x9f) {
			return r
		}
		return -1
	}, text)
}

// live reports whether notes go to a terminal, which can show a progress bar.
func (c *cli) live() bool {
	f, ok := c.err.(*os.File)
	if !ok {
		return false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return err == nil && width > 0
}

// printJSON prints a value as JSON, unless there is an error.
func (c *cli) printJSON(v any, err error) error {
	if err != nil {
		return err
	}
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (c *cli) table(rows [][]string) error {
	w := tabwriter.NewWriter(c.out, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.NewReplacer("\n", " ", "\t", " ").Replace(printable(cell))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// countOf returns a number and a noun, in the plural where it must be.
func countOf[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
