// Package schema makes JSON Schemas from Go types and checks JSON against them.
//
// What is published is what is enforced: a kind's schema is made once with Of, shown to clients,
// and compiled from that same JSON. The sentences of a refusal are written for the person who
// sent the body. Nothing here fetches a schema from a file or an address, knows HTTP, or changes
// the JSON it checks.
package schema
