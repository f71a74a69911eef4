package device_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/tamtamtest"
)

// syn is a SYN with ACK from 10.0.0.2, port 80, to 10.0.0.1 with an MSS of 1460.
var syn = append([]byte{
	2, 0, 0, 0, 0, 0x11, 2, 0, 0, 0, 0, 0x22, 0x08, 0x00,
	0x45, 0, 0, 44, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1,
	0, 80, 3, 0xe8, 0, 0, 0, 1, 0, 0, 0, 1, 0x60, 18, 0xff, 0xff, 0, 0, 0, 0, 2, 4, 1460 >> 8, 1460 & 0xff,
}, 0, 0)

// A clamp is configured by the shell, changes the MSS of a segment, and is shown by the shell. It survives a restart of
// orchagent, which finds it in the ASIC. It also survives a restart of syncd, with which the chip starts again.
func TestClampedSession(t *testing.T) {
	const vlan = `{
		"PORT": {"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up", "mtu": "1500"},
		         "Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up", "mtu": "1500"}},
		"VLAN": {"Vlan10": {"vlanid": "10"}},
		"VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"}}}`
	racetest.Stepped(t)
	sw := tamtamtest.Start(t, vlan)
	shell := func(lines ...string) string {
		t.Helper()
		return sw.CLI(lines...)
	}
	clamped := func(want uint16) {
		t.Helper()
		sw.Send("Ethernet1", syn)
		sw.Advance(time.Millisecond)
		left := sw.Left("Ethernet0")
		if len(left) != 1 || binary.BigEndian.Uint16(left[0][56:]) != want {
			t.Errorf("left Ethernet0: %x, want an MSS of %d", left, want)
		}
	}
	shows := func(want ...string) {
		t.Helper()
		sw.Poll()
		out := strings.Join(strings.Fields(shell("show tam tail-stamping sessions s")), " ")
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("no %q in %s", w, out)
			}
		}
	}
	object := func() (keys []string) {
		t.Helper()
		keys, err := swss.NewTable(sw.Sim().Redis.DB(swss.ASICDB), "ASIC_STATE").Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var of []string
		for _, k := range keys {
			if strings.Contains(k, "GENERIC_PROGRAMMABLE") {
				of = append(of, k)
			}
		}
		return of
	}

	shell("configure terminal", "tam", "flow-group web protocol tcp dst-l4-port 80", "tail-stamping", "enable",
		"session s flowgroup web clamp-mss 2", "end")
	if p := sw.Problems(); len(p) > 0 {
		t.Fatal(p)
	}
	clamped(1522 - 18 - 40 - 64) // the port's MTU includes space for a tag
	shows("Clamp MSS : 2", "SYN Count : 1", "Clamped : 1")

	was := object()
	devicetest.NoError(t, sw.Sim().RestartOrchagent(t.Context()))
	if is := object(); len(was) != 1 || len(is) != 1 || was[0] != is[0] {
		t.Errorf("clamps %v, and after a restart of orchagent %v", was, is)
	}
	clamped(1400)
	shows("SYN Count : 2", "Clamped : 2")

	devicetest.NoError(t, sw.Sim().RestartSyncd(t.Context()))
	clamped(1400)
	shows("SYN Count : 1", "Clamped : 1")

	shell("configure terminal", "tam", "tail-stamping", "session s flowgroup web", "end")
	clamped(1460)
	if out := shell("show tam tail-stamping sessions s"); strings.Contains(out, "SYN") || strings.Contains(out, "Clamp") {
		t.Errorf("without clamp-mss the shell shows\n%s", out)
	}
	if left := object(); len(left) > 0 {
		t.Errorf("%v stay", left)
	}
}
