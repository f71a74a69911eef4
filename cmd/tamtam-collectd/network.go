package main

import (
	"errors"
	"fmt"
	"time"

	"tamtam/collector"
	"tamtam/collector/topology"
	"tamtam/fleet/collectd"
	"tamtam/lab/experiments"
)

const topologyUsage = "`FILE` of switches, hosts and links, from tamtam collect topology or containerlab: the page\n" +
	"and the rows use its names, and records are joined by its switch ids and links;\n" +
	"must be equal in all processes that join partitions of the same log"

// readNetwork reads the file of --topology, if it is given, and checks it against the paths.
func (f *daemonFlags) readNetwork() error {
	if f.Topology == "" {
		return nil
	}
	if !f.Has(collectd.RoleJoin) && !f.Has(collectd.RoleServe) {
		return usagef("--topology: only roles %s and %s accept it", collectd.RoleJoin, collectd.RoleServe)
	}
	t, err := experiments.Network(f.Topology, topology.Containerlab{})
	if errors.Is(err, experiments.ErrUnknown) {
		return usagef("--topology: %w", err)
	}
	if err != nil {
		return fmt.Errorf("--topology: %w", err)
	}
	if _, err := f.sources.gnmi.file.Named(t); err != nil {
		return fmt.Errorf("--paths %s with --topology %s: %w", f.sources.gnmi.paths, f.Topology, err)
	}
	f.Join.Topology = t
	return nil
}

// readPlans reads the files of --plan, and checks the flags for joining records against the roles.
func (f *daemonFlags) readPlans() error {
	copies := f.Records || f.RecordUDP != ""
	switch {
	case len(f.plans) > 0 && !f.Has(collectd.RoleJoin):
		return usagef("--plan: only role %s accepts it", collectd.RoleJoin)
	case f.Join.Journey.ClockError <= 0 || f.Join.Journey.Within <= 0 || f.Join.Journey.Within > maxWithin:
		return usagef("--clock-error %v, --within %v: want more than 0, and --within up to %v", f.Join.Journey.ClockError,
			f.Join.Journey.Within, maxWithin)
	case f.Join.Topology == nil && f.Has(collectd.RoleJoin) && (copies || len(f.plans) > 0):
		return usagef("--topology is not given: records are joined by its switch ids and wires")
	}
	if copies && f.Join.Topology != nil {
		if _, _, err := f.Join.Topology.Wiring(); err != nil {
			return fmt.Errorf("--topology %s: %w", f.Topology, err)
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
		f.Join.Plans = append(f.Join.Plans, plan)
	}
	return nil
}

// maxWithin is the maximum time for which rows wait. It also limits the number of stored records.
const maxWithin = time.Hour
