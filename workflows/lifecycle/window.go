package lifecycle

import "go.temporal.io/sdk/workflow"

// Window keeps work running side by side.
type Window struct {
	Running int                    // how much of it runs now
	Room    func() bool            // reports whether more may start
	After   func(workflow.Context) // called when one has ended and is no longer counted; nil for nothing
}

// Run starts what next returns whenever there is room, until next returns nil, ctx ends or the history is long, and
// waits for everything it started. Next may wait. The caller sees by its own state whether anything is left, and
// continues as new if so.
func (w *Window) Run(ctx workflow.Context, next func(ctx workflow.Context) func(workflow.Context)) {
	for ctx.Err() == nil && !HistoryLong(ctx) {
		if workflow.Await(ctx, w.Room) != nil {
			break // the task stops; what runs learns it by its own context
		}
		work := next(ctx)
		if work == nil {
			break
		}
		w.Running++
		workflow.Go(ctx, func(ctx workflow.Context) {
			work(ctx)
			w.Running--
			if w.After != nil {
				w.After(ctx)
			}
		})
	}
	clean, _ := workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(clean, func() bool { return w.Running == 0 }) // this context is never cancelled
}
