package simulated

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const english = `# The lighthouse

The lighthouse at Harrow Point was built in 1871 by Dr. Amelia Stone, who chose granite for its walls.
Granite was costly, but the walls of the lighthouse have stood for more than a century.

` + "```\ncode is not a sentence of the text.\n```" + `

In winter the storms break over the point. The keepers of the lighthouse wrote down every storm in a
book. One keeper, Tom, liked soup. The book of storms is kept in the lighthouse to this day, and
scientists use it to study how storms have changed since 1871.

- a list
- of things

The lighthouse was closed in 1988. It opened again as a museum of storms in 2004.
`

const chinese = `灯塔建于一八七一年，由石匠用花岗岩砌成。花岗岩很贵，但灯塔的墙壁屹立了一百多年。

冬天，风暴拍打着岬角。守塔人把每一场风暴都记在一本
书里。有一位守塔人喜欢喝汤。“这本风暴之书至今保存在灯塔里。”科学家用它研究风暴的变化。

灯塔于一九八八年关闭。二〇〇四年，它作为风暴博物馆重新开放。
`

func document(text string) string { return "<document name=\"a.txt\">\n" + text + "\n</document>\n" }

func TestSummarise(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		system, user string
		words        int // the most
		holds        []string
		lacks        []string
	}{
		"English": {
			"Summarise.\nLength: at most 60 words.", document(english), 60,
			[]string{"Dr. Amelia Stone", "storms"},
			[]string{"#", "code", "a list", "soup"},
		},
		"Chinese": {"请概括。不超过60字。", document(chinese), 60, []string{"灯塔", "风暴"}, []string{"喝汤", "a"}},
		"mixed":   {"Length: at most 90 words.", document(english + chinese), 90, []string{"lighthouse", "灯塔"}, nil},
		"a share for each part": {
			"Length: at most 80 words.", "Merge these.\n<part n=\"1\">\n" + english + "</part>\n<part n=\"2\">\nPenguins swim well. They eat fish.\n</part>\n", 80,
			[]string{"lighthouse", "Penguins swim well."},
			[]string{"Merge", "<part"},
		},
		"length asked for beside the text": {"Summarise.", "In 12 words, please: at most 12 words.\n" + document(english), 12, []string{"The keepers of the lighthouse wrote down every storm in a book."}, nil},
		"no delimiters":                    {"Length: at most 10 words.", "The cat sat on the mat.", 10, []string{"The cat sat on the mat."}, nil},
		"nothing but a heading":            {"", "# Penguins", 10, []string{"Penguins"}, []string{"#"}},
		"a list without sentences":         {"", document("- apples\n- pears"), 10, []string{"apples", "pears"}, nil},
		"a sentence longer than the limit": {"Length: at most 5 words.", document("One two three four five six seven eight."), 5, []string{"One two three four five…"}, nil},
		"no text":                          {"", document(" \n"), 10, []string{"There is no text to summarise."}, nil},
		"no end of the delimiter":          {"", "<document>\nThe cat sat on the mat.", 10, []string{"The cat sat on the mat."}, []string{"<document>"}},
		"one text twice":                   {"", document("The cat sat on the mat.") + document("The cat sat on the mat."), 6, []string{"The cat sat on the mat."}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := summarise(test.system, test.user)
			require.LessOrEqual(t, countWords(got), test.words, got)
			for _, text := range test.holds {
				require.Contains(t, got, text)
			}
			for _, text := range test.lacks {
				require.NotContains(t, got, text)
			}
			require.Equal(t, got, summarise(test.system, test.user))
		})
	}
}

// TestSentencesAreTheTexts holds that a summary says nothing that is not in the text, in its order.
func TestSentencesAreTheTexts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"English": english, "Chinese": chinese} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flat := strings.Join(strings.Fields(text), "")
			rest := flat
			for _, sentence := range split(summarise("at most 70 words", document(text))) {
				_, after, found := strings.Cut(rest, strings.Join(strings.Fields(sentence), ""))
				require.True(t, found, sentence)
				rest = after
			}
		})
	}
}

func TestLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"Length: at most 300 words.": 300, "no more than 1,500 words": 1500, "in about 50 words": 50, "a 75-word summary": 75,
		"不超过 300 字": 300, "请用200个字以内概括": 200, "最多80词": 80, "Summarise it.": defaultWords, "at most 0 words": defaultWords,
	} {
		require.Equal(t, want, length(text), text)
	}
}

func TestCountWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "one": 1, "don't stop-gap, 3.5": 4, "灯塔 is 灯塔": 5, "東京の雨": 4, "서울 봄": 3, "naïve café": 2} {
		require.Equal(t, want, countWords(text), text)
	}
}

// FuzzSummarise holds that any text has a summary of the length that was asked for.
func FuzzSummarise(f *testing.F) {
	f.Add(english, uint8(20))
	f.Add(chinese, uint8(20))
	f.Add("<part>\n“\n</part>\n1. \xff", uint8(1))
	f.Fuzz(func(t *testing.T, text string, words uint8) {
		require.NotEmpty(t, summarise("", text))
		all := read([]string{text})
		if len(all) == 0 {
			return
		}
		limit := int(words) + 1
		weigh(all, 1)
		require.LessOrEqual(t, countWords(write(choose(proper(all), 1, limit), limit)), limit)
	})
}
