package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"longhaul/client"
	"longhaul/internal/app"
	"longhaul/internal/cluster"
	"longhaul/internal/config"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// killDemo is a batch whose workers are killed while it runs. The provider is a scripted one in this process, so it
// sees what a killed worker did, and its journal is compared with what the task says.
type killDemo struct {
	documents int
	kills     int
	worker    []string // the command of a worker
	temporal  string   // the program; "" finds or builds it
	out       io.Writer

	dir      string
	settings []string // of workers and API
	provider *llmtest.Provider
	app      *app.App
	client   *client.Client
	workers  [2]*exec.Cmd
	begun    time.Time
	books    books
}

// runKillDemo is the command: its exit code is 1 if a promise broke.
func runKillDemo(out io.Writer) int {
	ctx, stop := app.Signals()
	defer stop()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(out, "longhaul:", err)
		return 1
	}
	d := &killDemo{documents: 200, kills: 5, worker: []string{self, "worker"}, out: out}
	if err := d.run(ctx); err != nil {
		fmt.Fprintln(out, "longhaul:", err)
		return 1
	}
	return 0
}

// run does it all in a temporary folder. Its error is what could not be done, or the promise that broke.
func (d *killDemo) run(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "longhaul-kill-demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	ctx, end := context.WithCancel(ctx)
	defer end()
	if d.temporal, err = findTemporal(ctx, d.temporal, ".", d.out); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d documents, two workers, %d times kill -9. The provider takes about a second a call, and counts.\n\n", d.documents, d.kills)
	temporal, err := startTemporal(ctx, temporalOptions{Binary: d.temporal, Data: filepath.Join(d.dir, "temporal"), Log: app.NewLog(config.Log{Level: "error"})})
	if err != nil {
		return err
	}
	defer temporal.Stop()
	if d.provider, err = llmtest.Start("127.0.0.1:0"); err != nil {
		return err
	}
	defer d.provider.Close()
	latency := llmtest.Lognormal(time.Second, 0.4, 1)
	d.provider.Handle(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{}.After(latency()) })
	if err := d.open(ctx, temporal.Address); err != nil {
		return err
	}
	defer d.app.Close()
	for i := range d.workers {
		if err := d.start(ctx, i); err != nil {
			return err
		}
		defer func() { d.kill(i) }()
	}
	return d.batch(ctx)
}

// open makes the settings and serves the API in this process.
func (d *killDemo) open(ctx context.Context, temporal string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d.settings = []string{
		"TEMPORAL_ADDRESS=" + temporal, "LONGHAUL_DATA_DIR=" + d.dir, "LONGHAUL_API_LISTEN=" + listener.Addr().String(), "LONGHAUL_LOG_LEVEL=error",
		"LONGHAUL_LLM_BASE_URL=" + d.provider.URL(), "LONGHAUL_LLM_KEY=none", "LONGHAUL_WORKER_LLM_CONCURRENCY=10", "LONGHAUL_LLM_MODEL=demo",
		`LONGHAUL_LLM_MODELS=[{"name":"demo","price":{"input":2.5,"output":10}}]`,
	}
	cfg, err := config.Load(config.Source{Env: d.settings})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if d.app, err = app.Open(ctx, cfg, cluster.Options{Address: temporal}); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := d.app.Temporal.Wait(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	go func() { _ = d.app.ServeAPI(ctx, listener) }() // ends with ctx; that it does not answer is seen by who asks
	d.client, err = client.New("http://"+listener.Addr().String(), "")
	return err
}

// start starts a worker, as a process of its own.
func (d *killDemo) start(ctx context.Context, i int) error {
	worker := exec.CommandContext(ctx, d.worker[0], d.worker[1:]...)
	worker.Env = append(os.Environ(), d.settings...)
	worker.Dir, worker.Stderr = d.dir, d.out
	d.workers[i] = worker
	return worker.Start()
}

// kill is kill -9, and waits for the end.
func (d *killDemo) kill(i int) {
	_ = d.workers[i].Process.Kill() // it may have ended
	_ = d.workers[i].Wait()         // its end is what was wanted
}

// batch runs the task, kills workers while it does, and tells how it went.
func (d *killDemo) batch(ctx context.Context) error {
	d.begun = time.Now()
	id, err := d.submit(ctx)
	if err != nil {
		return err
	}
	for n := range d.kills {
		share := (n + 1) * d.documents / (d.kills + 1)
		if err := d.provider.Wait(ctx, func(c llmtest.Counts) bool { return c.Answered >= share }); err != nil {
			return err
		}
		victim := n % len(d.workers)
		pid := d.workers[victim].Process.Pid
		d.kill(victim)
		recorded, err := d.books.atKill(filepath.Join(d.dir, "bucket"))
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "%5.1f s  kill -9 %d: %d answers are on record\n", time.Since(d.begun).Seconds(), pid, recorded)
		if err := d.start(ctx, victim); err != nil {
			return err
		}
	}
	done, err := d.client.Watch(ctx, id, func(task.Task) {})
	if err != nil {
		return err
	}
	items, err := d.client.Items(ctx, id, task.ItemSucceeded)
	if err != nil {
		return err
	}
	return d.books.close(d, done, items)
}

func (d *killDemo) submit(ctx context.Context) (string, error) {
	var in task.SummaryInput
	for i := range d.documents {
		in.Documents = append(in.Documents, task.Document{
			Name: fmt.Sprintf("report %03d", i), Text: fmt.Sprintf("Report %03d. The bridge was inspected and found sound.", i),
		})
	}
	input, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	for { // the API answers 503 for as long as Temporal is being made ready
		t, err := d.client.Create(ctx, client.NewTask{Kind: "summary", Input: input}, "kill-demo")
		if told, ok := errors.AsType[*task.Error](err); ok && told.Code == task.Unavailable {
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return t.ID, err
	}
}
