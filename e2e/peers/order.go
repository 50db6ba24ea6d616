package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

// clients is the number of goroutines that enqueue jobs, because asynq accepts one job for each request.
const clients = 16

// order enqueues jobs and waits until the result of each is stored.
func order(redis asynq.RedisClientOpt, jobs int) error {
	client := asynq.NewClient(redis)
	defer client.Close()
	began := time.Now()
	next, errs := make(chan int), make(chan error, clients)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := range next {
				task := asynq.NewTask(kind, fmt.Appendf(nil, "About row %06d.", i))
				if _, err := client.Enqueue(task, asynq.Retention(time.Hour), asynq.Timeout(time.Minute)); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	all.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	if err := await(redis, jobs); err != nil {
		return err
	}
	_, err := fmt.Fprintln(os.Stdout, time.Since(began).Seconds())
	return err
}

// await waits until all jobs are completed.
func await(redis asynq.RedisClientOpt, jobs int) error {
	inspector := asynq.NewInspector(redis)
	defer inspector.Close()
	for {
		info, err := inspector.GetQueueInfo("default")
		switch {
		case err != nil:
			return err
		case info.Retry+info.Archived > 0:
			return fmt.Errorf("%d jobs failed", info.Retry+info.Archived)
		case info.Completed == jobs:
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}
