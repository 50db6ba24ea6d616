package lane

import "slices"

// waiter is a call that waits for its turn.
type waiter struct {
	tenant string
	tokens float64      // expected
	ready  chan *Closed // nil: go; holds one

	taken    float64 // tokens, when it was let in
	closings int     // how often the lane had been closed by then
}

// queue serves tenants in turn, and the calls of one tenant in order: a tenant with a thousand calls
// waiting does not make one with a single call wait for them.
type queue struct {
	waiting map[string][]*waiter
	turns   []string // tenants with somebody waiting, whose turn it is first
}

func newQueue() queue { return queue{waiting: map[string][]*waiter{}} }

func (q *queue) len() int { return len(q.turns) }

func (q *queue) push(w *waiter) {
	if len(q.waiting[w.tenant]) == 0 {
		q.turns = append(q.turns, w.tenant)
	}
	q.waiting[w.tenant] = append(q.waiting[w.tenant], w)
}

// next is who goes next. There must be somebody.
func (q *queue) next() *waiter { return q.waiting[q.turns[0]][0] }

// pop takes out who goes next; its tenant's turn is over.
func (q *queue) pop() *waiter {
	tenant := q.turns[0]
	w := q.waiting[tenant][0]
	q.turns = q.turns[1:]
	if q.waiting[tenant] = q.waiting[tenant][1:]; len(q.waiting[tenant]) > 0 {
		q.turns = append(q.turns, tenant)
	} else {
		delete(q.waiting, tenant)
	}
	return w
}

// remove takes out one that does not want to wait any more, and reports whether it was still there.
func (q *queue) remove(w *waiter) bool {
	line := q.waiting[w.tenant]
	i := slices.Index(line, w)
	if i < 0 {
		return false
	}
	if line = slices.Delete(line, i, i+1); len(line) > 0 {
		q.waiting[w.tenant] = line
		return true
	}
	delete(q.waiting, w.tenant)
	q.turns = slices.DeleteFunc(q.turns, func(t string) bool { return t == w.tenant })
	return true
}
