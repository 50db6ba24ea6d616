package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"longhaul/internal/llm"
)

// text grows by pieces of JSON. A character may be split between two of them, by its bytes or by
// its escapes, and is kept back until it is whole.
type text struct {
	strings.Builder
	held []byte // the beginning of a character, as it stood in the JSON
}

// add takes a content value: a string, or a list of parts of which those with text count.
func (t *text) add(value raw) bool {
	switch {
	case len(value) == 0 || string(value) == `""`:
		return false
	case value[0] == '"':
		return t.addString(value[1 : len(value)-1])
	case value[0] == '[':
		var parts []struct {
			Text raw `json:"text"`
		}
		if json.Unmarshal(value, &parts) != nil {
			return false
		}
		grew := false
		for _, part := range parts {
			grew = t.add(part.Text) || grew
		}
		return grew
	default:
		return false
	}
}

// addString takes in the inside of a JSON string.
func (t *text) addString(inner []byte) bool {
	if len(t.held) > 0 {
		inner = append(t.held, inner...)
	}
	whole := len(inner) - unfinished(inner)
	t.unquote(inner[:whole])
	t.held = append([]byte(nil), inner[whole:]...)
	return whole > 0
}

// unquote writes what the inside of a JSON string stands for.
func (t *text) unquote(inner []byte) {
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		t.Write(inner)
		return
	}
	t.WriteString(raw(bytes.Join([][]byte{{'"'}, inner, {'"'}}, nil)).text())
}

// flush ends the text: a character that was only begun is shown as one that cannot be read.
func (t *text) flush() {
	if len(t.held) > 0 {
		t.unquote(t.held)
		t.held = nil
	}
}

// unfinished counts the bytes at the end of a JSON string's inside that only begin a character: a
// high surrogate's escape, or a part of a UTF-8 sequence.
func unfinished(inner []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(inner); n++ {
		if tail := inner[len(inner)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			break
		}
	}
	if len(inner) < 6 {
		return 0
	}
	escape := inner[len(inner)-6:]
	if !bytes.HasPrefix(escape, []byte(`\u`)) {
		return 0
	}
	before := inner[:len(inner)-6]
	if slashes := len(before) - len(bytes.TrimRight(before, `\`)); slashes%2 == 1 {
		return 0
	}
	if code, err := strconv.ParseUint(string(escape[2:]), 16, 16); err != nil || code < 0xD800 || code > 0xDBFF {
		return 0
	}
	return 6
}

// progress shows the text so far.
func (t *text) progress() llm.Progress { return llm.Progress{Bytes: t.Len(), Text: t.String()} }
