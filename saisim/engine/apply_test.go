package engine

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
	"tamtam/tam/flymon"
	"tamtam/tam/record"
)

// everyRow returns rows of each kind for a switch of ports 0 to 4. Ports 0 to 2 are in VLAN 1, port 3 is in a LAG. An
// ACL entry counts, marks and records all packets, with copies to port 4.
func everyRow(graph uint64) (c config.Change) {
	c.Put(config.Switch{ID: 1, CPU: 2, PreIngressACL: 74})
	c.Put(config.Pool{Index: 1, Cells: 10})
	for i := range config.ID(5) {
		c.Put(config.Port{
			ID: 10 + i, Port: PortID(i), Number: uint16(i), Mbps: 10_000, Admin: true, Link: true, MTU: 1522, PVID: 1,
			IngressACL: 74,
		})
	}
	c.Put(config.LAG{ID: 20, PVID: 2, Members: []config.LAGMember{{Port: 3}}})
	vlan := config.VLAN{ID: 40, VID: 1}
	for i := range config.ID(3) {
		c.Put(config.BridgePort{ID: 30 + i, On: 10 + i, Admin: true})
		vlan.Members = append(vlan.Members, config.VLANMember{BridgePort: 30 + i})
	}
	c.Put(config.BridgePort{ID: 33, On: 20, Admin: true})
	c.Put(vlan)
	c.Put(config.FDBEntry{VLAN: 40, VID: 1, MAC: config.MAC{2, 5: 1}, BridgePort: 31, Static: true,
		Action: config.Forward})
	neighbor := netip.MustParseAddr("10.0.0.2")
	c.Put(config.Router{ID: 50, Up4: true, Up6: true})
	c.Put(config.Interface{ID: 51, Router: 50, On: 40, MTU: 1500, Up4: true})
	c.Put(config.Neighbor{Interface: 51, IP: neighbor, MAC: config.MAC{2, 5: 9}, Action: config.Forward, HostRoute: true})
	c.Put(config.NextHop{ID: 52, Interface: 51, IP: neighbor})
	c.Put(config.HopGroup{ID: 53, Members: []config.HopMember{{NextHop: 52, Weight: 1}}})
	c.Put(config.Route{Router: 50, Prefix: netip.MustParsePrefix("10.1.0.0/16"), Action: config.Forward, NextHop: 53})
	c.Put(config.TrapRule{ID: 60, Trap: config.TrapLLDP, Action: config.Punt})
	c.Put(config.TAMInt{ID: 61, SwitchID: 7})
	c.Put(config.Mirror{ID: 62, Kind: config.MirrorLocal, Monitor: 14, Label: "tr:a"})
	c.Put(config.ACLRange{ID: 70, Of: config.RangeL4Dst, Max: 100})
	c.Put(config.ACLCounter{ID: 71, Table: 72, CountPackets: true, CountBytes: true})
	c.Put(config.ACLTable{ID: 72})
	c.Put(config.ACLEntry{ID: 73, Table: 72, Priority: 1, Enabled: true, Actions: []config.ACLAction{
		{Kind: config.ActCounter, Of: []config.ID{71}}, {Kind: config.ActSetMeta, Number: markEntry << 28},
		{Kind: config.ActMirrorIngress, Of: []config.ID{62}},
	}})
	c.Put(config.ACLGroup{ID: 74, Members: []config.ACLMember{{Table: 72}}})
	c.Put(config.AltMark{Session: altmark.Session{Role: altmark.Initiator, Method: altmark.Pulse, Mark: altmark.DSCP0}})
	always := func(n uint32) flymon.Param { return flymon.Param{From: flymon.Const, Value: n} }
	c.Put(config.Sketch{Layout: flymon.Layout{
		Task: "count", Measures: "frequency", Masks: []flymon.MaskRule{{}},
		Units: []flymon.Unit{{Size: 32, Op: flymon.CondAdd, P1: always(1), P2: always(1<<32 - 1)}},
	}})
	c.Put(config.RecordPlan{
		Object: 80, ID: 1, PHV: record.Containers{8}, Graph: graph, Marks: []record.Mark{{Table: "chip.fdb", Hit: true}},
		Sessions: []config.RecordSession{{Label: "tr:a", Sample: 1}},
	})
	c.Put(config.MSSClamp{ID: 90, Records: 1})
	return c
}

// backwards returns the removal of a change's rows, the last row first.
func backwards(c config.Change) (gone config.Change) {
	for _, s := range slices.Backward(c) {
		gone.Remove(s.Row)
	}
	return gone
}

// Removing all rows removes everything that was compiled from them.
func TestNothingIsLeft(t *testing.T) {
	e := New(profile.Small(), time.Unix(0, 0), 0)
	rows := everyRow(e.Graph().Version)
	for range 2 {
		e.Apply(rows)
		if len(e.ids) == 0 || len(e.ports) != 5 || e.bridge.fdb.n != 1 {
			t.Fatalf("%d ids, %d ports, %d addresses", len(e.ids), len(e.ports), e.bridge.fdb.n)
		}
		e.derive()
		vr := e.router.vrs[0]
		e.Apply(backwards(rows))
		e.derive()
		for what, n := range map[string]int{
			"ids": len(e.ids), "ports": len(e.ports), "LAGs": len(e.bridge.lags), "addresses": e.bridge.fdb.n,
			"virtual routers": len(e.router.vrs), "prefixes": vr.fib4.n + vr.fib6.n,
			"destinations": len(vr.dests) + len(vr.shared),
			"adjacencies":  len(e.router.adjacencies), "range checkers": int(e.acl.ranges.used),
			"profiles of marking": e.marking.used, "entries of flows": len(e.marking.flows[0].entries),
			"tasks": e.Groups().Tasks(), "plans": len(e.recording.plans), "clamps": len(e.clamps.list),
			"recorders": int(e.recorders),
		} {
			if n != 0 {
				t.Errorf("%d %s are left", n, what)
			}
		}
		if !slices.Equal(e.mirrored, make([]*mirrorSession, len(e.mirrored))) || e.vlans != [4096]*vlan{} || e.tracking {
			t.Error("a session, a VLAN or the trails are left")
		}
		if free := e.queues.buffer.Pools; free[0].Size != uint64(e.prof.Buffer.Cells) {
			t.Errorf("pools are %+v", free)
		}
	}
}

// A pool's size does not depend on other pools.
func TestPoolsOfAnyIndex(t *testing.T) {
	e := New(profile.Small(), time.Unix(0, 0), 0)
	e.Apply(config.Change{{Row: config.Pool{Index: 2, Cells: 20}}})
	if free, all := e.queues.buffer.Pools, uint64(e.prof.Buffer.Cells); free[0].Size != all-20 || free[2].Size != 20 {
		t.Errorf("pools are %+v, want 20 of %d cells in the last", free, all)
	}
}

// An address ages when it has not been seen for the ageing time, even if its row is applied long after it was seen.
func TestAgeOfARow(t *testing.T) {
	p := profile.Small()
	p.ClockHz, p.SpeedsMbps, p.Default[0].Mbps = 1000, []uint32{1}, 1
	e := New(p, time.Unix(0, 0), 0)
	e.Apply(config.Change{
		{Row: config.Switch{ID: 1, AgingSeconds: 1}}, {Row: config.Port{ID: 10, Mbps: 1}},
		{Row: config.BridgePort{ID: 30, On: 10}}, {Row: config.VLAN{ID: 40, VID: 1}},
	})
	e.Advance(500)
	e.Apply(config.Change{{Row: config.FDBEntry{VLAN: 40, VID: 1, MAC: config.MAC{2}, BridgePort: 30, Fresh: 100}}})
	if e.Advance(1099); len(e.Addresses()) != 1 {
		t.Error("it has aged before 1000 cycles, one second, are over")
	}
	if e.Advance(1100); len(e.Addresses()) != 0 {
		t.Errorf("after one second there is %+v", e.Addresses())
	}
}

// A survivor is everything that an engine has learned, counted and in flight.
type survivor struct {
	frameCounts FrameCounts
	fdb         []FDBRow
	acl         ACLCount
	flow        altmark.ChipFlow
	buckets     []uint32
	task        flymon.ChipStatus
	records     RecordCounts
	tallies     [5]PortTally
	queue       QueueState
	router      [NumInterfaceCounts]uint64
}

func survivorOf(t *testing.T, e *Engine) (s survivor) {
	t.Helper()
	s.frameCounts, s.fdb, s.acl, s.records = e.FrameCounts(), e.Addresses(), e.ACLCount(71), e.RecordCounts("tr:a")
	for i := range s.fdb {
		s.fdb[i].Moves = false // not compared, because changed modifies it
	}
	s.flow = e.MarkFlow(0)
	var err error
	if s.buckets, err = e.Groups().Read("count", 0, 0, 0, 32); err != nil {
		t.Fatal(err)
	}
	s.task, _ = e.TaskStatus("count")
	for i := range s.tallies {
		s.tallies[i], _ = e.PortTally(config.ID(10 + i))
	}
	s.queue, _ = e.QueueState(1, 0)
	s.router = e.InterfaceCounts(51)
	return s
}

// busy returns an engine with every row. Two of its ports send to one, so that frames are on wires, in the pipes and in
// a queue.
func busy(t *testing.T) *Engine {
	t.Helper()
	p := profile.Small()
	p.Buffer.Cells = 10_000
	e := New(p, time.Unix(1, 0), 0) // so that the first packet is a pulse
	e.Apply(everyRow(e.Graph().Version))
	for i := range 60 {
		frame := make([]byte, 500)
		copy(frame, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, byte(2 + i%2), 8, 0, 0x45, 0, 1, 0xe6, 0, 0, 0, 0, 64, 17})
		if err := e.Receive(PortID(i%2*2), Cycle(i/2*524), &Frame{Data: frame}); err != nil {
			t.Fatal(err)
		}
	}
	e.Advance(9000)
	return e
}

// Rows change while frames are on wires, in the pipes and in queues. Learned addresses and counts stay, and every frame
// leaves as if nothing had changed.
func TestChangesLoseNothing(t *testing.T) {
	quiet := busy(t)
	was := survivorOf(t, quiet)
	if b := was.frameCounts; b.InFlight < 10 || b.Queued == 0 || b.Sent == 0 || b.InFlight == b.Queued {
		t.Fatalf("not busy: %+v", b)
	}
	if was.acl.Packets == 0 || was.flow.Of[0].Captures+was.flow.Of[1].Captures == 0 || was.records.Made == 0 ||
		was.task.Banks[0].Packets == 0 || slices.Max(was.buckets) == 0 || len(was.fdb) != 3 {
		t.Fatalf("nothing to lose: %+v", was)
	}
	quiet.Advance(1 << 20)
	want := survivorOf(t, quiet).frameCounts
	if want.InFlight != 0 || want.Sent != want.Received+want.Copies {
		t.Fatalf("frames are lost without a change: %+v", want)
	}
	for i, s := range everyRow(quiet.Graph().Version) {
		for _, row := range []config.Row{s.Row, changed(s.Row)} {
			e := busy(t)
			e.Apply(config.Change{{Row: row}})
			if is := survivorOf(t, e); !reflect.DeepEqual(is, was) {
				t.Errorf("row %d, %+v:\nbefore %+v\nbehind %+v", i, row, was, is)
			}
			e.Advance(1 << 20)
			if is := e.FrameCounts(); is != want {
				t.Errorf("row %d, %+v: the books are %+v, want %+v", i, row, is, want)
			}
		}
	}
}

// changed returns a row with one changed value that has no effect on the destination of frames.
func changed(row config.Row) config.Row {
	switch r := row.(type) {
	case config.Switch:
		r.LAGHash.Seed = 5
		return r
	case config.Pool:
		r.Cells = 20
		return r
	case config.Port:
		r.MTU = 9000
		return r
	case config.LAG:
		r.Members = nil
		return r
	case config.VLAN:
		r.NoFlood.Broadcast = true
		return r
	case config.FDBEntry:
		r.Moves = true
		return r
	case config.ACLRange:
		r.Max = 200
		return r
	case config.ACLCounter:
		r.Label = "other"
		return r
	case config.ACLEntry:
		r.Priority = 5
		return r
	case config.ACLGroup:
		r.Sequential = true
		return r
	}
	return changedRoute(row)
}

func changedRoute(row config.Row) config.Row {
	switch r := row.(type) {
	case config.Router:
		r.Up6 = false
		return r
	case config.Interface:
		r.MTU = 1000
		return r
	case config.Neighbor:
		r.MAC[1] = 1
		return r
	case config.HopGroup:
		r.Members = nil
		return r
	case config.Route:
		r.Action = config.Drop
		return r
	case config.TrapRule:
		r.Action = config.Copy
		return r
	case config.TAMInt:
		r.SwitchID = 8
		return r
	case config.Mirror:
		r.Truncate = 2000
		return r
	case config.AltMark:
		r.Guard = time.Millisecond
		return r
	case config.RecordPlan:
		r.Switch = 3
		return r
	case config.MSSClamp:
		r.Records = 2
		return r
	}
	return row // rows of this kind never change
}

// Frames that the CPU sends at cycle 0 enter the egress pipe one cycle after the other, both event by event and in
// windows.
func TestInjectAtCycleZero(t *testing.T) {
	for _, vector := range []int{0, 1, 64} {
		e := New(profile.Small(), time.Unix(1, 0), 0)
		e.Apply(everyRow(e.Graph().Version))
		e.SetVector(vector)
		var at []Cycle
		e.SetOutput(func(o *Out) { at = append(at, o.At) })
		for _, id := range []PortID{0, 2} {
			frame := append([]byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0}, make([]byte, 50)...)
			if err := e.Inject(id, Frame{Data: frame}); err != nil {
				t.Fatal(err)
			}
		}
		e.Advance(5000)
		if len(at) != 2 || at[1] != at[0]+1 {
			t.Errorf("vectors of %d: frames leave at %v, want two, one cycle apart", vector, at)
		}
	}
}
