package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tamtam/collector"
	"tamtam/collector/journey"
)

// A pathCommand holds the flags of `tamtam path`.
type pathCommand struct {
	topology     topologyFlags
	flow, format string
	plans        []string
	packets      bool
	records      int
	options      journey.Options
}

func newPath() *cobra.Command {
	var p pathCommand
	c := &cobra.Command{
		Use:   "path --topology FILE CAPTURE...",
		Short: "One packet's way through the network, from the records of several switches",
		Long: `Join the records that table recording of several switches sent of the same packets, and print how many packets
went which way: host, switches, and how it ended. With --packets each packet: times, ports, tables and, where a session
records them, identities.

The topology has the switch ids and the wires: see tamtam collect topology. Records are joined
by what no switch rewrites of a packet, by wires, TTLs, times. Where packets are alike in all of that, it says so, and
shows which it may be. Without the plan of a record its tables are not known.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd, args) },
	}
	f := c.Flags()
	p.topology.flags(c, "switch ids and wires: ")
	f.StringArrayVar(&p.plans, "plan", nil, "plan that records were made by, JSON (may be repeated)")
	f.StringVar(&p.flow, "flow", "", `only packets whose flow, as "UDP 10.0.0.1:5 > 10.0.0.2:7", contains this`)
	f.BoolVar(&p.packets, "packets", false, "print each packet too")
	f.StringVar(&p.format, "format", "text", "text, or json with a packet in each line and the ways at the end")
	f.IntVar(&p.records, "records", collector.DefaultJourneyRecords, "how many records are joined, at most")
	f.DurationVar(&p.options.ClockError, "clock-error", journey.DefaultClockError,
		"by how much two synchronised clocks differ, at most")
	f.DurationVar(&p.options.Within, "within", journey.DefaultWithin, "the longest time from one switch to the next")
	return c
}

func (p *pathCommand) run(cmd *cobra.Command, captures []string) error {
	asJSON, err := textOrJSON(p.format)
	switch {
	case err != nil:
		return err
	case p.topology.none():
		return usagef("--topology is missing: want a topology file, or an experiment of the lab; or --target")
	case p.records < 1:
		return usagef("--records %d: want 1 or more", p.records)
	case p.options.ClockError <= 0 || p.options.Within <= 0:
		return usagef("--clock-error %v, --within %v: want more than 0", p.options.ClockError, p.options.Within)
	}
	t, err := p.topology.open(cmd)
	if err != nil {
		return err
	}
	switches, wiring, err := t.Wiring()
	if err != nil {
		return fmt.Errorf("%w, or --id NAME=ID", err)
	}
	plans, err := readPlans(p.plans)
	if err != nil {
		return err
	}
	j, err := collector.NewJourneys(plans, switches, p.flow, p.records)
	if err != nil {
		return err
	}
	for _, path := range captures {
		if err := j.Read(cmd.Context(), path); err != nil {
			return err
		}
	}
	return j.Print(cmd.OutOrStdout(), wiring, p.options, p.packets, asJSON)
}
