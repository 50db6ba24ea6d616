package simulated

import "bytes"

// What stands in the first byte of a unit.
const (
	unitSlice  = 0x41
	unitKey    = 0x65
	unitStream = 0x67
	unitFrame  = 0x68
)

// block is the size of a macroblock.
const block = 16

// picture is a frame in planes: the brightness of each pixel, and the colour of each two by two. The sides are
// multiples of a block.
type picture struct {
	width, height int
	y, cb, cr     []byte
}

func newPicture(width, height int) picture {
	return picture{width, height, make([]byte, width*height), make([]byte, width*height/4), make([]byte, width*height/4)}
}

func (p picture) clone() picture {
	p.y, p.cb, p.cr = bytes.Clone(p.y), bytes.Clone(p.cb), bytes.Clone(p.cr)
	return p
}

// blocks is how many macroblocks the picture has.
func (p picture) blocks() int { return p.width / block * (p.height / block) }

// samples gives those of the n-th macroblock.
func (p picture) samples(n int) []byte {
	across := p.width / block
	x, y := n%across*block, n/across*block
	out := make([]byte, 0, block*block*3/2)
	for row := y; row < y+block; row++ {
		out = append(out, p.y[row*p.width+x:][:block]...)
	}
	for _, plane := range [][]byte{p.cb, p.cr} {
		for row := y / 2; row < (y+block)/2; row++ {
			out = append(out, plane[row*p.width/2+x/2:][:block/2]...)
		}
	}
	return out
}

// streamUnit says what all frames have in common: Constrained Baseline, level 3.1, shown in the order sent.
func streamUnit(width, height int) []byte {
	var b bitWriter
	b.bytes([]byte{66, 0xC0, 31})
	b.ue(0)   // its number
	b.ue(4)   // frame numbers have 8 bits
	b.ue(2)   // the order of showing is that of sending
	b.ue(1)   // one frame is looked back at
	b.u(1, 0) // no gaps
	b.ue(uint32(width/block - 1))
	b.ue(uint32(height/block - 1))
	b.u(1, 1) // whole frames
	b.u(1, 1) // as level 3.1 wants it
	b.u(2, 0) // nothing cut off, nothing more to say
	return b.unit(unitStream)
}

// frameUnit says how frames are written: plainly, and not smoothed.
func frameUnit() []byte {
	var b bitWriter
	b.ue(0)
	b.ue(0)
	b.u(2, 0)
	b.ue(0)
	b.ue(0)
	b.ue(0)
	b.u(3, 0)
	b.ue(0)
	b.ue(0)
	b.ue(0)
	b.u(3, 0b100) // each slice says whether it is smoothed
	return b.unit(unitFrame)
}

// The ways to write a macroblock as plain samples, in a key frame and in one between.
const (
	plainInKey   = 25
	plainBetween = 30
)

// keyUnit is a frame that stands for itself. Two in a row must not have the same odd.
func keyUnit(p picture, odd bool) []byte {
	var b bitWriter
	b.ue(0)
	b.ue(7) // all of it is of this sort
	b.ue(0)
	b.u(8, 0)
	b.ue(map[bool]uint32{true: 1}[odd])
	b.u(2, 0)
	b.ue(0) // the usual quality, which plain samples do not have
	b.ue(1) // not smoothed
	for n := range p.blocks() {
		b.ue(plainInKey)
		b.align()
		b.bytes(p.samples(n))
	}
	return b.unit(unitKey)
}

// betweenUnit is the n-th frame after a key frame: what has changed since the one before.
func betweenUnit(before, p picture, n int) []byte {
	var b bitWriter
	b.ue(0)
	b.ue(5) // all of it is of this sort
	b.ue(0)
	b.u(8, uint32(n))
	b.u(1, 0)
	b.u(1, 0)
	b.u(1, 0)
	b.ue(0)
	b.ue(1) // not smoothed
	same := uint32(0)
	for n := range p.blocks() {
		samples := p.samples(n)
		if bytes.Equal(samples, before.samples(n)) {
			same++
			continue
		}
		b.ue(same)
		b.ue(plainBetween)
		b.align()
		b.bytes(samples)
		same = 0
	}
	if same > 0 {
		b.ue(same)
	}
	return b.unit(unitSlice)
}
