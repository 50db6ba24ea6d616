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
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
)

// killDemo runs a batch and kills its workers meanwhile. A scripted provider in this process keeps a journal of every call,
// including the calls of killed workers; the journal is compared with the result of the task.
type killDemo struct {
	documents int
	kills     int
	program   string // this program, started again as a worker
	out       io.Writer

	dir      string
	settings []string // environment of workers and API
	provider *llmtest.Provider
	app      *app.App
	client   *client.Client
	workers  [2]*exec.Cmd
	begun    time.Time
	audit    killAudit
}

// runKillDemo runs the command and returns its exit code: 1 if the demonstration failed or a promise was broken.
func runKillDemo(out io.Writer) int {
	ctx, stop := app.Signals()
	defer stop()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(out, "longhaul:", err)
		return 1
	}
	d := &killDemo{documents: 200, kills: 5, program: self, out: out}
	if err := d.run(ctx); err != nil {
		fmt.Fprintln(out, "longhaul:", err)
		return 1
	}
	return 0
}

// run sets everything up in a temporary folder, which it removes, and runs the batch.
func (d *killDemo) run(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "longhaul-kill-demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	ctx, end := context.WithCancel(ctx)
	defer end()
	program, err := localtemporal.FindProgram(ctx, "", ".", d.out)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d documents, two workers, %d times kill -9. The provider takes about a second for each call and counts the calls.\n\n", d.documents, d.kills)
	temporal, err := localtemporal.Start(ctx, localtemporal.Options{
		Program: program, Data: filepath.Join(d.dir, "temporal"), Log: app.NewLog(config.Log{Level: "error"}),
	})
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
		if err := d.startWorker(ctx, i); err != nil {
			return err
		}
		defer func() { d.killWorker(i) }()
	}
	return d.runBatch(ctx)
}

// open writes the settings of workers and API and serves the API in this process.
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
	go func() { _ = d.app.ServeAPI(ctx, listener) }() // ends with ctx; a failure shows in the first request
	d.client, err = client.New("http://"+listener.Addr().String(), "")
	return err
}

// startWorker starts worker i in a process of its own.
func (d *killDemo) startWorker(ctx context.Context, i int) error {
	worker := exec.CommandContext(ctx, d.program, "worker")
	worker.Env = append(os.Environ(), d.settings...)
	worker.Dir, worker.Stderr = d.dir, d.out
	d.workers[i] = worker
	return worker.Start()
}

// killWorker sends SIGKILL to worker i and waits for its exit.
func (d *killDemo) killWorker(i int) {
	_ = d.workers[i].Process.Kill() // fails if the worker has exited
	_ = d.workers[i].Wait()         // reports the signal
}

// runBatch runs the task, kills workers at even shares of its progress, and prints the report.
func (d *killDemo) runBatch(ctx context.Context) error {
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
		d.killWorker(victim)
		recorded, err := d.audit.addKill(filepath.Join(d.dir, "bucket"))
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "%5.1f s  kill -9 %d: %d answers are recorded\n", time.Since(d.begun).Seconds(), pid, recorded)
		if err := d.startWorker(ctx, victim); err != nil {
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
	return d.audit.report(d, done, items)
}

// documentName is part of the text of document i and of no other document.
func documentName(i int) string { return fmt.Sprintf("Report %03d.", i) }

func (d *killDemo) submit(ctx context.Context) (string, error) {
	var in task.SummaryInput
	for i := range d.documents {
		in.Documents = append(in.Documents, task.Document{
			Name: fmt.Sprintf("report %03d", i), Text: documentName(i) + " The bridge was inspected and found sound.",
		})
	}
	input, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	for { // the API answers 503 until Temporal has its search attributes
		t, err := d.client.Create(ctx, client.NewTask{Kind: "summary", Input: input}, "kill-demo")
		if failure, ok := errors.AsType[*task.Error](err); ok && failure.Code == task.Unavailable {
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
