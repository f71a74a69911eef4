package amorch

import (
	"net/netip"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// ways holds a test's values for the switch's addresses and its route.
type ways struct {
	own     map[netip.Addr]bool
	mtu     uint32 // MTU of the route; 0 if there is no route
	changes orch.Topic[struct{}]
}

func (w *ways) Owns(a netip.Addr) bool { return w.own[a] }

func (w *ways) Exit(to netip.Addr) (string, uint32, error) {
	if w.mtu == 0 {
		return "", 0, orch.Wait("route", to.String(), "no route to %s", to)
	}
	return "Ethernet4", w.mtu, nil
}

func (w *ways) Changes() *orch.Topic[struct{}] { return &w.changes }

// A session with a header waits for its source or destination address, for a route, and for an MTU with space for the
// header. Its status reports this, and it leaves the ASIC when one of these is gone.
func TestEncapWaits(t *testing.T) {
	from, to := netip.MustParseAddr("2001:db8:ff::1"), netip.MustParseAddr("2001:db8:ff::3")
	s := initiator()
	s.Mark, s.FlowMonID = altmark.IPv6Loss, altmark.FlowMonID{Given: true, ID: 7}
	s.Encap = altmark.Encap{Src: from, Dst: to}
	b := newBench(t, 8, 100, func(b *bench) { b.chip.Room[altmark.ObjectFlow] = 100 })
	b.rule("web", "L4_DST_PORT", "80")
	b.rule("dns", "L4_DST_PORT", "53")
	end := s
	end.Role = altmark.Terminator
	b.session("s1", "web", s)
	b.session("s2", "dns", end)
	b.Step()
	for _, step := range []struct {
		own     []netip.Addr
		mtu     uint32
		s1, s2  string
		objects int
	}{
		{nil, 1500, "pending: encap-src is 2001:db8:ff::1, which is no address of this switch",
			"pending: encap-dst is 2001:db8:ff::3, which is no address of this switch", 0},
		{[]netip.Addr{from}, 0, "pending: no route to 2001:db8:ff::3", "pending: encap-dst is", 0},
		{[]netip.Addr{from}, 1327, "pending: packets to encap-dst 2001:db8:ff::3 leave by Ethernet4, whose MTU is 1327: " +
			"want at least 1328, the least of IPv6 and 48 bytes of the header", "pending: encap-dst is", 0},
		{[]netip.Addr{from}, 1328, "active", "pending: encap-dst is", 2},
		{[]netip.Addr{to}, 1328, "pending: encap-src is", "active", 2},
		{[]netip.Addr{from, to}, 0, "pending: no route to", "active", 2},
		{[]netip.Addr{from, to}, 9100, "active", "active", 4},
		{nil, 9100, "pending: encap-src is", "pending: encap-dst is", 0},
	} {
		b.ways.own, b.ways.mtu = map[netip.Addr]bool{}, step.mtu
		for _, a := range step.own {
			b.ways.own[a] = true
		}
		b.ways.changes.Publish(b.Ctx, struct{}{})
		b.Step()
		b.wantSession("s1", step.s1)
		b.wantSession("s2", step.s2)
		if n := len(b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable)); n != step.objects {
			t.Errorf("own %v, MTU %d: %d objects, want %d", step.own, step.mtu, n, step.objects)
		}
	}
}

// While a program runs on the switch, outer headers are neither added nor removed. Only the status of sessions with a
// header reports this.
func TestEncapBesideAProgram(t *testing.T) {
	from, to := netip.MustParseAddr("2001:db8:ff::1"), netip.MustParseAddr("2001:db8:ff::3")
	s := initiator()
	s.Mark, s.FlowMonID = altmark.IPv6Loss, altmark.FlowMonID{Given: true, ID: 7}
	plain := s
	s.Encap = altmark.Encap{Src: from, Dst: to}
	end := s
	end.Role = altmark.Terminator
	b := newBench(t, 8, 100, func(b *bench) { b.chip.Room[altmark.ObjectFlow] = 100 })
	b.ways.own, b.ways.mtu = map[netip.Addr]bool{from: true, to: true}, 9100
	b.rule("web", "L4_DST_PORT", "80")
	b.rule("dns", "L4_DST_PORT", "53")
	b.rule("ssh", "L4_DST_PORT", "22")
	b.session("s1", "web", s)
	b.session("s2", "dns", end)
	b.session("s3", "ssh", plain)
	b.Step()
	for _, program := range []bool{false, true, false} {
		b.chip.program = program
		b.Pass(5 * time.Second)
		want := map[bool]string{false: "active: ",
			true: "pending: no header is put on packets, or taken off: a program runs on the switch"}[program]
		for name, want := range map[string]string{"s1": want, "s2": want, "s3": "active: "} {
			row := b.Row(swss.StateDB, schema.StateTAMAltMark, name)
			if got := row["status"] + ": " + row["reason"]; got != want {
				t.Errorf("program %v: %s is %s, want %s", program, name, got, want)
			}
		}
	}
}
