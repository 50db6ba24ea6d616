package record

import "longhaul/internal/task"

// The revision of a task rises with every change that a reader can see. Two parties raise it: the workflow when it
// publishes a snapshot, and an API that knows of a change before the workflow has published it. Both count alike, so
// no reader sees a revision fall, or two states under one revision:
//
//	1   accepted
//	+1  the start time arrived, if there was one
//	+1  each publication
//	+1  the cancel arrived at the workflow; APIs show it under this number from its request on
//	+3  the publication of the end: published but still running, cancelled in that moment, ended
//	+3  ended outside, by Temporal: more than an API can have shown before

// FirstRevision returns the revision that a workflow starts from: acceptance, and the arrival of a start time.
func FirstRevision(f Facts) int64 {
	if f.StartAt != nil {
		return 2
	}
	return 1
}

// Cancel notes that a cancel arrived at the workflow.
func (s *Snapshot) Cancel() {
	s.State = task.Cancelling
	s.Revision++
}

// Next raises the revision for a publication.
func (s *Snapshot) Next() {
	s.Revision++
	if s.State.Terminal() {
		s.Revision += 2
	}
}

// Observed is what an API knows of a workflow beside its last published snapshot.
type Observed struct {
	Open            bool       // the workflow has not closed
	CancelRequested bool       // at Temporal; the workflow may not know it yet
	StartPassed     bool       // the start time has arrived
	EndedOutside    task.State // how Temporal ended the workflow, if that could not publish its end
}

// Observe returns the state and the revision to show: those of the snapshot, advanced by what the workflow has not
// published.
func (s Snapshot) Observe(o Observed) (task.State, int64) {
	switch {
	case !o.Open && !s.State.Terminal():
		return o.EndedOutside, s.Revision + 3
	case !o.Open:
	case s.State.Terminal() && o.CancelRequested: // published, and closed in an instant
		return task.Cancelling, s.Revision - 1
	case s.State.Terminal():
		return task.Processing, s.Revision - 2
	case s.State == task.Scheduled && o.CancelRequested:
		return task.Cancelling, s.Revision + 2 // the arrival of the start time has a number of its own
	case s.State == task.Scheduled && o.StartPassed:
		return task.Pending, s.Revision + 1
	case s.State != task.Cancelling && o.CancelRequested:
		return task.Cancelling, s.Revision + 1
	}
	return s.State, s.Revision
}
