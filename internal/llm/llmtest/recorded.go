package llmtest

import "regexp"

var defaultAnswer = regexp.MustCompile(`answer to prompt ([0-9a-f]{12})`)

// Recorded returns the prompt hashes of all default answers in text, in order. It finds them in any format in which a ledger
// or a result stores the text of an answer.
func Recorded(text []byte) (hashes []string) {
	for _, found := range defaultAnswer.FindAllSubmatch(text, -1) {
		hashes = append(hashes, string(found[1]))
	}
	return hashes
}
