// Package command holds the common code of this tree's command lines: exit codes, errors in the command line, and the
// version. Flags belong to the programs.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tamtam/internal/printable"
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
				return unknown(cmd, args[0])
			}
			_ = cmd.Help()
			return Usagef("which command?")
		},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return Usage(similarFlag(c, err)) })
	usage := strings.Replace(root.UsageTemplate(), "{{.LocalFlags.FlagUsages | ", "{{. | groupedFlags | ", 1)
	root.SetUsageTemplate(usage)
	root.AddCommand(append(commands, newVersion(name))...)
	for _, c := range root.Commands() {
		checkArgs(c)
	}
	return root
}

// unknown returns the error for a word that should be a subcommand of c.
func unknown(c *cobra.Command, word string) error {
	what := fmt.Sprintf("unknown command %q", word)
	if c.HasParent() {
		what += " of " + c.CommandPath()
	}
	return Usagef("%s; %s", what, cmp.Or(similar(c, word), possible(c)))
}

// possible names the subcommands of c, or the command that lists them if there are many.
func possible(c *cobra.Command) string {
	const most = 8 // of a line
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	last := len(names) - 1
	switch {
	case len(names) > most || last < 0:
		return fmt.Sprintf("`%s --help` lists them", c.CommandPath())
	case last == 0:
		return "want " + names[0]
	}
	return "want " + strings.Join(names[:last], ", ") + " or " + names[last]
}

// similar returns a question about the subcommand of c that may be meant by a word, or "" if none is similar.
func similar(c *cobra.Command, word string) string {
	c.SuggestionsMinimumDistance = 2 // letters that may be wrong
	if names := c.SuggestionsFor(word); len(names) > 0 {
		return fmt.Sprintf("did you mean %s?", strings.Join(names, " or "))
	}
	return ""
}

// similarFlag adds the flag that may be meant to the error for a flag that c does not have.
func similarFlag(c *cobra.Command, err error) error {
	var absent *pflag.NotExistError
	if !errors.As(err, &absent) {
		return err
	}
	flags := &cobra.Command{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: "--" + f.Name, Run: func(*cobra.Command, []string) {}})
	})
	hint := similar(flags, "--"+absent.GetSpecifiedName())
	return fmt.Errorf("%w; %s", err, cmp.Or(hint, fmt.Sprintf("`%s --help` lists them", c.CommandPath())))
}

// inGroup is the annotation of a flag that holds its group.
const inGroup = "tamtam-group"

// Group puts flags of c under a heading in its help. Flags without a group follow those with one.
func Group(c *cobra.Command, heading string, flags ...string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[inGroup] += heading + "\n"
	for _, name := range flags {
		if err := c.Flags().SetAnnotation(name, inGroup, []string{heading}); err != nil {
			panic(err) // there is no such flag
		}
	}
}

func init() { cobra.AddTemplateFunc("groupedFlags", groupedFlags) }

// groupedFlags returns the help of the flags of c by their groups.
func groupedFlags(c *cobra.Command) string {
	groups := map[string]*pflag.FlagSet{}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		heading := strings.Join(f.Annotations[inGroup], "")
		if groups[heading] == nil {
			groups[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
		}
		groups[heading].AddFlag(f)
	})
	var b strings.Builder
	for heading := range strings.Lines(c.Annotations[inGroup]) {
		heading = strings.TrimSuffix(heading, "\n")
		fmt.Fprintf(&b, "  %s:\n%s\n", heading, groups[heading].FlagUsages())
	}
	if rest := groups[""]; rest != nil {
		if b.Len() > 0 {
			b.WriteString("  Other:\n")
		}
		b.WriteString(rest.FlagUsages())
	}
	return b.String()
}

// Examples sets the Examples section of each command by its words, such as "tamtam up". It returns the commands that
// have none, and the examples of commands that do not exist.
func Examples(root *cobra.Command, of map[string]string) (without, unused []string) {
	of = maps.Clone(of)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Example = indented(of[c.CommandPath()]); c.Example == "" {
			without = append(without, c.CommandPath())
		}
		delete(of, c.CommandPath())
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return without, slices.Sorted(maps.Keys(of))
}

func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
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
			check = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return unknown(cmd, args[0])
				}
				return nil
			}
		}
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || errors.As(err, new(usageError)) {
			return err
		}
		return Usagef("%w; usage: %s", err, cmd.UseLine())
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
		fmt.Fprintf(errOut, "%s: %s\n", root.Name(), printable.Lines(err.Error()))
		return ExitUsage
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintf(errOut, "%s: interrupted\n", root.Name())
		return ExitFailed
	}
	fmt.Fprintf(errOut, "%s: %s\n", root.Name(), printable.Lines(err.Error()))
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
