package llmtest

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Quote is a quote in an answer to a question.
type Quote struct {
	Source int    `json:"source"`
	Quote  string `json:"quote"`
}

// CitedAnswer is an answer in the form that questions over sources are answered in.
type CitedAnswer struct {
	Citations       []Quote `json:"citations"`
	Answer          string  `json:"answer"`
	Supported       bool    `json:"supported"`
	NeedsEverything bool    `json:"needs_everything"`
}

// Reply is a good answer with this as its text.
func (a CitedAnswer) Reply() Reply {
	if a.Citations == nil {
		a.Citations = []Quote{}
	}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return Answer(string(text), Usage{Input: 5000, Output: 50})
}

var (
	sourceMark   = regexp.MustCompile(`(?ms)^<source name="(\d+)[^\n]*>\n(.*?)\n</source>`)
	questionMark = regexp.MustCompile(`(?ms)^<question name="[^\n]*">\n(.*?)\n</question>`)
	findingMark  = regexp.MustCompile(`(?ms)^<finding name="[^\n]*">\n(.*?)\n</finding>`)
)

// Asked is the question that a prompt asks; "" if it asks none.
func Asked(prompt string) string {
	found := questionMark.FindAllStringSubmatch(prompt, -1)
	if found == nil {
		return ""
	}
	return found[len(found)-1][1]
}

// Sources are the quoted sources of a prompt, by number.
func Sources(prompt string) map[int]string {
	found := map[int]string{}
	for _, m := range sourceMark.FindAllStringSubmatch(prompt, -1) {
		n, _ := strconv.Atoi(m[1])
		found[n] = m[2]
	}
	return found
}

// Cite answers a question from the sources of its prompt that hold a word, quoting the line that does; of a prompt
// of findings it takes their quotes. Without any it says that nothing supports an answer.
func Cite(prompt, word string) CitedAnswer {
	var a CitedAnswer
	for _, m := range sourceMark.FindAllStringSubmatch(prompt, -1) {
		for line := range strings.Lines(m[2]) {
			if strings.Contains(line, word) {
				n, _ := strconv.Atoi(m[1])
				a.Citations = append(a.Citations, Quote{n, strings.TrimSpace(line)})
				break
			}
		}
	}
	for _, m := range findingMark.FindAllStringSubmatch(prompt, -1) {
		var found CitedAnswer
		if json.Unmarshal([]byte(m[1]), &found) == nil {
			a.Citations = append(a.Citations, found.Citations...)
		}
	}
	a.Supported = len(a.Citations) > 0
	a.Answer = "Answer to " + Hash(prompt)
	return a
}
