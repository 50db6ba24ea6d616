package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"longhaul/internal/task"
)

func (c *cli) approve() *cobra.Command {
	var arguments string
	cmd := &cobra.Command{
		Use: "approve ID [REQUEST]", Short: "Let a task make the call it asks about", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			reply := task.Reply{Action: task.Approve}
			if arguments != "" {
				if !json.Valid([]byte(arguments)) {
					return fmt.Errorf("--arguments must be JSON")
				}
				reply.Arguments = json.RawMessage(arguments)
			}
			return c.reply(cmd.Context(), args, "approval", reply)
		},
	}
	cmd.Flags().StringVar(&arguments, "arguments", "", "other arguments for the call, as JSON")
	return cmd
}

func (c *cli) deny() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use: "deny ID [REQUEST]", Short: "Keep a task from making the call it asks about", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reply(cmd.Context(), args, "", task.Reply{Action: task.Deny, Reason: why})
		},
	}
	cmd.Flags().StringVar(&why, "reason", "", "why, for the model")
	return cmd
}

func (c *cli) answer() *cobra.Command {
	var request string
	cmd := &cobra.Command{
		Use: "answer ID TEXT", Short: "Answer the question of a task", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reply(cmd.Context(), []string{args[0], request}, "question", task.Reply{Action: task.Respond, Text: args[1]})
		},
	}
	cmd.Flags().StringVar(&request, "request", "", "which question, if there are several")
	return cmd
}

func (c *cli) tell() *cobra.Command {
	return &cobra.Command{
		Use: "tell ID TEXT", Short: "Say something to an agent while it works", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := c.client.Input(cmd.Context(), args[0], task.Reply{Action: task.Tell, Text: args[1]})
			if err != nil {
				return err
			}
			return c.show(t)
		},
	}
}

// reply answers the request that was named, or the only one of its kind that is open.
func (c *cli) reply(ctx context.Context, args []string, kind string, reply task.Reply) error {
	if len(args) > 1 {
		reply.Request = args[1]
	}
	if reply.Request == "" {
		t, err := c.client.Get(ctx, args[0])
		if err != nil {
			return err
		}
		if reply.Request, err = only(t.InputRequests, kind); err != nil {
			return err
		}
	}
	t, err := c.client.Input(ctx, args[0], reply)
	if err != nil {
		return err
	}
	return c.show(t)
}

func only(requests map[string]task.InputRequest, kind string) (string, error) {
	var open []string
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		if kind == "" || requests[id].Kind == kind {
			open = append(open, id)
		}
	}
	switch len(open) {
	case 0:
		return "", fmt.Errorf("the task asks for nothing of that kind")
	case 1:
		return open[0], nil
	default:
		return "", fmt.Errorf("the task asks for several things; name one: %s", strings.Join(open, ", "))
	}
}

// asks is what a task needs a person for, in a line.
func asks(t task.Task) string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(t.InputRequests)) {
		all = append(all, wanted(t.InputRequests[id]))
	}
	return "asks: " + strings.Join(all, "; ")
}

func wanted(r task.InputRequest) string {
	if r.Kind == "question" {
		text := r.Question
		if len(r.Choices) > 0 {
			text += " (" + strings.Join(r.Choices, ", ") + ")"
		}
		return text
	}
	return fmt.Sprintf("may %s be called with %s?", r.Tool, r.Arguments)
}
