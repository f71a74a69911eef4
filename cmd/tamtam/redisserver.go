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
		Short: "redis-server as the database of a switch: a kill loses nothing; options are those of redis-server",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, options []string) error {
			return device.ExecRedis(dir, options, cmd.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&dir, "dir", "/var/lib/redis", "directory of its data")
	return c
}

// newRunPorts returns the command that keeps the network of a container.
func newRunPorts() *cobra.Command {
	return &cobra.Command{
		Use:   "ports",
		Short: "Nothing, until it is stopped: a container whose network live interfaces are in, while syncd is replaced",
		RunE: func(cmd *cobra.Command, _ []string) error {
			<-cmd.Context().Done()
			return nil
		},
	}
}
