// Package schema derives JSON Schemas from Go types and validates JSON against schemas.
//
// The published schema is the enforced schema: a kind's schema is made once with Of, shown to clients, and compiled
// from the same JSON. Error texts are written for the author of the request. This package never fetches a schema from
// a file or an address, knows nothing of HTTP, and does not change the JSON it validates.
package schema
