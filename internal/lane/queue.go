package lane

import "slices"

// Caller identifies the source of a call for fair queueing: round robin over tenants, then over the tasks of a tenant,
// then first in, first out. A task with a thousand waiting calls delays no other task.
type Caller struct{ Tenant, Task string }

// waiter is a call that waits for admission.
type waiter struct {
	caller Caller
	tokens float64      // estimated
	ready  chan *Closed // receives nil when admitted; buffered, capacity 1

	taken    float64 // tokens taken at admission
	closings int     // Lane.closings at admission
}

// queue orders waiting calls.
type queue interface {
	len() int
	push(w *waiter)
	// next returns the next waiter, and pop removes it. The queue must not be empty.
	next() *waiter
	pop() *waiter
	// remove removes a waiter and reports whether it was in the queue.
	remove(w *waiter) bool
}

// newQueue returns a queue that is fair among tenants and their tasks.
func newQueue() queue {
	tasks := func() queue {
		return &turns{of: func(c Caller) string { return c.Task }, line: func() queue { return new(line) }, lines: map[string]queue{}}
	}
	return &turns{of: func(c Caller) string { return c.Tenant }, line: tasks, lines: map[string]queue{}}
}

// line is a first-in, first-out queue.
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

// turns is a round robin over several queues.
type turns struct {
	of    func(Caller) string // key of a caller's queue
	line  func() queue        // creates a queue
	lines map[string]queue    // queues by key; empty queues are removed
	order []string            // keys in the order of their turns
	count int                 // waiting calls in all queues
}

func (t *turns) len() int { return t.count }

func (t *turns) push(w *waiter) {
	key := t.of(w.caller)
	if t.lines[key] == nil {
		t.lines[key] = t.line()
		t.order = append(t.order, key)
	}
	t.lines[key].push(w)
	t.count++
}

func (t *turns) next() *waiter { return t.lines[t.order[0]].next() }

func (t *turns) pop() *waiter {
	key := t.order[0]
	w := t.lines[key].pop()
	t.order = append(t.order[1:], key)
	t.leave(key)
	return w
}

func (t *turns) remove(w *waiter) bool {
	key := t.of(w.caller)
	if t.lines[key] == nil || !t.lines[key].remove(w) {
		return false
	}
	t.leave(key)
	return true
}

// leave counts a removed waiter, and removes its queue if it is empty.
func (t *turns) leave(key string) {
	t.count--
	if t.lines[key].len() > 0 {
		return
	}
	delete(t.lines, key)
	t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == key })
}
