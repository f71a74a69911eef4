package saisim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// window returns the tail-stamp counters of labels.
func (r *rig) window(labels ...string) []uint64 {
	r.Helper()
	text, _ := json.Marshal(labels)
	entry := fmt.Sprintf(
		`{"attributes":[{"labels":{"sai_metadata":{"sai_attr_value_type":"SAI_ATTR_VALUE_TYPE_UINT32_LIST"},"value":%s}}]}`,
		text)
	oid := r.create(sai.ObjectTypeGenericProgrammable,
		sai.GenericProgrammableAttrObjectName, sai.Bytes(tailstamp.ObjectCounters),
		sai.GenericProgrammableAttrEntry, sai.Bytes(entry))
	defer r.remove(sai.ObjectTypeGenericProgrammable, oid)
	got, err := r.Get(context.Background(), sai.Obj(sai.ObjectTypeGenericProgrammable, oid),
		[]sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, 100_000)})
	if err != nil {
		r.Fatal(err)
	}
	var answer struct {
		Attributes []map[string]struct{ Value []any }
	}
	var flat []uint64
	if err := json.Unmarshal(got[0].Value.(sai.Bytes), &answer); err != nil {
		r.Fatal(err)
	}
	for _, a := range answer.Attributes {
		for _, v := range a["counters"].Value {
			flat = append(flat, uint64(v.(float64)))
		}
	}
	if len(flat) != 8*len(labels) {
		r.Fatalf("%d words for %d labels", len(flat), len(labels))
	}
	return flat
}

func (r *rig) packets(counter sai.OID) uint64 {
	r.Helper()
	return uint64(r.get(sai.ObjectTypeACLCounter, counter, sai.ACLCounterAttrPackets).(sai.Uint))
}

const (
	wStamped = iota
	wNotTCPUDP
	wNotEthernet2
	wCut
	wMTU
)

// Eligible frames are stamped, and the others are counted by reason.
func TestEligibility(t *testing.T) {
	a, b := host(1), host(2)
	u := udp(1, 2, 10)
	hop := []byte{17, 0, 1, 4, 0, 0, 0, 0}                           // hop-by-hop, then UDP
	route6 := []byte{60, 0, 0, 0, 0, 0, 0, 0}                        // routing, then destination options
	dest6 := []byte{6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // 16 bytes, then TCP
	frag6 := func(next byte, off uint16) []byte { return append([]byte{next, 0}, append(u16(off), 0, 0, 0, 1)...) }
	auth := []byte{17, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1} // AH of 12 bytes, then UDP
	damaged := func(f []byte, at int, v byte) []byte { f = bytes.Clone(f); f[at] = v; return f }
	for _, tt := range []struct {
		name  string
		frame []byte
		cutTo int
		want  int
	}{
		{"TCP over IPv4", eth(b, a, ip4(1, 2, 6, 0, tcp(1, 2, 2, 10))), 0, wStamped},
		{"UDP over IPv4", eth(b, a, ip4(1, 2, 17, 0, u)), 0, wStamped},
		{"TCP over IPv6", eth(b, a, ip6(1, 2, 6, tcp(1, 2, 2, 0))), 0, wStamped},
		{"UDP over IPv6", eth(b, a, ip6(1, 2, 17, u)), 0, wStamped},
		{"UDP behind hop-by-hop options", eth(b, a, ip6(1, 2, 0, append(hop, u...))), 0, wStamped},
		{"TCP behind routing and destination options", eth(b, a, ip6(1, 2, 43,
			bytes.Join([][]byte{route6, dest6, tcp(1, 2, 2, 0)}, nil))), 0, wStamped},
		{"UDP behind an authentication header", eth(b, a, ip6(1, 2, 51, append(auth, u...))), 0, wStamped},
		{"UDP in a VLAN", eth(b, a, tag(0x8100, 100), ip4(1, 2, 17, 0, u)), 0, wStamped},
		{"UDP in two VLANs", eth(b, a, tag(0x8100, 100), tag(0x8100, 7), ip4(1, 2, 17, 0, u)), 0, wStamped},
		{"UDP behind an S-tag", eth(b, a, tag(0x88a8, 1), tag(0x8100, 7), ip6(1, 2, 17, u)), 0, wStamped},
		{"first IPv4 fragment", eth(b, a, ip4(1, 2, 17, 0x2000, u)), 0, wStamped},
		{"later IPv4 fragment", eth(b, a, ip4(1, 2, 17, 0x2010, make([]byte, 24))), 0, wStamped},
		{"last IPv4 fragment", eth(b, a, ip4(1, 2, 6, 0x0010, make([]byte, 1))), 0, wStamped},
		{"first IPv6 fragment", eth(b, a, ip6(1, 2, 44, append(frag6(17, 1), u...))), 0, wStamped},
		{"later IPv6 fragment", eth(b, a, ip6(1, 2, 44, append(frag6(6, 0x81), make([]byte, 9)...))), 0, wStamped},
		{"UDP shorter than its header says nothing of the datagram", eth(b, a, ip4(1, 2, 17, 0, []byte{0, 1, 0, 2})), 0,
			wStamped},
		{"short, unpadded", eth(b, a, ip4(1, 2, 17, 0, udp(1, 2, 0))), 0, wStamped},
		{"bytes behind the datagram", pad(eth(b, a, ip4(1, 2, 17, 0, u)), 200), 0, wStamped},

		{"ICMP", eth(b, a, ip4(1, 2, 1, 0, make([]byte, 30))), 0, wNotTCPUDP},
		{"ICMPv6", eth(b, a, ip6(1, 2, 58, make([]byte, 30))), 0, wNotTCPUDP},
		{"SCTP", eth(b, a, ip4(1, 2, 132, 0, make([]byte, 30))), 0, wNotTCPUDP},
		{"ICMP fragment", eth(b, a, ip4(1, 2, 1, 0x0010, make([]byte, 30))), 0, wNotTCPUDP},
		{"ESP", eth(b, a, ip6(1, 2, 50, make([]byte, 30))), 0, wNotTCPUDP},
		{"IPv6 no next header", eth(b, a, ip6(1, 2, 59, nil)), 0, wNotTCPUDP},
		{"not IP", eth(b, a, u16(0x88b5), make([]byte, 60)), 0, wNotTCPUDP},
		{"ARP to one host", eth(b, a, u16(0x0806), make([]byte, 46)), 0, wNotTCPUDP},
		{"802.3 with SNAP", eth(b, a, u16(60), []byte{0xaa, 0xaa, 3, 0, 0, 0}, ip4(1, 2, 17, 0, u)), 0, wNotEthernet2},
		{"802.3 in a VLAN", eth(b, a, tag(0x8100, 100), u16(46), make([]byte, 46)), 0, wNotEthernet2},
		{"cut by a capture", eth(b, a, ip4(1, 2, 17, 0, udp(1, 2, 500))), 96, wCut},
		{"cut in the IP header", eth(b, a, ip4(1, 2, 17, 0, udp(1, 2, 500))), 20, wCut},

		{"damaged: IPv4 version 5", damaged(eth(b, a, ip4(1, 2, 17, 0, u)), 14, 0x55), 0, wNotTCPUDP},
		{"damaged: IHL 4", damaged(eth(b, a, ip4(1, 2, 17, 0, u)), 14, 0x44), 0, wNotTCPUDP},
		{"damaged: IHL beyond the frame", damaged(eth(b, a, ip4(1, 2, 17, 0, u)), 14, 0x4f), 0, wNotTCPUDP},
		{"damaged: total length beyond the frame", damaged(eth(b, a, ip4(1, 2, 17, 0, u)), 16, 0xff), 0, wCut},
		{"damaged: total length below the header", damaged(eth(b, a, ip4(1, 2, 17, 0, u)), 17, 19), 0, wCut},
		{"damaged: IPv6 payload beyond the frame", damaged(eth(b, a, ip6(1, 2, 17, u)), 18, 0xff), 0, wCut},
		{"damaged: total length 0", damaged(damaged(eth(b, a, ip4(1, 2, 17, 0, u)), 16, 0), 17, 0), 0, wCut},
		{"damaged: IPv6 payload 0", damaged(damaged(eth(b, a, ip6(1, 2, 17, u)), 18, 0), 19, 0), 0, wCut},
		{"damaged: extension header beyond the datagram", eth(b, a, ip6(1, 2, 0, []byte{17, 200, 0, 0, 0, 0, 0, 0})), 0,
			wNotTCPUDP},
		{"IPv4 header missing", eth(b, a, u16(0x0800)), 0, wNotTCPUDP},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			trunk := r.vlan(100)
			r.member(trunk, r.bp(0), sai.VLANTaggingModeTagged)
			r.member(trunk, r.bp(1), sai.VLANTaggingModeTagged)
			r.send(1, udpFrame(2, 1, 60))
			counter := r.stampAll(7)
			f := saisim.Frame{Data: tt.frame, Len: len(tt.frame)}
			if tt.cutTo > 0 {
				f.Data = f.Data[:tt.cutTo]
			}
			outs := r.sendAt(0, r.Now(), f)
			if len(outs) != 1 {
				t.Fatalf("left: %v, dropped %s", outs, r.dropped(0))
			}
			want := make([]uint64, 8)
			want[tt.want] = 1
			want[5], want[6] = 1, uint64(len(tt.frame))+4 // the ACL counter of the entry, with FCS
			if got := r.window("all"); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("counters %v, want %v", got, want)
			}
			if r.packets(counter) != 1 {
				t.Errorf("%d packets matched", r.packets(counter))
			}
			checkStamp(t, f, outs[0], tt.want == wStamped)
		})
	}
}

// checkStamp checks that the frame left as received, followed by one record if stamped.
func checkStamp(t *testing.T, in saisim.Frame, out sent, stamped bool) {
	t.Helper()
	if !stamped {
		if !bytes.Equal(out.data, in.Data) || out.length != in.Len || out.stamped {
			t.Errorf("left as %v, want it unchanged", out)
		}
		return
	}
	if want := pad(in.Data, 60); len(out.data) != len(want)+tailstamp.Size || !bytes.Equal(out.data[:len(want)], want) {
		t.Errorf("left as %v, want %x and a record", out, want)
	}
	if recs, _ := tailstamp.Decode(out.data); len(recs) != 1 || recs[0].SwitchID != 7 {
		t.Errorf("records %+v", recs)
	}
}

// A frame that with record and FCS would be longer than the MTU is not stamped. One that is longer without them is
// dropped.
func TestMTUBoundary(t *testing.T) {
	const mtu = 1522 // as SONiC sets for an MTU of 1500
	for _, tt := range []struct {
		bytes int
		left  int
		word  int
	}{
		{mtu - 4 - 32, mtu - 4, wStamped},
		{mtu - 4 - 32 + 1, mtu - 4 - 32 + 1, wMTU},
		{mtu - 4, mtu - 4, wMTU},
		{mtu - 4 + 1, 0, -1},
	} {
		t.Run(fmt.Sprint(tt.bytes), func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.send(1, udpFrame(2, 1, 60))
			r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrMTU, sai.Uint(mtu))
			r.stampAll(7)
			outs := r.send(0, udpFrame(1, 2, tt.bytes))
			if tt.left == 0 {
				if len(outs) != 0 || r.dropped(1) != "egress-mtu=1 " {
					t.Errorf("left %v, dropped %q", outs, r.dropped(1))
				}
				return
			}
			if len(outs) != 1 || len(outs[0].data) != tt.left {
				t.Fatalf("left %v, want %d bytes", outs, tt.left)
			}
			if got := r.window("all"); got[tt.word] != 1 {
				t.Errorf("counters %v", got)
			}
		})
	}
	t.Run("ingress", func(t *testing.T) {
		r := newRig(t, profile.Small())
		r.set(sai.ObjectTypePort, r.oid(0), sai.PortAttrMTU, sai.Uint(mtu))
		if outs := r.send(0, udpFrame(1, 2, mtu-4)); len(outs) == 0 {
			t.Error("a frame of exactly the MTU is dropped")
		}
		if outs := r.send(0, udpFrame(1, 2, mtu-3)); len(outs) != 0 || r.dropped(0) != "oversize=1 " {
			t.Errorf("left %v, dropped %q", outs, r.dropped(0))
		}
	})
}

// Each copy of a flood has its own record, with its own time and port.
func TestFloodStampsEachCopy(t *testing.T) {
	r := newRig(t, profile.Small())
	r.set(sai.ObjectTypePort, r.oid(3), sai.PortAttrMTU, sai.Uint(80)) // no space for the record
	counter := r.stampAll(7)
	outs := r.send(0, udpFrame(1, 2, 60))
	if len(outs) != 7 {
		t.Fatalf("%d copies, want 7", len(outs))
	}
	for _, o := range outs {
		if o.port == 3 {
			if o.stamped || len(o.data) != 60 {
				t.Errorf("port 3: %v", o)
			}
			continue
		}
		rec := decode(t, o)
		if rec.OutPort != uint16(o.port) || rec.Egress != r.Timestamp(o.at) || rec.InPort != 0 {
			t.Errorf("%v carries %+v", o, rec)
		}
	}
	if got := r.window("all"); got[wStamped] != 6 || got[wMTU] != 1 || r.packets(counter) != 1 {
		t.Errorf("counters %v, matched %d; want 6 stamped, 1 beyond the MTU, 1 matched", got, r.packets(counter))
	}
}

// Frames to the CPU carry only the ingress stamp.
func TestPuntedFramesCarryTheIngressStamp(t *testing.T) {
	r := newRig(t, profile.Small())
	r.stampAll(7)
	at := r.Now() + 1000
	outs := r.sendAt(5, at, saisim.Frame{Data: eth([]byte{2, 0, 0, 0, 0, 0xaa}, host(1),
		ip4(1, 2, 6, 0, tcp(1, 22, 2, 0)))})
	if len(outs) != 1 || outs[0].port != saisim.CPUPort {
		t.Fatalf("left %v, want it at the CPU", outs)
	}
	want := tailstamp.Record{SwitchID: 7, Ingress: r.Timestamp(at), InPort: 5, OutPort: tailstamp.CPUPort,
		Flags: tailstamp.NoEgress}
	if rec := decode(t, outs[0]); rec != want {
		t.Errorf("record %+v, want %+v", rec, want)
	}
	if got := r.window("all"); got[wStamped] != 1 {
		t.Errorf("counters %v", got)
	}
}

// Two switches in a row: two records, oldest first.
func TestTwoHops(t *testing.T) {
	r, q := newRig(t, profile.Small()), newRig(t, profile.Small())
	for i, x := range []*rig{r, q} {
		x.send(1, udpFrame(2, 1, 60))
		x.stampAll(uint32(i + 1))
	}
	first := r.send(0, udpFrame(1, 2, 60))[0]
	outs := q.sendAt(0, first.at+1000, saisim.Frame{Data: first.data})
	recs, end := tailstamp.Decode(outs[0].data)
	if len(recs) != 2 || recs[0].SwitchID != 1 || recs[1].SwitchID != 2 || end != 60 || len(outs[0].data) != 60+64 {
		t.Errorf("records %+v behind %d of %d bytes", recs, end, len(outs[0].data))
	}
	if recs[1].Ingress != q.Timestamp(first.at+1000) {
		t.Errorf("second hop received at %+v", recs[1].Ingress)
	}
}

// An entry stamps only while it has both the TAM INT object and INT_INSERT.
func TestStampNeedsInsert(t *testing.T) {
	r := newRig(t, profile.Small())
	r.send(1, udpFrame(2, 1, 60))
	table := r.create(sai.ObjectTypeACLTable, sai.ACLTableAttrACLStage, sai.ACLStageIngress)
	act := r.stampAction(7)
	entry := r.create(sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, table, act[0], act[1])
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
	for _, tt := range []struct {
		id      sai.AttrID
		v       sai.Value
		stamped bool
	}{
		{sai.ACLEntryAttrActionIntInsert, sai.Do(sai.Bool(true)), true},
		{sai.ACLEntryAttrActionTAMIntObject, sai.Action{}, false},
		{sai.ACLEntryAttrActionTAMIntObject, act[1].(sai.Value), true},
		{sai.ACLEntryAttrAdminState, sai.Bool(false), false},
		{sai.ACLEntryAttrAdminState, sai.Bool(true), true},
		{sai.ACLEntryAttrActionIntInsert, sai.Do(sai.Bool(false)), false},
	} {
		r.set(sai.ObjectTypeACLEntry, entry, tt.id, tt.v)
		if outs := r.send(0, udpFrame(1, 2, 60)); outs[0].stamped != tt.stamped {
			t.Errorf("%s=%v: stamped %v", tt.id, tt.v, outs[0].stamped)
		}
	}
	// The object is in use.
	err := r.Remove(context.Background(), sai.Obj(sai.ObjectTypeTAMInt, act[1].(sai.Action).Param.(sai.OID)))
	r.wantStatus(err, sai.StatusObjectInUse)
}

// Without host interface, a port has no number.
func TestPortsWithoutNameAreNone(t *testing.T) {
	r := newRig(t, profile.Small())
	c := r.Chip
	if id, ok := c.PortByName("Ethernet4"); !ok || id != 4 || c.PortName(4) != "Ethernet4" {
		t.Errorf("Ethernet4 is port %d, %v", id, ok)
	}
	if _, ok := c.PortByName("Ethernet99"); ok {
		t.Error("there is an Ethernet99")
	}
	q := bareRig(t, profile.Small())
	for _, id := range q.Ports() {
		q.set(sai.ObjectTypePort, q.oid(id), sai.PortAttrAdminState, sai.Bool(true))
	}
	q.send(1, udpFrame(2, 1, 60))
	q.stampAll(7)
	if rec := decode(t, q.send(0, udpFrame(1, 2, 60))[0]); rec.InPort != tailstamp.NoPort ||
		rec.OutPort != tailstamp.NoPort {
		t.Errorf("record %+v", rec)
	}
}

// Records carry the readings of the chip's clock, while cycles are unaffected: by a clock that is stepped while a frame
// is in the chip, drifts, or is not synchronised.
func TestStampsOfAWrongClock(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(r *rig) error // called when the frame is in the chip
		error time.Duration      // error of the egress time
		flags tailstamp.Flags
	}{
		{"right", func(*rig) error { return nil }, 0, 0},
		{"leaps ahead", func(r *rig) error { return r.StepClock(time.Hour) }, time.Hour, tailstamp.ClockSet},
		{"leaps back: leaves before it arrived", func(r *rig) error { return r.StepClock(-time.Second) }, -time.Second,
			tailstamp.ClockSet},
		{"a tenth fast for 100 cycles of 0.8 ns", func(r *rig) error { return r.SetClockDrift(100_000_000) }, 8, 0},
		{"not synchronised", func(r *rig) error { r.SetClockSynchronised(false); return nil }, 0, tailstamp.Unsynchronised},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, profile.Small())
			r.send(1, udpFrame(2, 1, 60))
			r.stampAll(7)
			at := r.Now() + 1000
			noError(t, r.Receive(0, at, saisim.Frame{Data: udpFrame(1, 2, 1000)}))
			// 1004 bytes of one cycle each, then 17 cycles to the queue, 11 to the egress MAC, and 8 to its timestamp
			// point.
			const delay = 1004 + 17 + 11 + 8
			r.Advance(at + delay - 100)
			noError(t, tt.do(r))
			outs := r.drain()
			rec := decode(t, outs[0])
			arrived, left := r.TrueTime(at), r.TrueTime(at+delay).Add(tt.error)
			if outs[0].at != at+delay || !rec.Ingress.Time().Equal(arrived) || !rec.Egress.Time().Equal(left) ||
				rec.Flags != tt.flags {
				t.Errorf("left at %d with %+v, want at %d, %v to %v", outs[0].at, rec, at+delay, arrived, left)
			}
			if got := r.ClockError(outs[0].at); got != tt.error {
				t.Errorf("clock is %v off, want %v", got, tt.error)
			}
		})
	}
}
