package activities

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"longhaul/internal/router"
	"longhaul/internal/storage"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// Videos is who renders videos, for how much, and how it is dealt with.
type Videos struct {
	Name      string // of the provider, in errors and logs
	Provider  video.Provider
	Lane      router.Gate
	Model     string        // of tasks that name none
	Timeout   time.Duration // the longest that a job may take
	Doubt     time.Duration // how long after a submit without an answer its job may still show up
	Every     time.Duration // between the first polls of a job; later ones are rarer
	Callbacks string        // address of the API, for providers that tell of changes; "" tells them none

	PerSecond, PerJob float64 // prices; both 0 are not known
	Currency          string
}

// LaneName is what the lane is called where all lanes are told of: a provider of models may have the same name.
func (v Videos) LaneName() string { return "video/" + v.Name }

// VideoPlan is a batch of videos.
type VideoPlan struct {
	Names []string // what to call each: its prompt, cut to a line
	Each  float64  // what one costs, as far as it is known beforehand
	Kept  []int    `json:",omitempty"` // those that are kept of the task that is run again
}

// VideoRequest names one video of a task.
type VideoRequest struct {
	Task     Task
	InputKey string
	Index    int
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
func (a *Activities) PlanVideo(ctx context.Context, req PlanRequest) (VideoPlan, error) {
	heart := startHeart(ctx, "planning")
	defer heart.Stop()
	var in task.VideoInput
	if err := a.Bucket.GetJSON(ctx, req.InputKey, &in); err != nil {
		return VideoPlan{}, err
	}
	plan := VideoPlan{Names: make([]string, len(in.Prompts)), Each: a.Videos.price(float64(in.Seconds))}
	for i, prompt := range in.Prompts {
		plan.Names[i] = task.Brief(strings.Join(strings.Fields(prompt), " "))
	}
	var err error
	if plan.Kept, err = a.keep(ctx, req.Task, len(in.Prompts)); err != nil {
		return VideoPlan{}, err
	}
	return plan, a.keepFiles(ctx, req.Task, plan.Kept)
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
		o.Model = a.Videos.Model
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
	if a.Videos.Callbacks != "" {
		o.Callback = fmt.Sprintf("%s/v1/callbacks/video/%s/%d", a.Videos.Callbacks, req.Task.ID, req.Index)
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

// used is what a job costs: what the provider told of it, or else what was asked for.
func (v Videos) used(job video.Job, asked int) task.Usage {
	seconds := job.Seconds
	if seconds == 0 {
		seconds = float64(asked)
	}
	u := task.Usage{Requests: 1, InputTokens: job.Usage.InputTokens, OutputTokens: job.Usage.OutputTokens, VideoSeconds: seconds}
	switch {
	case seconds == 0 && v.PerSecond > 0, seconds == 0 && !job.Usage.Known:
		u.UnmeteredCalls = 1
	case v.PerSecond+v.PerJob > 0:
		u.Cost = &task.Cost{Amount: v.price(seconds), Currency: v.Currency}
	}
	return u
}

func (v Videos) price(seconds float64) float64 { return v.PerJob + v.PerSecond*seconds }

// job reads the record of a job that was submitted, by this task or an earlier one of its lineage.
func (a *Activities) job(ctx context.Context, o order) (job VideoJob, found bool, err error) {
	found, err = a.Ledger.Look(ctx, o.beside("job"), &job)
	if err == nil && found {
		job.Stored, err = a.Bucket.Exists(ctx, o.key)
	}
	return job, found, err
}

// mine reports whether a task pays for a job.
func (j VideoJob) mine(t Task) bool { return j.By == t.ID }

// at says of an error which job it is about, so that a person can look for it.
func (j VideoJob) at(e *task.Error) *task.Error {
	e.Detail = strings.TrimRight(e.Detail, ". ") + fmt.Sprintf(" (job %s at %s)", j.ID, j.Provider)
	return e
}
