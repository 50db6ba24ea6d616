// Package wire speaks to providers that render videos, each in its dialect. What is peculiar to a dialect is a
// row of data (dialects); where in an answer a thing may stand, and by which words, is one table for all
// (words), because relays pass on what other providers say.
//
// A call is one HTTP request; Cancel makes one more beforehand, Find turns pages, and Content follows redirects.
// Nothing here retries, polls by itself, or lets a key out: a key goes to the provider's own origin alone, and
// what leaves as an error has been through the scrubbing of openai. Results are fetched through document's
// guard: only from public addresses, the provider's own, and those that the operator allows.
package wire
