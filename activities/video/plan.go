package video

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"longhaul/activities/call"
	"longhaul/internal/record"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// VideoPlan is a batch of videos.
type VideoPlan struct {
	Names []string `json:"names,omitempty"` // what to call each: its prompt, cut to a line
	Each  float64  `json:"each,omitempty"`  // what one costs, as far as it is known beforehand
	Kept  []int    `json:"kept,omitempty"`  // those that are kept of the task that is run again
}

// VideoRequest names one video of a task.
type VideoRequest struct {
	Task     record.TaskRef `json:"task,omitzero"`
	InputKey string         `json:"input_key,omitempty"`
	Index    int            `json:"index,omitempty"`
}

// VideoJob is a job at the provider, and what to remember of it. The address of its video is a secret, and is
// asked for when it is needed.
type VideoJob struct {
	ID       string    `json:"id"`
	Provider string    `json:"provider"`
	Fence    string    `json:"fence"`
	Since    time.Time `json:"since"`            // of its submit
	By       string    `json:"by"`               // id of the task that pays for it
	Calls    int       `json:"calls"`            // submits made for it, the refused ones included
	Stored   bool      `json:"stored,omitempty"` // its video is in the bucket
}

// PlanVideo reads what is to be rendered.
func (a *Activities) PlanVideo(ctx context.Context, req record.PlanRequest) (VideoPlan, error) {
	heart := call.StartHeartbeat(ctx, "planning")
	defer heart.Stop()
	var in task.VideoInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return VideoPlan{}, err
	}
	plan := VideoPlan{Names: make([]string, len(in.Prompts)), Each: a.Renderer.Price(float64(in.Seconds))}
	for i, prompt := range in.Prompts {
		plan.Names[i] = task.Brief(prompt)
	}
	var err error
	if plan.Kept, err = a.Results.KeepItems(ctx, req.Task, len(in.Prompts)); err != nil {
		return VideoPlan{}, err
	}
	return plan, a.Results.KeepArtifacts(ctx, req.Task, plan.Kept)
}

// order is one video as the ledger knows it: a picture by its file, and take tells those apart that are asked for
// more than once in a task.
type order struct {
	video.Request
	FileID string `json:"file_id,omitempty"`
	Take   int    `json:"take,omitempty"`

	key string // of the video in the ledger
}

// order reads what one video is to be.
func (a *Activities) order(ctx context.Context, req VideoRequest) (order, error) {
	var in task.VideoInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return order{}, err
	}
	if req.Index >= len(in.Prompts) {
		return order{}, fmt.Errorf("the input has no prompt %d", req.Index)
	}
	o := order{Request: video.Request{
		Model: req.Task.Model, Prompt: in.Prompts[req.Index], Seconds: in.Seconds, Resolution: in.Resolution, Aspect: in.Aspect, Seed: in.Seed,
	}}
	if o.Model == "" {
		o.Model = a.Renderer.Model
	}
	for _, before := range in.Prompts[:req.Index] {
		if before == o.Prompt {
			o.Take++
		}
	}
	if in.Image != nil {
		o.FileID = in.Image.FileID
		if in.Image.URL != "" {
			o.Image = &video.Image{URL: in.Image.URL}
		}
	}
	if a.Renderer.Callbacks != "" {
		o.Callback = fmt.Sprintf("%s/v1/callbacks/video/%s/%d", a.Renderer.Callbacks, req.Task.ID, req.Index)
	}
	var err error
	o.key, err = storage.LedgerKey(req.Task.Lineage, "video", o)
	return o, err
}

// beside is the key of something that is kept beside a video in the ledger.
func (o order) beside(what string) string {
	return strings.TrimSuffix(o.key, ".json") + "-" + what + ".json"
}

// maxImage is the largest picture that is sent along, in bytes.
const maxImage = 20 << 20

// attach reads the picture of an order, if it is an upload.
func (a *Activities) attach(ctx context.Context, tenant string, o *order) error {
	if o.FileID == "" {
		return nil
	}
	file, err := a.Files.Stat(ctx, tenant, o.FileID)
	if err != nil {
		return err
	}
	switch {
	case !strings.HasPrefix(file.ContentType, "image/"):
		return task.Errorf(task.WrongMedia, "%s is %s, and a video begins with a picture", file.Name, file.ContentType)
	case file.Bytes > maxImage:
		return task.Errorf(task.TooLarge, "%s is larger than %d MiB, the limit of a picture for a video", file.Name, maxImage>>20)
	}
	object, err := a.Files.Open(ctx, tenant, o.FileID)
	if err != nil {
		return err
	}
	defer func() { _ = object.Close() }()
	data, err := io.ReadAll(object)
	o.Image = &video.Image{ContentType: file.ContentType, Data: data}
	return err
}

// job reads the record of a job that was submitted, by this task or an earlier one of its lineage.
func (a *Activities) job(ctx context.Context, o order) (job VideoJob, found bool, err error) {
	found, err = a.Call.Ledger.Look(ctx, o.beside("job"), &job)
	if err == nil && found {
		job.Stored, err = a.Bucket.Exists(ctx, o.key)
	}
	return job, found, err
}

// mine reports whether a task pays for a job.
func (j VideoJob) mine(t record.TaskRef) bool { return j.By == t.ID }

// at says of an error which job it is about, so that a person can look for it.
func (j VideoJob) at(e *task.Error) *task.Error {
	e.Detail = strings.TrimRight(e.Detail, ". ") + fmt.Sprintf(" (job %s at %s)", j.ID, j.Provider)
	return e
}
