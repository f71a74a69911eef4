package saisim

import (
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/engine"
)

// Tables returns the complete configuration of the chip's fixed functions at this instant, from its SAI objects. It
// includes the plans of table recording that are in effect. If tables are named, only these are returned, and the chip
// is locked only as long as they need. The rows must not be changed.
func (c *Chip) Tables(only ...config.Table) config.Tables {
	t := rowsOf(c, only).Tables()
	t.RecordPlans = slices.DeleteFunc(t.RecordPlans, func(r config.RecordPlan) bool { return r.Idle })
	return t
}

func rowsOf(c *Chip, only []config.Table) config.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	if only == nil {
		return c.objects.Rows()
	}
	return c.objects.RowsOf(only...)
}

// A State holds the learned and counted values of a chip, which are in none of its tables.
type State struct {
	// FDB holds all addresses known to the chip, whether static, set or learned, by VLAN and address.
	FDB []FDBRow
	// Interfaces holds the counters of router interfaces, in the order of sai_router_interface_stat_t. They are never
	// cleared.
	Interfaces map[config.ID][engine.NumInterfaceCounts]uint64
	// Tunnels holds the counters of tunnels that end at the chip.
	Tunnels map[config.ID]engine.Tally
	// ACLCounters holds the values of ACL counters.
	ACLCounters map[config.ID]ACLCount
	// SYNs holds the counts of MSS clamps, by [tailstamp.SYNCount].
	SYNs map[config.ID]engine.SYNCounts
	// IFA holds the results of IFA for packets, by ACL counter. The key config.None is for transit.
	IFA map[config.ID]engine.IFACounts
}

// State returns the chip's current state.
func (c *Chip) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{
		FDB: c.engine.Addresses(), Interfaces: map[config.ID][engine.NumInterfaceCounts]uint64{},
		Tunnels:     map[config.ID]engine.Tally{},
		ACLCounters: map[config.ID]ACLCount{}, SYNs: map[config.ID]engine.SYNCounts{},
		IFA: map[config.ID]engine.IFACounts{config.None: engine.TransitOf(c.engine)},
	}
	t := c.objects.RowsOf(config.InterfaceTable, config.TunnelTable, config.ACLCounterTable, config.MSSClampTable).Tables()
	for _, r := range t.Interfaces {
		s.Interfaces[r.ID] = c.engine.InterfaceCounts(r.ID)
	}
	for _, r := range t.Tunnels {
		s.Tunnels[r.ID] = c.engine.TunnelCount(r.ID)
	}
	for _, r := range t.ACLCounters {
		s.ACLCounters[r.ID] = c.engine.ACLCount(r.ID)
		s.IFA[r.ID] = engine.IFAOf(c.engine, r.ID)
	}
	for _, r := range t.MSSClamps {
		s.SYNs[r.ID] = c.engine.SYNCounts(r.ID)
	}
	return s
}
