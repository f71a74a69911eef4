package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/dial"
)

// checkGraphs holds --graphs to the other flags.
func (f *daemonFlags) checkGraphs() error {
	g := &f.sources.gnmi
	switch {
	case !g.graphs:
		return nil
	case g.paths != "":
		return usagef("--graphs and --paths %s: both say what is measured: want either", g.paths)
	case f.topology == "":
		return usagef("--graphs: --topology is not given, whose switches are asked")
	case !f.has(roleIngest) || !f.has(roleJoin):
		return usagef("--graphs: want roles %s and %s in this process; where they are apart all need the same --paths, "+
			"which tamtam collect graphs prints", roleIngest, roleJoin)
	}
	return nil
}

// askGraphs asks the switches of the topology for the graphs of their flow groups.
func (f *daemonFlags) askGraphs(ctx context.Context, logger *slog.Logger) error {
	g := &f.sources.gnmi
	if !g.graphs {
		return nil
	}
	file, notes, err := dial.Monitored(ctx, f.network, g.dial)
	if err != nil {
		return fmt.Errorf("--graphs: %w", err)
	}
	for _, note := range notes {
		logger.Warn(note)
	}
	if len(file.Graphs) == 0 {
		logger.Warn(dial.ErrNoGraphs.Error())
	}
	for _, one := range file.Graphs {
		logger.Info(one.String())
	}
	g.file = file
	return g.checkTargets("--graphs")
}

// tellWithin is how long it may take to tell the log that the graphs were others.
const tellWithin = 10 * time.Second

// watchGraphs returns an error when the switches make other graphs: rows by those of the start might be wrong. Those of
// what was reported since they were confirmed last are in doubt.
func (d *daemon) watchGraphs(ctx context.Context) error {
	g := &d.flags.sources.gnmi
	unasked := func(err error) { d.logger.Warn("the graphs may be others now: " + err.Error()) }
	since, changed := g.file.Changed(ctx, d.flags.network, g.dial, dial.AskGraphs, unasked)
	if !changed {
		return nil
	}
	err := fmt.Errorf("--graphs: the switches have other sessions than at %s, and make other graphs: losses since then "+
		"may be none, and have the flag gap: want a new start", since.Format(time.RFC3339))
	return errors.Join(err, d.doubtGraphs(ctx, since))
}

// doubtGraphs tells the log that what switches reported since a time was of other graphs.
func (d *daemon) doubtGraphs(ctx context.Context, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	for _, feed := range d.feeds {
		for _, s := range feed.senders {
			if s.Kind() != result.Periods {
				continue
			}
			if err := s.DoubtSince(ctx, since); err != nil {
				return fmt.Errorf("rows since then lack the flag: the log is not told: %w", err)
			}
		}
	}
	return nil
}
