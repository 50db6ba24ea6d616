package main

import "github.com/spf13/cobra"

func (c *cli) get() *cobra.Command {
	return &cobra.Command{
		Use: "get ID", Short: "Show a task", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.show(c.client.Get(cmd.Context(), args[0])) },
	}
}

func (c *cli) cancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Cancel a task and keep what it finished", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.show(c.client.Cancel(cmd.Context(), args[0])) },
	}
}

func (c *cli) pause() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause ID", Short: "Pause a task: calls in flight finish, no new calls are made", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.show(c.client.PauseTask(cmd.Context(), args[0], reason))
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, shown to readers of the task")
	return cmd
}

func (c *cli) resume() *cobra.Command {
	return &cobra.Command{
		Use: "resume ID", Short: "Continue a paused task", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.show(c.client.ResumeTask(cmd.Context(), args[0]))
		},
	}
}

func (c *cli) replay() *cobra.Command {
	cmd := &cobra.Command{Use: "replay ID", Short: "Run a task that has ended again; answers that are paid for are reused", Args: cobra.ExactArgs(1)}
	order := addOrderFlags(cmd)
	var key string
	addKeyFlag(cmd, &key)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.show(c.client.Replay(cmd.Context(), args[0], order(), key))
	}
	return cmd
}

// addKeyFlag adds the flag of the idempotency key to a command that starts a task.
func addKeyFlag(cmd *cobra.Command, key *string) {
	cmd.Flags().StringVar(key, "idempotency-key", "", "a key of your own: the same command with the same key starts no second task")
}
