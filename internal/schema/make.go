package schema

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

// Of returns the JSON Schema (2020-12) of a Go value's type, from its json and jsonschema tags. Objects refuse unknown
// fields; a field without omitempty is required. The schema has no id and no references, so it can be embedded in
// another schema; recursive types are therefore not supported. Of panics for an unsupported type; call it at program
// start.
func Of(v any) json.RawMessage {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	raw, err := json.Marshal(r.Reflect(v))
	if err != nil {
		panic(fmt.Sprintf("schema of %T: %v", v, err))
	}
	return raw
}
