// Package tool is what an agent may use that knows nothing of its task: tools that longhaul brings
// along, calls to an address, and servers that speak MCP. It describes tools to a model and runs the
// calls that the model makes.
//
// The arguments of a call come from a model, and so from whatever the model has read: they are hostile
// until proven otherwise. They never change the host, the scheme or the structure of an address, every
// connection is guarded as a document's is, and a secret goes only to the hosts that it is meant for.
// Secrets never reach a definition, a result, an error or a log.
//
// What may not happen here: no call is made again once it may have been heard, nothing is remembered
// between calls but connections, no model, no storage, no Temporal. Whether a person agrees to a call
// is asked above.
package tool
