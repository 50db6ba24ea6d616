package schema

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

// Of gives the JSON Schema (2020-12) of a Go value's type, from its json and jsonschema tags.
// Every object refuses unknown fields; a field without omitempty is required. The schema stands
// alone: it has no id, and it refers to nothing, so it can be put inside another one. A type that
// contains itself has no such schema. A type that cannot be described is a bug of the program, so
// Of panics; call it at start.
func Of(v any) json.RawMessage {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	raw, err := json.Marshal(r.Reflect(v))
	if err != nil {
		panic(fmt.Sprintf("schema of %T: %v", v, err))
	}
	return raw
}
