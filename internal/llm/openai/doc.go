// Package openai calls model providers that speak the OpenAI chat wire, and tells honestly how each
// call ended.
//
// go-openai frames the request and hands over the stream's lines; everything on the wire is ours
// (exchange is the Doer under it): headers, fields it cannot send (messages and tools among them, of
// which it drops what is empty), server-sent events, error bodies of every shape, timeouts and size
// caps. The chunks are decoded here too, because providers write numbers as strings and content as
// lists, and one such field must not lose an answer.
//
// A tool call is put together from whatever pieces a provider sends, checked against the tool's schema
// and handed out. No tool is ever run here.
//
// A call is one HTTP request. Nothing here retries, waits for a rate limit, or lets a key out: what
// leaves as an error has been through scrub. Of another call it remembers only what was too much for
// the provider, so that it is not asked again.
package openai
