package models

import (
	"encoding/json"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/burst"
)

// microburstModule returns the mapping of tamtam-microburst: thresholds of queues, and their bursts.
func microburstModule() tree.Module {
	const path, config, queue = "/microbursts/queues/queue", "{interface}|{queue}", "{interface}:{queue}"
	state := func(name, field string) tree.Leaf { return leaf("state/"+name, readOnly(text(field))) }
	var record []tree.Leaf
	for _, name := range []string{
		schema.BurstState, schema.BurstBegin, schema.BurstEnd, schema.BurstPeakAt, schema.BurstDuration, schema.BurstCycles,
		schema.BurstUnsynced, schema.BurstPeak, schema.BurstThreshold, schema.BurstLow, schema.BurstPackets,
		schema.BurstBytes, schema.BurstStanding, schema.BurstDropped, schema.BurstDroppedBytes, schema.BurstRest,
	} {
		record = append(record, state(name, name))
	}
	record = append(record, leaf("state/flow", tree.Codec{Get: burstFlows}))
	return tree.Module{Name: "tamtam-microburst", Groups: []tree.Group{
		{Path: path, Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgMicroburst, Key: config, Entry: true, Leaves: []tree.Leaf{
				state("threshold", "threshold"), state("end-threshold", "end_threshold")}},
			{DB: swss.StateDB, Table: schema.AppMicroburst, Key: config, Leaves: []tree.Leaf{
				state("status", schema.FieldStatus), state("reason", schema.FieldReason)}},
			{DB: swss.CountersDB, Table: schema.CountersMicroburst, Key: queue, Entry: true, Counter: true,
				Leaves: []tree.Leaf{
					state("bursts", schema.CountBursts), state("lost", schema.CountBurstsLost),
					state("duration", schema.CountBurstNanos), state("peak", schema.CountBurstPeak),
					state("dropped-packets", schema.CountBurstDrops), state("counted-since", schema.FieldSinceAll)}},
		}},
		{Path: path + "/bursts/burst", Rows: []tree.Row{
			{DB: swss.CountersDB, Table: schema.CountersBurst, Key: queue + ":{number}", Entry: true, Leaves: record},
		}},
	}}
}

// burstFlows returns the flows of a record.
func burstFlows(r tree.Record) (list []string) {
	var flows []burst.Flow
	if json.Unmarshal([]byte(r.Field(schema.BurstFlows)), &flows) != nil {
		return nil
	}
	for _, f := range flows {
		list = append(list, f.String())
	}
	return list
}
