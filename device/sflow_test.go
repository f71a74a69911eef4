package device_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"tamtam/device/devicetest"
	"tamtam/host/sflow"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/swss"
	"tamtam/swss/schema"
	wire "tamtam/tam/sflow"
)

// Each drop reason of the chip maps to a reason in the sFlow registry, and there are no other mappings.
func TestSFlowReasons(t *testing.T) {
	all := sflow.Mappings()
	for i, m := range all {
		if i >= int(drop.NumReasons) || m.Why != drop.Reason(i).String() {
			t.Errorf("%d is %q, want the chip's reasons in their order", i, m.Why)
		}
	}
	if len(all) != int(drop.NumReasons) {
		t.Errorf("%d reasons, the chip has %d", len(all), drop.NumReasons)
	}
}

// Two collectors receive the same samples, drops and counters, and each sample contains its sampling rate.
func TestSFlow(t *testing.T) {
	x := devicetest.NewSFlowTest(t)
	const good, bad = 3000, 30
	x.Send(good, bad)
	x.Pass(11 * time.Second)
	a, b := netip.MustParseAddrPort("192.0.2.1:6343"), netip.MustParseAddrPort("[2001:db8::1]:7000")
	if len(x.Got) != 2 || len(x.Got[a]) != len(x.Got[b]) || len(x.Got[a]) == 0 {
		t.Fatalf("sent to %d collectors, %d and %d samples", len(x.Got), len(x.Got[a]), len(x.Got[b]))
	}
	flows, drops, counters := map[uint32][]*wire.FlowSample{}, []*wire.Discarded{}, map[uint32][]*wire.CounterSample{}
	for _, s := range x.Got[a] {
		switch s := s.(type) {
		case *wire.FlowSample:
			flows[s.Source.Index] = append(flows[s.Source.Index], s)
			if int(s.Sequence) != len(flows[s.Source.Index]) {
				t.Errorf("flow sample %d of %d is %+v", len(flows[s.Source.Index]), s.Source.Index, s)
			}
		case *wire.Discarded:
			if drops = append(drops, s); int(s.Sequence) != len(drops) {
				t.Errorf("notification %d is %+v", len(drops), s)
			}
		case *wire.CounterSample:
			counters[s.Source.Index] = append(counters[s.Source.Index], s)
			if int(s.Sequence) != len(counters[s.Source.Index]) {
				t.Errorf("counter sample %+v", s)
			}
		}
	}
	x.WantFlows(flows, good, bad)
	if len(drops) != 10 {
		t.Errorf("%d notifications of %d drops, want 10", len(drops), bad)
	}
	for _, d := range drops {
		if d.Reason != wire.SourceMACMulticast || d.Input != 1 || d.Output != 0 || d.Trap.Name != "source-address" ||
			d.Header.Length != 104 || d.Header.Bytes[6] != 3 {
			t.Errorf("%+v of %+v", d, d.Header)
		}
	}
	last := counters[1][len(counters[1])-1].Generic
	if len(counters) != 2 || len(counters[1]) < 2 || last.InUnicast != good+bad || last.InOctets != (good+bad)*104 ||
		last.InDiscards != bad || last.Speed != 10e9 || last.Status != 3 || last.Promiscuous != wire.Unknown32 {
		t.Errorf("counters of %d ports, of Ethernet0 at last %+v", len(counters), last)
	}
	x.WantReported(map[string]string{
		"SFLOW_TABLE|global": "active ", "SFLOW_SESSION_TABLE|all": "active ",
		"SFLOW_COLLECTOR_TABLE|a":       "active ",
		"SFLOW_COLLECTOR_TABLE|c":       "failed there are 2 collectors before it by name, want at most 2 in all",
		"SFLOW_SESSION_TABLE|Ethernet0": "active ",
		"SFLOW_SESSION_TABLE|Ethernet9": `pending port "Ethernet9" does not exist`,
		"SFLOW_SESSION_TABLE|Ethernet8": `failed `,
	})
	row, _, err := swss.NewTable(x.Redis.DB(swss.CountersDB), schema.CountersSFlow).Get(t.Context(), "sflowd")
	if err != nil || row["discards-suppressed"] != fmt.Sprint(bad-10) || row["drop-queue-full"] != "0" {
		t.Errorf("%v, %v", row, err)
	}
}

// Rules sample independently of ports. Each rule is a separate source. Its sample pool is the number of packets that it
// has matched.
func TestSFlowRules(t *testing.T) {
	config := devicetest.SFlowConfig()
	config[schema.CfgACLTable] = map[string]swss.FieldValues{
		"IN":  {"type": "SAMPLE", "stage": "INGRESS", "ports@": "Ethernet0"},
		"OUT": {"type": "SAMPLE", "stage": "EGRESS", "ports@": "Ethernet1"},
	}
	config[schema.CfgACLRule] = map[string]swss.FieldValues{
		"IN|web":  {"PRIORITY": "9", "L4_DST_PORT": "80", "SAMPLE_INGRESS_ACTION": "256"},
		"IN|none": {"PRIORITY": "8", "L4_DST_PORT": "81", "SAMPLE_INGRESS_ACTION": "256"},
		"OUT|as-they-leave": {"PRIORITY": "9", "DST_IP": "10.1.0.2/32", "SAMPLE_EGRESS_ACTION": "300",
			"PACKET_ACTION": "FORWARD"},
		"IN|wrong":     {"PRIORITY": "7", "L4_DST_PORT": "82", "SAMPLE_INGRESS_ACTION": "255"},
		"IN|elsewhere": {"PRIORITY": "6", "L4_DST_PORT": "83", "SAMPLE_EGRESS_ACTION": "256"},
	}
	x := devicetest.NewSFlowTestOn(t, config)
	const good, bad = 3000, 30
	x.Send(good, bad)
	x.Pass(3 * time.Second)
	rows, err := swss.NewTable(x.Redis.DB(swss.CountersDB), schema.CountersSFlowRule).Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bySource := map[string][]*wire.FlowSample{}
	for _, s := range x.Got[netip.MustParseAddrPort("192.0.2.1:6343")] {
		if f, ok := s.(*wire.FlowSample); ok {
			at := fmt.Sprintf("%d:%d", f.Source.Class, f.Source.Index)
			if bySource[at] = append(bySource[at], f); int(f.Sequence) != len(bySource[at]) {
				t.Errorf("sample %d of %s is %+v", len(bySource[at]), at, f)
			}
		}
	}
	for name, want := range map[string]struct{ rate, least, most int }{
		"IN|web": {256, 5, 25}, "IN|none": {256, 0, 0}, "OUT|as-they-leave": {300, 3, 25},
	} {
		row := rows[name]
		got := bySource[row["source"]]
		if n := len(got); n < want.least || n > want.most || row["flow-samples"] != fmt.Sprint(n) || row["drops"] != "0" {
			t.Errorf("%s: %d samples, told as %v", name, n, row)
		}
		for _, f := range got {
			if int(f.Rate) != want.rate || f.Pool > good || f.Input.Value != 1 ||
				f.Output.Format == wire.Single && f.Output.Value != 2 {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	if n := len(bySource["0:1"]); n < 5 || len(rows) != 4 {
		t.Errorf("%d samples of Ethernet0, rows %v", n, rows)
	}
	state := swss.NewTable(x.Redis.DB(swss.StateDB), schema.StateACLRule)
	for name, want := range map[string]string{"IN|web": "Active", "IN|elsewhere": "Inactive"} {
		if row, _, err := state.Get(t.Context(), name); err != nil || row["status"] != want {
			t.Errorf("%s: %v, %v, want %s", name, row, err, want)
		}
	}
}

// Samples of routed packets contain their next hop and its prefix length. If only one side has a VLAN, the sample
// contains that the other side has none. Packets that are bridged or dropped have no next hop.
func TestSFlowRouted(t *testing.T) {
	c := devicetest.SFlowConfig()
	delete(c[schema.CfgVLANMember], "Vlan10|Ethernet0")
	c[schema.CfgVLANMember]["Vlan10|Ethernet1"] = swss.FieldValues{"tagging_mode": "tagged"}
	c[schema.CfgInterface] = map[string]swss.FieldValues{
		"Ethernet0": {}, "Ethernet0|10.1.0.1/24": {}, "Ethernet2": {}, "Ethernet2|10.2.0.1/24": {},
		"Ethernet2|2001:db8:2::1/64": {},
	}
	c["VLAN_INTERFACE"] = map[string]swss.FieldValues{"Vlan10": {}, "Vlan10|10.3.0.1/24": {}}
	c[schema.CfgNeigh] = map[string]swss.FieldValues{
		"Ethernet2|10.2.0.2": {"neigh": "02:00:00:00:02:02"}, "Ethernet2|2001:db8:2::2": {"neigh": "02:00:00:00:02:02"},
		"Vlan10|10.3.0.7": {"neigh": "02:00:00:00:03:07"},
	}
	c[schema.CfgFDB] = map[string]swss.FieldValues{"Vlan10|02:00:00:00:03:07": {"port": "Ethernet1"}}
	c[schema.CfgStaticRoute] = map[string]swss.FieldValues{
		"20.0.0.0/11": {"nexthop": "10.2.0.2"}, "20.2.2.0/24": {"blackhole": "true"},
		"2001:db8:20::/43": {"nexthop": "2001:db8:2::2"},
	}
	c[schema.CfgSFlowSession] = map[string]swss.FieldValues{
		"Ethernet0": {"admin_state": "up", "sample_rate": "256", "sample_direction": "rx"},
		"Ethernet1": {"admin_state": "up", "sample_rate": "256", "sample_direction": "tx"},
		"Ethernet2": {"admin_state": "up", "sample_rate": "256", "sample_direction": "tx"}, "all": {"admin_state": "down"},
	}
	x := devicetest.NewSFlowTestOn(t, c)
	v4 := append(
		[]byte("\x02\x00\x00\x00\x00\xaa\x02\x00\x00\x00\x00\x02\x08\x00\x45\x00\x00\x56\x00\x00\x00\x00\x40\x11\x00\x00"+
			"\x0a\x01\x00\x02\x00\x00\x00\x00\x03\xe8\x00\x50\x00\x42\x00\x00"), make([]byte, 58)...)
	v6 := append([]byte("\x02\x00\x00\x00\x00\xaa\x02\x00\x00\x00\x00\x02\x86\xdd\x60\x00\x00\x00\x00\x2c\x3b\x40"),
		make([]byte, 32+44)...)
	copy(v6[22:], netip.MustParseAddr("2001:db8:1::2").AsSlice())
	in, _ := x.Chip.PortByName("Ethernet0")
	to := map[byte]string{1: "20.1.0.1", 2: "10.2.0.2", 3: "10.3.0.7", 4: "20.2.2.2", 5: "2001:db8:20::5"}
	for i := range 6000 {
		n := byte(i%5 + 1)
		frame, addr := bytes.Clone(v4), netip.MustParseAddr(to[n])
		if addr.Is6() {
			frame = bytes.Clone(v6)
			copy(frame[38:], addr.AsSlice())
		} else {
			copy(frame[30:], addr.AsSlice())
			sum := uint32(0)
			for i := 14; i < 34; i += 2 {
				sum += uint32(frame[i])<<8 | uint32(frame[i+1])
			}
			sum = ^(sum + sum>>16)
			frame[24], frame[25] = byte(sum>>8), byte(sum)
		}
		frame[len(frame)-1] = n
		devicetest.NoError(t, x.Chip.Receive(in, x.Chip.Now()+200, saisim.Frame{Data: frame}))
		if x.Chip.Advance(x.Chip.Now() + 200); i%500 == 0 {
			x.Pass(time.Microsecond)
		}
	}
	x.Pass(3 * time.Second)
	want := map[byte]string{1: "next hop 10.2.0.2/11", 2: "next hop 10.2.0.2/32", 3: "next hop 10.3.0.7/32 VLANs 0 10",
		4: "blackhole",
		5: "next hop 2001:db8:2::2/43"}
	seen := map[string]int{}
	for _, s := range x.Got[netip.MustParseAddrPort("192.0.2.1:6343")] {
		f, ok := s.(*wire.FlowSample)
		if !ok {
			continue
		}
		is := ""
		if r := f.Router; r != nil {
			is = fmt.Sprintf("next hop %s/%d", r.NextHop, r.DestMask)
		}
		if v := f.Switch; v != nil {
			is += fmt.Sprint(" VLANs ", v.InVLAN, " ", v.OutVLAN)
		}
		if f.Output.Format == wire.Discard {
			is += "blackhole"
		}
		n := f.Header.Bytes[len(f.Header.Bytes)-1]
		if is != want[n] {
			t.Errorf("a sample of what goes to %s: %q, want %q: %+v", to[n], is, want[n], f)
		}
		seen[fmt.Sprint(n, " of ", f.Source.Index)]++
	}
	for _, of := range []string{"1 of 1", "1 of 3", "2 of 1", "2 of 3", "3 of 1", "3 of 2", "4 of 1", "5 of 1", "5 of 3"} {
		if seen[of] == 0 {
			t.Errorf("no sample: packets %s, of %v", of, seen)
		}
	}
}

// When sFlow is disabled, sampling ends, and no part of it is left in the chip.
func TestSFlowDown(t *testing.T) {
	x := devicetest.NewSFlowTest(t)
	if n := len(x.Chip.Tables().Samplers); n != 2 {
		t.Errorf("%d samplers, want one of each rate", n)
	}
	table := swss.NewTable(x.Redis.DB(swss.ConfigDB), schema.CfgSFlow)
	devicetest.NoError(t, table.Set(t.Context(), "global", swss.FieldValues{"admin_state": "down"}))
	devicetest.NoError(t, x.RunUntilIdle(t.Context()))
	if n := len(x.Chip.Tables().Samplers); n != 0 {
		t.Errorf("%d samplers are left", n)
	}
	x.WantReported(map[string]string{"SFLOW_SESSION_TABLE|Ethernet0": "pending sFlow is down: admin_state of SFLOW|global",
		"SFLOW_COLLECTOR_TABLE|a": "pending sFlow is down: admin_state of SFLOW|global", "SFLOW_TABLE|global": "active "})
	x.Send(600, 0)
	x.Pass(7 * time.Second)
	if len(x.Got) != 0 {
		t.Errorf("sent %v", x.Got)
	}
}
