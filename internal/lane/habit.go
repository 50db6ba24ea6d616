package lane

// memory is what is left of the weight of a call after the next one: about twenty count.
const memory = 0.95

// habit is how what calls really use compares with what was expected of them. Without it, calls of a
// model that thinks long, of which many are on their way before the first tells, would use up the limit
// several times over. The zero value trusts what is expected.
type habit struct{ expected, used float64 }

// note takes in a call that has ended.
func (h *habit) note(expected, used float64) {
	h.expected, h.used = memory*h.expected+expected, memory*h.used+used
}

// expect corrects what is expected of a call.
func (h *habit) expect(tokens float64) float64 {
	if h.expected <= 0 {
		return tokens
	}
	return tokens * h.used / h.expected
}
