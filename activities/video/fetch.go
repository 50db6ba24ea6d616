package video

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"go.temporal.io/sdk/temporal"

	"longhaul/activities/call"
	"longhaul/activities/results"
	"longhaul/internal/llm"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// FetchVideoRequest names a job whose video is there.
type FetchVideoRequest struct {
	VideoRequest
	Job VideoJob `json:"job,omitzero"`
}

// Fetched is a video that is in the bucket.
type Fetched struct {
	Usage     task.Usage `json:"usage,omitzero"`
	Simulated bool       `json:"simulated,omitempty"`
}

// VideoResult is the result of one prompt of a video task.
type VideoResult struct {
	Prompt        string     `json:"prompt"`
	Artifact      string     `json:"artifact"`
	Href          string     `json:"href"`
	ContentType   string     `json:"content_type"`
	Bytes         int64      `json:"bytes"`
	SHA256        string     `json:"sha256"`
	Seconds       float64    `json:"seconds,omitempty"`    // as the provider told, or else as asked
	Resolution    string     `json:"resolution,omitempty"` // as asked
	Aspect        string     `json:"aspect,omitempty"`     // as asked
	Seed          *int64     `json:"seed,omitempty"`
	RevisedPrompt string     `json:"revised_prompt,omitempty"`
	Provider      string     `json:"provider"`
	Model         string     `json:"model"`
	JobID         string     `json:"job_id"`
	Cost          *task.Cost `json:"cost"`
}

// film is what the ledger keeps of a video: where it is, and what it was.
type film struct {
	Job     video.Job     `json:"job"` // without its address, which is nobody's business and soon out of date
	Content video.Content `json:"content"`
	Key     string        `json:"key"` // of its bytes in the bucket
	At      time.Time     `json:"at"`
}

// FetchVideo brings a video into the bucket, where it is an artifact of the task, and records the item. Run again
// it finds the video there. One that an earlier task of the lineage paid for is copied.
func (a *Activities) FetchVideo(ctx context.Context, req FetchVideoRequest) (Fetched, error) {
	heart := call.StartHeartbeat(ctx, "downloading")
	defer heart.Stop()
	o, err := a.order(ctx, req.VideoRequest)
	if err != nil {
		return Fetched{}, err
	}
	var f film
	found, err := a.Call.Ledger.Look(ctx, o.key, &f)
	if err != nil {
		return Fetched{}, err
	}
	d := &download{Activities: a, heart: heart, req: req, seconds: o.Seconds}
	if found {
		found, err = d.copied(ctx, &f)
	}
	if err == nil && !found {
		if f, err = d.get(ctx); err == nil {
			err = a.Call.Record(ctx, o.key, f)
		}
	}
	if err != nil {
		return Fetched{}, err
	}
	return a.completeVideo(ctx, req, o, f)
}

// download is a video on its way into the bucket.
type download struct {
	*Activities
	heart   *call.Heartbeat
	req     FetchVideoRequest
	seconds int // that were asked for
}

// key is where the video goes.
func (d *download) key(contentType string) string {
	return storage.ArtifactKey(d.req.Task.ID, videoName(d.req.Index, contentType))
}

// videoName is what the artifact of a video is called.
func videoName(index int, contentType string) string {
	extension := "mp4"
	if contentType == "video/webm" {
		extension = "webm"
	}
	return fmt.Sprintf("video-%d.%s", index+1, extension)
}

// copied makes a video that is in the bucket this task's, and reports whether it is still there.
func (d *download) copied(ctx context.Context, f *film) (bool, error) {
	to := d.key(f.Content.ContentType)
	if to == f.Key {
		return d.Bucket.Exists(ctx, to)
	}
	err := d.Bucket.Copy(ctx, to, f.Key)
	f.Key = to
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// get asks for the address of the video, and reads from it at once.
func (d *download) get(ctx context.Context) (film, error) {
	job, err := d.Renderer.Provider.Status(ctx, d.req.Job.ID)
	if err != nil {
		return film{}, d.failed(ctx, err)
	}
	switch job.State {
	case video.Failed, video.Cancelled:
		return film{}, (&watching{Activities: d.Activities, heart: d.heart, req: WatchRequest{VideoRequest: d.req.VideoRequest, Job: d.req.Job}}).ended(job)
	case video.Queued, video.Running: // it said that it was done
		return film{}, d.failed(ctx, &llm.Error{
			Class: llm.Retry, Code: task.ModelUnavailable, Provider: d.Renderer.Name, Message: "the provider says that the job is not done after all",
		})
	case video.Succeeded:
	}
	f := film{Job: job, Key: d.key(""), At: time.Now().UTC()}
	f.Job.URL = ""
	err = d.Bucket.PutFrom(ctx, f.Key, "video/mp4", func(w io.Writer) error {
		f.Content, err = d.Renderer.Provider.Content(ctx, job, io.MultiWriter(w, meter{d.heart}))
		return err
	})
	if err != nil {
		return film{}, d.failed(ctx, err)
	}
	if to := d.key(f.Content.ContentType); to != f.Key {
		if _, err = d.copied(ctx, &f); err == nil {
			err = d.Bucket.Delete(ctx, d.key(""))
		}
	}
	return f, err
}

// meter tells the heart how much has come.
type meter struct{ heart *call.Heartbeat }

func (m meter) Write(p []byte) (int, error) {
	m.heart.Update(func(b *record.Heartbeat) { b.Bytes += len(p) })
	return len(p), nil
}

// failed tells Temporal whether to try again. The video has been paid for, so that is done for long.
func (d *download) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return call.Stopped(ctx, d.heart.Flush(ctx))
	}
	refusal, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err // of our bucket: tried until it is mended
	}
	d.heart.Update(func(b *record.Heartbeat) {
		b.Bytes = 0
		b.Call.Errors++
		b.Call.Outage.Look(time.Now(), call.MaxGap(refusal))
	})
	b := d.heart.Flush(ctx)
	e := d.req.Job.at(refusal.Task())
	d.Log.Info("video not downloaded", "job", d.req.Job.ID, "error", refusal, "errors", b.Errors)
	op, try := call.VideoDownload, call.Try{Reason: call.Outage, Count: b.Errors, Lasted: b.Outage.Lasted, Hint: refusal.RetryAfter}
	switch {
	case refusal.Class == llm.Final:
		try.Reason = call.Permanent
	case errors.Is(err, video.ErrMoved):
		op, try.Reason = call.VideoMoved, call.Fault
	}
	if retry, after := call.Decide(op, try, 0); retry {
		return call.Retry(e, record.CallState{}, after)
	}
	e.Detail += "; it was rendered, and is charged for"
	spent := record.Spent{Calls: d.req.Job.Calls}
	if d.req.Job.mine(d.req.Task) {
		spent.Usage = d.Renderer.Usage(video.Job{}, d.seconds)
	}
	return call.Failure(e, spent, temporal.ApplicationErrorOptions{NonRetryable: true})
}

// completeVideo records the item of a video that is in the bucket.
func (a *Activities) completeVideo(ctx context.Context, req FetchVideoRequest, o order, f film) (Fetched, error) {
	used := a.Renderer.Usage(f.Job, o.Seconds)
	name := videoName(req.Index, f.Content.ContentType)
	result := VideoResult{
		Prompt: o.Prompt, Artifact: name, Href: results.ArtifactHref(req.Task, name),
		ContentType: f.Content.ContentType, Bytes: f.Content.Bytes, SHA256: f.Content.SHA256,
		Seconds: used.VideoSeconds, Resolution: o.Resolution, Aspect: o.Aspect, Seed: f.Job.Seed, RevisedPrompt: f.Job.Prompt,
		Provider: req.Job.Provider, Model: f.Job.Model, JobID: req.Job.ID, Cost: used.Cost,
	}
	if result.Model == "" {
		result.Model = o.Model
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return Fetched{}, err
	}
	item := task.Item{
		Index: req.Index, Status: task.ItemSucceeded, Name: task.Brief(o.Prompt), Result: encoded,
		Model: req.Job.Provider + "/" + o.Model, Cached: !req.Job.mine(req.Task), Simulated: f.Job.Simulated,
	}
	if !item.Cached {
		item.Usage, item.Attempts = used, req.Job.Calls
	}
	return Fetched{Usage: item.Usage, Simulated: item.Simulated}, a.Results.WriteItem(ctx, req.Task, item)
}
