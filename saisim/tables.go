package saisim

import (
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/engine"
)

// Tables returns everything that the fixed functions of the chip are configured with at this instant, as
// its SAI objects say it; of the plans of table recording those in effect. With names of tables it has these only, and
// the chip is held for no longer than they take. The rows must not be changed.
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

// A State is what a chip has learned and counted, which is in none of its tables.
type State struct {
	// FDB are all addresses that the chip knows: static, set and learned; by VLAN and address.
	FDB []FDBRow
	// Interfaces are the counters of router interfaces, in the order of sai_router_interface_stat_t,
	// not cleared.
	Interfaces map[config.ID][engine.NumInterfaceCounts]uint64
	// ACLCounters is what ACL counters have counted.
	ACLCounters map[config.ID]ACLCount
	// SYNs is what clamps of the MSS have counted, by [tailstamp.SYNCount].
	SYNs map[config.ID]engine.SYNCounts
	// IFA is what became of packets that IFA met, by ACL counter; of config.None: by transit.
	IFA map[config.ID]engine.IFACounts
}

// State returns what the chip has learned and counted up to this instant.
func (c *Chip) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{
		FDB: c.engine.Addresses(), Interfaces: map[config.ID][engine.NumInterfaceCounts]uint64{},
		ACLCounters: map[config.ID]ACLCount{}, SYNs: map[config.ID]engine.SYNCounts{},
		IFA: map[config.ID]engine.IFACounts{config.None: engine.TransitOf(c.engine)},
	}
	t := c.objects.RowsOf(config.InterfaceTable, config.ACLCounterTable, config.MSSClampTable).Tables()
	for _, r := range t.Interfaces {
		s.Interfaces[r.ID] = c.engine.InterfaceCounts(r.ID)
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
