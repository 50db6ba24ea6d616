package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"longhaul/internal/llm"
)

// Profile is what is peculiar to one provider, as data. What it leaves out is as in generic.
type Profile struct {
	Name string
	// LimitField is the request field for the longest answer, in tokens; "" picks it by the model's
	// name: max_completion_tokens for those that think before they answer, max_tokens for others.
	LimitField string
	// Words overrides what an error code or type of this provider means; keys are lower case.
	Words map[string]verdict
}

// profiles is every provider that is known by name.
var profiles = map[string]Profile{
	"generic": {Name: "generic"},
	"openai":  {Name: "openai", LimitField: "max_completion_tokens"},
}

// Profiles lists the names that Config.Profile may have.
func Profiles() []string { return slices.Sorted(maps.Keys(profiles)) }

// extras are the fields that go-openai drops when they are zero, or refuses by the model's name.
// It is for the provider to refuse them.
func (p Profile) extras(req llm.Request) map[string]any {
	extras := map[string]any{}
	if req.Temperature != nil {
		extras["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		extras[p.limitField(req.Model)] = req.MaxTokens
	}
	return extras
}

func (p Profile) limitField(model string) string {
	switch {
	case p.LimitField != "":
		return p.LimitField
	case thinks(model):
		return "max_completion_tokens"
	default:
		return "max_tokens"
	}
}

// thinks reports whether a model's name is of a family that refuses max_tokens. Relays put their
// own prefix before a name, ended by a slash.
func thinks(model string) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// splice puts fields at the front of a JSON object. None of them may be in it already.
func splice(object []byte, fields map[string]any) ([]byte, error) {
	if len(fields) == 0 {
		return object, nil
	}
	front, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return append(append(front[:len(front)-1], ','), object[1:]...), nil
}
