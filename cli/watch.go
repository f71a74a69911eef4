package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tamtam/cli/kit"
)

// Bounds of the interval at which a show command is repeated.
const (
	leastWatch = 100 * time.Millisecond
	mostWatch  = 24 * time.Hour
)

// usualWatch is the default interval of repeated show commands.
const usualWatch = time.Second

// every is the kind of that interval as a parameter.
var every = &kit.Kind{Label: "<time>", Parse: func(text string) (string, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < leastWatch || d > mostWatch {
		return "", fmt.Errorf("%q is not a time from %s to %s, such as 1s", text, leastWatch, mostWatch)
	}
	return d.String(), nil
}}

// withWatch adds an option to all show commands that repeats the command.
func withWatch(table []*kit.Command) []*kit.Command {
	for _, c := range table {
		if c.Show != nil {
			between := kit.Arg("every", every, "Time between; without, 1s")
			between.Spare = true
			c.Form.Options = append(c.Form.Options, kit.Opt(kit.Keyword("watch", "Show it again and again, until Ctrl-C"),
				between))
		}
	}
	return table
}

// clearScreen puts the cursor at the top of an empty screen.
const clearScreen = "\x1b[H\x1b[2J"

// watch calls show repeatedly, at times that do not drift, until it fails or ctx ends. At a terminal each result
// replaces the previous one.
func (s *Shell) watch(ctx context.Context, d time.Duration, show func() error) error {
	ticks := time.NewTicker(d)
	defer ticks.Stop()
	for {
		if s.screen {
			if _, err := io.WriteString(s.session.Config.Out, clearScreen); err != nil {
				return err
			}
		}
		err := show()
		switch {
		case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
			return nil // the user has stopped it
		case err != nil:
			return err
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
	}
}
