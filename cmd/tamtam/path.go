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
		Short: "Print the paths of packets through the network, from the records of several switches",
		Long: `Join the records of table recording from several switches, and print the number of packets on each
path. A path is the sending host, the switches, and where the packet ended. With --packets, each packet
is printed, too, with its times, ports and tables. If a session records identities, they are included.

The topology contains the switch ids and the wires: see tamtam collect topology. Records belong to the
same packet if the fields that no switch changes are equal, and if wires, TTLs and times match. If
several packets are equal in all of this, the output reports that and lists the possible packets.
Without the plan of a record, its tables are unknown.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd, args) },
	}
	f := c.Flags()
	p.topology.flags(c, "switch ids and wires: ")
	f.StringArrayVar(&p.plans, "plan", nil, "`FILE` of a plan of the records, JSON (may be repeated)")
	f.StringVar(&p.flow, "flow", "",
		`only packets whose flow contains this text; a flow looks like "UDP 10.0.0.1:5 > 10.0.0.2:7"`)
	f.BoolVar(&p.packets, "packets", false, "print each packet too")
	f.StringVar(&p.format, "format", "text", "text, or json with one packet per line and the paths at the end")
	f.IntVar(&p.records, "records", collector.DefaultJourneyRecords, "maximum number of records to join")
	f.DurationVar(&p.options.ClockError, "clock-error", journey.DefaultClockError,
		"maximum difference between two synchronised clocks")
	f.DurationVar(&p.options.Within, "within", journey.DefaultWithin,
		"maximum time of a packet from one switch to the next")
	return c
}

func (p *pathCommand) run(cmd *cobra.Command, captures []string) error {
	asJSON, err := textOrJSON(p.format)
	switch {
	case err != nil:
		return err
	case p.topology.none():
		return usagef("--topology is missing: want a topology file, an experiment of the lab, or --target")
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
