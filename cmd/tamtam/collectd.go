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
		Short: "Collect what the switches of a fleet report, and keep the results (" + collectd + ")",
		Long: "Executes the program " + collectd + ", which stands beside tamtam or in PATH, with the arguments given.\n" +
			"It is a program by itself because the log and the store that it links take longer to build than tamtam.",
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
		return "", fmt.Errorf("%s stands neither beside tamtam nor in PATH: `go build ./cmd/%[1]s` builds it", collectd)
	}
	return path, err
}
