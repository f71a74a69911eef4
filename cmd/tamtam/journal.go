package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"tamtam/device/logs"
)

// A journal is the log of a command, on standard error.
type journal struct {
	limiter logs.Limiter
	log     *slog.Logger
}

type journalKey struct{}

// flags adds the log flags to every command. A command's log is created from them before it runs.
func (j *journal) flags(root *cobra.Command) {
	var verbose bool
	var format string
	f := root.PersistentFlags()
	f.BoolVar(&verbose, "verbose", false,
		"log all actions of the daemons to standard error; default: only warnings, and repeated ones as a count")
	f.StringVar(&format, "log-format", cmp.Or(os.Getenv("TAMTAM_LOG_FORMAT"), string(logs.Text)),
		"format of the log: text or json (default from TAMTAM_LOG_FORMAT)")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		form, err := logs.ParseFormat(format)
		if err != nil {
			return usagef("--log-format %w", err)
		}
		if verbose {
			j.log = slog.New(form.Handler(cmd.ErrOrStderr(), slog.LevelDebug))
		} else {
			j.log = slog.New(j.limiter.Limit(form.Handler(cmd.ErrOrStderr(), slog.LevelWarn)))
		}
		cmd.SetContext(context.WithValue(cmd.Context(), journalKey{}, j))
		return nil
	}
}

// logger returns the log of a running command.
func logger(cmd *cobra.Command) *slog.Logger {
	j, ok := cmd.Context().Value(journalKey{}).(*journal)
	if !ok {
		return slog.New(slog.DiscardHandler)
	}
	return j.log
}
