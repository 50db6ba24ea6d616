package call

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every operation answers "retry, when, or never?" by the table alone.
func TestDecide(t *testing.T) {
	t.Parallel()
	const attempts = 3 // as configured
	tests := map[string]struct {
		op    Operation
		try   Try
		retry bool
		least time.Duration
	}{
		"a permanent failure is never retried":         {ModelCall, Try{Reason: Permanent, Count: 1}, false, 0},
		"a fault before the last attempt":              {ModelCall, Try{Reason: Fault, Count: 2}, true, 1800 * time.Millisecond},
		"a fault in the last attempt":                  {ModelCall, Try{Reason: Fault, Count: 3}, false, 0},
		"a failure that allows fewer attempts":         {ModelCall, Try{Reason: Fault, Count: 2, Limit: 2}, false, 0},
		"a failure that would allow more":              {ModelCall, Try{Reason: Fault, Count: 3, Limit: 9}, false, 0},
		"a rate limit counts no attempts":              {ModelCall, Try{Reason: Throttled, Count: 500, Lasted: time.Hour}, true, 54 * time.Second},
		"a rate limit waits as long as the hint":       {ModelCall, Try{Reason: Throttled, Count: 1, Hint: time.Hour}, true, time.Hour},
		"a rate limit for six hours":                   {ModelCall, Try{Reason: Throttled, Count: 1, Lasted: 6 * time.Hour}, false, 0},
		"an outage counts no attempts":                 {ModelCall, Try{Reason: Outage, Count: 50, Lasted: 14 * time.Minute}, true, 54 * time.Second},
		"an outage for a quarter of an hour":           {ModelCall, Try{Reason: Outage, Count: 1, Lasted: 15 * time.Minute}, false, 0},
		"a refused submit counts as a call":            {VideoSubmit, Try{Reason: Fault, Count: 3}, false, 0},
		"a poll has the time of its job":               {VideoPoll, Try{Reason: Outage, Count: 9000, Lasted: 100 * time.Hour}, true, 54 * time.Second},
		"a paid video is tried for an hour":            {VideoDownload, Try{Reason: Outage, Count: 90, Lasted: 59 * time.Minute}, true, 54 * time.Second},
		"a paid video is not tried for longer":         {VideoDownload, Try{Reason: Outage, Count: 90, Lasted: time.Hour}, false, 0},
		"a video that is not at its address":           {VideoMoved, Try{Reason: Fault, Count: 5}, true, 14 * time.Second},
		"a video that is not at its address six times": {VideoMoved, Try{Reason: Fault, Count: 6}, false, 0},
		"a cancel is sent four times":                  {VideoCancel, Try{Reason: Fault, Count: 3}, true, 3600 * time.Millisecond},
		"a cancel is not sent five times":              {VideoCancel, Try{Reason: Fault, Count: 4}, false, 0},
		"a document is fetched five times":             {Document, Try{Reason: Fault, Count: 4}, true, 7 * time.Second},
		"a document is not fetched six times":          {Document, Try{Reason: Fault, Count: 5}, false, 0},
		"a broken document is read once":               {Document, Try{Reason: Permanent, Count: 1}, false, 0},
		"a safe tool is called three times":            {SafeTool, Try{Reason: Fault, Count: 2}, true, 1800 * time.Millisecond},
		"a safe tool is not called four times":         {SafeTool, Try{Reason: Fault, Count: 3}, false, 0},
	}
	asked := map[Operation]bool{}
	for name, test := range tests {
		asked[test.op] = true
		retry, after := Decide(test.op, test.try, attempts)
		require.Equal(t, test.retry, retry, name)
		require.GreaterOrEqual(t, after, test.least, name)
		require.LessOrEqual(t, after, max(2*test.least, test.try.Hint+test.try.Hint/10), name)
	}
	for op := range policies {
		require.True(t, asked[op], "no case for the operation %s", op)
	}
}
