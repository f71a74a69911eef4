package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
)

// queueAt sends frames and returns the queues of a port by which they left: "frames" at the number of the queue.
func queueAt(lane saisim.PortID) func(d *dut, in ...frameAt) frames {
	return func(d *dut, in ...frameAt) (left frames) {
		d.Helper()
		sent := func() (n []uint64) {
			for _, q := range d.get(d.port(lane), sai.PortAttrQoSQueueList).(sai.OIDs) {
				got, err := d.Stats(d.Context(), sai.Obj(sai.ObjectTypeQueue, q), []sai.StatID{sai.QueueStatPackets})
				if err != nil {
					d.Fatal(err)
				}
				n = append(n, got[0])
			}
			return n
		}
		before := sent()
		d.send(in...)
		for q, n := range sent() {
			if n > before[q] {
				left = append(left, queue(q)...)
			}
		}
		return left
	}
}

func queue(n int) frames { return at(nil, saisim.PortID(n)) }

// saiport.h, saiqosmap.h: from a frame's fields to its traffic class at the ingress, and from there to the egress
// queue.
func TestSAIQueues(t *testing.T) {
	mapOf := func(kind sai.Enum, entries ...sai.QoSMapEntry) func(d *dut) sai.Value {
		return func(d *dut) sai.Value {
			name := sai.EnumName(sai.QoSMapAttrType, kind)
			if d.known[name] == 0 {
				d.known[name] = d.create(sai.ObjectTypeQoSMap, sai.QoSMapAttrType, kind, sai.QoSMapAttrMapToValueList,
					sai.QoSMap(entries))
			}
			return d.known[name]
		}
	}
	pair := func(key, value sai.QoSMapParams) sai.QoSMapEntry { return sai.QoSMapEntry{Key: key, Value: value} }
	dscp := mapOf(sai.QoSMapTypeDSCPToTC, pair(sai.QoSMapParams{DSCP: 46}, sai.QoSMapParams{TC: 3}))
	dot1p := mapOf(sai.QoSMapTypeDot1pToTC, pair(sai.QoSMapParams{Dot1p: 5}, sai.QoSMapParams{TC: 2}))
	queues := mapOf(sai.QoSMapTypeTCToQueue, pair(sai.QoSMapParams{TC: 0}, sai.QoSMapParams{Queue: 1}))
	ef := changed(untagged, 15, 46<<2)
	pri5 := tagged(5<<13|1, untagged)
	notIP := eth(host(2), host(1), u16(0x88b5), make([]byte, 46))
	row := func(name string, attr sai.AttrID, value any, f []byte, with, without int, refused ...refusal) specRow {
		return specRow{name: name, attr: attr, value: value, in: in(f), see: queueAt(1), with: queue(with),
			without: queue(without),
			refused: refused}
	}
	other := func(v any) refusal { return refusal{v, sai.StatusInvalidParameter} }
	settled := func(d *dut, with ...sai.Attr) sai.Key {
		return remakePort(0)(d, append(with, attrs(sai.PortAttrQoSDefaultTC, sai.Uint(1))...)...)
	}
	qosMap := func(d *dut, with ...sai.Attr) sai.Key {
		k := d.make(sai.ObjectTypeQoSMap, append(with, attrs(sai.QoSMapAttrType, sai.QoSMapTypeDSCPToTC)...)...)
		d.set(d.port(0), sai.PortAttrQoSDSCPToTCMap, k.OID)
		return k
	}
	entryTC := aclSpec{fields: []any{sai.ACLTableAttrFieldSrcMAC, sai.Bool(true)}}
	runSpec(t,
		specObject{name: "ingress port", object: settled, keep: true, rows: []specRow{
			row("DSCP", sai.PortAttrQoSDSCPToTCMap, dscp, ef, 3, 1, other(dot1p), other(queues)),
			row("DSCP is of IP only", sai.PortAttrQoSDSCPToTCMap, dscp, notIP, 1, 1),
			row("802.1p", sai.PortAttrQoSDot1pToTCMap, dot1p, pri5, 2, 1, other(dscp)),
			row("802.1p is of tagged frames only", sai.PortAttrQoSDot1pToTCMap, dot1p, untagged, 1, 1),
		}},
		specObject{name: "ingress port without maps", object: remakePort(0), keep: true, rows: []specRow{
			row("DEFAULT_TC", sai.PortAttrQoSDefaultTC, sai.Uint(2), untagged, 2, 0, other(sai.Uint(16))),
		}},
		specObject{name: "egress port", object: remakePort(1), keep: true, rows: []specRow{
			row("TC to queue", sai.PortAttrQoSTCToQueueMap, queues, untagged, 1, 0, other(dscp)),
		}},
		specObject{name: "QoS map", object: qosMap, keep: true, rows: []specRow{
			{name: "its list", attr: sai.QoSMapAttrMapToValueList, value: dscpMap(46, 3), back: dscpMap(46, 2), in: in(ef),
				see:  queueAt(1),
				with: queue(3), without: queue(2), refused: []refusal{other(dscpMap(64, 1)), other(dscpMap(1, 16))}},
			{name: "what it leaves out is of class 0", attr: sai.QoSMapAttrMapToValueList, value: dscpMap(10, 3),
				back: dscpMap(46, 2),
				in:   in(ef), see: queueAt(1), with: queue(0), without: queue(2)},
		}},
		specObject{name: "ACL entry", object: aclEntry, world: entryTC.world, rows: []specRow{
			row("SET_TC", sai.ACLEntryAttrActionSetTC, sai.Do(sai.Uint(3)), untagged, 3, 0)}},
		specObject{name: "mirror session", keep: true, object: func(d *dut, with ...sai.Attr) sai.Key {
			d.set(d.port(1), sai.PortAttrAdminState, sai.Bool(false))
			d.unbridge(3)
			d.set(d.port(3), sai.PortAttrAdminState, sai.Bool(true))
			k := d.make(sai.ObjectTypeMirrorSession, append(with, attrs(sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
				sai.MirrorSessionAttrMonitorPort, d.port(3).OID)...)...)
			d.set(d.port(0), sai.PortAttrIngressMirrorSession, sai.OIDs{k.OID})
			return k
		}, rows: []specRow{{name: "TC", attr: sai.MirrorSessionAttrTC, value: sai.Uint(2), in: in(untagged), see: queueAt(3),
			with: queue(2), without: queue(0)}}},
	)
}

// burst makes ports 0 and 2 send 12 frames of 1000 bytes each at the same time to port 1. Those of port 0 use queue 0
// and those of port 2 queue 1. It returns the frames that leave, by ingress port, in the order of leaving. For a frame
// that the chip has marked with congestion experienced, the number of the port is 100 greater.
func burst(tos byte) func(d *dut, in ...frameAt) frames {
	return func(d *dut, _ ...frameAt) (order frames) {
		d.Helper()
		d.set(d.port(2), sai.PortAttrQoSDefaultTC, sai.Uint(1))
		d.send(frameAt{1, eth(host(9), host(2), someIP)})
		d.left = nil
		now := d.Now()
		for range 12 {
			for _, p := range []saisim.PortID{0, 2} {
				f := sum(eth(host(2), host(byte(10+p)), changed(ip4(1, 2, 17, 0, udp(1, 2, 1000-42)), 3, tos)))
				if err := d.Receive(p, now, saisim.Frame{Data: f}); err != nil {
					d.Fatal(err)
				}
			}
		}
		for at, ok := d.NextEvent(); ok; at, ok = d.NextEvent() {
			d.Advance(at)
		}
		for _, f := range d.left {
			from := saisim.PortID(f.data[11] - 10)
			if f.data[15]&3 == 3 && tos&3 != 3 {
				from += 100
			}
			order = append(order, frameAt{from, nil})
		}
		return order
	}
}

// counted returns a summary of burst: how many of the frames 5 to 12 are from each port. Earlier frames had no others
// to wait for.
func counted(tos byte) func(d *dut, in ...frameAt) frames {
	return func(d *dut, in ...frameAt) (sum frames) {
		count := map[saisim.PortID]byte{}
		for i, f := range burst(tos)(d) {
			if i >= 4 && i < 12 {
				count[f.port]++
			}
		}
		for p, c := range count {
			sum = append(sum, frameAt{p, []byte{c}})
		}
		return sum
	}
}

// whole returns a summary of burst for port 0: a frame at 0 if none was dropped, one at 100 if some were marked.
func whole(tos byte) func(d *dut, in ...frameAt) frames {
	return func(d *dut, in ...frameAt) (left frames) {
		n, marked := 0, 0
		for _, f := range burst(tos)(d) {
			switch f.port {
			case 0:
				n++
			case 100:
				marked++
			}
		}
		if n+marked == 12 {
			left = at(nil, 0)
		}
		if marked > 0 {
			left = left.and(nil, 100)
		}
		return left
	}
}

func count(pairs ...byte) (f frames) {
	for i := 0; i < len(pairs); i += 2 {
		f = append(f, frameAt{saisim.PortID(pairs[i]), []byte{pairs[i+1]}})
	}
	return f
}

// portQueue returns queue n of port 1.
func (d *dut) portQueue(n int) sai.Key {
	d.Helper()
	return sai.Obj(sai.ObjectTypeQueue, d.get(d.port(1), sai.PortAttrQoSQueueList).(sai.OIDs)[n])
}

// saischeduler.h, saiwred.h, saibuffer.h, saiqueue.h: two queues of a port that is offered twice its rate.
func TestSAIScheduling(t *testing.T) {
	profile := func(on sai.AttrID, n int, typ sai.ObjectType, pairs ...any) func(d *dut, with ...sai.Attr) sai.Key {
		return func(d *dut, with ...sai.Attr) sai.Key {
			for _, a := range attrs(pairs...) {
				if _, given := sai.Find(with, a.ID); !given {
					with = append(with, a)
				}
			}
			k := d.make(typ, with...)
			d.set(d.portQueue(n), on, k.OID)
			return k
		}
	}
	scheduler := func(pairs ...any) func(d *dut, with ...sai.Attr) sai.Key {
		return profile(sai.QueueAttrSchedulerProfileID, 1, sai.ObjectTypeScheduler, pairs...)
	}
	wred := func(pairs ...any) func(d *dut, with ...sai.Attr) sai.Key {
		return profile(sai.QueueAttrWREDProfileID, 0, sai.ObjectTypeWRED, append(pairs,
			sai.WREDAttrGreenMinThreshold, sai.Uint(1999), sai.WREDAttrGreenMaxThreshold, sai.Uint(2000))...)
	}
	fair, strict := count(0, 4, 2, 4), count(2, 8)
	all, some := at(nil, 0), frames(nil)
	row := func(name string, attr sai.AttrID, value, back any, with, without frames, refused ...refusal) specRow {
		return specRow{name: name, attr: attr, value: value, back: back, see: counted(0), with: with, without: without,
			refused: refused}
	}
	bad := func(v sai.Value) refusal { return refusal{v, sai.StatusInvalidParameter} }
	threshold := func(name string, attr sai.AttrID, value, back any, tos byte, with, without frames,
		refused ...refusal) specRow {
		return specRow{name: name, attr: attr, value: value, back: back, see: whole(tos), with: with, without: without,
			refused: refused}
	}
	runSpec(t,
		specObject{name: "scheduler", object: scheduler(sai.SchedulerAttrSchedulingType, sai.SchedulingTypeDwrr), keep: true,
			rows: []specRow{
				row("STRICT: the queue goes first", sai.SchedulerAttrSchedulingType, sai.SchedulingTypeStrict,
					sai.SchedulingTypeDwrr, strict, fair),
				row("weight 3: three of four", sai.SchedulerAttrSchedulingWeight, sai.Uint(3), nil, count(0, 2, 2, 6), fair,
					bad(sai.Uint(0)), bad(sai.Uint(101))),
			}},
		specObject{name: "queue", exists: true, keep: true,
			object: func(d *dut, _ ...sai.Attr) sai.Key { return d.portQueue(1) }, rows: []specRow{
				row("its scheduler", sai.QueueAttrSchedulerProfileID, func(d *dut) sai.Value {
					return d.create(sai.ObjectTypeScheduler, sai.SchedulerAttrSchedulingType, sai.SchedulingTypeStrict)
				}, nil, strict, fair, refusal{func(d *dut) sai.Value { return d.vlan1().OID }, sai.StatusInvalidParameter}),
			}},
		specObject{name: "WRED", object: wred(), keep: true, rows: []specRow{
			threshold("GREEN_ENABLE drops above the threshold", sai.WREDAttrGreenEnable, sai.Bool(true), nil, 0, some, all),
			threshold("ECN_MARK_MODE marks what can be marked", sai.WREDAttrECNMarkMode, sai.ECNMarkModeAll, nil, 1,
				at(nil, 0, 100), all),
			threshold("ECN_MARK_MODE leaves the rest", sai.WREDAttrECNMarkMode, sai.ECNMarkModeAll, nil, 0, all, all),
		}},
		specObject{name: "WRED that drops", object: wred(sai.WREDAttrGreenEnable, sai.Bool(true)), keep: true,
			rows: []specRow{
				threshold("a probability of 0 below the maximum", sai.WREDAttrGreenDropProbability, sai.Uint(0), nil, 0, some, some,
					bad(sai.Uint(101))),
				threshold("MAX_THRESHOLD", sai.WREDAttrGreenMaxThreshold, sai.Uint(1_000_000), sai.Uint(2000), 0, all, some,
					bad(sai.Uint(1))),
			}},
	)
}
