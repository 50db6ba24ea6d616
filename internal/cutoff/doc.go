// Package cutoff takes back the slot of an activity that does not end when it must.
//
// Go cannot end a goroutine: a tool or a parser that never looks at its context would keep its slot for ever, and with it a
// place of its tenant. Here the activity runs beside its slot. When its context has ended and it has not returned within a
// grace, the slot is free and Temporal is told; whatever the rest of it returns later is dropped. Nothing here knows what an
// activity does, and nothing is retried here.
package cutoff
