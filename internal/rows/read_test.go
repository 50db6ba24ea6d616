package rows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"longhaul/internal/rows"
	"longhaul/internal/task"
)

func read(t *testing.T, text string, opts rows.ReadOptions) ([]rows.Row, error) {
	t.Helper()
	var all []rows.Row
	err := rows.Read(t.Context(), strings.NewReader(text), opts, func(row rows.Row) error {
		all = append(all, row)
		return nil
	})
	return all, err
}

func good(index, line int, id string, fields map[string]any) rows.Row {
	return rows.Row{Index: index, Line: line, ID: id, Fields: fields}
}

func bad(index, line int, why string) rows.Row { return rows.Row{Index: index, Line: line, Bad: why} }

type fields = map[string]any

func TestRead(t *testing.T) {
	t.Parallel()
	control := make([]byte, 0, 32)
	for b := range byte(0x20) {
		control = append(control, b)
	}
	escaped, err := json.Marshal(string(control) + "\x7f👩‍👩‍👧")
	require.NoError(t, err)

	tests := map[string]struct {
		text string
		opts rows.ReadOptions
		want []rows.Row
	}{
		"objects and texts": {
			text: "{\"id\":\"a\",\"text\":\"one\"}\n\n  \n\"two\"\n",
			want: []rows.Row{good(0, 1, "a", fields{"id": "a", "text": "one"}), good(1, 4, "", fields{"text": "two"})},
		},
		"Windows newlines, a byte order mark and no last newline": {
			text: "\xEF\xBB\xBF{\"text\":\"one\"}\r\n\r\n{\"text\":\"two\"}",
			want: []rows.Row{good(0, 1, "", fields{"text": "one"}), good(1, 3, "", fields{"text": "two"})},
		},
		"values as they came": {
			text: `{"n":1.0,"big":12345678901234567890123,"e":1E400,"t":true,"no":null,"o":{"b":1, "a":[1.50, "x y"],"b":2},"e1":{},"u":"\u00e9\ud83d\ude00<&>"}`,
			want: []rows.Row{good(0, 1, "", fields{
				"n": json.Number("1.0"), "big": json.Number("12345678901234567890123"), "e": json.Number("1E400"), "t": true, "no": nil,
				"o": json.RawMessage(`{"b":1,"a":[1.50,"x y"],"b":2}`), "e1": json.RawMessage(`{}`), "u": "é😀<&>",
			})},
		},
		"every control character, NUL and a family": {
			text: `{"text":` + string(escaped) + `}`,
			want: []rows.Row{good(0, 1, "", fields{"text": string(control) + "\x7f👩‍👩‍👧"})},
		},
		"bad rows have their lines": {
			text: "{\"text\":1}\n{\"text\":\n[1]\n7\nnull\nfalse\n{\"a\":1,\"a\":2}\n{\"id\":{}}\n{}\n",
			opts: rows.ReadOptions{Format: rows.JSONL},
			want: []rows.Row{
				good(0, 1, "", fields{"text": json.Number("1")}),
				bad(1, 2, "the row is not JSON: unexpected end of JSON input, at byte 8"),
				bad(2, 3, "a row must be an object or a text, not an array"), bad(3, 4, "a row must be an object or a text, not a number"),
				bad(4, 5, "a row must be an object or a text, not null"), bad(5, 6, "a row must be an object or a text, not true or false"),
				bad(6, 7, `the field "a" appears twice`), bad(7, 8, `the field "id" must be a text or a number`), good(8, 9, "", fields{}),
			},
		},
		"ids": {
			text: "{\"id\":7}\n{\"custom_id\":\"c\"}\n{\"id\":\"\",\"custom_id\":\"d\"}\n{\"id\":\"7\"}\n{\"id\":\"" + strings.Repeat("x", 513) + "\"}\n",
			want: []rows.Row{
				good(0, 1, "7", fields{"id": json.Number("7")}), good(1, 2, "c", fields{"custom_id": "c"}),
				good(2, 3, "d", fields{"id": "", "custom_id": "d"}),
				{Index: 3, Line: 4, ID: "7", Bad: `the id "7" is already used in line 1`},
				{Index: 4, Line: 5, ID: strings.Repeat("x", 513), Bad: "the id has 513 bytes, the limit is 512"},
			},
		},
		"OpenAI batch": {
			text: `{"custom_id":"r1","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"hi"}],"id":"no"}}` + "\n" +
				`{"custom_id":"r2","method":"GET","url":"/v1/models","body":"x"}`,
			want: []rows.Row{
				{Index: 0, Line: 1, ID: "r1", Fields: fields{
					"model": "m", "messages": json.RawMessage(`[{"role":"user","content":"hi"}]`), "id": "no",
				}},
				good(1, 2, "r2", fields{"custom_id": "r2", "method": "GET", "url": "/v1/models", "body": "x"}),
			},
		},
		"their columns by our names": {
			text: "{\"sku\":\"a\",\"beschreibung\":\"x\",\"rest\":1}\n\"alone\"\n{\"sku\":\"b\",\"id\":\"c\"}\n",
			opts: rows.ReadOptions{Columns: map[string]string{"sku": "id", "beschreibung": "text", "text": "body"}},
			want: []rows.Row{
				good(0, 1, "a", fields{"id": "a", "text": "x", "rest": json.Number("1")}), good(1, 2, "", fields{"body": "alone"}),
				bad(2, 3, `the field "id" appears twice`),
			},
		},
		"a row that is too long": {
			text: "\"ok\"\n\"" + strings.Repeat("x", 200_000) + "\"\n\"next\"\n\"" + strings.Repeat("y", 98) + "\"",
			opts: rows.ReadOptions{}.Within(100, 0),
			want: []rows.Row{
				good(0, 1, "", fields{"text": "ok"}), bad(1, 2, "the row has 200003 bytes, the limit is 100"),
				good(2, 3, "", fields{"text": "next"}), good(3, 4, "", fields{"text": strings.Repeat("y", 98)}),
			},
		},
		"a line that is not UTF-8": {
			text: "\"grün\"\n\"gr\xFCn\"\n\"ok\"\n" + strings.Repeat("\"žluťoučký kůň\"\n", 100),
			want: append([]rows.Row{
				good(0, 1, "", fields{"text": "grün"}), bad(1, 2, "the row is not valid UTF-8, unlike the rest of the file"), good(2, 3, "", fields{"text": "ok"}),
			}, texts(3, 4, 100, "žluťoučký kůň")...),
		},
		"array": {
			text: "\n [ {\"id\":\"a\",\n \"text\":\"[x], }\\\"\"} ,\n\"two\"\n,\n,[3],{\"a\":}, {\"b\":2}}\n, \"end\",\n]\n ",
			want: []rows.Row{
				good(0, 2, "a", fields{"id": "a", "text": `[x], }"`}), good(1, 4, "", fields{"text": "two"}),
				bad(2, 6, "the row is empty: two commas without a value between them"), bad(3, 6, "a row must be an object or a text, not an array"),
				bad(4, 6, "the row is not JSON: invalid character '}' looking for beginning of value, at byte 6"),
				bad(5, 6, "the row is not JSON: invalid character '}' after top-level value, at byte 8"), good(6, 7, "", fields{"text": "end"}),
			},
		},
		"array with an element that is too long": {
			text: `["a","` + strings.Repeat("x,]", 200) + `","b"]`, opts: rows.ReadOptions{}.Within(100, 0),
			want: []rows.Row{good(0, 1, "", fields{"text": "a"}), bad(1, 1, "the row has 602 bytes, the limit is 100"), good(2, 1, "", fields{"text": "b"})},
		},
		"array that is named JSONL": {
			text: `["a"]`, opts: rows.ReadOptions{Name: "x.jsonl"}, want: []rows.Row{good(0, 1, "", fields{"text": "a"})},
		},
		"table": {
			text: "id,text,n\r\n1,\"two\r\nlines, \"\"quoted\"\"\",3\r\n\r\n2,,\"\"\r\n3,5\" pipe,x\r\n",
			want: []rows.Row{
				good(0, 2, "1", fields{"id": "1", "text": "two\r\nlines, \"quoted\"", "n": "3"}),
				good(1, 5, "2", fields{"id": "2", "text": "", "n": ""}), good(2, 6, "3", fields{"id": "3", "text": "5\" pipe", "n": "x"}),
			},
		},
		"ragged rows": {
			text: "a,b\n1\n1,2,3\n1,\"x\"y\n1,2\n,\n3,\"open\n,4\n",
			want: []rows.Row{
				bad(0, 2, "the row has 1 fields, the header has 2"), bad(1, 3, "the row has 3 fields, the header has 2"),
				bad(2, 4, "field 2 continues after its closing quote; write a quote inside a quoted field twice"),
				good(3, 5, "", fields{"a": "1", "b": "2"}), good(4, 6, "", fields{"a": "", "b": ""}),
				bad(5, 7, "a quote in the row is not closed, so everything up to line 9 is one field"),
			},
		},
		"semicolons, with commas in the text": {
			text: "id;text\n1;a, b, c\n2;d, e\n",
			want: []rows.Row{good(0, 2, "1", fields{"id": "1", "text": "a, b, c"}), good(1, 3, "2", fields{"id": "2", "text": "d, e"})},
		},
		"bars": {text: "a|b\n1|2\n", want: []rows.Row{good(0, 2, "", fields{"a": "1", "b": "2"})}},
		"tabs by name": {
			text: "a\tb,c\n1\t2\n", opts: rows.ReadOptions{Name: "X.TSV"}, want: []rows.Row{good(0, 2, "", fields{"a": "1", "b,c": "2"})},
		},
		"one column": {
			text: "text\n\"a, b\"\n\"\"\nc\n", opts: rows.ReadOptions{ContentType: "text/csv; charset=utf-8"},
			want: []rows.Row{good(0, 2, "", fields{"text": "a, b"}), good(1, 3, "", fields{"text": ""}), good(2, 4, "", fields{"text": "c"})},
		},
		"quoted header without a name": {
			text: "\"id\",\"text\"\n\"1\",\"x\"\n", want: []rows.Row{good(0, 2, "1", fields{"id": "1", "text": "x"})},
		},
		"columns of a table by our names": {
			text: " sku ,Beschreibung\na,x\na,y\n", opts: rows.ReadOptions{Columns: map[string]string{"sku": "id", "Beschreibung": "text"}},
			want: []rows.Row{
				good(0, 2, "a", fields{"id": "a", "text": "x"}),
				{Index: 1, Line: 3, ID: "a", Bad: `the id "a" is already used in line 2`},
			},
		},
		"a table's row that is too long": {
			text: "a,b\n1,\"" + strings.Repeat("x\n", 100) + "\"\n1,2\n", opts: rows.ReadOptions{}.Within(50, 0),
			want: []rows.Row{bad(0, 2, "the row has 204 bytes, the limit is 50"), good(1, 103, "", fields{"a": "1", "b": "2"})},
		},
		"control characters in a table": {
			text: "a,b\n\x00\x01\x1b,\"" + string(control) + "\"\n", want: []rows.Row{good(0, 2, "", fields{"a": "\x00\x01\x1b", "b": string(control)})},
		},
		"old Macintosh newlines": {text: "a,b\r1,2\r3,4", want: []rows.Row{good(0, 2, "", fields{"a": "1", "b": "2"}), good(1, 3, "", fields{"a": "3", "b": "4"})}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, tt.text, tt.opts)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)

			var slow []rows.Row
			err = rows.Read(t.Context(), iotest.OneByteReader(strings.NewReader(tt.text)), tt.opts, func(row rows.Row) error {
				slow = append(slow, row)
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, tt.want, slow, "byte by byte")
		})
	}
}

func texts(index, line, n int, text string) []rows.Row {
	var all []rows.Row
	for i := range n {
		all = append(all, good(index+i, line+i, "", fields{"text": text}))
	}
	return all
}

func TestRead_charsets(t *testing.T) {
	t.Parallel()
	chinese := "编号,评论\n1,这个产品的质量非常好，我很满意\n2,物流太慢了，等了一个星期才收到\n"
	late := "id,text\n" + strings.Repeat("0,plain text that says nothing of its charset\n", 10_000) + "1,这个产品的质量非常好，我很满意\n"
	tests := map[string]struct {
		enc         encoding.Encoding
		text        string
		contentType string
	}{
		"GBK":                                  {simplifiedchinese.GBK, chinese, ""},
		"GBK, declared":                        {simplifiedchinese.GBK, "a,b\n1,质量\n", "text/csv; charset=gbk"},
		"GB18030":                              {simplifiedchinese.GB18030, chinese, "text/csv"},
		"GBK after half a megabyte of ASCII":   {simplifiedchinese.GBK, late, ""},
		"UTF-8 after half a megabyte of ASCII": {unicode.UTF8, late, "text/csv; charset=gbk"},
		"UTF-16 with a mark":                   {unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), chinese, ""},
		"UTF-16, big end first":                {unicode.UTF16(unicode.BigEndian, unicode.UseBOM), chinese, ""},
		"UTF-16 without a mark":                {unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "id,text\n1,plain text\n", ""},
		"Windows-1252":                         {charmap.Windows1252, "id;text\n1;Größe für 5 €\n", "text/csv"},
		"Shift JIS would be, but is UTF-8":     {unicode.UTF8BOM, "id,text\n1,品質\n", "text/csv; charset=shift_jis"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := read(t, tt.text, rows.ReadOptions{})
			require.NoError(t, err)
			data, err := tt.enc.NewEncoder().String(tt.text)
			require.NoError(t, err)
			got, err := read(t, data, rows.ReadOptions{ContentType: tt.contentType})
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestRead_damagedGBK(t *testing.T) {
	t.Parallel()
	data, err := simplifiedchinese.GBK.NewEncoder().String("编号,评论\n" + strings.Repeat("1,这个产品的质量非常好，我很满意\n", 20))
	require.NoError(t, err)
	got, err := read(t, data+"3,\xff\xff\n4,x\n", rows.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, bad(20, 22, "the row contains bytes that are not gb18030, unlike the rest of the file"), got[20])
	require.Equal(t, fields{"编号": "4", "评论": "x"}, got[21].Fields)
}

func TestRead_refused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		opts rows.ReadOptions
		code task.Code
		want string
	}{
		"nothing":             {"", rows.ReadOptions{}, task.Invalid, "the input has no rows; send at least one"},
		"white space":         {" \n\n", rows.ReadOptions{}, task.Invalid, "the input has no rows; send at least one"},
		"empty array":         {"[ ]", rows.ReadOptions{}, task.Invalid, "the input has no rows; send at least one"},
		"header alone":        {"a,b\n", rows.ReadOptions{}, task.Invalid, "the input has no rows; send at least one"},
		"empty table":         {"", rows.ReadOptions{Name: "a.csv"}, task.Invalid, "the input has no rows; send at least one"},
		"column twice":        {"a,b,a\n1,2,3\n", rows.ReadOptions{}, task.Invalid, `columns 1 and 3 of the header are both called "a"; rename one of them`},
		"column made twice":   {"a,b\n1,2\n", rows.ReadOptions{Columns: map[string]string{"a": "b"}}, task.Invalid, `columns 1 and 2 of the header are both called "b"; rename one of them`},
		"column without name": {"a,,c\n1,2,3\n", rows.ReadOptions{}, task.Invalid, "column 2 of 3 has no name in the header; name it or remove it"},
		"unknown column":      {"titel,b\n1,2\n", rows.ReadOptions{Columns: map[string]string{"title": "text"}}, task.Invalid, `columns: unknown column "title"; did you mean "titel"?`},
		"header that is cut":  {"a,\"b\n1,2\n", rows.ReadOptions{Format: rows.CSV}, task.Invalid, "the header in line 1 cannot be read: a quote in the row is not closed, so everything up to line 3 is one field"},
		"array without end":   {"[\"a\",\n\"b\"", rows.ReadOptions{}, task.Invalid, "the file is not a JSON array: the closing ] is missing (line 2)"},
		"after the array":     {"[\"a\"]\n{}", rows.ReadOptions{}, task.Invalid, "the file is not a JSON array: data follows the array (line 2)"},
		"not an array":        {"{}", rows.ReadOptions{Format: rows.JSON}, task.Invalid, "the file is not a JSON array: it must begin with [ (line 1)"},
		"workbook":            {"PK\x03\x04...", rows.ReadOptions{Name: "a.csv"}, task.WrongMedia, "the file is a ZIP archive, such as an Excel workbook; send it as text: CSV, TSV, JSONL or a JSON array"},
		"prose":               {"Dear Sir\nor Madam\n", rows.ReadOptions{}, task.WrongMedia, "the file is neither JSON nor a table with two columns; name it .csv or .jsonl, or set its content type"},
		"unknown format":      {"x", rows.ReadOptions{Format: "xml"}, task.Invalid, `unknown format "xml"; known: jsonl, json, csv, tsv`},
		"too many":            {"1\n2\n3\n", rows.ReadOptions{Format: rows.JSONL}.Within(0, 2), task.TooLarge, "the input has more than 2 rows, the limit of a task; split it into several tasks"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, tt.text, tt.opts)
			told, ok := errors.AsType[*task.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, tt.want, told.Detail)
			require.Equal(t, tt.code, told.Code)
		})
	}
}

func TestRead_stops(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for _, text := range []string{"\"a\"\n\"b\"\n", `["a","b"]`, "a,b\n1,2\n3,4\n"} {
		calls := 0
		err := rows.Read(t.Context(), strings.NewReader(text), rows.ReadOptions{}, func(rows.Row) error { calls++; return enough })
		require.ErrorIs(t, err, enough)
		require.Equal(t, 1, calls)

		gone := errors.New("the connection is gone")
		err = rows.Read(t.Context(), io.MultiReader(strings.NewReader(text[:len(text)-1]), iotest.ErrReader(gone)), rows.ReadOptions{}, func(rows.Row) error { return nil })
		require.ErrorIs(t, err, gone, text)

		ctx, cancel := context.WithCancel(t.Context())
		err = rows.Read(ctx, strings.NewReader(text), rows.ReadOptions{}, func(rows.Row) error { cancel(); return nil })
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestReadInline(t *testing.T) {
	t.Parallel()
	in := []json.RawMessage{[]byte(`{"id":"a","x":1}`), []byte(`"two"`), []byte(`{"id":"a"}`), []byte(`{"x"`), []byte(`"` + strings.Repeat("x", 99) + `"`)}
	var got []rows.Row
	err := rows.ReadInline(t.Context(), in, rows.ReadOptions{}.Within(100, 0), func(row rows.Row) error {
		got = append(got, row)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []rows.Row{
		good(0, 0, "a", fields{"id": "a", "x": json.Number("1")}), good(1, 0, "", fields{"text": "two"}),
		{Index: 2, ID: "a", Bad: `the id "a" is already used in row 0`},
		bad(3, 0, "the row is not JSON: unexpected end of JSON input, at byte 4"), bad(4, 0, "the row has 101 bytes, the limit is 100"),
	}, got)
	require.ErrorContains(t, rows.ReadInline(t.Context(), nil, rows.ReadOptions{}, nil), "the input has no rows")
}

// FuzzRead: rows of any file have consecutive indexes, each is valid or bad, and valid rows survive writing and
// reading.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"{\"id\":\"a\"}\n\"b\"\n", `[{"a":[1,{}]},"x",]`, "a,b\n1,\"2\n3\"\n", "a\tb\n1\t2", "\xff\xfea\x00,\x00b\x00", "\xef\xbb\xbf[]", "{\"a\":\"\\ud800\"}", "a;b\r1;\xb0\xa1",
	} {
		for _, format := range []string{"", "jsonl", "json", "csv", "tsv"} {
			f.Add([]byte(text), format)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format string) {
		next, line := 0, 0
		var out bytes.Buffer
		w := rows.NewWriter(&out, rows.Size{Rows: 3, Bytes: 100})
		var want []rows.Row
		err := rows.Read(t.Context(), bytes.NewReader(data), rows.ReadOptions{Format: rows.Format(format)}.Within(64, 0), func(row rows.Row) error {
			require.Equal(t, next, row.Index)
			require.GreaterOrEqual(t, row.Line, max(line, 1))
			require.Equal(t, row.Bad == "", row.Fields != nil)
			next, line = next+1, row.Line
			want = append(want, row)
			return w.Write(row)
		})
		if _, ours := errors.AsType[*task.Error](err); err != nil && !ours {
			t.Fatal(err)
		}
		require.NoError(t, w.Flush())
		for _, piece := range w.Pieces() {
			got, err := piece.Read(out.Bytes()[piece.Start:piece.End])
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(want[piece.From:piece.To]), fmt.Sprint(got))
		}
	})
}
