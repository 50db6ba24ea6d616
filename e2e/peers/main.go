// Command peers runs the calls of BenchmarkRows as jobs of asynq, which keeps them in Redis, to compare longhaul with it. It
// is a module of its own so that longhaul does not depend on asynq.
//
//	peers work  redis-address provider-url concurrency    runs jobs until SIGTERM
//	peers order redis-address jobs                        enqueues jobs, waits for the end of all, prints the seconds
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/hibiken/asynq"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "work":
		width, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return work(asynq.RedisClientOpt{Addr: args[1]}, args[2], width)
	case len(args) == 3 && args[0] == "order":
		jobs, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return order(asynq.RedisClientOpt{Addr: args[1]}, jobs)
	}
	return fmt.Errorf("usage: peers work REDIS PROVIDER CONCURRENCY | peers order REDIS JOBS")
}
