// Command tamtam is the switch and its tools: every daemon and every tool is a subcommand. It only reads flags and
// calls the package that does the work.
package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tamtam/internal/command"
)

func main() { command.Main(run) }

func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	j := &journal{}
	defer j.limiter.Close()
	root := newRoot(j)
	command.Examples(root, examples())
	return command.Run(ctx, root, args, in, out, errOut)
}

// newRoot returns the program's command with all others below it.
func newRoot(j *journal) *cobra.Command {
	root := command.Root("tamtam", "A SONiC-style switch with telemetry, on a simulated ASIC",
		newUp(), newRun(), newCLI(), newSubscribe(), newCollect(), newSim(), newLab(),
		newDecode(), newPlan(), newBench(), newDemo(), newConfig(), newFlush(), newProfile(), newHealth(), newFault(),
		newTrace(), newPath(), newDoctor(), newTechsupport(), newUsers(), newCollectd(), newP4())
	j.flags(root)
	root.Long = root.Short + `.

Every command exits with 0 on success, 1 on failure, and 2 for a wrong command line.`
	return root
}

func usagef(format string, args ...any) error { return command.Usagef(format, args...) }
