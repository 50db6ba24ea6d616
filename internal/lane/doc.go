// Package lane is the admission gate in front of one provider key: it limits concurrent calls, requests
// per minute and tokens per minute.
//
// A call enters the lane, waits for its turn, and reports its outcome when it ends. Turns are fair among
// tenants and among the tasks of a tenant. A provider that throttles one call closes the lane for all
// calls; it reopens gradually. A caller that would wait longer than its patience gets *Closed with a time
// instead. This package calls no provider and knows nothing of Temporal.
package lane
