package call

import (
	"log/slog"

	"longhaul/internal/router"
	"longhaul/internal/storage"
)

// Caller makes paid model calls. One Caller serves all activities of a worker.
type Caller struct {
	Bucket      *storage.Bucket
	Ledger      storage.Ledger
	Router      *router.Router
	MaxAttempts int   // attempts at a failing call; waiting for a rate limit does not count
	Meter       Meter // nil counts nothing
	Log         *slog.Logger

	cancels recentCancels
}
