// Package router knows who answers for a model: which providers, behind which lanes, at what price, and
// who stands in when the first of them cannot.
//
// It makes no calls and it waits for nothing: it names the targets of a call in the order in which they
// are asked, and whoever makes the call says which of them had better rest.
package router
