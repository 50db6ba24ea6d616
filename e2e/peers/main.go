// Command peers does the work of the benchmark of rows on asynq, which keeps its jobs in Redis: what longhaul is measured beside. It is a
// module of its own so that longhaul does not depend on what it is compared with.
//
//	peers work  redis-address provider-url concurrency    works until it is told to stop
//	peers order redis-address jobs                        puts jobs in, waits for the end of all, prints the seconds
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
