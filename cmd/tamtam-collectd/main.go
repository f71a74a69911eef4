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
	command.Main(runWith)
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	return runWith(ctx, args, nil, out, errOut)
}

func runWith(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	return command.Run(ctx, newRoot(), args, in, out, errOut)
}

func newRoot() *cobra.Command {
	daemon, fleet, hft := newDaemon(), newFleet(), newHFT()
	for _, c := range []*cobra.Command{daemon, fleet, hft} {
		c.Args = func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%q: this command accepts only flags", args[0])
			}
			return nil
		}
	}
	root := command.Root("tamtam-collectd", "Run the collector of a fleet: join and store the reports of switches",
		daemon, fleet, newSweep(), hft)
	command.Examples(root, examples())
	return root
}

// examples returns the Examples section of each command.
func examples() map[string]string {
	return map[string]string{
		"tamtam-collectd": `# the stamps that arrive at eth1 and reports of drops: the log and the results are in folders
tamtam-collectd run --log log --store store --interface eth1 --ipfix :4739`,
		"tamtam-collectd run": `tamtam-collectd run --log log --store store --interface eth1 --ipfix :4739
# the loss of each path, from the counts of marked packets
tamtam-collectd run --log log --store store --paths paths.yaml
# the parts as processes of their own: the log, those that read and join, and the page
tamtam-collectd run --role log --log log --listen 127.0.0.1:4222
tamtam-collectd run --role ingest,join --nats nats://127.0.0.1:4222 --store store --interface eth1
tamtam-collectd run --role serve --store store --http :8480`,
		"tamtam-collectd fleet": `tamtam-collectd fleet --dir fleet --leaves 4 --spines 2 --stamps 1000000`,
		"tamtam-collectd hft": `# behind tamtam collect hft --format csv, and a "|"
tamtam-collectd hft --out values.parquet`,
		"tamtam-collectd sweep": `# one worker for each machine, and the sweep
tamtam-collectd sweep --work --nats nats://127.0.0.1:4222
tamtam-collectd sweep sweep.yaml --nats nats://127.0.0.1:4222 --out results`,
		"tamtam-collectd version": `tamtam-collectd version`,
	}
}

func usagef(format string, args ...any) error { return command.Usagef(format, args...) }
