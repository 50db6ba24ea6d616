package qa

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// answerSoFar is the answer in a reply that is still being written, whose form is JSON.
func answerSoFar(raw string) string {
	in := json.NewDecoder(strings.NewReader(raw))
	depth, isKey := 0, false
	for {
		token, err := in.Token()
		if err != nil {
			return ""
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			isKey = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			isKey = depth == 1
			continue
		}
		if depth != 1 {
			continue
		}
		if isKey && token == "answer" {
			return unquoted(raw[in.InputOffset():])
		}
		isKey = !isKey
	}
}

// unquoted is what the beginning of a JSON string, after its colon, says as far as it goes.
func unquoted(rest string) string {
	rest = strings.TrimLeft(rest, ": \t\r\n")
	if !strings.HasPrefix(rest, `"`) {
		return ""
	}
	var text string
	for end := len(rest); end > 0 && end > len(rest)-12; end-- { // without the part of an escape at its end
		if part := rest[:end]; utf8.ValidString(part) && json.Unmarshal([]byte(part+`"`), &text) == nil {
			return text
		}
	}
	if err := json.NewDecoder(strings.NewReader(rest)).Decode(&text); err != nil { // it has ended, and more follows
		return ""
	}
	return text
}
