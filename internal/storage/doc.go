// Package storage keeps all large data in one bucket: uploads, extracted text, model answers, item
// results and artifacts. Temporal holds only references to it.
//
// Key prefixes: files/<tenant>/ uploads, tasks/<task>/ data of one task, ledger/<lineage>/ paid answers
// shared by the tasks of a lineage, payloads/ values too large for Temporal. Every write is atomic. This
// package knows nothing of the meaning of its data, of Temporal or of providers.
package storage
