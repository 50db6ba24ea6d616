package simulated_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/video/simulated"
)

func TestSize(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		resolution, aspect string
		width, height      int
	}{
		"wide":         {"720p", "16:9", 336, 192},
		"tall":         {"720p", "9:16", 192, 336},
		"square":       {"480p", "1:1", 160, 160},
		"cinema":       {"1080p", "21:9", 592, 256},
		"not said":     {"", "", 336, 192},
		"nonsense":     {"best", "adaptive", 336, 192},
		"a long strip": {"480p", "100:1", 288, 160},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			width, height := simulated.Size(test.resolution, test.aspect)
			require.Equal(t, [2]int{test.width, test.height}, [2]int{width, height})
		})
	}
}

func TestFilm_followsFromThePrompt(t *testing.T) {
	t.Parallel()
	film := func(prompt string, seed int64) []byte { return simulated.Film(prompt, seed, 1, 160, 96) }
	require.Equal(t, film("a", 1), film("a", 1))
	require.NotEqual(t, film("a", 1), film("b", 1))
	require.NotEqual(t, film("a", 1), film("a", 2))
	require.Less(t, len(film("a", 1)), 1<<20)
}

// mp4 is a file taken apart: the bodies of its boxes by their path.
type mp4 map[string][]byte

// holds are the boxes with boxes in them, and what stands before those.
var holds = map[string]int{"moov": 0, "trak": 0, "mdia": 0, "minf": 0, "dinf": 0, "stbl": 0, "stsd": 8, "avc1": 78, "dref": 8}

func (m mp4) read(t *testing.T, path string, data []byte) {
	t.Helper()
	for len(data) > 0 {
		require.GreaterOrEqual(t, len(data), 8, "a piece of a box in %s", path)
		size, name := int(binary.BigEndian.Uint32(data)), string(data[4:8])
		require.True(t, size >= 8 && size <= len(data), "%s/%s of %d bytes among %d", path, name, size, len(data))
		here, body := path+"/"+name, data[8:size]
		require.NotContains(t, m, here)
		m[here] = body
		if before, ok := holds[name]; ok {
			m.read(t, here, body[before:])
		}
		data = data[size:]
	}
}

func words(data []byte) []int {
	var out []int
	for ; len(data) >= 4; data = data[4:] {
		out = append(out, int(binary.BigEndian.Uint32(data)))
	}
	return out
}

// TestFilm_isAnMP4 takes files apart, down to the first bytes of each frame.
func TestFilm_isAnMP4(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ seconds, width, height int }{{1, 160, 96}, {3, 192, 336}, {5, 336, 192}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			file := simulated.Film("a quiet sea", 1, test.seconds, test.width, test.height)
			m := mp4{}
			m.read(t, "", file)
			frames := 24 * test.seconds

			require.Equal(t, "ftyp", string(file[4:8]))
			require.Equal(t, []int{24, frames}, words(m["/moov/mvhd"])[3:5])
			require.Equal(t, []int{test.width << 16, test.height << 16}, words(m["/moov/trak/tkhd"])[19:21])
			table := "/moov/trak/mdia/minf/stbl/"
			require.Equal(t, []int{0, 1, frames, 1}, words(m[table+"stts"]))
			keys := words(m[table+"stss"])[2:]
			require.Len(t, keys, test.seconds)
			sizes := words(m[table+"stsz"])[3:]
			require.Len(t, sizes, frames)
			config := m[table+"stsd/avc1/avcC"]
			require.Equal(t, []byte{1, 66, 0xC0, 31, 0xFF, 0xE1}, config[:6])
			require.Equal(t, test.width<<16|test.height, words(m[table+"stsd/avc1"][24:])[0])

			at := words(m[table+"stco"])[2]
			require.Equal(t, m["/mdat"], file[at:], "the frames begin where the table says")
			for n, size := range sizes {
				require.Equal(t, size-4, int(binary.BigEndian.Uint32(file[at:])), "frame %d", n)
				kind := byte(0x41)
				if slices.Contains(keys, n+1) {
					kind = 0x65
				}
				require.Equal(t, kind, file[at+4], "frame %d", n)
				for i := at + 4; i < at+size-2; i++ {
					require.False(t, file[i] == 0 && file[i+1] == 0 && file[i+2] < 3, "frame %d holds what looks like a start", n)
				}
				at += size
			}
			require.Equal(t, len(file), at)
		})
	}
}

func BenchmarkFilm(b *testing.B) {
	for b.Loop() {
		b.SetBytes(int64(len(simulated.Film("a quiet sea", 1, 5, 336, 192))))
	}
}
