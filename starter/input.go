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

	"longhaul/client"
)

// field is a field of a kind's input, from its JSON Schema.
type field struct {
	Type        string `json:"type"`
	Description string `json:"description"`
	Items       struct {
		Type string `json:"type"`
	} `json:"items"`
	Enum []string `json:"enum"`
}

// isTexts reports whether the field is a list of texts.
func (f field) isTexts() bool { return f.Type == "array" && f.Items.Type == "string" }

func fieldsOf(kind client.KindInfo) map[string]field {
	var s struct {
		Properties map[string]field `json:"properties"`
	}
	_ = json.Unmarshal(kind.InputSchema, &s) // without a schema there are no settings; the API checks the input
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

// addSettings adds a flag for each simple field of a kind's input; the flag of a list of texts may be repeated. After parsing,
// the returned function returns the flags in use, as key=value.
func addSettings(flags *pflag.FlagSet, kind client.KindInfo) func() []string {
	fields := fieldsOf(kind)
	values, lists := map[string]*string{}, map[string]*[]string{}
	for name, f := range fields {
		if f.isTexts() && flags.Lookup(flagName(name)) == nil {
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

// buildInput combines --input, settings and documents. Files are uploaded last, after all other checks.
func (c *cli) buildInput(ctx context.Context, o *order, kind client.KindInfo, sources []string) (json.RawMessage, error) {
	fields := fieldsOf(kind)
	input, err := c.readInput(o.input)
	if err != nil {
		return nil, err
	}
	if err := applySettings(input, kind, o.set); err != nil {
		return nil, err
	}
	if input["output"] == nil {
		form, err := outputForm(fields["output"], o.output)
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
		return nil, fmt.Errorf("a task of kind %s takes no documents; longhaul kinds %s lists its fields", kind.Name, kind.Name)
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

// applySettings puts key=value pairs into an input, each as the type that the kind's schema gives it.
func applySettings(input map[string]json.RawMessage, kind client.KindInfo, set []string) error {
	settings, err := pairs("set", set)
	if err != nil {
		return err
	}
	fields := fieldsOf(kind)
	for name, value := range settings {
		f, ok := fields[name]
		if !ok {
			return fmt.Errorf("unknown field %q; a task of kind %s has the fields: %s", name, kind.Name, strings.Join(names(fields), ", "))
		}
		if input[name], err = typed(f.Type, value); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	return nil
}

// outputForm returns the format that the extension of a file selects, or "" for the kind's default. An extension of a format that
// the kind cannot write is an error.
func outputForm(output field, name string) (string, error) {
	form := strings.TrimPrefix(filepath.Ext(name), ".")
	switch {
	case slices.Contains(output.Enum, form):
		return form, nil
	case len(output.Enum) == 0, slices.Contains([]string{"", "json", "txt", "ndjson"}, form):
		return "", nil // a .json file gets the receipt
	}
	return "", fmt.Errorf("cannot write %s: use the extension %s, or --set output=FORM", form, strings.Join(output.Enum, ", "))
}

// withFile adds the file of rows to an input.
func (c *cli) withFile(ctx context.Context, input map[string]json.RawMessage, sources []string) (json.RawMessage, error) {
	if len(sources) > 1 {
		return nil, errors.New("a task over rows takes one file, or one address")
	}
	if sources[0] == "-" {
		name, err := c.saveInput()
		defer func() { _ = os.Remove(name) }() // also if it is incomplete
		if err != nil {
			return nil, err
		}
		sources = []string{name}
	}
	documents, err := c.documents(ctx, sources)
	if err != nil {
		return nil, err
	}
	var named client.RowFile
	if err := json.Unmarshal(documents[0], &named); err != nil {
		return nil, err
	}
	if input["file"], err = json.Marshal(named); err != nil {
		return nil, err
	}
	return json.Marshal(input)
}

// saveInput saves standard input, which may be large, to a file for the upload.
func (c *cli) saveInput() (name string, err error) {
	file, err := os.CreateTemp("", "rows-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, c.in)
	return file.Name(), errors.Join(err, file.Close())
}

// readInput reads the object of --input; a repeated key is an error, as it is for the API.
func (c *cli) readInput(given string) (map[string]json.RawMessage, error) {
	if given == "" {
		return map[string]json.RawMessage{}, nil
	}
	text := []byte(given)
	if name, ok := strings.CutPrefix(given, "@"); ok {
		var err error
		if text, err = c.read(name); err != nil {
			return nil, err
		}
	}
	input, err := parseObject(text)
	if err != nil {
		return nil, fmt.Errorf("--input: %w", err)
	}
	return input, nil
}

// parseObject parses a JSON object into its fields. A repeated key is an error: one of its values would be lost.
func parseObject(text []byte) (map[string]json.RawMessage, error) {
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return nil, withPosition(text, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if start, _ := decoder.Token(); start != json.Delim('{') {
		return nil, errors.New("must be a JSON object")
	}
	fields := map[string]json.RawMessage{}
	for decoder.More() {
		key, _ := decoder.Token() // no more errors: the text is JSON
		name, _ := key.(string)
		if fields[name] != nil {
			return nil, fmt.Errorf("the key %q occurs twice", name)
		}
		var value json.RawMessage
		_ = decoder.Decode(&value)
		fields[name] = value
	}
	return fields, nil
}

// withPosition adds the line and the column to a syntax error.
func withPosition(text []byte, err error) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err
	}
	before := text[:min(int(syntax.Offset), len(text))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Errorf("not JSON: %w at line %d, column %d", err, line, len(before)-bytes.LastIndexByte(before, '\n')-1)
}

// read reads a whole file, or standard input for "-".
func (c *cli) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(c.in)
	}
	return os.ReadFile(name)
}

// typed encodes an argument as JSON of the type that the schema gives it.
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
			return nil, errors.New("must be JSON")
		}
	default:
		return json.Marshal(value)
	}
	return json.RawMessage(bytes.TrimPrefix([]byte(value), []byte("+"))), nil
}
