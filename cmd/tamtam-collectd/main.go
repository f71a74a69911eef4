// Command tamtam-collectd is the fleet's collector where results are kept: its log is NATS JetStream, its store Parquet
// files. It is a program by itself because these take longer to build than all of tamtam, which starts it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes: 0 done, 1 failed, 2 usage.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(errOut, "tamtam-collectd: %v\n", err)
		return exitUsage
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(errOut, "tamtam-collectd: interrupted")
		return exitFailed
	}
	fmt.Fprintf(errOut, "tamtam-collectd: %v\n", err)
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "tamtam-collectd",
		Short:         "The collector of a fleet: what switches tell, joined, in Parquet files",
		SilenceUsage:  true,
		SilenceErrors: true,
		// Anything that is not a command ends up here.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; `tamtam-collectd --help` lists them", args[0])
			}
			_ = cmd.Help()
			return usagef("which command?")
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newDaemon(), newFleet())
	for _, c := range root.Commands() {
		c.Args = func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%q: this command takes flags only", args[0])
			}
			return nil
		}
	}
	root.AddCommand(newSweep())
	return root
}
