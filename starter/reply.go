package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"longhaul/client"
)

func (c *cli) approve() *cobra.Command {
	var arguments string
	cmd := &cobra.Command{
		Use: "approve ID [REQUEST]", Short: "Approve a tool call that a task asks about", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			reply := client.Reply{Action: client.Approve}
			if arguments != "" {
				if !json.Valid([]byte(arguments)) {
					return errors.New("--arguments must be JSON")
				}
				reply.Arguments = json.RawMessage(arguments)
			}
			return c.reply(cmd.Context(), args, client.ApprovalRequest, reply)
		},
	}
	cmd.Flags().StringVar(&arguments, "arguments", "", "other arguments for the call, as JSON")
	return cmd
}

func (c *cli) deny() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "deny ID [REQUEST]", Short: "Deny a tool call that a task asks about", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reply(cmd.Context(), args, "", client.Reply{Action: client.Deny, Reason: reason})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, for the model")
	return cmd
}

func (c *cli) answer() *cobra.Command {
	var request string
	cmd := &cobra.Command{
		Use: "answer ID TEXT", Short: "Answer the question of a task", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reply(cmd.Context(), []string{args[0], request}, client.QuestionRequest, client.Reply{Action: client.Respond, Text: args[1]})
		},
	}
	cmd.Flags().StringVar(&request, "request", "", "the id of the question, if there are several")
	return cmd
}

func (c *cli) tell() *cobra.Command {
	return &cobra.Command{
		Use: "tell ID TEXT", Short: "Send a message to an agent while it works", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.show(c.client.Input(cmd.Context(), args[0], client.Reply{Action: client.Tell, Text: args[1]}))
		},
	}
}

// reply answers the named request, or the only open request of a kind; "" is any kind.
func (c *cli) reply(ctx context.Context, args []string, kind string, reply client.Reply) error {
	if len(args) > 1 {
		reply.Request = args[1]
	}
	if reply.Request == "" {
		t, err := c.client.Get(ctx, args[0])
		if err != nil {
			return err
		}
		if reply.Request, err = onlyRequest(t.InputRequests, kind); err != nil {
			return err
		}
	}
	return c.show(c.client.Input(ctx, args[0], reply))
}

// onlyRequest returns the id of the only open request of a kind.
func onlyRequest(requests map[string]client.InputRequest, kind string) (string, error) {
	var open []string
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		if kind == "" || requests[id].Kind == kind {
			open = append(open, id)
		}
	}
	switch len(open) {
	case 0:
		return "", errors.New("the task has no open request that this command answers; longhaul get ID lists the requests")
	case 1:
		return open[0], nil
	default:
		return "", fmt.Errorf("the task has several open requests; name one: %s", strings.Join(open, ", "))
	}
}

// openRequests returns the requests of a task in a line.
func openRequests(t client.Task) string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(t.InputRequests)) {
		all = append(all, describeRequest(t.InputRequests[id]))
	}
	return "asks: " + strings.Join(all, "; ")
}

func describeRequest(r client.InputRequest) string {
	if r.Kind == client.QuestionRequest {
		text := r.Question
		if len(r.Choices) > 0 {
			text += " (" + strings.Join(r.Choices, ", ") + ")"
		}
		return text
	}
	return fmt.Sprintf("may %s be called with %s?", r.Tool, r.Arguments)
}
