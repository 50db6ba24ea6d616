package tool

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	const address = "https://api.example:8443/v1/{id}/x?q={q}&fixed=1"
	tests := map[string]struct{ id, q, want string }{
		"plain":      {`"7"`, `"a b"`, "/v1/7/x?q=a%20b&fixed=1"},
		"number":     {`7.50`, `true`, "/v1/7.50/x?q=true&fixed=1"},
		"unicode":    {`"茶"`, `""`, "/v1/%E8%8C%B6/x?q=&fixed=1"},
		"structure":  {`"a/b?c#d"`, `"a&admin=1#"`, "/v1/a%2Fb%3Fc%23d/x?q=a%26admin%3D1%23&fixed=1"},
		"a user":     {`"@evil.example"`, `null`, "/v1/%40evil.example/x?q=&fixed=1"},
		"a template": {`"{q}"`, `"{id}"`, "/v1/%7Bq%7D/x?q=%7Bid%7D&fixed=1"},
		"dots":       {`"...a..b"`, `".."`, "/v1/...a..b/x?q=..&fixed=1"},
		"control":    {`"a\r\nHost: x"`, `"\u0000"`, "/v1/a%0D%0AHost%3A%20x/x?q=%00&fixed=1"},
		"up":         {`".."`, `""`, ""},
		"here":       {`"."`, `""`, ""},
		"up further": {`"a/../../b"`, `""`, ""},
		"backslash":  {`"a\\..\\b"`, `""`, ""},
		"encoded":    {`"%2e%2e%2fb"`, `""`, ""},
		"twice":      {`"%252e%252e"`, `""`, ""},
		"semicolon":  {`"..;x/b"`, `""`, ""},
		"empty":      {`""`, `""`, ""},
		"null":       {`null`, `""`, ""},
		"list":       {`["a"]`, `""`, ""},
		"object":     {`"a"`, `{"b":1}`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, err := parseTemplate(address)
			require.NoError(t, err)
			args := map[string]json.RawMessage{"id": json.RawMessage(tt.id), "q": json.RawMessage(tt.q), "rest": json.RawMessage("1")}
			u, err := address.fill(args)
			if tt.want == "" {
				require.Error(t, err)
				require.ErrorAs(t, err, new(failure))
				return
			}
			require.NoError(t, err)
			require.Equal(t, "https://api.example:8443"+tt.want, u.String())
			require.Len(t, args, 1, "what has a place is taken out")
		})
	}
}

func TestTemplate_dotsOfTwoArguments(t *testing.T) {
	t.Parallel()
	address, err := parseTemplate("https://api.example/a/{b}{b}/c")
	require.NoError(t, err)
	_, err = address.fill(map[string]json.RawMessage{"b": json.RawMessage(`"."`)})
	require.ErrorContains(t, err, "another path")
}

// FuzzTemplate: whatever an argument is, it stays in its place.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"a", "../x", "@evil", "//evil.example", "\\\\evil", "?x", "#x", "%2f..%2f", "a\nb", "{b}", ":80@x", "..%252f", "\x00", "é"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		for _, text := range []string{
			"https://api.example/{a}", "https://api.example:1/x/{a}/{b}/y?q={b}", "http://[::1]:80/{a}{b}?{b}={a}&z=1", "https://api.example?{a}",
		} {
			address, err := parseTemplate(text)
			require.NoError(t, err)
			a, errA := json.Marshal(one)
			b, errB := json.Marshal(two)
			require.NoError(t, errA)
			require.NoError(t, errB)
			u, err := address.fill(map[string]json.RawMessage{"a": a, "b": b})
			if err != nil {
				require.ErrorAs(t, err, new(failure))
				continue
			}
			// As another program would read it.
			again, err := url.Parse(u.String())
			require.NoError(t, err)
			require.Equal(t, address.origin, again.Scheme+"://"+again.Host)
			require.Nil(t, again.User)
			require.Empty(t, again.Fragment)
			require.Equal(t, strings.Count(address.path, "/"), strings.Count(again.EscapedPath(), "/"))
			for part := range strings.SplitSeq(again.Path, "/") {
				require.NotContains(t, []string{".", ".."}, part)
			}
			if strings.Contains(address.query, "z=1") && one != "z" && two != "z" {
				require.Equal(t, []string{"1"}, again.Query()["z"])
			}
		}
	})
}
