package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// field is what a kind's schema says of one field of its input.
type field struct {
	Type        string `json:"type"`
	Description string `json:"description"`
	Items       struct {
		Type string `json:"type"`
	} `json:"items"`
	Enum []string `json:"enum"`
}

// texts reports whether the field is a list of texts.
func (f field) texts() bool { return f.Type == "array" && f.Items.Type == "string" }

func fieldsOf(kind task.KindInfo) map[string]field {
	var s struct {
		Properties map[string]field `json:"properties"`
	}
	_ = json.Unmarshal(kind.InputSchema, &s) // without it there are no settings, and the API still checks
	return s.Properties
}

func names(fields map[string]field) []string {
	var all []string
	for name := range fields {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// addSettings makes a flag of every simple field of a kind's input; one of a list of texts may be used more than
// once. After parsing, the returned function gives those that were used, as key=value.
func addSettings(flags *pflag.FlagSet, kind task.KindInfo) func() []string {
	fields := fieldsOf(kind)
	values, lists := map[string]*string{}, map[string]*[]string{}
	for name, f := range fields {
		if f.texts() && flags.Lookup(flagName(name)) == nil {
			lists[name] = flags.StringArray(flagName(name), nil, f.Description)
		}
		if f.Type == "array" || f.Type == "object" || f.Type == "" || flags.Lookup(flagName(name)) != nil {
			continue
		}
		values[name] = flags.String(flagName(name), "", f.Description)
		if f.Type == "boolean" {
			flags.Lookup(flagName(name)).NoOptDefVal = "true"
		}
	}
	return func() []string {
		var used []string
		for name, value := range values {
			if flags.Changed(flagName(name)) {
				used = append(used, name+"="+*value)
			}
		}
		for name, list := range lists {
			if flags.Changed(flagName(name)) {
				text, _ := json.Marshal(*list) // texts always marshal
				used = append(used, name+"="+string(text))
			}
		}
		return used
	}
}

func flagName(fieldName string) string { return strings.ReplaceAll(fieldName, "_", "-") }

// buildInput puts together --input, settings and documents. Files are uploaded last, when nothing
// else can be wrong.
func (c *cli) buildInput(ctx context.Context, o *order, kind task.KindInfo, sources []string) (json.RawMessage, error) {
	fields := fieldsOf(kind)
	input, err := c.givenInput(o.input)
	if err != nil {
		return nil, err
	}
	settings, err := pairs("set", o.set)
	if err != nil {
		return nil, err
	}
	for name, value := range settings {
		f, ok := fields[name]
		if !ok {
			return nil, errors.New(schema.Unknown("field", name, names(fields)))
		}
		if input[name], err = typed(f.Type, value); err != nil {
			return nil, fmt.Errorf("%s %w", name, err)
		}
	}
	if input["output"] == nil {
		form, err := fileForm(fields["output"], o.output)
		if err != nil {
			return nil, fmt.Errorf("--output: a task of kind %s %w", kind.Name, err)
		}
		if form != "" {
			input["output"], _ = json.Marshal(form) // a text always marshals
		}
	}
	if len(sources) == 0 {
		return json.Marshal(input)
	}
	if _, ok := fields["file"]; ok {
		return c.withFile(ctx, input, sources)
	}
	if _, ok := fields["documents"]; !ok {
		return nil, fmt.Errorf("a task of kind %s takes no documents; longhaul kinds %s shows its input", kind.Name, kind.Name)
	}
	documents, err := c.documents(ctx, sources)
	if err != nil {
		return nil, err
	}
	var before []json.RawMessage
	if given, ok := input["documents"]; ok && json.Unmarshal(given, &before) != nil {
		return nil, errors.New("documents in --input must be an array")
	}
	if input["documents"], err = json.Marshal(append(before, documents...)); err != nil {
		return nil, err
	}
	return json.Marshal(input)
}

// fileForm is the form of a file of results that its name asks for, of those that a kind can write; "" for none. What would be written into
// a file whose name promises another form is refused.
func fileForm(output field, name string) (string, error) {
	form := strings.TrimPrefix(filepath.Ext(name), ".")
	switch {
	case slices.Contains(output.Enum, form):
		return form, nil
	case len(output.Enum) == 0, slices.Contains([]string{"", "json", "txt", "ndjson"}, form):
		return "", nil // .json saves the receipt
	}
	return "", fmt.Errorf("writes no %s, but %s: name the file so, or choose with --set output=FORM", form, strings.Join(output.Enum, ", "))
}

// withFile adds the one file of rows that a kind takes.
func (c *cli) withFile(ctx context.Context, input map[string]json.RawMessage, sources []string) (json.RawMessage, error) {
	if len(sources) > 1 {
		return nil, errors.New("name one file of rows, or one address")
	}
	if sources[0] == "-" {
		name, err := c.kept()
		defer func() { _ = os.Remove(name) }() // half of it, too
		if err != nil {
			return nil, err
		}
		sources = []string{name}
	}
	documents, err := c.documents(ctx, sources)
	if err != nil {
		return nil, err
	}
	var named task.RowFile
	if err := json.Unmarshal(documents[0], &named); err != nil {
		return nil, err
	}
	if input["file"], err = json.Marshal(named); err != nil {
		return nil, err
	}
	return json.Marshal(input)
}

// kept puts standard input into a file, for rows are uploaded, and may be many.
func (c *cli) kept() (name string, err error) {
	file, err := os.CreateTemp("", "rows-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, c.in)
	return file.Name(), errors.Join(err, file.Close())
}

// givenInput reads --input.
func (c *cli) givenInput(given string) (map[string]json.RawMessage, error) {
	input := map[string]json.RawMessage{}
	if given == "" {
		return input, nil
	}
	text := []byte(given)
	if name, ok := strings.CutPrefix(given, "@"); ok {
		var err error
		if text, err = c.read(name); err != nil {
			return nil, err
		}
	}
	if err := schema.WellFormed(text); err != nil {
		return nil, fmt.Errorf("--input: %s", task.AsError(err).Detail)
	}
	if err := json.Unmarshal(text, &input); err != nil || input == nil {
		return nil, errors.New("--input must be a JSON object")
	}
	return input, nil
}

// read reads a whole file, or standard input for "-".
func (c *cli) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(c.in)
	}
	return os.ReadFile(name)
}

// typed makes JSON of a word on the command line, as the schema wants it.
func typed(jsonType, value string) (json.RawMessage, error) {
	switch jsonType {
	case "integer":
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return nil, fmt.Errorf("must be a whole number, not %q", value)
		}
	case "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil || !json.Valid([]byte(value)) {
			return nil, fmt.Errorf("must be a number, not %q", value)
		}
	case "boolean":
		if value != "true" && value != "false" {
			return nil, fmt.Errorf("must be true or false, not %q", value)
		}
	case "array", "object":
		if !json.Valid([]byte(value)) {
			return nil, errors.New("must be given as JSON")
		}
	default:
		return json.Marshal(value)
	}
	return json.RawMessage(bytes.TrimPrefix([]byte(value), []byte("+"))), nil
}
