package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// collectd is the name of the fleet collector's program.
const collectd = "tamtam-collectd"

// A findCollectd finds the fleet collector's program.
type findCollectd struct {
	self     func() (string, error)
	lookPath func(string) (string, error)
}

func newCollectd() *cobra.Command {
	return &cobra.Command{
		Use:   "collectd ARGUMENT...",
		Short: "Collect the reports of all switches of a fleet, and store the results (" + collectd + ")",
		Long: "Run the program " + collectd + " with the given arguments. The program must be in the directory of tamtam,\n" +
			"or in PATH. It is a program of its own because its log and its store take longer to build than tamtam.\n" +
			"`tamtam collectd --help` lists its commands.",
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := findCollectd{os.Executable, exec.LookPath}.find()
			if err != nil {
				return err
			}
			// The program replaces this process, so that it receives the signals and determines the exit code.
			err = syscall.Exec(path, append([]string{collectd}, args...), os.Environ())
			return fmt.Errorf("%s: %w", path, err)
		},
	}
}

func (f findCollectd) find() (string, error) {
	if self, err := f.self(); err == nil {
		path, err := f.lookPath(filepath.Join(filepath.Dir(self), collectd))
		if err == nil {
			return path, nil
		}
	}
	path, err := f.lookPath(collectd)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("%s is neither in the directory of tamtam nor in PATH: `go build ./cmd/%[1]s` builds it",
			collectd)
	}
	return path, err
}
