package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// calls are the tool calls of an answer, in the order in which they began. They grow by deltas, of which
// a provider may leave out all that tells them apart.
type calls []*call

// call is one of them so far.
type call struct {
	id        string // "" while none came
	name      string
	index     count
	arguments text
}

// callDelta is a piece of a call, or a whole one.
type callDelta struct {
	Index    raw `json:"index"`
	ID       raw `json:"id"`
	Function struct {
		Name      raw `json:"name"`
		Arguments raw `json:"arguments"`
	} `json:"function"`
}

// maxCalls is how many one answer may have; what goes beyond it is not kept.
const maxCalls = 256

// hear takes in the deltas of a message, and reports whether there were any.
func (cs *calls) hear(m *message) bool {
	if !truthy(m.ToolCalls) && !truthy(m.FunctionCall) {
		return false
	}
	deltas := m.deltas()
	grew := false
	for at := range deltas {
		if d := &deltas[at]; len(d.ID)+len(d.Function.Name)+len(d.Function.Arguments) > 0 && len(*cs) <= maxCalls {
			cs.slot(d, at, len(deltas)).add(d)
			grew = true
		}
	}
	return grew
}

// deltas reads a list of them, one that is not in a list, or the old single call. What is none of these
// is nothing.
func (m *message) deltas() []callDelta {
	list := bytes.TrimSpace(m.ToolCalls)
	if !truthy(list) {
		list = fmt.Appendf(nil, `[{"function":%s}]`, m.FunctionCall)
	}
	if list[0] == '{' {
		list = fmt.Appendf(nil, "[%s]", list)
	}
	var deltas []callDelta
	_ = json.Unmarshal(list, &deltas) // what has another shape leaves zeros, which are nothing
	return deltas
}

// slot finds the call that a delta belongs to, or begins one: by its index, which may be absent and is then
// not 0; else by its id; else by its place among the deltas it came with; else it is the newest. What
// has no name goes on with the newest rather than beginning another.
func (cs *calls) slot(d *callDelta, at, of int) *call {
	index, id := d.index(), d.ID.word()
	found := cs.newest(func(c *call) bool { return index.known && c.index == index })
	switch {
	case index.known:
	case id != "":
		found = cs.newest(func(c *call) bool { return c.id == id })
	case of > 1 && len(*cs) >= of:
		found = (*cs)[len(*cs)-of+at]
	case of == 1:
		found = cs.newest(func(*call) bool { return true })
	}
	if found == nil && d.Function.Name.text() == "" {
		found = cs.newest(func(c *call) bool { return id == "" || c.id == "" })
	}
	if found == nil || found.ended(d) {
		found = &call{index: index}
		*cs = append(*cs, found)
	}
	return found
}

func (cs calls) newest(fits func(*call) bool) *call {
	for _, c := range slices.Backward(cs) {
		if fits(c) {
			return c
		}
	}
	return nil
}

// ended reports whether a delta begins another call, although it is told from this one by nothing but
// its name: it has an id of its own, or what came before is whole.
func (c *call) ended(d *callDelta) bool {
	name, id := d.Function.Name.text(), d.ID.word()
	switch {
	case name == "":
		return false
	case id != "" && c.id != "" && id != c.id:
		return true
	case id != "" && id == c.id && name == c.name && d.arguments() == c.arguments.String():
		return false // the same once more
	default:
		return c.whole() && (name != c.name || json.Valid([]byte(d.arguments())))
	}
}

// whole reports whether the arguments are JSON that cannot go on.
func (c *call) whole() bool {
	so := c.arguments.String()
	return strings.HasPrefix(so, "{") && strings.HasSuffix(strings.TrimSpace(so), "}") && json.Valid([]byte(so))
}

// add takes a delta in. The name may come in pieces, or again with each of them, or the whole call may.
func (c *call) add(d *callDelta) {
	c.id = or(c.id, d.ID.word())
	if name := d.Function.Name.text(); name != c.name && c.arguments.Len() == 0 {
		c.name += name
	}
	switch value := d.Function.Arguments; {
	case len(value) == 0:
	case d.arguments() == c.arguments.String() && c.whole():
	case value[0] == '"':
		c.arguments.addString(value[1 : len(value)-1])
	default: // the object that should have been put into a string
		c.arguments.Write(value)
	}
}

// index is the place that a delta names; one in quotes is as good.
func (d *callDelta) index() count {
	var index count
	_ = index.UnmarshalJSON(d.Index) // never fails
	return index
}

// arguments are those of a delta by itself.
func (d *callDelta) arguments() string {
	if value := d.Function.Arguments; len(value) > 0 && value[0] != '"' {
		return string(value)
	}
	return d.Function.Arguments.text()
}

// word is what a JSON string says, or a number as it is written.
func (r raw) word() string {
	if len(r) > 0 && (r[0] == '-' || r[0] >= '0' && r[0] <= '9') {
		return string(r)
	}
	return r.text()
}

// ids gives each call an id that no other of the answer has: its own where it is the first to have it.
func (cs calls) ids() []string {
	ids, used := make([]string, len(cs)), map[string]bool{}
	for i, c := range cs {
		if !used[c.id] {
			ids[i] = c.id
		}
		used[c.id] = true
	}
	n := 0
	for i := range ids {
		for ids[i] == "" {
			n++
			if id := fmt.Sprintf("call_%d", n); !used[id] {
				ids[i] = id
			}
		}
	}
	return ids
}
