package simulated

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// What a question over sources looks like in a user message: <source name="12: …">, <finding name="1"> and
// <question name="…">, each on a line of its own, and its end.
var (
	questionBlock = regexp.MustCompile(`(?ms)^<question name="[^\n]*">\n(.*?)\n</question>`)
	sourceBlock   = regexp.MustCompile(`(?ms)^<source name="(\d+)[^\n]*">\n(.*?)\n</source>`)
	findingBlock  = regexp.MustCompile(`(?ms)^<finding name="[^\n]*">\n(.*?)\n</finding>`)

	// broadQuestion asks about documents as a whole.
	broadQuestion = regexp.MustCompile(`(?i)\b(how many|how often|list (all|every)|all of the|every|compare|summari[sz]e|overall|throughout|count)\b|总结|概括|全部|所有|多少|一共|比较`)
)

// cited is an answer with its quotes.
type cited struct {
	Citations       []quoted `json:"citations"`
	Answer          string   `json:"answer"`
	Supported       bool     `json:"supported"`
	NeedsEverything bool     `json:"needs_everything"`
}

type quoted struct {
	Source int     `json:"source"`
	Quote  string  `json:"quote"`
	score  float64 // how much of the question it has
}

// mostQuotes is how many sentences an answer is made of.
const mostQuotes = 3

// answerQuestion answers a prompt that asks a question of sources or findings, and reports whether it is one. The answer
// is the sentences that share most terms with the question, as they stand in the sources.
func answerQuestion(system, user string) (text string, ok bool) {
	asked := questionBlock.FindAllStringSubmatch(user, -1)
	if asked == nil {
		return "", false
	}
	question := asked[len(asked)-1][1]
	a := cited{Citations: []quoted{}, Answer: "The sources do not tell."}
	a.NeedsEverything = broadQuestion.MatchString(question) && !strings.Contains(system, "needs_everything: false.")
	if quotes := picked(candidates(user), question); len(quotes) > 0 && !a.NeedsEverything {
		sentences := make([]string, len(quotes))
		for i, q := range quotes {
			sentences[i] = strings.Join(strings.Fields(q.Quote), " ")
		}
		a.Citations, a.Supported, a.Answer = quotes, true, strings.Join(sentences, " ")
	}
	data, err := json.Marshal(a)
	return string(data), err == nil
}

// candidates are the sentences of all sources, and the quotes of all findings.
func candidates(user string) []quoted {
	var all []quoted
	for _, block := range sourceBlock.FindAllStringSubmatch(user, -1) {
		number, _ := strconv.Atoi(block[1]) // the pattern takes digits only
		for paragraph := range strings.SplitSeq(block[2], "\n\n") {
			for parts := sentences.FromString(paragraph); parts.Next(); {
				if text := strings.TrimSpace(parts.Value()); text != "" && text[0] != '#' {
					all = append(all, quoted{Source: number, Quote: text})
				}
			}
		}
	}
	for _, block := range findingBlock.FindAllStringSubmatch(user, -1) {
		var found cited
		if json.Unmarshal([]byte(block[1]), &found) == nil {
			all = append(all, found.Citations...)
		}
	}
	return all
}

// picked are the candidates that have most of a question's terms, rare ones above all; the best first.
func picked(all []quoted, question string) []quoted {
	asked, frequency := set(terms(question)...), map[string]float64{}
	has := make([]map[string]bool, len(all))
	for i, q := range all {
		has[i] = set(terms(q.Quote)...)
		for term := range has[i] {
			frequency[term]++
		}
	}
	for i := range all {
		for _, term := range slices.Sorted(maps.Keys(asked)) {
			if has[i][term] {
				all[i].score += 1 / (1 + frequency[term]/8)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b quoted) int { return cmp.Compare(b.score, a.score) })
	var best []quoted
	for _, q := range all {
		if q.score > 0 && q.score >= all[0].score/2 && len(best) < mostQuotes {
			best = append(best, q)
		}
	}
	return best
}
