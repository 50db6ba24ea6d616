package lane

import "slices"

// Caller is who calls, for turns: tenants have theirs one after the other, and so have the tasks of a tenant, and the calls of a task come in
// order. A task with a thousand calls waiting does not make another with a single one wait for them, whoever's they are.
type Caller struct{ Tenant, Task string }

// waiter is a call that waits for its turn.
type waiter struct {
	caller Caller
	tokens float64      // expected
	ready  chan *Closed // nil: go; holds one

	taken    float64 // tokens, when it was let in
	closings int     // how often the lane had been closed by then
}

// queue is who waits.
type queue interface {
	len() int
	push(w *waiter)
	// next is who goes next, and pop takes it out. There must be somebody.
	next() *waiter
	pop() *waiter
	// remove takes out one that does not want to wait any more, and reports whether it was still there.
	remove(w *waiter) bool
}

// newQueue serves tenants in turn, and their tasks.
func newQueue() queue {
	tasks := func() queue {
		return &turns{of: func(c Caller) string { return c.Task }, line: func() queue { return new(line) }, lines: map[string]queue{}}
	}
	return &turns{of: func(c Caller) string { return c.Tenant }, line: tasks, lines: map[string]queue{}}
}

// line serves in order.
type line []*waiter

func (l *line) len() int       { return len(*l) }
func (l *line) push(w *waiter) { *l = append(*l, w) }
func (l *line) next() *waiter  { return (*l)[0] }

func (l *line) pop() *waiter {
	w := (*l)[0]
	*l = (*l)[1:]
	return w
}

func (l *line) remove(w *waiter) bool {
	i := slices.Index(*l, w)
	if i >= 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	return i >= 0
}

// turns serves one after the other of those who have a line of their own.
type turns struct {
	of    func(Caller) string // whose line it is
	line  func() queue        // makes one
	lines map[string]queue    // none is empty
	order []string            // of lines, whose turn it is first
	count int                 // of those who wait
}

func (t *turns) len() int { return t.count }

func (t *turns) push(w *waiter) {
	whose := t.of(w.caller)
	if t.lines[whose] == nil {
		t.lines[whose] = t.line()
		t.order = append(t.order, whose)
	}
	t.lines[whose].push(w)
	t.count++
}

func (t *turns) next() *waiter { return t.lines[t.order[0]].next() }

func (t *turns) pop() *waiter {
	whose := t.order[0]
	w := t.lines[whose].pop()
	t.order = append(t.order[1:], whose)
	t.leave(whose)
	return w
}

func (t *turns) remove(w *waiter) bool {
	whose := t.of(w.caller)
	if t.lines[whose] == nil || !t.lines[whose].remove(w) {
		return false
	}
	t.leave(whose)
	return true
}

// leave counts one who is gone from a line, and takes the line away when nobody is left in it.
func (t *turns) leave(whose string) {
	t.count--
	if t.lines[whose].len() > 0 {
		return
	}
	delete(t.lines, whose)
	t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == whose })
}
