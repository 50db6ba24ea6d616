package retrieval_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/document"
	"longhaul/internal/retrieval"
)

// paragraphs returns a text whose passages are its paragraphs.
func paragraphs(name string, parts ...string) retrieval.Text {
	text := retrieval.Text{Name: name}
	for _, part := range parts {
		start := len(text.Markdown)
		text.Markdown += part + "\n\n"
		text.Passages = append(text.Passages, document.Chunk{Start: start, End: len(text.Markdown), Tokens: 10})
	}
	return text
}

func TestBest_words(t *testing.T) {
	t.Parallel()
	english := paragraphs("en", "The harbour was rebuilt in 1911.", "Lamps burn oil, and oil is dear.", "Ships call at the quays.", "Nothing else is known.")
	chinese := paragraphs("zh", "鲜叶在春天采摘。", "茶叶要在锅里炒制，水分才会散去。", "梯田修在山上。", "村里有一座桥。")
	korean := paragraphs("ko", "등대는 1911년에 세워졌다.", "등대지기는 저녁마다 불을 켠다.")
	tests := map[string]struct {
		text     retrieval.Text
		question string
		want     int
	}{
		"a word":               {english, "When was the harbour rebuilt?", 0},
		"a plural":             {english, "Which lamp burns?", 1},
		"a number":             {english, "What happened in 1911", 0},
		"capitals":             {english, "SHIPS AND QUAYS", 2},
		"Chinese":              {chinese, "茶叶怎么炒？", 1},
		"one character":        {chinese, "桥", 3},
		"full width digits":    {english, "１９１１", 0},
		"Korean with particle": {korean, "등대지기가 불을 켜는 때", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			best := retrieval.New([]retrieval.Text{test.text}).Best(test.question, nil, 10)
			require.Equal(t, []int{test.want}, best)
		})
	}
	require.Empty(t, retrieval.New([]retrieval.Text{english}).Best("Wo liegt Zürich?", nil, 100))
}

// Vectors find passages that share no word with the question; passages found by both rankings come first.
func TestBest_vectors(t *testing.T) {
	t.Parallel()
	x := retrieval.New([]retrieval.Text{paragraphs("a", "cats sleep", "dogs bark", "a feline rests", "cats bark")})
	with := x.With([][]float32{{1, 0}, {0, 1}, {5, 0.1}, nil})
	require.Equal(t, []int{0, 3}, x.Best("cats", nil, 20))
	require.Equal(t, []int{0, 2}, with.Best("cats", []float32{1, 0}, 20))
	require.Equal(t, []int{0}, with.Best("cats", []float32{1, 0}, 10))
	require.Equal(t, []int{0, 3}, with.Best("cats", []float32{1, 0, 0}, 20), "vectors of another length are ignored")
	require.Equal(t, []int{0, 3}, with.Best("cats", []float32{0, 0}, 20))
}

func TestBest_fitsTokens(t *testing.T) {
	t.Parallel()
	x := retrieval.New([]retrieval.Text{paragraphs("a", "cat", "cat", "cat", "cat")})
	require.Len(t, x.Best("cat", nil, 25), 2)
	require.Len(t, x.Best("cat", nil, 1), 1, "the best passage is always included")
}

func TestCite(t *testing.T) {
	t.Parallel()
	text := paragraphs("guide.pdf", "Before all.", "# Part I\n\n## Tides\n\nThe keeper said: “It’s high —  at\nlast.”", "## Lamps **old**\n\n```\n# no heading\n```\nThey *burn* oil.")
	text.PageStarts = []int{0, 13, 13, 40}
	x := retrieval.New([]retrieval.Text{paragraphs("other", "One thing."), text})
	tests := map[string]struct {
		passage int
		quote   string
		want    string
		place   string
	}{
		"as it is":                 {1, "Before all", "Before all", "guide.pdf, page 1"},
		"typewriter marks, spaces": {2, `"It's high - at last."`, "It’s high —  at\nlast.", "guide.pdf, page 4, Part I › Tides"},
		"Markdown":                 {3, "They burn oil.", "They *burn* oil.", "guide.pdf, page 4, Part I › Lamps old"},
		"without a page":           {0, "One thing.", "One thing.", "other"},
		"ends cut":                 {3, "...burn oil…", "burn* oil", "guide.pdf, page 4, Part I › Lamps old"},
		"other capitals":           {1, "before All", "", ""},
		"invented":                 {1, "After all", "", ""},
		"of another passage":       {0, "Before all", "", ""},
		"too short":                {1, "all", "", ""},
		"nothing":                  {1, " “” ", "", ""},
		"no such passage":          {9, "Before all", "", ""},
		"before the first":         {-1, "Before all", "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ok := x.Cite(test.passage, test.quote)
			require.Equal(t, test.want != "", ok)
			require.Equal(t, test.want, c.Quote)
			if ok {
				require.Equal(t, test.place, c.String())
				require.Equal(t, min(test.passage, 1), c.Document, "the first passage is the whole first document")
			}
		})
	}
	require.Equal(t, "guide.pdf, page 3, Part I › Tides", x.Place(2).String())
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, quote, want string }{
		"Chinese over a line end": {"茶叶要在锅里\n炒制", "锅里炒制", "锅里\n炒制"},
		"ligature":                {"the ﬁrst oﬃce", "first office", "ﬁrst oﬃce"},
		"composed and not":        {"un cafe\u0301 noir", "café noir", "cafe\u0301 noir"},
		"soft hyphen":             {"light\u00adhouse keeper", "lighthouse keeper", "light\u00adhouse keeper"},
		"no-break space":          {"10\u00a0km away", "10 km", "10\u00a0km"},
		"two Chinese characters":  {"这是茶叶。", "茶叶", "茶叶"},
		"escaped":                 {`a\_b is 5\*3`, "a_b is 5*3", `a\_b is 5\*3`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start, end, ok := retrieval.Quoted(test.text, test.quote)
			require.True(t, ok)
			require.Equal(t, test.want, test.text[start:end])
		})
	}
}

// The same question must return the same passages every time, because a model call is identified by the hash of its
// request.
func TestBest_isDeterministic(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	parts, vectors := make([]string, 300), make([][]float32, 300)
	for i := range parts {
		parts[i] = fmt.Sprintf("ship %d lamp %d sea %d", random.IntN(9), random.IntN(9), random.IntN(9))
		vectors[i] = []float32{random.Float32(), random.Float32(), random.Float32()}
	}
	var first []int
	for range 20 {
		x := retrieval.New([]retrieval.Text{paragraphs("a", parts...)}).With(vectors)
		best := x.Best("ship 3 lamp 4 sea 5", []float32{0.1, 0.2, 0.3}, 200)
		if first == nil {
			first = best
		}
		require.Equal(t, first, best)
	}
	require.Len(t, first, 20)
}

func BenchmarkMillionWords(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	text := retrieval.Text{}
	var words strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&words, "w%d ", random.IntN(1+random.IntN(30_000)))
		if i%300 == 299 {
			words.WriteString("\n\n")
			start := 0
			if n := len(text.Passages); n > 0 {
				start = text.Passages[n-1].End
			}
			text.Passages = append(text.Passages, document.Chunk{Start: start, End: words.Len(), Tokens: 400})
		}
	}
	text.Markdown = words.String()
	vectors := make([][]float32, len(text.Passages))
	for i := range vectors {
		vectors[i] = make([]float32, 1536)
		for j := range vectors[i] {
			vectors[i][j] = random.Float32()
		}
	}
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			retrieval.New([]retrieval.Text{text})
		}
	})
	x := retrieval.New([]retrieval.Text{text}).With(vectors)
	b.ReportMetric(float64(x.Bytes())/1e6, "MB")
	b.Run("rank", func(b *testing.B) {
		for b.Loop() {
			x.Best("w17 w2300 w14000 w5", vectors[3], 6000)
		}
	})
}
