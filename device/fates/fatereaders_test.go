package fates

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/device/packettrace"
	"tamtam/saisim/drop"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
	"tamtam/tam/record"
	"tamtam/tam/sflow"
)

// A fateCounts counts drops by port and reason.
type fateCounts map[[2]string]uint64

// fateReports is the UDP port of the drop monitor's collector, whose address is that of the record collector.
const fateReports = 4740

// fateReaders adds a session of the drop monitor and sFlow, which report all drops: without sampling, and with a
// limit that is not reached.
func fateReaders(c device.ConfigDB) {
	c[schema.CfgTAMDevice] = map[string]swss.FieldValues{schema.TAMDeviceKey: {"device-id": "7"}}
	c[schema.CfgTAMDestination] = map[string]swss.FieldValues{"d": {"dst_ip": "10.8.0.2",
		"dst_port": fmt.Sprint(fateReports)}}
	c[schema.CfgTAMSession] = map[string]swss.FieldValues{"d": {"type": "drop-monitor", "report_type": "ipfix",
		"collector@": "d"}}
	c[schema.CfgSFlow] = map[string]swss.FieldValues{"global": {"admin_state": "up", "polling_interval": "0",
		"drop_monitor_limit": "500"}}
	c[schema.CfgSFlowCollector] = map[string]swss.FieldValues{"s": {"collector_ip": "192.0.2.1"}}
	c[schema.CfgSFlowSession] = map[string]swss.FieldValues{"all": {"admin_state": "down"}}
}

// fateInterface returns the port of an interface index; index 0 stands for the removed port.
func (f *fated) fateInterface(index uint32) string {
	if index == 0 {
		return f.removed
	}
	return fmt.Sprint("Ethernet", index-1)
}

// sflowed acts as an sFlow collector. It checks that no datagram is missing, and that none reports a missing drop.
func (f *fated) sflowed(_ netip.AddrPort, b []byte) error {
	d, err := sflow.Decode(bytes.Clone(b))
	if f.datagrams++; err != nil || d.Sequence != f.datagrams {
		f.Errorf("datagram %d: %+v, %v", f.datagrams, d, err)
		return nil
	}
	for _, s := range d.Samples {
		x, ok := s.(*sflow.Discarded)
		if !ok || x.Drops != 0 {
			f.Errorf("a sample that is no drop, or says that some are missing: %+v", s)
			continue
		}
		port := x.Output
		if port == 0 {
			port = x.Input
		}
		if x.Trap.Name == drop.PortRemoved.String() {
			port = 0
		}
		f.discards[[2]string{f.fateInterface(port), x.Trap.Name}]++
	}
	return nil
}

// reported decodes the drop monitor's reports: of drops, and of packets that only the CPU received.
func (f *fated) reported() (dropped, trapped fateCounts) {
	f.Helper()
	dropped, trapped = fateCounts{}, fateCounts{}
	d := ipfix.NewDecoder(0)
	for _, frame := range f.frames {
		udp, ok := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default).TransportLayer().(*layers.UDP)
		if !ok || udp.DstPort != fateReports {
			continue
		}
		if err := d.Message(udp.Payload, func(r *ipfix.DataRecord) {
			if r.Scope > 0 {
				return
			}
			v := map[string]uint64{}
			for i := range r.Fields {
				v[r.Fields[i].Name()], _ = strconv.ParseUint(fmt.Sprint(r.Fields[i].Value(r.Values[i])), 10, 64)
			}
			port := cmp.Or(v["egressInterface"], v["ingressInterface"])
			why := drop.Reason(v["tamtamDropReason"])
			if why == drop.PortRemoved {
				port = 0
			}
			to := dropped
			if v["tamtamDropFlags"]&dropreport.FlagPunted != 0 {
				to = trapped
			}
			to[[2]string{f.fateInterface(uint32(port)), why.String()}] += v["droppedPacketDeltaCount"]
		}); err != nil {
			f.Error(err)
		}
	}
	if c := d.Counts(); c.Lost+c.Late+c.Bad+c.WithoutTemplate > 0 {
		f.Errorf("the drop monitor's collector counts %+v", c)
	}
	return dropped, trapped
}

// readers compares IPFIX, sFlow and the shell's output with the model's counts.
func (f *fated) readers() {
	f.Helper()
	dropped, trapped := f.reported()
	if !maps.Equal(dropped, f.drops) {
		f.Errorf("reported by IPFIX are %v; the model has %v", dropped, f.drops)
	}
	want := fateCounts{}
	for _, x := range f.order {
		for _, e := range x.ends {
			switch e.why {
			case drop.TTL.String(), drop.NoNeighbor.String(), drop.L3MTU.String():
				want[[2]string{x.in, e.why}]++
			}
		}
	}
	if !maps.Equal(trapped, want) {
		f.Errorf("reported as trapped are %v; the model has %v", trapped, want)
	}
	if !maps.Equal(f.discards, f.drops) {
		f.Errorf("sFlow tells of %v; the model has %v", f.discards, f.drops)
	}
	f.printed()
}

// printed compares the shell's output for drops and flows with the model's counts, as text and as JSON.
func (f *fated) printed() {
	f.Helper()
	total, reasons, ports := uint64(0), map[string]uint64{}, map[string]uint64{}
	for k, n := range f.drops {
		total += n
		reasons[k[1]] += n
		if k[0] == f.removed { // the counters were removed with the port
			k[0] = "no port that is there now"
		}
		ports[k[0]] += n
	}
	for _, by := range []string{"reason", "port", "rule", "flow"} {
		var a packettrace.DropsAnswer
		devicetest.NoError(f.T, json.Unmarshal([]byte(f.shows("show drops by "+by+" last 0 | json")), &a))
		rows, sums := map[string]uint64{}, map[string]uint64{}
		for _, r := range a.Rows {
			rows[r.Name] = r.Count
			for why, n := range r.Reasons {
				sums[why] += n
			}
		}
		if want := map[string]map[string]uint64{"reason": reasons, "port": ports}[by]; want != nil &&
			!maps.Equal(rows, want) {
			f.Errorf("drops by %s are %v; the model has %v", by, rows, want)
		}
		if by != "reason" && !maps.Equal(sums, reasons) || a.Total != total || a.Kept != total || a.Forgotten != 0 {
			f.Errorf("drops by %s are %d, %d kept, %d forgotten, by reason %v; the model has %d, %v", by, a.Total, a.Kept,
				a.Forgotten, sums, total, reasons)
		}
		text := f.shows("show drops by " + by + " last 0")
		for name, n := range rows {
			if !regexp.MustCompile(fmt.Sprintf(`(?m)^%d +%s +`, n, regexp.QuoteMeta(name))).MatchString(text) {
				f.Errorf("show drops by %s lacks %d %s:\n%s", by, n, name, text)
			}
		}
	}
	for _, flow := range f.flows {
		f.printedFlow(flow)
	}
}

// watchFlows requests the flows with the most frames, so that they are watched.
func (f *fated) watchFlows(frames []fateSending) {
	f.Helper()
	n := map[[2]netip.Addr]int{}
	for _, x := range frames {
		if p := f.model.parse(x.in, x.data); p != nil && p.whole {
			n[[2]netip.Addr{p.from, p.to}]++
		}
	}
	f.flows = slices.SortedFunc(maps.Keys(n), func(a, b [2]netip.Addr) int {
		return cmp.Or(n[b]-n[a], a[0].Compare(b[0]), a[1].Compare(b[1]))
	})
	f.flows = f.flows[:min(len(f.flows), 8)]
	for _, flow := range f.flows {
		if text := f.shows(fmt.Sprintf("show tam why flow %s %s", flow[0], flow[1])); !strings.Contains(text,
			"No packet of it is known") {
			f.Errorf("before anything was sent: %s", text)
		}
	}
}

// believed returns the addresses in the IP header if its version and header length are valid, whatever the packet's
// length, and whether it is damaged.
func (x *modelPacket) believed() (from, to netip.Addr, damaged bool) {
	b := x.l3
	switch {
	case x.etherType == 0x86dd && len(b) >= 40 && b[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:])), false
	case x.etherType != 0x0800 || len(b) < 20 || b[0]>>4 != 4:
		return from, to, true
	}
	header, sum := int(b[0]&15)*4, 0
	if header < 20 || header > len(b) {
		return from, to, true
	}
	for i := 0; i < header; i += 2 {
		sum += int(binary.BigEndian.Uint16(b[i:]))
	}
	return netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:])), sum%0xffff != 0
}

// dropped returns how many copies of a frame were dropped.
func (x *fatedFrame) dropped() (n int) {
	for _, e := range x.ends {
		if e.what != record.EndSent && e.what != record.EndCPU {
			n++
		}
	}
	if len(x.ends) == 0 { // dropped by the ingress MAC
		n++
	}
	return n
}

// printedFlow compares the output for one flow with the model.
func (f *fated) printedFlow(flow [2]netip.Addr) {
	f.Helper()
	want, damaged := fateCounts{}, 0
	for _, x := range f.order {
		p := f.model.parse(x.in, x.data)
		if p == nil {
			continue
		}
		if from, to, bad := p.believed(); from != flow[0] || to != flow[1] {
			if bad && p.etherType == map[bool]uint16{true: 0x0800, false: 0x86dd}[flow[1].Is4()] {
				if slices.Contains(f.flows, [2]netip.Addr{from, to}) { // packets of watched flows are always kept
					damaged += max(len(x.ends), 1)
				} else {
					damaged += x.dropped()
				}
			}
			continue
		}
		for _, e := range x.ends {
			k := [2]string{cmp.Or(e.port, x.in), "dropped: " + e.what}
			switch e.what {
			case record.EndSent:
				k[1] = "sent"
			case record.EndCPU:
				if k = [2]string{"", "to-cpu"}; e.why != "" {
					k[1] += " only: " + e.why
				}
			}
			want[k]++
		}
		if len(x.ends) == 0 { // dropped by the ingress MAC
			want[[2]string{x.in, "dropped: " + x.fates[0][0].what}]++
		}
	}
	line := fmt.Sprintf("show tam why flow %s %s", flow[0], flow[1])
	var a packettrace.FlowAnswer
	devicetest.NoError(f.T, json.Unmarshal([]byte(f.shows(line+" last 1000 | json")), &a))
	text := f.shows(line)
	got, ends, sum := fateCounts{}, fateCounts{}, uint64(0)
	for _, x := range a.Fates {
		got[[2]string{x.Out, x.Fate}] += uint64(x.Count)
		sum += uint64(x.Count)
		at := cmp.Or(x.Out, "-")
		least := map[bool]string{true: ">= "}[damaged > 0]
		line := fmt.Sprintf(`(?m)^%s +%s +%s%d +`, regexp.QuoteMeta(x.Fate), at, least, x.Count)
		if x.AtLeast != (damaged > 0) || !regexp.MustCompile(line).MatchString(text) {
			f.Errorf("%s lacks %+v:\n%s", line, x, text)
		}
	}
	for _, e := range a.Packets {
		fate := e.Fate
		switch {
		case fate == "dropped":
			fate += ": " + e.Why
		case e.Why != "":
			fate += " only: " + e.Why
		}
		ends[[2]string{e.Out, fate}]++
	}
	if !maps.Equal(got, want) || sum <= 1000 && !maps.Equal(ends, want) {
		f.Errorf("%s: %v, its packets %v; the model has %v", line, got, ends, want)
	}
	if a.Damaged != damaged {
		f.Errorf("%s: %d damaged, want %d", line, a.Damaged, damaged)
	}
	f.saw["of flows that were asked for"] += int(sum)
	f.saw["damaged, of any flow"] += damaged
}

// A fateSending is a frame to send.
type fateSending struct {
	in   string
	data []byte
}
