package openai

import "sync"

// learned is what a provider's refusals tell about its models. The zero value knows nothing.
type learned struct {
	mu     sync.Mutex
	inputs map[string]int    // texts in one call for embeddings
	format map[string]Format // of answers with a schema
}

// refuse notes that a model does not take a format, so that the next looser one is asked for.
func (l *learned) refuse(model string, format Format) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.format == nil {
		l.format = map[string]Format{}
	}
	l.format[model] = looser[format]
}

// strictest gives the format to ask a model for, and "" when none was refused.
func (l *learned) strictest(model string) Format {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.format[model]
}

// few notes that a model takes no more than n texts in one call.
func (l *learned) few(model string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inputs == nil {
		l.inputs = map[string]int{}
	}
	if known, ok := l.inputs[model]; !ok || n < known {
		l.inputs[model] = n
	}
}

// most gives how many texts a model takes, as far as is known, and 0 when nothing is.
func (l *learned) most(model string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inputs[model]
}
