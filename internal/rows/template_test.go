package rows_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/rows"
	"longhaul/internal/task"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	values := fields{
		"text": "a {{n}} & <b> {{{{", "n": json.Number("1.50"), "yes": true, "no": nil, "list": json.RawMessage(`[1,"<x>"]`), "a b": "spaced", "编号": "七",
		"map": map[string]any{"k": "<"},
	}
	tests := map[string]struct {
		template string
		columns  []string
		want     string
		missing  []string
	}{
		"nothing":        {"", nil, "", nil},
		"text alone":     {"no } places { }}", nil, "no } places { }}", nil},
		"places":         {"{{text}}/{{ n }}/{{yes}}", []string{"text", "n", "yes"}, "a {{n}} & <b> {{{{/1.50/true", nil},
		"null is empty":  {"[{{no}}]", []string{"no"}, "[]", nil},
		"JSON":           {"{{list}}{{map}}", []string{"list", "map"}, `[1,"<x>"]{"k":"<"}`, nil},
		"names":          {"{{a b}}{{编号}}", []string{"a b", "编号"}, "spaced七", nil},
		"braces":         {"{{{{n}} is {{n}}, {{{{{{{{", []string{"n"}, "{{n}} is 1.50, {{{{", nil},
		"JSON around it": {`{"a":{"b":{{n}}}}`, []string{"n"}, `{"a":{"b":1.50}}`, nil},
		"missing":        {"{{x}}{{y}}{{x}}.", []string{"x", "y"}, ".", []string{"x", "y"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			template, err := rows.Compile(tt.template)
			require.NoError(t, err)
			require.Equal(t, tt.columns, template.Columns())
			got, missing := template.Render(values)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.missing, missing)
		})
	}
}

func TestCompile_refused(t *testing.T) {
	t.Parallel()
	for template, place := range map[string]string{
		"a {{b": "line 1, character 3", "\né{{ }}": "line 2, character 2", "{{a}}{{}}": "line 1, character 6", "{{{a}}}": "line 1, character 1", "{{a\n}}": "line 1, character 1",
	} {
		_, err := rows.Compile(template)
		told, ok := errors.AsType[*task.Error](err)
		require.True(t, ok, template)
		require.Equal(t, task.Invalid, told.Code)
		require.Equal(t, "the template has {{ without a column name and }} at "+place+"; write {{{{ for two literal braces", told.Detail, template)
	}
}

func TestTemplate_Check(t *testing.T) {
	t.Parallel()
	template, err := rows.Compile("{{title}} {{revew}} {{zzz}}")
	require.NoError(t, err)
	require.NoError(t, template.Check([]string{"zzz", "title", "revew", "more"}))
	require.ErrorContains(t, template.Check([]string{"title", "review"}),
		`the template has an unknown column "revew"; did you mean "review"?; unknown column "zzz"; known: title, review`)
}

// FuzzTemplate: values are inserted unchanged, whatever they and the template contain.
func FuzzTemplate(f *testing.F) {
	f.Add("{{a}}", "{{a}}")
	f.Add("x{{ a }}{{{{", "}}{{")
	f.Add("{{", "")
	f.Fuzz(func(t *testing.T, text, value string) {
		template, err := rows.Compile(text)
		if err != nil {
			return
		}
		columns := fields{}
		for _, column := range template.Columns() {
			columns[column] = value
		}
		got, missing := template.Render(columns)
		require.Empty(t, missing)
		for column := range columns {
			columns[column] = ""
		}
		frame, _ := template.Render(columns)
		require.Zero(t, (len(got)-len(frame))%max(len(value), 1))
		if len(columns) > 0 {
			require.Contains(t, got, value)
		}
		escaped, err := rows.Compile(strings.ReplaceAll(value, "{{", "{{{{"))
		require.NoError(t, err)
		back, _ := escaped.Render(nil)
		require.Equal(t, value, back)
	})
}
