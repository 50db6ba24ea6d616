package simulated

// Unit is bytes as a unit of H.264 holds them, for the tests.
func Unit(header byte, data []byte) []byte {
	var b bitWriter
	b.bytes(data)
	return b.unit(header)
}
