package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

func TestOf_standsAlone(t *testing.T) {
	t.Parallel()
	raw := string(schema.Of(task.SummaryInput{}))
	require.NotContains(t, raw, "$id")
	require.NotContains(t, raw, "$ref")
	require.Contains(t, raw, "https://json-schema.org/draft/2020-12/schema")
	require.Contains(t, raw, `"additionalProperties":false`)
}

func TestCheck_saysWhereAndWhy(t *testing.T) {
	t.Parallel()
	summary, err := schema.Compile(schema.Of(task.SummaryInput{}))
	require.NoError(t, err)
	tests := map[string]struct {
		input string
		want  map[string]string // pointer to details
	}{
		"valid":              {`{"documents":[{"text":"hi"}],"words":100}`, map[string]string{}},
		"missing":            {`{}`, map[string]string{"/documents": "is required"}},
		"null for required":  {`{"documents":null}`, map[string]string{"/documents": "must be an array, not null"}},
		"misspelt":           {`{"documents":[{"text":"a"}],"wrods":3}`, map[string]string{"/wrods": `unknown field "wrods"; did you mean "words"?`}},
		"far from any":       {`{"documents":[{"text":"a"}],"zzz":3}`, map[string]string{"/zzz": `unknown field "zzz"; known: digest, documents, instructions, language, words`}},
		"misspelt in a list": {`{"documents":[{"text":"a"},{"ulr":"https://a.example"}]}`, map[string]string{"/documents/1/ulr": `unknown field "ulr"; did you mean "url"?`, "/documents/1": "needs exactly one of url, file_id, text"}},
		"two sources":        {`{"documents":[{"text":"a","file_id":"b"}]}`, map[string]string{"/documents/0": "needs exactly one of url, file_id, text"}},
		"several at once":    {`{"documents":[{"url":"x"}],"words":1,"digest":"yes"}`, map[string]string{"/documents/0/url": "must be an absolute address, such as https://example.com/report.pdf", "/words": "must be at least 20", "/digest": "must be true or false, not a string"}},
		"other scheme":       {`{"documents":[{"url":"ftp://a.example/x"}]}`, map[string]string{"/documents/0/url": "must match the pattern ^https?://"}},
		"empty list":         {`{"documents":[]}`, map[string]string{"/documents": "must have at least 1 entry"}},
		"too long":           {`{"documents":[{"text":"a","name":"` + strings.Repeat("文", 256) + `"}]}`, map[string]string{"/documents/0/name": "has 256 characters, and at most 255 are allowed"}},
		"whole, not digits":  {`{"documents":[{"text":"a"}],"words":300.0}`, map[string]string{"/words": "must be a whole number, written with digits only"}},
		"fraction":           {`{"documents":[{"text":"a"}],"words":30.5}`, map[string]string{"/words": "must be a whole number, written with digits only"}},
		"vast exponent":      {`{"documents":[{"text":"a"}],"words":1e999999999}`, map[string]string{"/words": "is a number of more than 400 digits"}},
		"vast number":        {`{"documents":[{"text":"a"}],"words":` + strings.Repeat("9", 401) + `}`, map[string]string{"/words": "is a number of more than 400 digits"}},
		"not an object":      {`[]`, map[string]string{"": "must be an object, not an array"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for _, f := range summary.Check(json.RawMessage(tt.input)) {
				if before := got[f.Pointer]; before != "" {
					f.Detail = before + "; " + f.Detail
				}
				got[f.Pointer] = f.Detail
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ste": `; did you mean "set"?`, "SET": `; did you mean "set"?`, "sett": `; did you mean "set"?`, "商品名字": `; did you mean "商品名称"?`,
		"xyz": "; known: set, 商品名称", "数量单位": "; known: set, 商品名称", "": "; known: set, 商品名称",
	} {
		require.Equal(t, "unknown field \""+name+"\""+want, schema.Unknown("field", name, []string{"set", "商品名称"}))
	}
}

// TestCheck_namesOfKeys runs many times, because the position must not depend on map order.
func TestCheck_namesOfKeys(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(json.RawMessage(`{"properties":{"a":{"type":"object"},"labels":{"propertyNames":{"pattern":"^[a-z]+$"}}}}`))
	require.NoError(t, err)
	for range 200 {
		found := s.Check(json.RawMessage(`{"a":{"b":{"c":1}},"labels":{"good":"1","Not Good":"2"}}`))
		require.Equal(t, []task.FieldError{{Pointer: "/labels/Not Good", Detail: "is not an allowed name; names match the pattern ^[a-z]+$"}}, found)
	}
}

func TestCheck_reportsAtMostAHundredErrors(t *testing.T) {
	t.Parallel()
	summary, err := schema.Compile(schema.Of(task.SummaryInput{}))
	require.NoError(t, err)
	bad := `{"documents":[` + strings.Repeat(`{},`, 500) + `{}]}`
	require.Len(t, summary.Check(json.RawMessage(bad)), schema.MaxErrors)
}

func TestCompile_refusesExternalReferences(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"file:///etc/hostname", "http://127.0.0.1:1/x.json", "other.json"} {
		_, err := schema.Compile(json.RawMessage(`{"$ref":"` + ref + `"}`))
		require.ErrorContains(t, err, "only references within itself", ref)
	}
}

// TestCompile_saysWhatIsWrong: the error is one line in plain English, without the wording of the library.
func TestCompile_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"type":"strin"}`:                      "is not a JSON Schema: /type must be one of",
		`{"properties":{"a":{"type":"strin"}}}`: "is not a JSON Schema: /properties/a/type must be one of",
		`{"minLength":-1}`:                      "is not a JSON Schema: /minLength must be at least 0",
		`{"required":"a"}`:                      "is not a JSON Schema: /required must be an array, not a string",
		`[]`:                                    "is not a JSON Schema: must be",
		`{"type":`:                              "is not JSON",
		`{"properties":{"a":{"pattern":"(["}}}`: "is not a JSON Schema: ",
		`{"$ref":"#/$defs/none"}`:               "is not a JSON Schema: ",
	} {
		_, err := schema.Compile(json.RawMessage(given))
		require.ErrorContains(t, err, want, given)
		require.NotContains(t, err.Error(), "\n", given)
		require.NotContains(t, err.Error(), "metaschema", given)
	}
}

func TestWellFormed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		code task.Code // "" when it is well-formed
		says string
	}{
		"object":            {`{"a":[1,{"b":null}]}`, "", ""},
		"same key apart":    {`{"a":{"x":1},"b":{"x":1}}`, "", ""},
		"empty":             {``, task.BadRequest, "unexpected end of JSON input"},
		"trailing garbage":  {"{}\n{}", task.BadRequest, "line 2, column 1"},
		"trailing comma":    {`{"a":1,}`, task.BadRequest, "not JSON"},
		"not UTF-8":         {"{\"a\":\"\xff\"}", task.BadRequest, "UTF-8"},
		"key twice":         {`{"a":1,"a":2}`, task.Invalid, "/a appears twice"},
		"key twice, inside": {`{"a":[0,{"b/c":1,"b/c":1}]}`, task.Invalid, "/a/1/b~1c appears twice"},
		"key twice, escape": {`{"a":1,"\u0061":2}`, task.Invalid, "/a appears twice"},
		"deep":              {strings.Repeat("[", 65) + strings.Repeat("]", 65), task.Invalid, "nested deeper than 64"},
		"not too deep":      {strings.Repeat("[", 64) + strings.Repeat("]", 64), "", ""},
		"very deep":         {strings.Repeat("[", 100_000), task.BadRequest, "not JSON"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := schema.WellFormed([]byte(tt.body))
			if tt.code == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, tt.code, task.AsError(err).Code)
			require.Contains(t, err.Error(), tt.says)
		})
	}
}
