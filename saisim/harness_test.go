package saisim_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

// A rig is a chip with helpers for tests. Errors end the test.
type rig struct {
	testing.TB
	*saisim.Chip
	sw    sai.OID
	notes []sai.Notification
	outs  []sent

	moments int // number of moments that an observer has seen
	hostifs map[saisim.PortID]sai.OID
}

// A sent is a frame that left the chip.
type sent struct {
	port, in saisim.PortID
	at       saisim.Cycle
	data     []byte
	length   int
	stamped  bool
	id       uint64
}

func (s sent) String() string {
	return fmt.Sprintf("port %d at %d: %d bytes (%x)", s.port, s.at, s.length, s.data)
}

// newRig returns a chip whose ports are up, named EthernetN with N the lane, in the default VLAN, with an MTU of 9122.
func newRig(t testing.TB, p profile.Profile) *rig {
	t.Helper()
	return newRigOf(t, saisim.Config{Profile: p, Start: start})
}

func newRigOf(t testing.TB, cfg saisim.Config) *rig {
	t.Helper()
	r := bareRigOf(t, cfg)
	for _, id := range r.Ports() {
		r.up(id)
	}
	return r
}

func bareRig(t testing.TB, p profile.Profile) *rig {
	t.Helper()
	return bareRigOf(t, saisim.Config{Profile: p, Start: start})
}

func bareRigOf(t testing.TB, cfg saisim.Config) *rig {
	t.Helper()
	r := &rig{TB: t, hostifs: map[saisim.PortID]sai.OID{}}
	cfg.Notify = func(n sai.Notification) { r.notes = append(r.notes, n) }
	c := need(saisim.New(cfg))(t)
	r.Chip = c
	c.SetOutput(func(o *saisim.Out) {
		r.outs = append(r.outs, sent{o.Port, o.In, o.At, bytes.Clone(o.Data), o.Len, o.Stamped, o.ID})
	})
	r.sw = r.create(sai.ObjectTypeSwitch, sai.SwitchAttrInitSwitch, sai.Bool(true),
		sai.SwitchAttrSrcMACAddress, sai.MAC{2, 0, 0, 0, 0, 0xaa},
		sai.SwitchAttrFDBEventNotify, sai.Pointer(1), sai.SwitchAttrPortStateChangeNotify, sai.Pointer(1))
	return r
}

func attrs(pairs ...any) []sai.Attr {
	var l []sai.Attr
	for i := 0; i < len(pairs); i += 2 {
		l = append(l, sai.Attr{ID: pairs[i].(sai.AttrID), Value: pairs[i+1].(sai.Value)})
	}
	return l
}

func (r *rig) create(t sai.ObjectType, pairs ...any) sai.OID {
	r.Helper()
	oid, err := r.Create(context.Background(), t, attrs(pairs...))
	if err != nil {
		r.Fatal(err)
	}
	return oid
}

// refused checks that a create fails with a status.
func (r *rig) refused(want sai.Status, t sai.ObjectType, pairs ...any) {
	r.Helper()
	_, err := r.Create(context.Background(), t, attrs(pairs...))
	r.wantStatus(err, want)
}

func (r *rig) wantStatus(err error, want sai.Status) {
	r.Helper()
	if got, ok := sai.StatusOf(err); !ok || got != want {
		r.Errorf("%v, want %v", err, want)
	}
}

func (r *rig) set(t sai.ObjectType, oid sai.OID, id sai.AttrID, v sai.Value) {
	r.Helper()
	if err := r.Set(context.Background(), sai.Obj(t, oid), sai.Attr{ID: id, Value: v}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) get(t sai.ObjectType, oid sai.OID, id sai.AttrID) sai.Value {
	r.Helper()
	return r.getUpTo(1024, t, oid, id)
}

// getUpTo reads a list of at most so many elements. The chip checks the values of all, so a short list is fast.
func (r *rig) getUpTo(most int, t sai.ObjectType, oid sai.OID, id sai.AttrID) sai.Value {
	r.Helper()
	got, err := r.Get(context.Background(), sai.Obj(t, oid), []sai.Attr{sai.Want(id, most)})
	if err != nil {
		r.Fatal(err)
	}
	return got[0].Value
}

func (r *rig) remove(t sai.ObjectType, oid sai.OID) {
	r.Helper()
	if err := r.Remove(context.Background(), sai.Obj(t, oid)); err != nil {
		r.Fatal(err)
	}
}

// oid returns the object of a port.
func (r *rig) oid(id saisim.PortID) sai.OID {
	r.Helper()
	for _, o := range r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrPortList).(sai.OIDs) {
		if lanes := r.getUpTo(8, sai.ObjectTypePort, o, sai.PortAttrHWLaneList).(sai.Uints); lanes[0] == uint64(id) {
			return o
		}
	}
	r.Fatalf("no port %d", id)
	return 0
}

// up brings a port up, as portsorch does.
func (r *rig) up(id saisim.PortID) {
	r.Helper()
	o := r.oid(id)
	r.set(sai.ObjectTypePort, o, sai.PortAttrMTU, sai.Uint(9122))
	r.set(sai.ObjectTypePort, o, sai.PortAttrAdminState, sai.Bool(true))
	r.hostifs[id] = r.create(sai.ObjectTypeHostif, sai.HostifAttrType, sai.HostifTypeNetdev, sai.HostifAttrObjID, o,
		sai.HostifAttrName, sai.Text(fmt.Sprintf("Ethernet%d", id)))
}

// clearVLAN1 removes every port from the default VLAN and the bridge.
func (r *rig) clearVLAN1() {
	r.Helper()
	vlan := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	for _, m := range r.get(sai.ObjectTypeVLAN, vlan, sai.VLANAttrMemberList).(sai.OIDs) {
		r.remove(sai.ObjectTypeVLANMember, m)
	}
	bridge := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefault1qBridgeID).(sai.OID)
	for _, bp := range r.get(sai.ObjectTypeBridge, bridge, sai.BridgeAttrPortList).(sai.OIDs) {
		r.remove(sai.ObjectTypeBridgePort, bp)
	}
}

func (r *rig) bridgePort(on sai.OID) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeBridgePort, sai.BridgePortAttrType, sai.BridgePortTypePort,
		sai.BridgePortAttrPortID, on, sai.BridgePortAttrAdminState, sai.Bool(true))
}

// bp returns the bridge port that a port has from the start.
func (r *rig) bp(id saisim.PortID) sai.OID {
	r.Helper()
	p := r.oid(id)
	bridge := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefault1qBridgeID).(sai.OID)
	for _, bp := range r.get(sai.ObjectTypeBridge, bridge, sai.BridgeAttrPortList).(sai.OIDs) {
		if r.get(sai.ObjectTypeBridgePort, bp, sai.BridgePortAttrPortID) == p {
			return bp
		}
	}
	r.Fatalf("port %d has no bridge port", id)
	return 0
}

func (r *rig) vlan(id int) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.Uint(id))
}

func (r *rig) member(vlan, bridgePort sai.OID, mode sai.Enum) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeVLANMember, sai.VLANMemberAttrVLANID, vlan, sai.VLANMemberAttrBridgePortID, bridgePort,
		sai.VLANMemberAttrVLANTaggingMode, mode)
}

// send puts a frame on the wire of a port now, and runs the chip until it is empty. It returns the frames that left.
func (r *rig) send(id saisim.PortID, frame []byte) []sent {
	r.Helper()
	return r.sendAt(id, r.Now(), saisim.Frame{Data: frame})
}

func (r *rig) sendAt(id saisim.PortID, at saisim.Cycle, f saisim.Frame) []sent {
	r.Helper()
	if err := r.Receive(id, at, f); err != nil {
		r.Fatal(err)
	}
	return r.drain()
}

func (r *rig) drain() []sent {
	r.Helper()
	for {
		at, ok := r.NextEvent()
		if !ok {
			break
		}
		r.Advance(at)
	}
	r.balanced()
	outs := r.outs
	r.outs = nil
	return outs
}

func (r *rig) balanced() {
	r.Helper()
	if b := r.FrameCounts(); !b.Balanced() {
		r.Fatalf("the books do not balance: %+v", b)
	}
}

// dropped returns the port's drops that are not zero.
func (r *rig) dropped(id saisim.PortID) string {
	r.Helper()
	c, ok := r.PortCounters(id)
	if !ok {
		r.Fatalf("no port %d", id)
	}
	s := ""
	for why, n := range c.Dropped {
		if n > 0 {
			s += fmt.Sprintf("%s=%d ", drop.Reason(why), n)
		}
	}
	return s
}

// portsOf returns the ports by which frames left, in order.
func portsOf(outs []sent) []saisim.PortID {
	ids := []saisim.PortID{}
	for _, o := range outs {
		ids = append(ids, o.port)
	}
	return ids
}

// Frames. Hosts are numbered; host n has the MAC 02-00-00-00-00-n, the
// addresses 10.0.0.n and 2001:db8::n.

func host(n byte) []byte { return []byte{2, 0, 0, 0, 0, n} }

func eth(dst, src []byte, parts ...[]byte) []byte {
	return append(append(bytes.Clone(dst), src...), bytes.Join(parts, nil)...)
}

func u16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }

func tag(tpid, tci uint16) []byte { return append(u16(tpid), u16(tci)...) }

// ip4 returns an IPv4 packet with its EtherType. frag is the flags and offset word.
func ip4(src, dst byte, proto byte, frag uint16, payload []byte) []byte {
	b := append(u16(0x0800), 0x45, 0)
	b = append(b, u16(uint16(20+len(payload)))...)
	b = append(b, 0, 1)
	b = append(b, u16(frag)...)
	b = append(b, 64, proto, 0, 0, 10, 0, 0, src, 10, 0, 0, dst)
	return append(b, payload...)
}

// ip6 returns an IPv6 packet with its EtherType.
func ip6(src, dst byte, next byte, payload []byte) []byte {
	b := append(u16(0x86dd), 0x60, 0, 0, 0)
	b = append(b, u16(uint16(len(payload)))...)
	b = append(b, next, 64)
	for _, n := range []byte{src, dst} {
		a := netip.MustParseAddr("2001:db8::").As16()
		a[15] = n
		b = append(b, a[:]...)
	}
	return append(b, payload...)
}

func udp(src, dst uint16, n int) []byte {
	b := append(u16(src), u16(dst)...)
	b = append(b, u16(uint16(8+n))...)
	return append(b, make([]byte, 2+n)...)
}

func tcp(src, dst uint16, flags byte, n int) []byte {
	b := append(u16(src), u16(dst)...)
	b = append(b, make([]byte, 8)...)
	b = append(b, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0)
	return append(b, make([]byte, n)...)
}

// pad fills a frame up to n bytes.
func pad(f []byte, n int) []byte {
	if len(f) < n {
		f = append(bytes.Clone(f), make([]byte, n-len(f))...)
	}
	return f
}

// udpFrame returns a frame of exactly n bytes from host a to host b.
func udpFrame(a, b byte, n int) []byte {
	return eth(host(b), host(a), ip4(a, b, 17, 0, udp(1000, 2000, n-42)))
}

func netipFrom4(b [4]byte) netip.Addr { return netip.AddrFrom4(b) }

// noError ends a test on an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// need returns a function that returns the value of a call, and ends its test on an error.
func need[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		noError(t, err)
		return v
	}
}
