package video

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"longhaul/activities/results"
	activities "longhaul/activities/video"
	"longhaul/internal/record"
	"longhaul/internal/task"
	"longhaul/internal/video"
	"longhaul/workflows/lifecycle"
)

// The steps of a video task, as its readers see them.
const (
	stepSubmit   = "submit"
	stepRender   = "render"
	stepDownload = "download"
)

var steps = []string{stepSubmit, stepRender, stepDownload, lifecycle.StepStore}

var do *activities.Activities // names activities; never called

// videosAtOnce is how many jobs of one task are at the provider at a time.
const videosAtOnce = 10

// Kind describes the kind.
func Kind() lifecycle.Kind {
	return lifecycle.Kind{
		Name: record.KindVideo, Title: "Render videos",
		Description: "Has a video rendered for each prompt, from a picture if there is one. Jobs of minutes or hours are followed, paid for once, and their files kept as artifacts.",
		Steps:       steps,
		Input:       func() lifecycle.Input { return new(task.VideoInput) },
		OwnModel:    true,
		Example:     `{"kind":"video","input":{"prompt":"a lighthouse at dusk, waves below"}}`,
		Workflow:    Run,
		Activities:  activities.New,
	}
}

// Carry is the progress that a task takes into its next run.
type Carry struct {
	Names     []string    `json:"names,omitempty"`
	Each      float64     `json:"each,omitempty"` // what one costs, as far as it is known beforehand
	Todo      []VideoItem `json:"todo,omitempty"` // those without an outcome
	Succeeded int         `json:"succeeded,omitempty"`
	Failed    int         `json:"failed,omitempty"`
	Usage     task.Usage  `json:"usage,omitzero"`
	Simulated bool        `json:"simulated,omitempty"`
}

// VideoItem is a video that has no outcome yet, and what was seen of its job.
type VideoItem struct {
	Index   int         `json:"index,omitempty"`
	Started bool        `json:"started,omitempty"` // it has a job
	Watch   video.Watch `json:"watch,omitzero"`
}

// Run renders a batch of videos, a few at a time: each is submitted, watched, fetched and recorded.
func Run(ctx workflow.Context, start record.Start[Carry]) (record.Ending, error) {
	return lifecycle.Execute(ctx, start, steps, func(run *lifecycle.Run) lifecycle.Work {
		v := &videos{run: run, hints: map[int]bool{}, live: map[int]*VideoItem{}}
		if start.Carry != nil {
			v.Carry = *start.Carry
		}
		return v
	})
}

// videos is a video task at work.
type videos struct {
	Carry
	run   *lifecycle.Run
	live  map[int]*VideoItem    // those in hand
	hints map[int]bool          // those that there was a hint of since they began to wait
	cut   []activities.CutVideo // those that a cancel or the deadline cut off
	broke *task.Error           // the budget has no room for those that are left
	next  bool                  // the history is long: what is left is for the next run
}

func (v *videos) Do(ctx workflow.Context) error {
	if v.Names == nil {
		if err := v.plan(ctx); err != nil {
			return err
		}
	}
	v.listen(ctx)
	v.show(ctx)
	over := make([]bool, len(v.Todo))
	lifecycle.Each(ctx, videosAtOnce, len(v.Todo), func(ctx workflow.Context, i int) error {
		over[i] = v.take(ctx, &v.Todo[i])
		return nil
	})
	var left []VideoItem
	for i, item := range v.Todo {
		if !over[i] {
			left = append(left, item)
		}
	}
	if ctx.Err() != nil {
		v.stopAll(ctx, left)
		return nil
	}
	switch v.Todo = left; {
	case len(left) == 0:
		return nil
	case !v.next:
		return v.broke
	}
	return lifecycle.ContinueAsNew(ctx, v.run, &v.Carry)
}

func (v *videos) Finish(ctx workflow.Context, why *task.Error) (finished results.Finished, err error) {
	books := activities.FinishVideoRequest{Task: v.run.Facts.Ref(), Names: v.Names, Rest: why, Cut: v.cut}
	err = workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, lifecycle.StepStore, "store the result"), do.FinishVideo, books).Get(ctx, &finished)
	return finished, err
}

func (v *videos) plan(ctx workflow.Context) error {
	req := record.PlanRequest{Task: v.run.Facts.Ref(), InputKey: v.run.Facts.InputKey}
	var plan activities.VideoPlan
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, stepSubmit, "read the prompts"), do.PlanVideo, req).Get(ctx, &plan); err != nil {
		return err
	}
	v.Names, v.Each, v.Succeeded = plan.Names, plan.Each, len(plan.Kept)
	for i := range plan.Names {
		if !slices.Contains(plan.Kept, i) {
			v.Todo = append(v.Todo, VideoItem{Index: i})
		}
	}
	return nil
}

// listen takes in hints.
func (v *videos) listen(ctx workflow.Context) {
	lifecycle.Listen(ctx, record.SignalVideoHint, func(index int) { v.hints[index] = true })
}

// take brings a video to its outcome, and reports whether it did: when the history is long it is left to the
// next run, which finds its job on record, and when the budget is used up it is left undone.
func (v *videos) take(ctx workflow.Context, item *VideoItem) bool {
	if lifecycle.HistoryLong(ctx) {
		v.next = true
		return false
	}
	if !item.Started && !v.affords() {
		v.broke = task.Errorf(task.BudgetExceeded, "the budget of %g has no room for another video: %g are spent", v.run.Facts.Budget, v.run.SpentMoney())
		return false
	}
	v.live[item.Index] = item
	defer func() { delete(v.live, item.Index); v.show(ctx) }()
	v.show(ctx)
	step, done, err := v.phases(ctx, item)
	switch {
	case err != nil && ctx.Err() != nil:
		v.stop(ctx, item)
	case err != nil:
		v.fail(ctx, item, step, err)
	}
	if err == nil && !done {
		v.next = true
		return false
	}
	return true
}

// affords reports whether the budget has room for one more video beside those in hand. These are not stopped when it
// is used up: they are paid for.
func (v *videos) affords() bool {
	budget, spent := v.run.Facts.Budget, v.run.SpentMoney()
	return budget == 0 || spent < budget && spent+v.Each*float64(len(v.live)+1) <= budget
}

// phases takes a video from its submit to its file, and tells how far it came.
func (v *videos) phases(ctx workflow.Context, item *VideoItem) (step string, done bool, err error) {
	job, err := v.submit(ctx, item)
	if err != nil {
		return stepSubmit, false, err
	}
	item.Started = true
	if !job.Stored {
		if done, err = v.watch(ctx, item, job); err != nil || !done {
			return stepRender, false, err
		}
	}
	return stepDownload, true, v.fetch(ctx, item, job)
}

func (v *videos) request(item *VideoItem) activities.VideoRequest {
	return activities.VideoRequest{Task: v.run.Facts.Ref(), InputKey: v.run.Facts.InputKey, Index: item.Index}
}

func (v *videos) about(what string, item *VideoItem) string {
	return fmt.Sprintf("%s video %d: %s", what, item.Index+1, v.Names[item.Index])
}

func (v *videos) submit(ctx workflow.Context, item *VideoItem) (job activities.VideoJob, err error) {
	err = lifecycle.RunPaid(ctx, lifecycle.VideoWork(ctx, stepSubmit, v.about("submit", item)), do.SubmitVideo, v.request(item), &job)
	return job, err
}

// watch follows a job until its video is there. Long waits between polls are timers, which hold nothing of a
// worker, and which a hint ends. Done is false when the history has become long.
func (v *videos) watch(ctx workflow.Context, item *VideoItem, job activities.VideoJob) (done bool, err error) {
	v.run.Enter(stepRender)
	req := activities.WatchRequest{VideoRequest: v.request(item), Job: job}
	for !done && !lifecycle.HistoryLong(ctx) {
		req.Watch = item.Watch
		var seen activities.Watched
		if err := workflow.ExecuteActivity(lifecycle.VideoWork(ctx, stepRender, v.about("watch", item)), do.WatchVideo, req).Get(ctx, &seen); err != nil {
			return false, err
		}
		item.Watch, done, req.After = seen.Watch, seen.Done, seen.After
		v.show(ctx)
		if !done && seen.After > activities.SlotPatience {
			if err := v.wait(ctx, item, seen); err != nil {
				return false, err
			}
			req.After = 0
		}
	}
	return done, nil
}

func (v *videos) wait(ctx workflow.Context, item *VideoItem, seen activities.Watched) error {
	v.hints[item.Index] = false
	_, err := workflow.AwaitWithTimeout(ctx, seen.After, func() bool { return v.hints[item.Index] })
	return err
}

// fetch brings a video into the bucket, and counts it.
func (v *videos) fetch(ctx workflow.Context, item *VideoItem, job activities.VideoJob) error {
	v.run.Enter(stepDownload)
	v.run.PublishSoon(ctx)
	var fetched activities.Fetched
	req := activities.FetchVideoRequest{VideoRequest: v.request(item), Job: job}
	if err := workflow.ExecuteActivity(lifecycle.VideoWork(ctx, stepDownload, v.about("download", item)), do.FetchVideo, req).Get(ctx, &fetched); err != nil {
		return err
	}
	v.Succeeded++
	v.spend(fetched.Usage)
	v.Simulated = v.Simulated || fetched.Simulated
	return nil
}

func (v *videos) spend(used task.Usage) { v.Usage = v.Usage.Add(used) }

// fail records the failure of a video for those who read its items.
func (v *videos) fail(ctx workflow.Context, item *VideoItem, step string, err error) {
	why, spent := lifecycle.Reason(err), lifecycle.SpentOn(err)
	why.Step = step
	v.spend(spent.Usage)
	req := activities.FailVideoRequest{VideoRequest: v.request(item), Name: v.Names[item.Index], Error: why, Spent: spent}
	about := v.about(fmt.Sprintf("record that %s came to", why.Code), item)
	if err := workflow.ExecuteActivity(lifecycle.DocumentWork(ctx, lifecycle.StepStore, about), do.FailVideo, req).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Error("failure not recorded", "task", v.run.Facts.ID, "item", item.Index, "error", err)
	}
	v.Failed++
}

// stop ends a video that was in hand when a cancel or the deadline came: at the provider too, where that can be.
// One that was done by then is fetched, since it is paid for.
func (v *videos) stop(ctx workflow.Context, item *VideoItem) {
	clean, _ := workflow.NewDisconnectedContext(ctx)
	var stop activities.VideoStop
	err := workflow.ExecuteActivity(lifecycle.VideoWork(clean, stepRender, v.about("cancel", item)), do.StopVideo, v.request(item)).Get(clean, &stop)
	switch {
	case err != nil:
		stop.Said = "whether its job was stopped at the provider is not known"
	case stop.Done:
		if err := v.fetch(clean, item, stop.Job); err == nil {
			return
		} else {
			spent := lifecycle.SpentOn(err)
			stop.Said, stop.Usage = lifecycle.Reason(err).Detail, spent.Usage
		}
	}
	v.spend(stop.Usage)
	v.cut = append(v.cut, activities.CutVideo{Index: item.Index, Said: stop.Said, Usage: stop.Usage, Calls: stop.Calls})
}

// stopAll ends those that had a job and were left to the next run, which there will not be.
func (v *videos) stopAll(ctx workflow.Context, left []VideoItem) {
	left = slices.DeleteFunc(left, func(item VideoItem) bool { return !item.Started })
	if len(left) == 0 {
		return
	}
	clean, _ := workflow.NewDisconnectedContext(ctx)
	lifecycle.Each(clean, videosAtOnce, len(left), func(ctx workflow.Context, i int) error {
		v.stop(ctx, &left[i])
		return nil
	})
	v.show(clean)
}

// show puts the sum of all videos before the readers. A video that is downloaded counts as whole, one that is
// rendered a little less.
func (v *videos) show(ctx workflow.Context) {
	const rendered = 0.95
	work := float64(v.Succeeded + v.Failed)
	for i := range v.Names { // in order: a sum of floats must replay to the same bits
		if item, ok := v.live[i]; ok {
			work += rendered * float64(item.Watch.Percent) / 100
		}
	}
	counts := task.Counts{Total: len(v.Names), Succeeded: v.Succeeded, Failed: v.Failed, Running: len(v.live)}
	counts.Pending = counts.Total - counts.Succeeded - counts.Failed - counts.Running
	v.run.State.Usage, v.run.State.Simulated = v.Usage, v.Simulated
	v.run.Advance(ctx, work/float64(max(len(v.Names), 1)), counts)
}
