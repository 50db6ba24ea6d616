// Package storage keeps everything large in one bucket: uploads, extracted text, model answers,
// item results and artifacts. Temporal holds only references into it.
//
// Keys say what is where: files/<tenant>/ uploads, tasks/<task>/ all that belongs to one task,
// ledger/<lineage>/ the paid answers of a task, and of those that share them, payloads/ what was too big for Temporal.
// A key is written whole or not at all. Nothing here knows what an answer or a document means,
// and nothing here knows Temporal or a provider.
package storage
