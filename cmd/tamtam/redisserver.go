package main

import (
	"github.com/spf13/cobra"

	"tamtam/device"
)

// newRunRedis returns the command for the database beside the daemons. An image without a shell has no script to start
// it.
func newRunRedis() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "redis [-- OPTION...]",
		Short: "Run redis-server as the database of a switch, so that a kill loses nothing",
		Long: `Run redis-server as the database of a switch, so that a kill loses nothing. Options after -- are those
of redis-server.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, options []string) error {
			return device.ExecRedis(dir, options, cmd.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&dir, "dir", "/var/lib/redis", "directory of the data")
	return c
}

// newRunPorts returns the command that keeps the network of a container.
func newRunPorts() *cobra.Command {
	return &cobra.Command{
		Use:   "ports",
		Short: "Wait until stopped, in a container that keeps live interfaces while syncd is replaced",
		Long: `Wait until stopped. A container that runs this command keeps its network, and thus the live interfaces
in it, while the container of syncd is replaced.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			<-cmd.Context().Done()
			return nil
		},
	}
}
