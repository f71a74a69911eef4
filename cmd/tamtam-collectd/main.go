// Command tamtam-collectd is the fleet's collector with persistent results: its log is NATS JetStream, its store
// Parquet files. It is a separate program because JetStream and Parquet take longer to build than all of tamtam. tamtam
// starts it.
package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tamtam/internal/command"
)

func main() {
	command.Main(func(ctx context.Context, args []string, _ io.Reader, out, errOut io.Writer) int {
		return run(ctx, args, out, errOut)
	})
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	daemon, fleet := newDaemon(), newFleet()
	for _, c := range []*cobra.Command{daemon, fleet} {
		c.Args = func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%q: this command accepts only flags", args[0])
			}
			return nil
		}
	}
	root := command.Root("tamtam-collectd", "Run the collector of a fleet: join and store the reports of switches",
		daemon, fleet, newSweep())
	return command.Run(ctx, root, args, nil, out, errOut)
}

func usagef(format string, args ...any) error { return command.Usagef(format, args...) }
