// Package guard makes connections to addresses that strangers name: of documents, webhooks, tools and videos. Only
// public ones are dialled, and those that the operator allows; whatever goes wrong on the way is told without addresses.
package guard
