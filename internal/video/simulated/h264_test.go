package simulated_test

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/video/simulated"
)

// TestUnit_hidesStarts: three bytes that a player would take for the start of a unit never stand in one.
func TestUnit_hidesStarts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ data, want []byte }{
		"nothing":           {nil, []byte{0x80}},
		"no zeros":          {[]byte{1, 2, 3}, []byte{1, 2, 3, 0x80}},
		"a start":           {[]byte{0, 0, 1}, []byte{0, 0, 3, 1, 0x80}},
		"zeros":             {[]byte{0, 0, 0, 0, 0, 0}, []byte{0, 0, 3, 0, 0, 3, 0, 0, 0x80}},
		"what hides":        {[]byte{0, 0, 3}, []byte{0, 0, 3, 3, 0x80}},
		"not in need of it": {[]byte{0, 0, 4, 0, 1}, []byte{0, 0, 4, 0, 1, 0x80}},
	} {
		require.Equal(t, append([]byte{9}, test.want...), simulated.Unit(9, test.data), name)
	}
}

// reader reads the bits of a unit.
type reader struct {
	t    *testing.T
	data []byte
	at   int // in bits
}

func (r *reader) u(n int) int {
	value := 0
	for range n {
		require.Less(r.t, r.at/8, len(r.data), "the unit ends too early")
		value = value<<1 | int(r.data[r.at/8]>>(7-r.at%8)&1)
		r.at++
	}
	return value
}

func (r *reader) ue() int {
	zeros := 0
	for r.u(1) == 0 {
		zeros++
	}
	return 1<<zeros + r.u(zeros) - 1
}

// more reports whether anything stands before the last bit that is set.
func (r *reader) more() bool {
	end := len(r.data)*8 - 1 - bits.TrailingZeros8(r.data[len(r.data)-1])
	require.LessOrEqual(r.t, r.at, end)
	return r.at < end
}

// samples skips a macroblock of plain samples.
func (r *reader) samples() {
	for r.at%8 != 0 {
		require.Zero(r.t, r.u(1))
	}
	r.at += 8 * 384
}

// slice reads a frame, and gives the number after its key frame, what tells key frames apart, and how many
// macroblocks it is about.
func (r *reader) slice(key bool) (number, id, blocks int) {
	require.Zero(r.t, r.ue())
	require.Equal(r.t, map[bool]int{true: 7, false: 5}[key], r.ue())
	require.Zero(r.t, r.ue())
	number = r.u(8)
	if key {
		id = r.ue()
		r.u(2)
	} else {
		r.u(3)
	}
	require.Zero(r.t, r.ue())
	require.Equal(r.t, 1, r.ue())
	for r.more() {
		if !key {
			if blocks += r.ue(); !r.more() {
				break
			}
		}
		require.Equal(r.t, map[bool]int{true: 25, false: 30}[key], r.ue())
		r.samples()
		blocks++
	}
	return number, id, blocks
}

// TestFilm_everyFrameIsWhole reads the frames as a strict player does; browsers forgive a lot.
func TestFilm_everyFrameIsWhole(t *testing.T) {
	t.Parallel()
	const seconds, width, height = 3, 192, 336
	file := simulated.Film("a quiet sea", 1, seconds, width, height)
	m := mp4{}
	m.read(t, "", file)
	data, last, frames := m["/mdat"], -1, 0
	for ; len(data) > 0; frames++ {
		size := int(binary.BigEndian.Uint32(data))
		unit := data[4 : 4+size]
		data = data[4+size:]
		key := unit[0] == 0x65
		require.Equal(t, frames%24 == 0, key)
		r := reader{t: t, data: bytes.ReplaceAll(unit[1:], []byte{0, 0, 3}, []byte{0, 0})}
		number, id, blocks := r.slice(key)
		require.Equal(t, frames%24, number)
		require.Equal(t, width/16*height/16, blocks, "frame %d", frames)
		if key {
			require.NotEqual(t, last, id, "two key frames in a row are told apart")
			last = id
		}
	}
	require.Equal(t, 24*seconds, frames)
}
