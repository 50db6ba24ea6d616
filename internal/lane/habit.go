package lane

// memory is the decay of a call's weight per later call: about the last twenty calls count.
const memory = 0.95

// habit measures the ratio of used to estimated tokens. Without it, many concurrent calls of a reasoning model would
// exceed the limit several times before the first of them ends. The zero value trusts the estimate.
type habit struct{ expected, used float64 }

// add records a call that has ended.
func (h *habit) add(expected, used float64) {
	h.expected, h.used = memory*h.expected+expected, memory*h.used+used
}

// expect corrects an estimate.
func (h *habit) expect(tokens float64) float64 {
	if h.expected <= 0 {
		return tokens
	}
	return tokens * h.used / h.expected
}
