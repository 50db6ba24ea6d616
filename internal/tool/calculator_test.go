package tool

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

func TestCalculator(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"0.1+0.2": "0.3", "1.19*250": "297.5", "2^10": "1024", "2**10": "1024", "-2^2": "-4", "2^-2": "0.25", "2^3^2": "512", "(1+2)*3": "9",
		"7%3": "1", "-7%3": "-1", "5.5%2": "1.5", "1/4": "0.25", "1/3": "0.33333333333333333333 (rounded; exactly 1/3)", "10/5": "2",
		"123456789012345678901234567890*2": "246913578024691357802469135780", "1e3": "1000", "010": "10", "0x1F": "31", ".5": "0.5",
		"sqrt(16)": "4", "sqrt(1/4)": "0.5", "sqrt(2)": "1.4142135623731 (rounded)", "max(1,3,2)": "3", "min(4,-1)": "-1", "abs(-3)": "3",
		"round(2.5)": "3", "round(-2.5)": "-3", "round(1.005,2)": "1.01", "round(1234,-2)": "1200", "floor(-1.5)": "-2", "ceil(-1.5)": "-1",
		"sum(1,2,3)": "6", "mean(1,2)": "1.5", "factorial(20)": "2432902008176640000", "pow(2,3)": "8", "log10(1000)": "3 (rounded)",
		"sin(0)": "0 (rounded)", "round(pi,4)": "3.1416", "LN(e)": "1 (rounded)", "(-1)^1000001": "-1", "1^99999999999": "1", "0^0": "1",
		"--1": "1", "3 × 4 ÷ 2 − 1": "5", "2^0.5": "1.4142135623731 (rounded)",
	} {
		value, err := evaluate(expression)
		require.NoError(t, err, expression)
		require.Equal(t, want, value.String(), expression)
	}
}

func TestCalculator_refuses(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"1/0": "division by zero", "1%0": "division by zero", "0^-1": "division by zero", "1+": "it ends where a number", "(1": `")" is expected`,
		"1 2": `"2" is not expected`, "1,000": `"," is not expected`, "x+1": "no number and no function", "sqrt": `"(" is expected`, "sqrt()": "no number",
		"sqrt(-1)": "no such number", "log(0)": "no such number", "sqrt(1,2)": "takes 1 argument", "abs 3": `is expected`, "": "it ends",
		"9^9^9^9": "more than 10000 digits", "10^100000": "more than 10000 digits", "2^99999999999999999999": "more than 10000 digits",
		"1e99999": "out of bounds", "1e-99999999999": "out of bounds", "0x1p999999": "out of bounds", "factorial(99999)": "from 0 to 2000", "factorial(1.5)": "whole number",
		"round(1,99999)": "at most 1000", "exp(99999)": "no such number", "os.Exit(1)": "no number and no function", "1;2": "is not expected", `"a"`: "no number",
		strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500): "nested deeper", strings.Repeat("-", 1999) + "1": "nested deeper",
		"2" + strings.Repeat("^2", 900): "nested deeper", strings.Repeat("9999999^4000*", 100) + "1": "more than 10000 digits",
	} {
		_, err := evaluate(expression)
		require.ErrorContains(t, err, want, expression)
	}
}

func FuzzCalculator(f *testing.F) {
	for _, seed := range []string{"1+2*3", "(1)", "2^3^2", "sqrt(2)", "max(1,2)", "1e10", "0x1p3", "-(-1)", "1_0", "'a'", "round(1.5,3)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		if len(expression) > 2000 {
			return
		}
		if value, err := evaluate(expression); err == nil {
			require.NotEmpty(t, value.String())
		}
	})
}

func TestBuiltins(t *testing.T) {
	t.Parallel()
	k := newKit(t, Options{Now: func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }})
	for name, tt := range map[string]struct {
		tool, arguments, want string
		bad                   bool
	}{
		"calculator":       {Calculator, `{"expression":"6*7"}`, "42", false},
		"wrong":            {Calculator, `{"expression":"6*"}`, "it ends where a number is expected", true},
		"UTC":              {Time, ``, "2030-01-02T03:04:05Z, Wednesday (UTC), week 1", false},
		"zone":             {Time, `{"zone":"Asia/Shanghai"}`, "2030-01-02T11:04:05+08:00, Wednesday (Asia/Shanghai)", false},
		"no zone":          {Time, `{"zone":"Mars"}`, `no time zone "Mars"`, true},
		"climbing zone":    {Time, `{"zone":"../etc/passwd"}`, "no time zone", true},
		"local":            {Time, `{"zone":"Local"}`, "no time zone", true},
		"missing":          {Calculator, `{}`, "/expression is required", true},
		"unknown argument": {Time, `{"zome":"UTC"}`, `did you mean "zone"`, true},
		"no object":        {Time, `"UTC"`, "must be a JSON object", true},
		"no JSON":          {Time, `{`, "not valid JSON", true},
		"blank":            {Time, ` `, "not valid JSON", true},
		"fetch":            {Fetch, `{"url":"https://x.example"}`, "Nothing can be fetched here", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, k, define(t, k, task.ToolSpec{Builtin: tt.tool}), tt.arguments)
			require.Contains(t, r.Text, tt.want)
			require.Equal(t, tt.bad, r.IsError)
		})
	}
}
