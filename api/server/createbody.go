package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"time"

	"github.com/invopop/jsonschema"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// createBody is the body of POST /v1/tasks. Its schema is made from it, so it says what is
// published and what is enforced.
type createBody struct {
	Kind     string          `json:"kind" jsonschema:"description=what sort of task"`
	Input    json.RawMessage `json:"input" jsonschema:"description=what to work on; its form is that of the kind"`
	Labels   labels          `json:"labels,omitempty"`
	Priority int             `json:"priority,omitempty" jsonschema:"minimum=1,maximum=5,default=3,description=1 goes first\\, 5 last"`
	Delay    string          `json:"delay,omitempty" jsonschema:"maxLength=32,example=90s,description=start this long after acceptance: a duration such as 90s or 1h30m"`
	StartAt  string          `json:"start_at,omitempty" jsonschema:"format=date-time,description=start at this time; not together with delay"`
	Deadline string          `json:"deadline,omitempty" jsonschema:"maxLength=64,example=2h,description=end by then with what there is: a time as in RFC 3339\\, or a duration from now"`
	Budget   float64         `json:"budget,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1000000,description=the most it may cost\\, in the currency of the configured prices; the task then ends with what it has"`
	Webhook  *webhookOption  `json:"webhook,omitempty" jsonschema:"description=who is told how the task goes\\, beside the registered webhooks"`
	Notify   *notifyOption   `json:"notify,omitempty" jsonschema:"description=who else is told"`
	Model    string          `json:"model,omitempty" jsonschema:"minLength=1,maxLength=200,description=the model to ask; by default the configured one"`
}

// The bounds of labels.
const (
	maxLabels     = 16
	maxLabelKey   = 63
	maxLabelValue = 256
	maxLabelBytes = 1800 // of all together: Temporal takes 2,048 in one search attribute
)

var labelKey = regexp.MustCompile(fmt.Sprintf(`^[a-z0-9_.-]{1,%d}$`, maxLabelKey))

// labelValue leaves out what Temporal cannot search for.
var labelValue = regexp.MustCompile(`^[^"\\\x00-\x1f\x7f]*$`)

type labels map[string]string

// JSONSchema says what tags cannot.
func (labels) JSONSchema() *jsonschema.Schema {
	most, longest := uint64(maxLabels), uint64(maxLabelValue)
	return &jsonschema.Schema{
		Type: "object", Description: "your own words for finding the task again", MaxProperties: &most,
		PropertyNames:        &jsonschema.Schema{Pattern: labelKey.String()},
		AdditionalProperties: &jsonschema.Schema{Type: "string", MaxLength: &longest, Pattern: labelValue.String()},
	}
}

// bytes is what the labels take in the search attribute: key:value and what separates them.
func (l labels) bytes() (n int) {
	for key, value := range l {
		n += len(key) + len(value) + len(`":",`)
	}
	return n
}

// maxDelay bounds how far ahead a task may be put.
const maxDelay = 365 * 24 * time.Hour

// options reads what the schema could not check, and gives every fault.
func (b createBody) options(now time.Time) (task.Options, []task.FieldError) {
	var found []task.FieldError
	refuse := func(pointer, format string, args ...any) {
		found = append(found, task.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if n := b.Labels.bytes(); n > maxLabelBytes {
		refuse("/labels", "keys and values together have %d bytes; at most %d", n, maxLabelBytes)
	}
	o := task.Options{Labels: b.Labels, Priority: b.Priority, Model: b.Model, Budget: b.Budget}
	if b.Delay != "" {
		delay, err := time.ParseDuration(b.Delay)
		if err != nil || delay <= 0 || delay > maxDelay {
			refuse("/delay", "must be a duration such as 90s or 1h30m, more than 0 and at most %s", maxDelay)
		}
		o.Delay = delay
	}
	if b.StartAt != "" {
		at, err := time.Parse(time.RFC3339, b.StartAt)
		if err != nil || at.Sub(now) > maxDelay || at.UTC().Year() < 1970 {
			refuse("/start_at", "must be a time as in RFC 3339, at most %s ahead", maxDelay)
		}
		o.StartAt = new(at.UTC())
	}
	if b.Delay != "" && b.StartAt != "" {
		refuse("/start_at", "cannot be together with delay; give one of them")
	}
	if b.Deadline != "" {
		if at, err := time.Parse(time.RFC3339, b.Deadline); err == nil && at.UTC().Year() < 10_000 {
			o.Deadline = new(at.UTC())
		} else if within, err := time.ParseDuration(b.Deadline); err == nil && within > 0 {
			o.Within = within
		} else {
			refuse("/deadline", "must be a time as in RFC 3339 with its offset, such as 2030-01-02T15:04:05Z, or a duration such as 2h")
		}
	}
	o.Webhook, o.Email = b.Webhook.read(refuse), b.Notify.read(refuse)
	return o, found
}

// kindBody is the schema of a whole body for one kind, standing alone.
func kindBody(kind task.KindInfo) (json.RawMessage, error) {
	var input map[string]any
	if err := json.Unmarshal(kind.InputSchema, &input); err != nil {
		return nil, fmt.Errorf("its input schema is not an object: %w", err)
	}
	delete(input, "$schema") // it has the one around it
	return bodyWith(map[string]any{"kind": map[string]any{"const": kind.Name}, "input": input}), nil
}

// anyKindBody is what can be said of a body without knowing its kind.
func anyKindBody(kinds []task.KindInfo) json.RawMessage {
	return bodyWith(map[string]any{"kind": map[string]any{"type": "string", "enum": kindNames(kinds)}, "input": map[string]any{"type": "object"}})
}

func bodyWith(replaced map[string]any) json.RawMessage {
	var body map[string]any
	_ = json.Unmarshal(schema.Of(createBody{}), &body) // our own schema is JSON
	properties, _ := body["properties"].(map[string]any)
	maps.Copy(properties, replaced)
	text, _ := json.Marshal(body) // what came from JSON goes back to it
	return text
}
