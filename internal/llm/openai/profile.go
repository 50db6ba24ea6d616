package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"longhaul/internal/llm"
)

// Profile is what is peculiar to one provider, as data. What it leaves out is as in generic. Every
// call is a stream, whatever the provider, so none has to say that it needs one; and every finish
// reason that is known (see endings) means the same wherever it comes from.
type Profile struct {
	Name string
	// Hosts are its domains; what is below them is its own, too. None means that it has to be named.
	Hosts []string
	// LimitField is the request field for the longest answer, in tokens; "" picks it by the model's
	// name: max_completion_tokens for those that think before they answer, max_tokens for others.
	LimitField string
	// Format is the strictest way to ask for an answer of a schema that the provider has.
	Format Format
	// Wait is before another try when the provider asks for one and does not say when. 0 leaves it to
	// the caller's backoff.
	Wait time.Duration
	// Zone is that of the times in its messages; nil is UTC.
	Zone *time.Location
	// LimitsPer is the time that the limits in its headers are for. Providers differ, so where it is 0 they
	// are not heeded.
	LimitsPer time.Duration
	// Thoughts tells that a model which thinks wants its reasoning back with each later request, and may
	// refuse a conversation with tool calls that lacks it.
	Thoughts bool
	// Estimates tells that the usage is counted by a relay, not by the model's provider.
	Estimates bool
	// Embeds is what one call for embeddings may hold, and whether vectors come in base64 when asked.
	Embeds llm.EmbedLimits
	Base64 bool
	// Rules are what its errors mean; the first that fits counts.
	Rules []rule
}

// Format is a way to ask for an answer that is JSON of a schema.
type Format string

// The formats. Without any, the schema stands in the prompt alone.
const (
	JSONSchema Format = "json_schema" // the provider holds the model to the schema
	JSONObject Format = "json_object" // the provider holds it to JSON, and the schema stands in the prompt
	Prompt     Format = "prompt"
)

// rule says what an error of one provider means. What it leaves out fits every error.
type rule struct {
	status int    // of HTTP, or the one in the body of an answer whose own was good
	word   string // the error's code or type, in lower case; a * stands for anything
	says   string // somewhere in the message, in lower case
	means  verdict
}

func (r rule) fits(status int, f failure) bool {
	return (r.status == 0 || r.status == status) &&
		(r.word == "" || like(f.code, r.word) || like(f.kind, r.word)) &&
		strings.Contains(strings.ToLower(f.message), r.says)
}

// like compares a word with a pattern, which is in lower case.
func like(word, pattern string) bool {
	matched, err := path.Match(pattern, strings.ToLower(word))
	return err == nil && matched
}

// Profiles lists the names that Config.Profile may have.
func Profiles() []string { return slices.Sorted(maps.Keys(profiles)) }

// profileAt names the profile of the provider at a host.
func profileAt(host string) string {
	for name, p := range profiles {
		if slices.ContainsFunc(p.Hosts, func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }) {
			return name
		}
	}
	return "generic"
}

// extras are the fields of numbers that go-openai drops when they are zero, or refuses by the model's
// name. It is for the provider to refuse them.
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

// splice puts fields at the front of a JSON object. None of them may be in it already, but for messages,
// of which go-openai always sends some, null when it was given none.
func splice(object []byte, fields map[string]any) ([]byte, error) {
	if len(fields) == 0 {
		return object, nil
	}
	front, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	object = bytes.Replace(object, []byte(`,"messages":null`), nil, 1)
	return append(append(front[:len(front)-1], ','), object[1:]...), nil
}
