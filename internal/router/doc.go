// Package router maps a model name to its targets: the providers that offer it, with lane, price and
// fallbacks, in the order in which they are tried.
//
// It makes no calls and never waits. The caller reports a provider that is down with Rest.
package router
