package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tamtam/cli/kit"
)

// Bounds of the time between two looks.
const (
	leastWatch = 100 * time.Millisecond
	mostWatch  = 24 * time.Hour
)

// usualWatch is the time between two looks where none is said.
const usualWatch = time.Second

// every is the time between two looks.
var every = &kit.Kind{Label: "<time>", Parse: func(text string) (string, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < leastWatch || d > mostWatch {
		return "", fmt.Errorf("%q is not a time from %s to %s, such as 1s", text, leastWatch, mostWatch)
	}
	return d.String(), nil
}}

// withWatch lets all commands that show something do so again and again.
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

// watch calls show again and again, in steps that do not drift, until it fails or ctx ends. At a terminal each result
// takes the place of the one before.
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
			return nil // the user has seen enough
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
