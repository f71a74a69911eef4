package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"tamtam/device"
	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/altmark"
)

// AltMark measures alternate marking of many flows at once: the rules that it
// takes, the time from CONFIG_DB to the ASIC through every daemon, the time to read a
// period of all flows into COUNTERS_DB, and what marking costs a packet of the
// simulated chip (as [ASIC] measures it, d for each load).
func AltMark(ctx context.Context, flows, changes int, d time.Duration) ([]Result, error) {
	load := configLoad{schema.FeatureAltMark, schema.CfgTAMAltMark, swss.FieldValues{
		"role": "initiator", "method": "muxed", "interval": "0", "mark": "dscp0",
	}, 2}
	results, err := load.measure(ctx, flows, changes)
	if err != nil {
		return nil, err
	}
	reading, err := timeReading(ctx, load, flows)
	if err != nil {
		return nil, err
	}
	b := asicBench{ctx: ctx, d: d, results: append(results, reading...)}
	plain, marked := b.run(asicLoad{flows: flows}), b.run(asicLoad{flows: flows, marked: true})
	if b.err != nil {
		return nil, b.err
	}
	b.add(fmt.Sprintf("%d flows, not marked", flows), plain.mpps, "Mpps")
	b.add(fmt.Sprintf("%d flows, all marked", flows), marked.mpps, "Mpps")
	b.add("all marked, allocations", marked.allocs, "per packet")
	b.add("marked, of not marked", marked.mpps/plain.mpps, "times")
	return b.results, b.err
}

// timeReading counts the rules of the flows and times how they are read.
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
	if err := s.Settle(ctx); err != nil {
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
		{fmt.Sprintf("%d flows: ACL entries", flows), count(sai.ObjectTypeACLEntry), ""},
		{fmt.Sprintf("%d flows: profiles", flows), count(sai.ObjectTypeGenericProgrammable), ""},
	}
	const periods = 4
	start := time.Now() // no frames: there is nothing to do but read
	if err := s.Advance(ctx, s.Chip.CycleAt((periods+1)*time.Second)); err != nil {
		return nil, err
	}
	took := time.Since(start)
	name := fmt.Sprintf("%d flows: one period read into COUNTERS_DB", flows)
	return append(results, Result{name, took.Seconds() / (periods + 1), "s"}), err
}

// markAll creates a session of muxed marking for each host's flow: one profile, two entries per
// flow.
func (s *saiCalls) markAll(sw sai.Key, flows int) {
	yes := sai.Bool(true)
	s.create(sai.ObjectTypeGenericProgrammable,
		sai.Attr{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(altmark.ObjectProfile)},
		sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(`{"attributes":[{"profile":{"value":{` +
			`"lane":0,"role":"initiator","method":"muxed","interval":0,"mark":"dscp0","mark2":"",` +
			`"clear":false,"slot-sync":true,"guard-ns":1000}}}]}`)})
	table := s.create(sai.ObjectTypeACLTable,
		sai.Attr{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStageIngress},
		sai.Attr{ID: sai.ACLTableAttrACLBindPointTypeList, Value: sai.Enums{sai.ACLBindPointTypeSwitch}},
		sai.Attr{ID: sai.ACLTableAttrFieldSrcIP, Value: yes}, sai.Attr{ID: sai.ACLTableAttrFieldACLUserMeta, Value: yes})
	entries := make([][]sai.Attr, 2*flows)
	for i := range entries {
		flow, colour := uint32(i/2), uint32(i%2)
		counter := s.create(sai.ObjectTypeACLCounter, sai.Attr{ID: sai.ACLCounterAttrTableID, Value: table},
			sai.Attr{ID: sai.ACLCounterAttrEnablePacketCount, Value: yes},
			sai.Attr{ID: sai.ACLCounterAttrEnableByteCount, Value: yes})
		ip := sai.IP{Addr: netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 10<<24|flow)))}
		all := sai.IP{Addr: netip.AddrFrom4([4]byte{255, 255, 255, 255})}
		entries[i] = []sai.Attr{
			{ID: sai.ACLEntryAttrTableID, Value: table}, {ID: sai.ACLEntryAttrPriority, Value: sai.Uint(100)},
			{ID: sai.ACLEntryAttrFieldSrcIP, Value: sai.Match(ip, all)},
			{ID: sai.ACLEntryAttrFieldACLUserMeta, Value: sai.Match(sai.Uint(8|colour), sai.Uint(9))},
			{ID: sai.ACLEntryAttrActionCounter, Value: sai.Do(counter)},
			{ID: sai.ACLEntryAttrActionSetACLMetaData, Value: sai.Do(sai.Uint(0xA<<28 | colour<<23 | flow))},
		}
	}
	if s.err == nil {
		_, errs := s.chip.BulkCreate(s.ctx, sai.ObjectTypeACLEntry, entries)
		s.err = errors.Join(errs...)
	}
	s.set(sw, sai.SwitchAttrIngressACL, table)
}
