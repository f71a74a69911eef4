// Package command holds the common code of this tree's command lines: exit codes, errors in the command line, and the
// version. Flags belong to the programs.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes. 0 means success.
const (
	ExitFailed = 1
	ExitUsage  = 2
)

// A usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage returns an error that is a mistake in the command line.
func Usage(err error) error { return usageError{err} }

// Usagef returns an error that is a mistake in the command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Main runs a program with the arguments of this process, and exits with its code. An interrupt or SIGTERM ends the
// context.
func Main(run func(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Root returns the command of a program, with its subcommands and one that prints the version. A wrong flag, or a wrong
// number of arguments, is a mistake in the command line at every level.
func Root(name, short string, commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use: name, Short: short, Version: Version(), SilenceUsage: true, SilenceErrors: true,
		// Cobra passes words here that are no subcommand.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return Usagef("unknown command %q; `%s --help` lists them", args[0], name)
			}
			_ = cmd.Help()
			return Usagef("which command?")
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	root.AddCommand(append(commands, newVersion(name))...)
	for _, c := range root.Commands() {
		checkArgs(c)
	}
	return root
}

// checkArgs makes a wrong number of arguments a mistake in the command line.
func checkArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		checkArgs(sub)
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
			return Usage(err)
		}
		return nil
	}
}

// Run runs a command with arguments, prints the cause of a failure, and returns the exit code.
func Run(ctx context.Context, root *cobra.Command, args []string, in io.Reader, out, errOut io.Writer) int {
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
		fmt.Fprintf(errOut, "%s: %v\n", root.Name(), err)
		return ExitUsage
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintf(errOut, "%s: interrupted\n", root.Name())
		return ExitFailed
	}
	fmt.Fprintf(errOut, "%s: %v\n", root.Name(), err)
	return ExitFailed
}

// Version returns the version of the build, with the commit that it is made of and the date of that commit in UTC, such
// as "v1.2.0 (commit 0123456789ab, 2026-11-29)". Without a commit, as in a test, it is the version alone.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info)
}

// versionOf returns the version of a build. A tree that differs from its commit is marked as modified.
func versionOf(info *debug.BuildInfo) string {
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	commit, at := vcs["vcs.revision"], vcs["vcs.time"]
	if commit == "" {
		return info.Main.Version
	}
	const shown = 12 // digits, as in a pseudo-version
	date, _, _ := strings.Cut(at, "T")
	text := fmt.Sprintf("%s (commit %.*s, %s", info.Main.Version, shown, commit, date)
	if vcs["vcs.modified"] == "true" {
		text += ", modified"
	}
	return text + ")"
}

// newVersion returns the command that prints the version, for programs and scripts that do not know --version.
func newVersion(program string) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, with its commit and the date of the commit",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s version %s\n", program, Version())
			return err
		},
	}
}
