package collectd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/fleet/ingest"
	"tamtam/internal/command"
)

// askGraphs reads the graphs of the flow groups from the switches of the topology.
func (c *Config) askGraphs(ctx context.Context) error {
	if !c.Graphs {
		return nil
	}
	file, notes, err := dial.Monitored(ctx, c.Join.Topology, c.Dial)
	if err != nil {
		return fmt.Errorf("--graphs: %w", err)
	}
	for _, note := range notes {
		c.Logger.Warn(note)
	}
	if len(file.Graphs) == 0 {
		c.Logger.Warn(dial.ErrNoGraphs.Error())
	}
	for _, one := range file.Graphs {
		c.Logger.Info(one.String())
	}
	c.Join.Paths = file
	return CheckTargets(file, "--graphs")
}

// CheckTargets returns an error if targets in a file of paths and graphs would have the same name in the log. from is
// the name of the file in errors.
func CheckTargets(file dial.File, from string) error {
	of := map[string]string{}
	for _, m := range ingest.Markings(file) {
		if other, twice := of[m.Source()]; twice {
			return command.Usagef("%s: targets %s and %s end in the same %q: want them to differ there", from, other,
				m.Target, m.Source())
		}
		of[m.Source()] = m.Target
	}
	return nil
}

// suspectTimeout is the time limit to record in the log that the graphs have changed.
const suspectTimeout = 10 * time.Second

// watchGraphs returns an error when the graphs of the switches change, since rows by the old graphs may be wrong. Rows
// from reports since the last confirmation are flagged.
func (d *daemon) watchGraphs(ctx context.Context) error {
	unasked := func(err error) { d.Logger.Warn("the graphs may have changed: " + err.Error()) }
	since, changed := d.Join.Paths.Changed(ctx, d.Join.Topology, d.Dial, dial.AskGraphs, unasked)
	if !changed {
		return nil
	}
	err := fmt.Errorf("--graphs: the sessions on the switches have changed since %s, and with them the graphs: losses "+
		"since then may be wrong, and have the flag gap: start the collector again", since.Format(time.RFC3339))
	return errors.Join(err, d.suspectGraphs(ctx, since))
}

// suspectGraphs records in the log that the reports of switches since a time are for other graphs.
func (d *daemon) suspectGraphs(ctx context.Context, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, suspectTimeout)
	defer cancel()
	for _, feed := range d.feeds {
		for _, s := range feed.senders {
			if s.Kind() != result.Periods {
				continue
			}
			if err := s.SuspectSince(ctx, since); err != nil {
				return fmt.Errorf("rows since then lack the flag: the log was not notified: %w", err)
			}
		}
	}
	return nil
}
