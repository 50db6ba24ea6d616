package simulated

import (
	"math"
	"slices"
	"strings"
)

// sentence is one of a text, with what speaks for it.
type sentence struct {
	text      string
	words     int
	terms     map[string]bool
	part      int  // which of the texts it is from
	paragraph int  // counted over all texts
	opens     bool // it is the first of its paragraph
	proper    bool // it is neither a heading nor a fragment
	place     int  // in the order of reading
	score     float64
}

// summarise answers a prompt: see the package comment for what it reads in it.
func summarise(system, user string) string {
	texts, outside := sources(user)
	words := length(system + "\n" + outside)
	all := read(texts)
	if len(all) == 0 {
		return "There is no text to summarise."
	}
	weigh(all, len(texts))
	return write(choose(proper(all), len(texts), words), words)
}

// read takes the sentences out of texts.
func read(texts []string) []*sentence {
	var all []*sentence
	count := 0
	for part, text := range texts {
		for _, paragraph := range paragraphs(text) {
			count++
			body := paragraph[0] != '#' && paragraph[0] != '|'
			for i, s := range split(paragraph) {
				item := &sentence{
					text: s, words: countWords(s), terms: set(terms(s)...), part: part, paragraph: count,
					opens: i == 0, place: len(all),
				}
				item.proper = body && item.words >= 4 && closed(s)
				if item.words > 0 {
					all = append(all, item)
				}
			}
		}
	}
	return all
}

// proper leaves headings and fragments out, unless a text has nothing else.
func proper(all []*sentence) []*sentence {
	has := map[int]bool{}
	for _, s := range all {
		has[s.part] = has[s.part] || s.proper
	}
	var good []*sentence
	for _, s := range all {
		if s.proper || !has[s.part] {
			good = append(good, s)
		}
	}
	return good
}

// weigh scores every sentence: by the terms it shares with the others, by its place in its text, and
// by its length, for neither a fragment nor a monster reads well.
func weigh(all []*sentence, parts int) {
	frequency := map[string]float64{}
	last := make([]int, parts)
	for _, s := range all {
		for term := range s.terms {
			frequency[term]++
		}
		last[s.part] = s.place
	}
	first := -1
	for i, s := range all {
		if i == 0 || s.part != all[i-1].part {
			first = s.place
		}
		var sum float64
		for term := range s.terms {
			sum += math.Log1p(frequency[term] - 1)
		}
		s.score = sum / math.Sqrt(float64(len(s.terms))+4)
		along := float64(s.place-first) / float64(max(1, last[s.part]-first))
		s.score = (s.score + 0.1) * position(along, s) * extent(s.words)
	}
	level(all)
}

// level makes scores comparable between scripts: pairs of characters repeat less often than words.
func level(all []*sentence) {
	sum, count := map[bool]float64{}, map[bool]float64{}
	for _, s := range all {
		sum[s.broad()] += s.score
		count[s.broad()]++
	}
	for _, s := range all {
		s.score /= sum[s.broad()] / count[s.broad()]
	}
}

// broad reports whether a sentence is written in wide characters.
func (s *sentence) broad() bool { return strings.ContainsFunc(s.text, wide) }

// position favours what opens a text, what closes it a little, and what opens a paragraph.
func position(along float64, s *sentence) float64 {
	weight := 1 + 0.6*math.Exp(-8*along)
	if along > 0.95 {
		weight += 0.15
	}
	if s.opens {
		weight += 0.2
	}
	return weight
}

// closed reports whether a text has the mark at its end that a sentence has.
func closed(text string) bool {
	text = strings.TrimRight(text, `"'”’」』）)》`)
	return slices.ContainsFunc([]string{".", "!", "?", "…", "。", "！", "？", "；"}, func(mark string) bool { return strings.HasSuffix(text, mark) })
}

// extent is 1 for a sentence of a good length, and less for others.
func extent(words int) float64 {
	switch {
	case words < 5:
		return 0.3
	case words > 80:
		return 80 / float64(words)
	default:
		return 1
	}
}

// poor is the part of the best score under which a sentence only fills space.
const poor = 0.25

// choose takes the best sentences that fit into so many words: the best of each text first, so that
// each has its share, then the best of all. One that says again what was chosen, or has little to
// say, is left out.
func choose(all []*sentence, parts, words int) []*sentence {
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b *sentence) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var chosen []*sentence
	left, share := words, max(1, words/parts)
	spent := make([]int, parts)
	take := func(s *sentence) {
		if s.words <= left && !slices.ContainsFunc(chosen, s.repeats) {
			chosen, left, spent[s.part] = append(chosen, s), left-s.words, spent[s.part]+s.words
		}
	}
	for _, s := range ranked {
		if spent[s.part] == 0 || s.score > poor*ranked[0].score && spent[s.part]+s.words <= share {
			take(s)
		}
	}
	for _, s := range ranked {
		if s.score > poor*ranked[0].score && !slices.Contains(chosen, s) {
			take(s)
		}
	}
	if len(chosen) == 0 {
		return ranked[:1]
	}
	slices.SortFunc(chosen, func(a, b *sentence) int { return a.place - b.place })
	return chosen
}

// repeats reports whether two sentences have most of their terms in common.
func (s *sentence) repeats(other *sentence) bool {
	if s.text == other.text {
		return true
	}
	shared, fewer := 0, min(len(s.terms), len(other.terms))
	for term := range s.terms {
		if other.terms[term] {
			shared++
		}
	}
	return fewer > 3 && float64(shared) > 0.7*float64(fewer)
}

// write puts the chosen sentences together, a paragraph for each text. A single sentence that is
// longer than all that is allowed is cut.
func write(chosen []*sentence, words int) string {
	var b strings.Builder
	for i, s := range chosen {
		switch {
		case i == 0:
		case s.part != chosen[i-1].part:
			b.WriteString("\n\n")
		case !strings.HasSuffix(b.String(), " ") && !broad(lastRune(b.String())):
			b.WriteString(" ")
		}
		b.WriteString(plain(s.text))
	}
	return firstWords(b.String(), words)
}

// plain takes the marks of headings, lists and tables away.
func plain(text string) string {
	return strings.TrimSpace(mark.ReplaceAllString(text, ""))
}

func lastRune(text string) rune {
	runes := []rune(text[max(0, len(text)-4):])
	return runes[len(runes)-1]
}
