package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tamtam/collector"
	"tamtam/collector/topology"
	"tamtam/lab/experiments"
	"tamtam/mgmt/web"
)

const topologyUsage = "file of switches, hosts and links, as tamtam collect topology prints it or containerlab\n" +
	"has it, whose names page and rows have, and by whose ids and wires records are joined:\n" +
	"equal wherever partitions of the same log are joined"

// readNetwork reads the file of --topology, if it is given, and holds it to the paths.
func (f *daemonFlags) readNetwork() error {
	if f.topology == "" {
		return nil
	}
	if !f.has(roleJoin) && !f.has(roleServe) {
		return usagef("--topology: only roles %s and %s take it", roleJoin, roleServe)
	}
	t, err := experiments.Network(f.topology, topology.Containerlab{})
	if errors.Is(err, experiments.ErrUnknown) {
		return usagef("--topology: %w", err)
	}
	if err != nil {
		return fmt.Errorf("--topology: %w", err)
	}
	if _, err := f.sources.gnmi.file.Named(t); err != nil {
		return fmt.Errorf("--paths %s, as --topology %s has it: %w", f.sources.gnmi.paths, f.topology, err)
	}
	f.network = t
	return nil
}

// tellNetwork logs what the topology does not say.
func (f *daemonFlags) tellNetwork(logger *slog.Logger) {
	if f.network == nil {
		return
	}
	for _, note := range f.network.Notes {
		logger.Warn("topology: "+note, "file", f.topology)
	}
	for _, n := range f.network.Nodes {
		if n.Kind == topology.Switch && n.ID == 0 {
			logger.Warn("topology: a switch has no id: what stamps say of it is not told by its name", "file", f.topology,
				"switch", n.Name)
		}
	}
}

// shownNetwork is what the page is told of the network; nil: what stamps say.
func (f *daemonFlags) shownNetwork() web.Topology {
	if f.network == nil {
		return nil
	}
	return web.Told(f.network, f.topology)
}

// readPlans reads the files of --plan, and holds what records are joined by to what the roles need.
func (f *daemonFlags) readPlans() error {
	copies := f.sources.records || f.sources.recordUDP != ""
	switch {
	case len(f.plans) > 0 && !f.has(roleJoin):
		return usagef("--plan: only role %s takes it", roleJoin)
	case f.journey.ClockError <= 0 || f.journey.Within <= 0 || f.journey.Within > maxWithin:
		return usagef("--clock-error %v, --within %v: want more than 0, and --within up to %v", f.journey.ClockError,
			f.journey.Within, maxWithin)
	case f.network == nil && f.has(roleJoin) && (copies || len(f.plans) > 0):
		return usagef("--topology is not given: records are joined by its switch ids and wires")
	}
	if copies && f.network != nil {
		if _, _, err := f.network.Wiring(); err != nil {
			return fmt.Errorf("--topology %s: %w", f.topology, err)
		}
	}
	for _, path := range f.plans {
		plan, err := collector.ReadPlan(path)
		if err == nil {
			_, err = collector.NewRecords(plan)
		}
		if err != nil {
			return fmt.Errorf("--plan: %w", err)
		}
		f.read = append(f.read, plan)
	}
	return nil
}

// maxWithin bounds how long rows wait, and how many records are kept.
const maxWithin = time.Hour
