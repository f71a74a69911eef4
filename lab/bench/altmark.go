package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"tamtam/device"
	"tamtam/lab/bench/chipload"
	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// AltMark measures alternate marking of many flows: the number of rules, the time from CONFIG_DB to the ASIC through
// every daemon, and the time to read a period of all flows into COUNTERS_DB. It also measures the cost of marking for a
// packet of the simulated chip, as [ASIC] does.
func AltMark(ctx context.Context, o Options) ([]Result, error) {
	load := configLoad{schema.FeatureAltMark, schema.CfgTAMAltMark, swss.FieldValues{
		"role": "initiator", "method": "muxed", "interval": "0", "mark": "dscp0",
	}, 2}
	results, err := load.measure(ctx, o)
	if err != nil {
		return nil, err
	}
	reading, err := timeReading(ctx, load, o.Groups)
	if err != nil {
		return nil, err
	}
	b := chipBench{ctx: ctx, d: o.Duration, results: append(results, reading...)}
	plain, marked := b.run(chipload.Load{Flows: o.Groups}), b.run(chipload.Load{Flows: o.Groups, Marked: true})
	b.add(fmt.Sprintf("%d flows, not marked", o.Groups), plain.mpps, "Mpps")
	b.add(fmt.Sprintf("%d flows, all marked", o.Groups), marked.mpps, "Mpps")
	b.add("all marked, allocations", marked.allocs, "per packet")
	b.add("marked, of not marked", marked.mpps/plain.mpps, "times")
	return b.results, b.err
}

// timeReading counts the rules of the flows and times the reading of their counters.
func timeReading(ctx context.Context, load configLoad, flows int) ([]Result, error) {
	sessions, rules := load.groups("F", 0, flows)
	config := load.base()
	maps.Copy(config, sessions)
	maps.Copy(config, rules)
	s, err := device.NewSim(ctx, device.SimConfig{Profile: profile.Default(), Config: config})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.RunUntilIdle(ctx); err != nil {
		return nil, err
	}
	db := s.Redis.DB(swss.ASICDB).Client()
	count := func(t sai.ObjectType) float64 {
		n := 0
		keys := db.Scan(ctx, 0, "ASIC_STATE:"+t.String()+":*", 1000).Iterator()
		for keys.Next(ctx) {
			n++
		}
		err = errors.Join(err, keys.Err())
		return float64(n)
	}
	results := []Result{
		{Name: fmt.Sprintf("%d flows: ACL entries", flows), Value: count(sai.ObjectTypeACLEntry)},
		{Name: fmt.Sprintf("%d flows: profiles", flows), Value: count(sai.ObjectTypeGenericProgrammable)},
	}
	const periods = 4
	start := time.Now() // no frames, so there is nothing to do but read
	if err := s.Advance(ctx, s.Chip.CycleAt((periods+1)*time.Second)); err != nil {
		return nil, err
	}
	took := time.Since(start)
	name := fmt.Sprintf("%d flows: one period read into COUNTERS_DB", flows)
	return append(results, Result{Name: name, Value: took.Seconds() / (periods + 1), Unit: "s"}), err
}
