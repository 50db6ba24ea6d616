package document

import (
	"iter"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/sentences"
	"github.com/tiktoken-go/tokenizer/codec"
)

// Chunk is a part of a text: the byte range [Start, End) and its number of tokens.
type Chunk struct{ Start, End, Tokens int }

// fewestTokens is the smallest limit for Split; any single character fits into it.
const fewestTokens = 16

// o200k is the token table, built on first use.
var o200k = sync.OnceValue(codec.NewO200kBase)

// Tokens estimates the number of tokens of a text: exact for OpenAI's o200k encoding, within about 10 % for others.
func Tokens(text string) int {
	n, err := o200k().Count(text)
	if err != nil {
		return len(text) // not UTF-8: a token has at least one byte
	}
	return n
}

// Split cuts a text into consecutive chunks of at most limit tokens, without gaps. It cuts between paragraphs if
// possible, else between lines, then sentences, and inside a sentence between grapheme clusters. A heading starts a
// new chunk when the current chunk is at least half full. Limits under 16 count as 16.
func Split(text string, limit int) []Chunk {
	p := packer{limit: max(limit, fewestTokens)}
	p.pack(text, 0)
	p.flush()
	return p.chunks
}

// cuts are the ways to cut, from coarse to fine. The last always produces smaller pieces.
var cuts = []func(text string, limit int) iter.Seq[string]{blocks, lines, byReading, slivers}

// packer fills chunks with pieces in order and counts the tokens of every piece once.
type packer struct {
	limit    int
	chunks   []Chunk
	current  Chunk
	headings Chunk // trailing headings of current, kept together with the next piece
}

// pack adds a text cut at the given level; pieces that are too large are cut at the next level.
func (p *packer) pack(text string, level int) {
	const certain = 16 // bytes per token; a longer piece is over the limit or only white space
	finer := min(level+1, len(cuts)-1)
	for piece := range cuts[level](text, p.limit) {
		if len(piece) > certain*p.limit {
			p.pack(piece, finer)
			continue
		}
		n := Tokens(piece)
		if n > p.limit {
			p.pack(piece, finer)
			continue
		}
		p.add(len(piece), n, level == 0 && isHeading(piece))
	}
}

// add puts a piece into the current chunk or a new chunk.
func (p *packer) add(bytes, tokens int, heading bool) {
	full := p.current.Tokens+tokens > p.limit
	if full || heading && p.current.Tokens*2 >= p.limit && p.headings.Tokens == 0 {
		p.flushKeeping(tokens)
	}
	p.current.End += bytes
	p.current.Tokens += tokens
	switch {
	case !heading:
		p.headings = Chunk{}
	case p.headings.Tokens == 0:
		p.headings = Chunk{Start: p.current.End - bytes, End: p.current.End, Tokens: tokens}
	default:
		p.headings.End += bytes
		p.headings.Tokens += tokens
	}
}

// flushKeeping ends the current chunk before its trailing headings, if it has other content and the headings fit
// together with the next tokens.
func (p *packer) flushKeeping(next int) {
	kept := p.headings
	if kept.Tokens == 0 || kept.Start == p.current.Start || kept.Tokens+next > p.limit {
		p.flush()
		return
	}
	p.current.End, p.current.Tokens = kept.Start, p.current.Tokens-kept.Tokens
	p.flush()
	p.current, p.headings = kept, kept
}

func (p *packer) flush() {
	if p.current.End > p.current.Start {
		p.chunks = append(p.chunks, p.current)
	}
	p.current, p.headings = Chunk{Start: p.current.End, End: p.current.End}, Chunk{}
}

// isHeading reports whether a block is a Markdown heading.
func isHeading(block string) bool {
	marks := strings.TrimLeft(block, "#")
	level := len(block) - len(marks)
	return level >= 1 && level <= 6 && strings.HasPrefix(marks, " ")
}

// blocks cuts after blank lines and around headings.
func blocks(text string, _ int) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, filled, head, gap := 0, false, false, false
		for at := 0; at < len(text); {
			end := nextLine(text, at)
			line := text[at:end]
			empty := strings.TrimSpace(line) == ""
			heading := isHeading(line)
			if filled && !empty && (gap || heading || head) {
				if !yield(text[start:at]) {
					return
				}
				start, filled, head = at, false, false
			}
			if !empty && !filled {
				filled, head = true, heading
			}
			gap = empty && filled
			at = end
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

func lines(text string, _ int) iter.Seq[string] { return strings.Lines(text) }

// nextLine returns the end of the line that begins at start.
func nextLine(text string, start int) int {
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		return start + i + 1
	}
	return len(text)
}

// byReading cuts into sentences. An opening quote or bracket at the end of a sentence belongs to the next sentence.
func byReading(text string, _ int) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, end := 0, 0
		for all := sentences.FromString(text); all.Next(); {
			end += len(all.Value())
			cut := len(strings.TrimRight(text[:end], "“‘「『（《〈【〔［(["))
			if cut > start && end < len(text) {
				if !yield(text[start:cut]) {
					return
				}
				start = cut
			}
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// slivers cuts a sentence of any length into pieces of about an eighth of the limit, small enough to fill chunks well.
func slivers(text string, limit int) iter.Seq[string] {
	const sample = 4 << 10
	return func(yield func(string) bool) {
		head := text[:runeStart(text, min(len(text), sample))]
		length := len(head) * limit / (8 * max(Tokens(head), 1))
		length = max(1, min(length, len(text)/3)) // guarantees a cut
		for len(text) > 2*length {
			cut := border(text, length)
			if !yield(text[:cut]) {
				return
			}
			text = text[cut:]
		}
		if text != "" {
			yield(text)
		}
	}
}

// border returns a cut position near at: the end of a grapheme cluster, or a code point boundary if the cluster is too
// long.
func border(text string, at int) int {
	const around = 1 << 10 // longer than any grapheme cluster in real text
	start := runeStart(text, max(0, at-around))
	end := start
	for all := graphemes.FromString(text[start:min(len(text), at+around)]); all.Next() && end < at; {
		end += len(all.Value())
	}
	if end > 0 && end >= at && end < len(text) && end < at+around {
		return end
	}
	_, first := utf8.DecodeRuneInString(text)
	return max(runeStart(text, at), first)
}

// runeStart moves at back to the start of its code point.
func runeStart(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
