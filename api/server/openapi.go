package server

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

const description = "longhaul runs long AI tasks: post one, keep its id, and come back for the result. " +
	"Errors are application/problem+json (RFC 9457). Keys are needed when the server is configured with some."

func (s *server) config() huma.Config {
	const prefix = "#/components/schemas/"
	keys := map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer"},
		"header": {Type: "apiKey", In: "header", Name: "X-API-Key"},
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{Title: "longhaul", Version: s.Version, Description: description},
			Servers:    []*huma.Server{{URL: "/"}},
			Components: &huma.Components{Schemas: huma.NewMapRegistry(prefix, huma.DefaultSchemaNamer), SecuritySchemes: keys},
			Security:   []map[string][]string{{"bearer": {}}, {"header": {}}, {}},
		},
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{s.ours},
	}
}

// problemResponse is the documented form of every error.
func (s *server) problemResponse() *huma.Response {
	ref := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[task.Error](), true, "")
	return &huma.Response{Description: "A problem", Content: map[string]*huma.MediaType{problemType: {Schema: ref}}}
}

// spec is the OpenAPI document: what the routes say, and the body of each kind.
func (s *server) spec() ([]byte, error) {
	registry := s.api.OpenAPI().Components.Schemas
	for name, described := range registry.Map() {
		refine(described, registry.TypeFromRef("#/components/schemas/"+name))
	}
	for _, item := range s.api.OpenAPI().Paths {
		if item.Get == nil {
			continue
		}
		for _, p := range item.Get.Parameters {
			p.Schema.Nullable = false // left out, or there
		}
	}
	text, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if err := s.describeBodies(doc); err != nil {
		return nil, err
	}
	describeOthers(doc)
	return json.MarshalIndent(doc, "", "  ")
}

// refine tells of a struct what Go's types know and huma does not write: a pointer may be null, a
// list never is, a state is one of a few words, and fields may be added without a new version.
func refine(described *huma.Schema, t reflect.Type) {
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	described.AdditionalProperties = true
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := described.Properties[name]
		switch {
		case property == nil:
		case f.Type == reflect.TypeFor[task.State]():
			property.Enum = words(task.States())
		case f.Type == reflect.TypeFor[task.ItemStatus]():
			property.Enum = words([]task.ItemStatus{task.ItemPending, task.ItemSucceeded, task.ItemFailed, task.ItemCancelled})
		case f.Type == reflect.TypeFor[task.DeliveryStatus]():
			property.Enum = words(task.DeliveryStatuses())
		case f.Type == reflect.TypeFor[task.Outcome]():
			property.Enum = words([]task.Outcome{task.Full, task.Partial, task.None})
		case f.Type.Kind() == reflect.Slice:
			property.Nullable = false
		case f.Type.Kind() == reflect.Pointer && property.Ref != "" && options == "":
			*property = huma.Schema{Description: property.Description, OneOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}}
		}
	}
}

func words[T ~string](values []T) []any {
	var all []any
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// describeBodies puts the body of each kind into the document: the schemas that are enforced.
func (s *server) describeBodies(doc map[string]any) error {
	schemas := dig(doc, "components", "schemas")
	delete(schemas, "ErrorModel") // huma's own, which never leave
	delete(schemas, "ErrorDetail")
	var forms []any
	mapping, examples := map[string]any{}, map[string]any{}
	for _, kind := range s.Kinds {
		text, err := kindBody(kind)
		if err != nil {
			return err
		}
		var body map[string]any
		if err := json.Unmarshal(text, &body); err != nil {
			return err
		}
		delete(body, "$schema")
		body["title"], body["description"] = kind.Title, kind.Description
		schemas[kind.Name+"_input"] = dig(body, "properties")["input"]
		dig(body, "properties")["input"] = map[string]any{"$ref": "#/components/schemas/" + kind.Name + "_input"}
		schemas[kind.Name+"_task"] = body
		ref := "#/components/schemas/" + kind.Name + "_task"
		forms, mapping[kind.Name] = append(forms, map[string]any{"$ref": ref}), ref
		examples[kind.Name] = map[string]any{"summary": kind.Title, "value": kind.Example}
	}
	dig(doc, "paths", "/v1/tasks", "post")["requestBody"] = map[string]any{"required": true, "content": map[string]any{
		"application/json": map[string]any{
			"schema":   map[string]any{"oneOf": forms, "discriminator": map[string]any{"propertyName": "kind", "mapping": mapping}},
			"examples": examples,
		},
	}}
	return nil
}

// describeOthers adds the body of an upload, which huma would read whole if it knew of it, and the
// answers that an operation gives beside its usual one.
func describeOthers(doc map[string]any) {
	file := map[string]any{"type": "string", "format": "binary"}
	form := map[string]any{"type": "object", "required": []any{"file"}, "properties": map[string]any{"file": file}}
	dig(doc, "paths", "/v1/files", "post")["requestBody"] = map[string]any{"required": true, "content": map[string]any{
		"multipart/form-data":      map[string]any{"schema": form},
		"application/octet-stream": map[string]any{"schema": file},
	}}
	for _, b := range otherBodies() {
		var form map[string]any
		_ = json.Unmarshal(schema.Of(b.form), &form) // our own schema is JSON
		delete(form, "$schema")
		for _, path := range b.paths {
			dig(doc, "paths", path, "post")["requestBody"] = map[string]any{"required": b.required, "content": map[string]any{
				"application/json": map[string]any{"schema": form},
			}}
		}
	}
	responses := func(path, method string) map[string]any { return dig(doc, "paths", path, method, "responses") }
	accepted := responses("/v1/tasks", "post")["202"]
	responses("/v1/tasks", "post")["200"] = accepted             // with Prefer: wait, when it ended in time
	responses("/v1/tasks/{id}/cancel", "post")["200"] = accepted // it had ended before
	responses("/v1/tasks/{id}/result", "get")["202"] = accepted  // not ready: the task instead
	responses("/v1/tasks/{id}", "get")["304"] = map[string]any{"description": "Still at the revision of If-None-Match"}
}

// dig finds a map inside maps; all of them are there.
func dig(m map[string]any, path ...string) map[string]any {
	for _, step := range path {
		m, _ = m[step].(map[string]any)
	}
	return m
}
