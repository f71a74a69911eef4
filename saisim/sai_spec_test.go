package saisim_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// The files sai_*_test.go specify how SAI objects affect packets, by SAI's headers. They use only the SAI API and
// frames that arrive and leave. The translation of objects to tables is common to the engine and its reference, so a
// comparison of the two would find no mistake there.
//
// Each row is one attribute of one object, and is tried in every way in which an object can get it: without; given at
// create; set later; set back; and after the object is removed. See specRow.

// A dut is the device under test: a small chip of 8 ports. Each port has its own bridge port and is in VLAN 1, as at
// power up. Ports 0, 1 and 2 are up.
type dut struct {
	testing.TB
	*saisim.Chip
	sw       sai.OID
	known    map[string]sai.OID // objects made by a world, by name
	reported []sai.Notification
	left     frames
}

// A frameAt is a frame at a port, on its way in or out.
type frameAt struct {
	port saisim.PortID
	data []byte
}

type frames []frameAt

const cpuPort = saisim.CPUPort

// at returns a frame at each of some ports.
func at(data []byte, ports ...saisim.PortID) (f frames) {
	for _, p := range ports {
		f = append(f, frameAt{p, data})
	}
	return f
}

func (f frames) and(data []byte, ports ...saisim.PortID) frames {
	return append(f, at(data, ports...)...)
}

// String lists frames in the order of ports, because frames of one cycle have no order.
func (f frames) String() string {
	f = slices.Clone(f)
	slices.SortFunc(f, func(a, b frameAt) int {
		if a.port != b.port {
			return int(a.port) - int(b.port)
		}
		return bytes.Compare(a.data, b.data)
	})
	s := ""
	for _, x := range f {
		s += fmt.Sprintf("\n  %d: %x", int16(x.port), x.data)
	}
	return s
}

func newDUT(t testing.TB) *dut {
	t.Helper()
	d := &dut{TB: t, known: map[string]sai.OID{}}
	c, err := saisim.New(saisim.Config{Profile: profile.Small(), Start: start,
		Notify: func(n sai.Notification) { d.reported = append(d.reported, n) }})
	if err != nil {
		t.Fatal(err)
	}
	d.Chip = c
	c.SetOutput(func(o *saisim.Out) { d.left = append(d.left, frameAt{o.Port, bytes.Clone(o.Data)}) })
	return d
}

var bridgeMAC = sai.MAC{2, 0, 0, 0, 0, 0xaa}

// boot creates the switch, with additional attributes, and brings three ports up.
func (d *dut) boot(with ...sai.Attr) sai.Key {
	d.Helper()
	with = append(attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)), with...)
	if _, given := sai.Find(with, sai.SwitchAttrSrcMACAddress); !given {
		with = append(with, sai.Attr{ID: sai.SwitchAttrSrcMACAddress, Value: bridgeMAC})
	}
	d.sw = d.make(sai.ObjectTypeSwitch, with...).OID
	for id := range saisim.PortID(3) {
		d.set(d.port(id), sai.PortAttrMTU, sai.Uint(9122))
		d.set(d.port(id), sai.PortAttrAdminState, sai.Bool(true))
	}
	return sai.Obj(sai.ObjectTypeSwitch, d.sw)
}

// Calls that must succeed.

func (d *dut) make(t sai.ObjectType, with ...sai.Attr) sai.Key {
	d.Helper()
	oid, err := d.Create(context.Background(), t, with)
	if err != nil {
		d.Fatal(err)
	}
	return sai.Obj(t, oid)
}

func (d *dut) create(t sai.ObjectType, pairs ...any) sai.OID {
	d.Helper()
	return d.make(t, attrs(pairs...)...).OID
}

func (d *dut) entry(e sai.Entry, with ...sai.Attr) sai.Key {
	d.Helper()
	if err := d.CreateEntry(context.Background(), e, with); err != nil {
		d.Fatal(err)
	}
	return sai.EntryKey(e)
}

func (d *dut) set(k sai.Key, id sai.AttrID, v sai.Value) {
	d.Helper()
	if err := d.Set(context.Background(), k, sai.Attr{ID: id, Value: v}); err != nil {
		d.Fatal(err)
	}
}

func (d *dut) get(k sai.Key, id sai.AttrID) sai.Value {
	d.Helper()
	got, err := d.Get(context.Background(), k, []sai.Attr{sai.Want(id, 16)})
	if err != nil {
		d.Fatal(err)
	}
	return got[0].Value
}

func (d *dut) remove(k sai.Key) {
	d.Helper()
	if err := d.Remove(context.Background(), k); err != nil {
		d.Fatal(err)
	}
}

func (d *dut) wantStatus(what string, err error, want sai.Status) {
	d.Helper()
	if got, _ := sai.StatusOf(err); err == nil || got != want {
		d.Errorf("%s: %v, want %v", what, err, want)
	}
}

// ofSwitch returns an object id attribute of the switch.
func (d *dut) ofSwitch(id sai.AttrID) sai.OID {
	d.Helper()
	return d.get(sai.Obj(sai.ObjectTypeSwitch, d.sw), id).(sai.OID)
}

func (d *dut) vlan1() sai.Key {
	return sai.Obj(sai.ObjectTypeVLAN, d.ofSwitch(sai.SwitchAttrDefaultVLANID))
}

// port returns the object of the port of a lane.
func (d *dut) port(lane saisim.PortID) sai.Key {
	d.Helper()
	for _, oid := range d.get(sai.Obj(sai.ObjectTypeSwitch, d.sw), sai.SwitchAttrPortList).(sai.OIDs) {
		k := sai.Obj(sai.ObjectTypePort, oid)
		if d.get(k, sai.PortAttrHWLaneList).(sai.Uints)[0] == uint64(lane) {
			return k
		}
	}
	d.Fatalf("no port of lane %d", lane)
	return sai.Key{}
}

// bridgePort returns the bridge port of a port or LAG.
func (d *dut) bridgePort(of sai.OID) sai.Key {
	d.Helper()
	bridge := sai.Obj(sai.ObjectTypeBridge, d.ofSwitch(sai.SwitchAttrDefault1qBridgeID))
	for _, oid := range d.get(bridge, sai.BridgeAttrPortList).(sai.OIDs) {
		if k := sai.Obj(sai.ObjectTypeBridgePort, oid); d.get(k, sai.BridgePortAttrPortID) == of {
			return k
		}
	}
	d.Fatalf("%s has no bridge port", of)
	return sai.Key{}
}

func (d *dut) makeBridgePort(on sai.OID, pairs ...any) sai.OID {
	d.Helper()
	return d.create(sai.ObjectTypeBridgePort, append([]any{sai.BridgePortAttrType, sai.BridgePortTypePort,
		sai.BridgePortAttrPortID, on, sai.BridgePortAttrAdminState, sai.Bool(true)}, pairs...)...)
}

// join makes a bridge port a member of a VLAN.
func (d *dut) join(vlan, bridgePort sai.OID, mode sai.Enum) sai.OID {
	d.Helper()
	return d.create(sai.ObjectTypeVLANMember, sai.VLANMemberAttrVLANID, vlan, sai.VLANMemberAttrBridgePortID, bridgePort,
		sai.VLANMemberAttrVLANTaggingMode, mode)
}

// unbridge removes ports from VLAN 1 and the bridge.
func (d *dut) unbridge(lanes ...saisim.PortID) {
	d.Helper()
	for _, lane := range lanes {
		bp := d.bridgePort(d.port(lane).OID)
		for _, m := range d.get(d.vlan1(), sai.VLANAttrMemberList).(sai.OIDs) {
			if k := sai.Obj(sai.ObjectTypeVLANMember, m); d.get(k, sai.VLANMemberAttrBridgePortID) == bp.OID {
				d.remove(k)
			}
		}
		d.remove(bp)
	}
}

// send puts frames on the wire, each when all effects of the previous one are over, and returns the effects of the
// last.
func (d *dut) send(in ...frameAt) frames {
	d.Helper()
	for _, f := range in {
		d.left = nil
		if err := d.Receive(f.port, d.Now(), saisim.Frame{Data: f.data}); err != nil {
			d.Fatal(err)
		}
		for at, ok := d.NextEvent(); ok; at, ok = d.NextEvent() {
			d.Advance(at)
		}
	}
	return d.left
}

// A specRow is one attribute and its effect on packets.
type specRow struct {
	name  string // SAI's description of the attribute
	attr  sai.AttrID
	value any // sai.Value or func(*dut) sai.Value
	// back is the value that removes the effect. For a mandatory attribute it is the object's first value. Otherwise it
	// is nil, which means SAI's default.
	back          any
	in            frames                             // sent in turn; the effects of the last one count
	see           func(d *dut, in ...frameAt) frames // returns the effects of frames; nil means (*dut).send
	with, without frames
	refused       []refusal // values that the attribute must not have
}

// A refusal is a value that a call must refuse, with a status. The call changes nothing.
type refusal struct {
	value any
	want  sai.Status
}

// A specObject is an object under test, in a world made for it.
type specObject struct {
	name string
	// world makes everything else. nil means a switch that is up.
	world func(d *dut)
	// object makes the object, with additional attributes, and returns it.
	object func(d *dut, with ...sai.Attr) sai.Key
	keep   bool // it cannot be removed because others need it
	exists bool // it exists from the start: attributes can only be set
	rows   []specRow
}

func (d *dut) valueOf(v any) sai.Value {
	if f, ok := v.(func(*dut) sai.Value); ok {
		return f(d)
	}
	return v.(sai.Value)
}

// observe sends the frames of a row, with nothing learned before.
func (d *dut) observe(row *specRow, how string, want frames) {
	d.Helper()
	if err := d.FlushFDB(context.Background(), nil); err != nil {
		d.Fatal(err)
	}
	if got := d.see(row); got.String() != want.String() {
		d.Errorf("%s: out came %v\nwant %v", how, got, want)
	}
}

func (d *dut) see(row *specRow) frames {
	d.Helper()
	if row.see != nil {
		return row.see(d, row.in...)
	}
	return d.send(row.in...)
}

// start makes the world of an object.
func (o *specObject) start(t testing.TB) *dut {
	d := newDUT(t)
	if o.world != nil {
		o.world(d)
	} else {
		d.boot()
	}
	return d
}

// first returns the object's attributes before the tested attribute is set. There are none, unless the tested attribute
// is mandatory.
func (r *specRow) first(d *dut) []sai.Attr {
	if r.back == nil || !sai.Meta(r.attr).Has(sai.MandatoryOnCreate) {
		return nil
	}
	return []sai.Attr{{ID: r.attr, Value: d.valueOf(r.back)}}
}

// undo returns the value that removes the effect, nil if none can be set.
func (r *specRow) undo(d *dut) sai.Value {
	if r.back != nil {
		return d.valueOf(r.back)
	}
	return sai.Meta(r.attr).Default
}

func (o *specObject) test(t *testing.T, row *specRow) {
	settable := sai.Meta(row.attr).Has(sai.CreateAndSet)
	d := o.start(t)
	k := o.object(d, row.first(d)...)
	d.observe(row, "without", row.without)
	if settable {
		d.set(k, row.attr, d.valueOf(row.value))
		d.observe(row, "set", row.with)
		for _, x := range row.refused {
			err := d.Set(context.Background(), k, sai.Attr{ID: row.attr, Value: d.valueOf(x.value)})
			d.wantStatus(fmt.Sprintf("set to %v", d.valueOf(x.value)), err, x.want)
			d.observe(row, "after a refused set", row.with)
		}
		d.set(k, row.attr, row.undo(d))
		d.observe(row, "set back", row.without)
	}
	if o.exists {
		return
	}
	d = o.start(t)
	k = o.object(d, sai.Attr{ID: row.attr, Value: d.valueOf(row.value)})
	d.observe(row, "created with it", row.with)
	if settable {
		d.set(k, row.attr, row.undo(d))
		d.observe(row, "created with it, set back", row.without)
		d.set(k, row.attr, d.valueOf(row.value))
	}
	if o.keep {
		return
	}
	d.remove(k)
	bare := o.start(t)
	var gone frames
	if row.in != nil || row.see != nil {
		gone = bare.see(row)
	}
	_, err := d.Get(context.Background(), k, []sai.Attr{sai.Want(row.attr, 16)})
	d.wantStatus("read after removal", err, sai.StatusItemNotFound)
	d.observe(row, "removed", gone)
}

func runSpec(t *testing.T, objects ...specObject) {
	for i := range objects {
		o := &objects[i]
		for j := range o.rows {
			t.Run(o.name+"/"+o.rows[j].name, func(t *testing.T) { o.test(t, &o.rows[j]) })
		}
	}
}

// refuseCreate checks that creates are refused, and that packets are not affected.
func (d *dut) refuseCreate(want sai.Status, t sai.ObjectType, pairs ...any) {
	d.Helper()
	_, err := d.Create(context.Background(), t, attrs(pairs...))
	d.wantStatus(fmt.Sprintf("create %s %v", t, pairs), err, want)
}

func (d *dut) refuseRemove(want sai.Status, k sai.Key) {
	d.Helper()
	d.wantStatus("remove "+sai.FormatKey(k), d.Remove(context.Background(), k), want)
}
