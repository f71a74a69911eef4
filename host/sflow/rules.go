package sflow

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
	wire "tamtam/tam/sflow"
)

// rules holds the ACL rules that sample, with the indexes of their sources.
type rules struct {
	sampling map[string]bool   // rules that sample, by key
	index    map[string]uint32 // indexes by key; 0 if there is none left
}

// follow updates the rules, and calls changed after each change.
func (r *rules) follow(d *orch.Daemon, db *swss.DB, changed func()) {
	r.sampling = map[string]bool{}
	forward.Consume(d, db, schema.AppACLRule, func(key string, fields swss.FieldValues) {
		key = schema.ConfigKey(key)
		samples := fields[schema.ActionSampleIngress.String()] != "" || fields[schema.ActionSampleEgress.String()] != ""
		if samples == r.sampling[key] {
			return
		}
		if r.sampling[key] = samples; !samples {
			delete(r.sampling, key)
		}
		changed()
	})
}

// indexes assigns each of some names, which are sorted, an index of the range that sFlow.org leaves to the agent. It is
// derived from the name; if it is in use, the next is tried. So a rule has the same index after a restart, and usually
// whatever other rules there are.
func indexes(names []string) map[string]uint32 {
	of, taken := map[string]uint32{}, map[uint32]bool{}
	for _, name := range names {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name)) // never fails
		for i := range uint32(wire.LocalEntities) {
			index := wire.FirstLocalEntity + (h.Sum32()%wire.LocalEntities+i)%wire.LocalEntities
			if !taken[index] {
				of[name], taken[index] = index, true
				break
			}
		}
	}
	return of
}

// number assigns each rule its index, and returns the indexes by the label in samples.
func (r *rules) number() map[string]uint32 {
	r.index = indexes(slices.Sorted(maps.Keys(r.sampling)))
	by := map[string]uint32{}
	for name, index := range r.index {
		if k, ok := schema.ParseACLRuleKey(name); ok {
			by[k.Label()] = index
		}
	}
	return by
}

// rows returns the counters of rules for COUNTERS_DB; without an agent they are unknown.
func (r *rules) rows(a *Agent) map[string]swss.FieldValues {
	rows := map[string]swss.FieldValues{}
	for name, index := range r.index {
		row := swss.FieldValues{schema.SFlowSource: fmt.Sprintf("%d:%d", wire.LogicalEntity, index)}
		if a != nil {
			s := a.flows[wire.Source{Class: wire.LogicalEntity, Index: index}]
			if s == nil {
				s = &source{}
			}
			row["flow-samples"], row["sample-pool"], row["drops"] = utoa(s.samples), utoa(s.pool[0]), utoa(s.lost[0])
		}
		rows[name] = row
	}
	return rows
}
