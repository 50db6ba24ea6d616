// Package llm is the port to language models: what a call is, what an answer is, and what a
// failed call means for the next attempt.
//
// openai holds the adapter that speaks the OpenAI wire; simulated is a provider of our own that
// answers it without a model; llmtest is a scripted provider for tests. Nothing here sends a
// request twice and nothing here keeps an answer: retries belong to Temporal, answers to the ledger.
package llm
