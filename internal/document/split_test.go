package document

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/stretchr/testify/require"
)

// parts returns the texts of the chunks and checks the promises of Split.
func parts(t testing.TB, text string, limit int) []string {
	t.Helper()
	var out []string
	at := 0
	for _, c := range Split(text, limit) {
		require.Equal(t, at, c.Start, "gap before the chunk")
		require.Greater(t, c.End, c.Start)
		part := text[c.Start:c.End]
		require.LessOrEqual(t, c.Tokens, limit)
		require.LessOrEqual(t, Tokens(part), limit)
		require.Equal(t, strings.ToValidUTF8(part, "?"), part, "a character is cut")
		out = append(out, part)
		at = c.End
	}
	require.Equal(t, len(text), at, "text is missing")
	return out
}

func TestTokens(t *testing.T) {
	t.Parallel()
	require.Equal(t, 0, Tokens(""))
	require.Equal(t, 4, Tokens("Hello, world!"))
	require.Positive(t, Tokens("<|endoftext|>"))
}

func TestSplitProperties(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 60_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	tests := map[string]struct {
		text  string
		limit int
		most  int // maximum number of chunks
	}{
		"nothing":         {"", 100, 0},
		"one word":        {"word", 100, 1},
		"white space":     {strings.Repeat(" \n", 5000), 100, 200},
		"English":         {strings.Repeat("The lamp turns. Ships pass in the night, and nobody waves.\n\n", 500), 100, 90},
		"Chinese":         {strings.Repeat("茶园依山而建层层叠叠清晨的雾气沿着山谷缓缓升起", 800), 300, 72},
		"Chinese, stops":  {strings.Repeat("茶园依山而建，层层叠叠。清晨的雾气沿着山谷升起！", 500), 300, 48},
		"Thai":            {strings.Repeat("แสงไฟจากประภาคารส่องทะเลยามค่ำคืน", 300), 200, 60},
		"base64":          {base64.StdEncoding.EncodeToString(noise), 3000, 400},
		"families":        {strings.Repeat("👩‍👩‍👧‍👦", 3000), 100, 600},
		"one letter":      {strings.Repeat("a", 50_000), 1000, 60},
		"marks on marks":  {"a" + strings.Repeat("\u0301", 20_000), 100, 800},
		"table":           {strings.Repeat("| a | 1 | some words here |\n", 2000), 400, 70},
		"very small":      {strings.Repeat("茶👩‍👩‍👧‍👦x ", 50), 16, 400},
		"no last newline": {strings.Repeat("# H\n\ntext here\n\n", 100) + "end", 50, 40},
		"CRLF":            {strings.Repeat("a line of words\r\n\r\n", 300), 64, 60},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.LessOrEqual(t, len(parts(t, tt.text, tt.limit)), tt.most)
		})
	}
	require.Len(t, Split("a b c d e f g h i j k l m n o p", 1), 1, "limits under 16 count as 16")
}

func TestSplitKeepsSentences(t *testing.T) {
	t.Parallel()
	for _, sentence := range []string{"The lamp turns and ships pass in the night. ", "“茶园依山而建，层层叠叠。”"} {
		for _, part := range parts(t, strings.Repeat(sentence, 400), 120) {
			require.Zero(t, len(part)%len(sentence), "%q", part)
		}
	}
}

func TestSplitKeepsCharacters(t *testing.T) {
	t.Parallel()
	const family = "👩‍👩‍👧‍👦"
	text := strings.Repeat(family, 500)
	for _, part := range parts(t, text, 100) {
		require.Zero(t, len(part)%len(family))
	}
	for all := graphemes.FromString(text); all.Next(); {
		require.Equal(t, family, all.Value(), "a grapheme cluster")
	}
}

func TestSplitAtHeadings(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 60) + "\n\n"
	section := "## Heading\n\n" + words
	got := parts(t, words+section+section, 100)
	require.Equal(t, []string{words, section, section}, got, "each section is over half of the limit")

	small := "## Heading\n\nfew words\n\n"
	require.Equal(t, []string{small + small}, parts(t, small+small, 100), "less than half full: no cut")

	line := strings.Repeat("word ", 40) + "\n\n"
	got = parts(t, line+"# A\n\n## B\n\n"+words, 100)
	require.Equal(t, []string{line, "# A\n\n## B\n\n" + words}, got, "headings go with what follows")

	require.Equal(t, []string{words, "# x\n" + words}, parts(t, words+"# x\n"+words, 100), "also without a blank line")
}

func FuzzSplit(f *testing.F) {
	f.Add("# a\n\nb\n\n## c", 16)
	f.Add("“你好。”“今天”", 16)
	f.Add("\r\n\r\n \u2028", 20)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 16 + max(limit, -limit, 0)%1000
		at := 0
		for _, c := range Split(text, limit) {
			require.Equal(t, at, c.Start)
			require.LessOrEqual(t, c.Tokens, limit)
			at = c.End
		}
		require.Equal(t, len(text), at)
	})
}

func BenchmarkSplitEnglish(b *testing.B) {
	text := strings.Repeat(strings.Repeat("The lamp turns and ships pass in the night, and nobody waves. ", 12)+"\n\n", 1400)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Split(text, 3000)
	}
}
