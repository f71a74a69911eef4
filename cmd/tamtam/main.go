// Command tamtam is the switch and its tools: every daemon and every tool is a subcommand. It reads
// flags and calls the package that does the work, nothing else.
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
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	j := &journal{}
	defer j.limiter.Close()
	root := newRoot(j)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(errOut, "tamtam: %v\n", err)
		return exitUsage
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(errOut, "tamtam: interrupted")
		return exitFailed
	default:
		fmt.Fprintf(errOut, "tamtam: %v\n", err)
		return exitFailed
	}
}

func newRoot(j *journal) *cobra.Command {
	root := &cobra.Command{
		Use:           "tamtam",
		Short:         "A SONiC-style switch with telemetry, on a simulated ASIC",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		// Anything that is not a command ends up here.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; `tamtam --help` lists them", args[0])
			}
			_ = cmd.Help()
			return usagef("which command?")
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	j.flags(root)
	root.AddCommand(newUp(), newRun(), newCLI(), newSubscribe(), newCollect(), newSim(), newLab(),
		newDecode(), newPlan(), newBench(), newDemo(), newConfig(), newFlush(), newProfile(), newHealth(), newFault(),
		newTrace(), newPath(), newDoctor(), newTechsupport(), newUsers(), newCollectd())
	for _, c := range root.Commands() {
		wrapArgs(c)
	}
	return root
}

// wrapArgs makes a wrong number of arguments a usage error, at every level.
func wrapArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
		if c.HasSubCommands() {
			check = cobra.OnlyValidArgs
		}
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
