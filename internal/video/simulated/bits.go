package simulated

import "math/bits"

// bitWriter puts bits one after the other, as the syntax of H.264 wants them.
type bitWriter struct {
	data []byte
	free int // bits of the last byte that are not written yet
}

// u writes the n low bits of a value.
func (b *bitWriter) u(n int, value uint32) {
	for i := n - 1; i >= 0; i-- {
		if b.free == 0 {
			b.data, b.free = append(b.data, 0), 8
		}
		b.free--
		b.data[len(b.data)-1] |= byte(value>>i&1) << b.free
	}
}

// ue writes a number in the code that makes small ones short.
func (b *bitWriter) ue(value uint32) {
	length := bits.Len32(value + 1)
	b.u(length-1, 0)
	b.u(length, value+1)
}

// align fills the last byte with zeros.
func (b *bitWriter) align() { b.u(b.free, 0) }

// bytes writes whole bytes; the bits before them must be aligned.
func (b *bitWriter) bytes(data []byte) { b.data = append(b.data, data...) }

// unit ends the bits, and gives them as a unit with this header: three bytes that look like a start are parted.
func (b *bitWriter) unit(header byte) []byte {
	b.u(1, 1)
	b.align()
	out, zeros := append(make([]byte, 0, len(b.data)+16), header), 0
	for _, c := range b.data {
		if zeros == 2 && c <= 3 {
			out, zeros = append(out, 3), 0
		}
		if c == 0 {
			zeros++
		} else {
			zeros = 0
		}
		out = append(out, c)
	}
	return out
}
