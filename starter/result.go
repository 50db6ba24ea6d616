package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"longhaul/client"
)

func (c *cli) result() *cobra.Command {
	var artifact, output string
	cmd := &cobra.Command{
		Use: "result ID", Short: "Fetch the result of a task", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.outputResult(cmd.Context(), args[0], artifact, output)
		},
	}
	cmd.Flags().StringVar(&artifact, "artifact", "", "fetch this file of the task in place of the result")
	cmd.Flags().StringVar(&output, "output", "", "write the result to this file")
	return cmd
}

// outputResult prints a result, or saves it where output is not "".
func (c *cli) outputResult(ctx context.Context, id, artifact, output string) error {
	content, err := c.content(ctx, id, artifact, output)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	if output != "" {
		return c.save(content, output)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	if c.json || artifact != "" {
		_, err = c.out.Write(append(bytes.TrimRight(text, "\n"), '\n'))
		return err
	}
	c.print("%s", strings.TrimRight(readable(text), "\n"))
	return nil
}

// reports are the names of the kinds' reports. The report of agents is first: an agent may write a file with one of the other
// names.
var reports = []string{"report.md", "summary.md", "answers.md"}

// content opens what outputResult outputs: the named artifact; with --json, or for a file named .json, the result itself; else
// the report of the task, if there is one. For a task over rows a file gets the file of results, and standard output the receipt.
func (c *cli) content(ctx context.Context, id, artifact, output string) (io.ReadCloser, error) {
	if artifact != "" {
		return c.client.Artifact(ctx, id, artifact)
	}
	result, err := c.client.Result(ctx, id) // also where a report is wanted: its error says why there is no report
	if err != nil || c.json || strings.HasSuffix(output, ".json") {
		return result, err
	}
	defer func() { _ = result.Close() }()
	artifacts, err := c.client.Artifacts(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, name := range reports {
		if slices.ContainsFunc(artifacts, func(a client.Artifact) bool { return a.Name == name }) {
			return c.client.Artifact(ctx, id, name)
		}
	}
	text, err := io.ReadAll(result)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	return c.resultFile(ctx, id, text, artifacts, output)
}

// resultFile opens the file of results that a receipt names, if it is to be saved, else the receipt, with a note on how to get
// the file.
func (c *cli) resultFile(ctx context.Context, id string, receipt []byte, artifacts []client.Artifact, output string) (io.ReadCloser, error) {
	var names struct {
		Output string `json:"output"`
	}
	_ = json.Unmarshal(receipt, &names) // a result of another form names no file
	if !slices.ContainsFunc(artifacts, func(a client.Artifact) bool { return a.Name == names.Output }) {
		return io.NopCloser(bytes.NewReader(receipt)), nil
	}
	if output != "" {
		return c.client.Artifact(ctx, id, names.Output)
	}
	c.note("The results are in a file: longhaul result %s --output %s", id, names.Output)
	return io.NopCloser(bytes.NewReader(receipt)), nil
}

// save writes a whole file, or no file.
func (c *cli) save(content io.Reader, name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".longhaul-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("save the result: %w", err)
	}
	c.note("Saved to %s", name)
	return nil
}

// readable indents JSON and leaves other text as it is.
func readable(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") == nil {
		return b.String()
	}
	return string(text)
}
