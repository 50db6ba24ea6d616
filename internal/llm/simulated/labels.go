package simulated

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What texts to be labelled look like: <text name="1">, the text, and its end.
var textBlock = regexp.MustCompile(`(?ms)^<text name="(\d+)">\n(.*?)\n</text>`)

// labelForm is the part of a schema that says which labels there are.
type labelForm struct {
	Properties struct {
		Results struct {
			Items struct {
				Properties struct {
					Labels struct {
						MaxItems int `json:"maxItems"`
						Items    struct {
							Enum []string `json:"enum"`
						} `json:"items"`
					} `json:"labels"`
				} `json:"properties"`
			} `json:"items"`
		} `json:"results"`
	} `json:"properties"`
}

type labelled struct {
	Number     int      `json:"number"`
	Labels     []string `json:"labels"`
	Confidence float64  `json:"confidence"`
}

// unlike is the label of texts that have no word of any.
const unlike = "other"

// labelTexts answers a prompt that asks for labels of texts, and reports whether it is one: a text gets the label that has most words
// in common with it, by its name and what the instructions say of it.
func labelTexts(system, user string, form json.RawMessage) (answer string, ok bool) {
	texts := textBlock.FindAllStringSubmatch(user, -1)
	var wanted labelForm
	if texts == nil || json.Unmarshal(form, &wanted) != nil {
		return "", false
	}
	labels := wanted.Properties.Results.Items.Properties.Labels
	names := labels.Items.Enum
	if len(names) == 0 {
		return "", false
	}
	words := make([]map[string]bool, len(names))
	for i, name := range names {
		words[i] = set(terms(name + " " + told(system, name))...)
	}
	lines := make([]labelled, len(texts))
	for i, text := range texts {
		number, _ := strconv.Atoi(text[1]) // the pattern takes digits only
		lines[i] = label(names, words, terms(text[2]), labels.MaxItems == 1)
		lines[i].Number = number
	}
	data, err := json.Marshal(map[string]any{"results": lines})
	return string(data), err == nil
}

// told is what the instructions say of a label, in a line such as "- delivery: parcels that are late".
func told(system, name string) string {
	_, after, _ := strings.Cut("\n"+system, "\n- "+name+": ")
	line, _, _ := strings.Cut(after, "\n")
	return line
}

// label chooses from labels by their words.
func label(names []string, words []map[string]bool, text []string, one bool) labelled {
	has := set(text...)
	chosen, most := labelled{Labels: []string{}}, 0
	for i, name := range names {
		common := 0
		for word := range words[i] {
			if has[word] && name != unlike {
				common++
			}
		}
		if one && common > most {
			chosen.Labels = []string{name}
		} else if !one && common > 0 {
			chosen.Labels = append(chosen.Labels, name)
		}
		most = max(most, common)
	}
	chosen.Confidence = float64(most) / float64(most+1)
	switch {
	case most > 0:
	case slices.Contains(names, unlike):
		chosen.Labels = []string{unlike}
	default:
		chosen.Labels = names[:1]
	}
	return chosen
}
