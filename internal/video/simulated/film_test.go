package simulated_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/video/simulated"
)

func TestFilm_followsFromThePrompt(t *testing.T) {
	t.Parallel()
	film := func(prompt string, seed int64) []byte { return simulated.Film(prompt, seed, 1, "16:9") }
	require.Equal(t, film("a", 1), film("a", 1))
	require.NotEqual(t, film("a", 1), film("b", 1))
	require.NotEqual(t, film("a", 1), film("a", 2))
	require.Less(t, len(film("a", 1)), 8<<10)
}

// mp4 is a file taken apart: the bodies of its boxes by their path.
type mp4 map[string][]byte

// holds are the boxes with boxes in them, and what stands before those.
var holds = map[string]int{"moov": 0, "trak": 0, "mdia": 0, "minf": 0, "edts": 0, "dinf": 0, "stbl": 0, "stsd": 8, "avc1": 78, "dref": 8}

func (m mp4) read(t *testing.T, path string, data []byte) {
	t.Helper()
	for len(data) > 0 {
		require.GreaterOrEqual(t, len(data), 8, "a piece of a box in %s", path)
		size, name := int(binary.BigEndian.Uint32(data)), string(data[4:8])
		require.True(t, size >= 8 && size <= len(data), "%s/%s of %d bytes among %d", path, name, size, len(data))
		here, body := path+"/"+name, data[8:size]
		m[here] = body // of two with one name the last
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

// TestFilm_isAnMP4 takes files apart: what a player learns from them is what was asked for.
func TestFilm_isAnMP4(t *testing.T) {
	t.Parallel()
	for aspect, size := range map[string][2]int{
		"16:9": {320, 180}, "21:9": {320, 180}, "": {320, 180}, "adaptive": {320, 180}, "-9:16": {320, 180}, "0:1": {320, 180},
		"9:16": {180, 320}, "1:4": {180, 320}, "1:1": {240, 240},
	} {
		t.Run(aspect, func(t *testing.T) {
			t.Parallel()
			for seconds := 1; seconds <= 60; seconds++ {
				file := simulated.Film("a quiet sea", 1, seconds, aspect)
				m := mp4{}
				m.read(t, "", file)
				require.Equal(t, "ftyp", string(file[4:8]))
				require.Less(t, bytes.Index(file, []byte("moov")), bytes.Index(file, []byte("mdat")), "it plays while it is loaded")
				require.Len(t, m["/free"], 32)
				track, table := "/moov/trak/mdia/", "/moov/trak/mdia/minf/stbl/"
				for _, header := range []string{"/moov/mvhd", track + "mdhd"} {
					times := words(m[header])[3:5] // scale, duration
					require.InDelta(t, seconds, float64(times[1])/float64(times[0]), 0.001)
				}
				require.Equal(t, []int{0, 1, 48, words(m[track+"mdhd"])[4] / 48}, words(m[table+"stts"]), "48 frames fill the whole length")
				require.Equal(t, []int{size[0] << 16, size[1] << 16}, words(m["/moov/trak/tkhd"])[19:21])
				require.Equal(t, size[0]<<16|size[1], words(m[table+"stsd/avc1"][24:])[0])
				require.Equal(t, []byte{1, 66, 0xC0}, m[table+"stsd/avc1/avcC"][:3], "Constrained Baseline")
				require.Equal(t, words(m["/moov/trak/edts/elst"])[2], words(m["/moov/mvhd"])[4], "no part is left out")
				requireFrames(t, file, m, words(m[table+"stsz"])[3:], words(m[table+"stco"])[2])
			}
		})
	}
}

// requireFrames follows the table of sizes through the frames, which fill the data.
func requireFrames(t *testing.T, file []byte, m mp4, sizes []int, at int) {
	t.Helper()
	require.Equal(t, m["/mdat"], file[at:at+len(m["/mdat"])], "the frames begin where the table says")
	data := m["/mdat"]
	for n, size := range sizes {
		require.Equal(t, size-4, words(data)[0], "frame %d", n)
		data = data[size:]
	}
	require.Empty(t, data)
}
