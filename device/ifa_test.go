package device_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/tam/ifa"
	"tamtam/tamtamtest"
)

// A switch adds its hop to IFA packets while TAM|device requests it, and changes no other packets. The device id is
// that of the row, or else the switch's own id.
func TestTransitOfIFA(t *testing.T) {
	racetest.Stepped(t)
	sw := tamtamtest.Start(t, `{
		"VLAN": {"Vlan10": {"vlanid": "10"}},
		"VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"}}}`)
	plain := append([]byte{
		2, 0, 0, 0, 0, 0x22, 2, 0, 0, 0, 0, 0x11, 8, 0,
		0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 3, 232, 7, 208, 0, 26, 0, 0,
	}, make([]byte, 18)...)
	first := ifa.Hop{Device: 77, Residence: 5}
	packet := append(plain[:14:14], ifa.Insert(bytes.Clone(plain[14:]), 20, 8,
		ifa.Header{GNS: ifa.PerHop, Next: 17, Flags: ifa.Inband, MaxLength: 255}, ifa.Metadata{HopLimit: 9}, &first)...)
	hops := func(frame []byte) []ifa.Hop {
		t.Helper()
		sw.Send("Ethernet0", frame)
		sw.Advance(time.Millisecond)
		left := sw.Left("Ethernet1")
		if len(left) == 0 {
			t.Fatal("nothing left")
		}
		last := left[len(left)-1]
		p, err := ifa.Decode(last[14:])
		if err != nil && !bytes.Equal(last, frame) {
			t.Fatalf("%x left as %x", frame, last)
		}
		return p.Hops
	}
	if got := hops(packet); len(got) != 1 {
		t.Errorf("without transit: %+v", got)
	}
	sw.Set("TAM|device", "ifa", "true")
	if got := hops(packet); len(got) != 2 || got[1] != (ifa.Hop{LNS: ifa.LNS, Device: 77, Residence: 5}) ||
		got[0].Device != 1 ||
		got[0].InPort != 0 || got[0].OutPort != 1 {
		t.Errorf("by the switch's own id: %+v", got)
	}
	if got := hops(plain); len(got) != 0 {
		t.Errorf("not of IFA: %+v", got)
	}
	since := func() string {
		sw.Advance(2 * time.Second)
		return sw.Row(swss.CountersDB, "TAM_IFA_TRANSIT_COUNTERS:device")["COUNTED_SINCE"]
	}
	counts := []string{since()}
	for _, id := range []string{"4710", "4711"} { // with the second id, no packet shows that the counters start again
		sw.Set("TAM|device", "ifa", "true", "device-id", id)
		counts = append(counts, since())
	}
	counts = append(counts, since())
	if got := hops(packet); len(got) != 2 || got[0].Device != 4711 {
		t.Errorf("by the row's id: %+v", got)
	}
	if counts[0] == "" || counts[1] <= counts[0] || counts[2] <= counts[1] || counts[3] != counts[2] {
		t.Errorf("by each id, and once more by the last, it counts since %q", counts)
	}
	for _, p := range sw.Problems() {
		t.Error(p)
	}
	sw.Set("TAM_FEATURES_TABLE|TAILSTAMPING", "status", "ACTIVE") // while a feature is active, ids do not change
	for _, then := range [][]string{{"ifa", "true"}, {"ifa", "false"}, {"ifa", "true"}} {
		sw.Set("TAM|device", append(then, "device-id", "4712")...)
		got, want := hops(packet), 1
		if then[1] == "true" {
			want = 2
		}
		if len(got) != want || want == 2 && got[0].Device != 4711 {
			t.Errorf("%v while another id waits: %+v", then, got)
		}
		if row := sw.Row(swss.StateDB, "TAM_STATE_DEVICE_TABLE|device"); row["status"] != "pending" ||
			!strings.Contains(row["reason"], "takes effect when no TAM feature is active") {
			t.Errorf("%v while another id waits: %v", then, row)
		}
	}
	sw.Set("TAM|device", "ifa", "true", "device-id", "2097152")
	if row := sw.Row(swss.StateDB, "TAM_STATE_DEVICE_TABLE|device"); row["status"] != "failed" ||
		!strings.Contains(row["reason"], `"2097152"`) {
		t.Errorf("an id that no hop has room for, while ids wait: %v", row)
	}
	sw.Delete("TAM_FEATURES_TABLE|TAILSTAMPING")
	sw.Set("TAM|device", "ifa", "true", "device-id", "2097152")
	if got := hops(packet); len(got) != 1 {
		t.Errorf("by an id that no hop has room for: %+v", got)
	}
	if p := sw.Problems(); len(p) != 1 {
		t.Errorf("problems %v, want the one", p)
	}
	sw.Delete("TAM|device")
	if got := hops(packet); len(got) != 1 {
		t.Errorf("without the row: %+v", got)
	}
}
