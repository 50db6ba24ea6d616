package simulated

import (
	"encoding/binary"
	"slices"
)

// track is the frames of a film, and what a file says about them. A frame lasts 1/rate of a second.
type track struct {
	width, height int
	rate          int
	stream, frame []byte
	frames        [][]byte // a unit each
	keys          []uint32 // the numbers, from 1, of those that stand for themselves
}

// file is an MP4 file that can be played while it comes: what is in it stands before the frames.
func (t track) file() []byte {
	head := box("ftyp", []byte("isom\x00\x00\x02\x00isomiso2avc1mp41"))
	from := len(head) + len(t.movie(0)) + 8
	out := append(head, t.movie(from)...)
	size := 8
	for _, frame := range t.frames {
		size += 4 + len(frame)
	}
	out = append(u32(slices.Grow(out, size), size), "mdat"...)
	for _, frame := range t.frames {
		out = append(u32(out, len(frame)), frame...)
	}
	return out
}

// movie describes the film, whose frames begin at a place in the file. How long it is does not depend on that.
func (t track) movie(from int) []byte {
	length := len(t.frames)
	unity := u32s(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
	return box("moov",
		full("mvhd", 0, u32s(0, 0, t.rate, length, 0x10000, 0x01000000, 0, 0), unity, u32s(0, 0, 0, 0, 0, 0, 2)),
		box("trak",
			full("tkhd", 3, u32s(0, 0, 1, 0, length, 0, 0, 0, 0), unity, u32s(t.width<<16, t.height<<16)),
			box("mdia",
				full("mdhd", 0, u32s(0, 0, t.rate, length, 0x55C40000)),
				full("hdlr", 0, u32s(0), []byte("vide"), u32s(0, 0, 0), []byte("film\x00")),
				box("minf",
					full("vmhd", 1, u32s(0, 0)),
					box("dinf", full("dref", 0, u32s(1), full("url ", 1))),
					t.table(from)))))
}

// table says where each frame is.
func (t track) table(from int) []byte {
	sizes := u32s(0, len(t.frames))
	for _, frame := range t.frames {
		sizes = u32(sizes, 4+len(frame))
	}
	keys := u32s(len(t.keys))
	for _, key := range t.keys {
		keys = binary.BigEndian.AppendUint32(keys, key)
	}
	return box("stbl",
		full("stsd", 0, u32s(1), t.coding()),
		full("stts", 0, u32s(1, len(t.frames), 1)),
		full("stss", 0, keys),
		full("stsc", 0, u32s(1, 1, len(t.frames), 1)),
		full("stsz", 0, sizes),
		full("stco", 0, u32s(1, from)))
}

// coding is what a decoder must know before the first frame.
func (t track) coding() []byte {
	units := []byte{1, t.stream[1], t.stream[2], t.stream[3], 0xFF, 0xE1}
	units = append(u16(units, len(t.stream)), t.stream...)
	units = append(u16(append(units, 1), len(t.frame)), t.frame...)
	return box("avc1",
		u32s(0, 1, 0, 0, 0, 0, t.width<<16|t.height, 0x480000, 0x480000, 0, 1<<16),
		make([]byte, 30), []byte{0, 24, 0xFF, 0xFF}, box("avcC", units))
}

// box is a part of a file with its size and its name.
func box(name string, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append(append(u32(nil, 8+len(body)), name...), body...)
}

// full is a box with flags.
func full(name string, flags int, parts ...[]byte) []byte {
	return box(name, append([][]byte{u32s(flags)}, parts...)...)
}

func u32s(values ...int) []byte {
	var out []byte
	for _, v := range values {
		out = u32(out, v)
	}
	return out
}

// u32 and u16 write numbers in the order of a file; a film is far smaller than 4 GiB, and its units than 64 KiB.
func u32(out []byte, v int) []byte { return binary.BigEndian.AppendUint32(out, uint32(v)) }

func u16(out []byte, v int) []byte { return binary.BigEndian.AppendUint16(out, uint16(v)) }
