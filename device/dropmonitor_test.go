package device_test

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/tam/ipfix"
	"tamtam/tamtamtest"
)

// dropsConfig has the ports of two hosts and the routes to collectors, of both IP versions.
const dropsConfig = `{
	"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:07:e4"}},
	"INTERFACE": {
		"Ethernet0": {}, "Ethernet0|10.1.0.1/24": {}, "Ethernet0|2000:10:1::1/64": {},
		"Ethernet1": {}, "Ethernet1|10.2.0.1/24": {}, "Ethernet1|2001:db8:9::1/64": {},
		"Ethernet2": {}, "Ethernet2|10.3.0.1/24": {}},
	"NEIGH": {
		"Ethernet1|10.2.0.2": {"neigh": "02:00:00:00:00:22"}, "Ethernet1|2001:db8:9::2": {"neigh": "02:00:00:00:00:22"},
		"Ethernet2|10.3.0.2": {"neigh": "02:00:00:00:00:33"}},
	"STATIC_ROUTE": {
		"10.20.30.0/24": {"nexthop": "10.2.0.2"}, "20.2.2.0/24": {"nexthop": "10.3.0.2"},
		"default|2001:db8:2::/48": {"nexthop": "2001:db8:9::2"}}
}`

// A monitored is a switch with the drop monitor, configured as in sonic-mgmt's test.
type monitored struct {
	*testing.T
	*tamtamtest.Switch
	src, dst string
}

func newMonitored(t *testing.T, six bool) *monitored {
	t.Helper()
	p := profile.Small()
	p.TableRecord = profile.Default().TableRecord // this profile has the pre-ingress stage, which selects packets
	racetest.Stepped(t)
	m := &monitored{T: t, Switch: tamtamtest.StartOn(t, p, dropsConfig), src: "11.22.33.44", dst: "10.20.30.40"}
	if six {
		m.src, m.dst = "2001:db8:1::44", "2001:db8:2::40"
	}
	return m
}

func (m *monitored) configure(flowAware bool) {
	m.Set("TAM|device", "device-id", "12345", "enterprise-id", "54321")
	m.Set("TAM_COLLECTOR|COLLECTOR1", "src_ip", m.src, "dst_ip", m.dst, "dst_port", "10000", "dscp_value", "32", "vrf",
		"default")
	session := []string{"type", "drop-monitor", "report_type", "ipfix", "collector@", "COLLECTOR1"}
	if flowAware {
		m.Set("TAM_FLOW_GROUP|FG1", "aging_interval", "1000", "ports@", "Ethernet0")
		m.Set("TAM_FLOW_GROUP|FG1|RULE1", "src_ip_prefix", "10.1.1.0/24", "dst_ip_prefix", "20.2.2.0/24",
			"ip_protocol", "6", "l4_src_port", "1000", "l4_dst_port", "80")
		session = append(session, "flow_group@", "FG1")
	}
	m.Set("TAM_SESSION|DROPMONITOR", session...)
}

func (m *monitored) remove(flowAware bool) {
	rows := []string{"TAM|device", "TAM_COLLECTOR|COLLECTOR1", "TAM_SESSION|DROPMONITOR"}
	if flowAware {
		rows = append(rows, "TAM_FLOW_GROUP|FG1|RULE1", "TAM_FLOW_GROUP|FG1")
	}
	for _, row := range rows {
		m.Delete(row)
	}
}

// state returns the session's row of STATE_DB, without its time and author.
func (m *monitored) state() map[string]string {
	m.Helper()
	row := m.Row(swss.StateDB, "TAM_DROP_MONITOR_SESSION_TABLE|DROPMONITOR")
	delete(row, "since")
	delete(row, "by")
	return row
}

func (m *monitored) wantState(status, detail, group string) {
	m.Helper()
	want := map[string]string{
		"status": status, "report_type": "ipfix", "event_type": "packet-drop-stateless", "drop_stages": "ingress,egress,tm",
		"flow_group": group, "collectors": "COLLECTOR1",
	}
	want["state"] = map[string]string{"inactive": "pending"}[status]
	if want["state"] == "" {
		want["state"] = status
	}
	if detail != "" {
		want["status_detail"], want["reason"] = detail, detail
	}
	got := m.state()
	maps.DeleteFunc(got, func(f, v string) bool { return v == "" })
	maps.DeleteFunc(want, func(f, v string) bool { return v == "" })
	if !maps.Equal(got, want) {
		m.Errorf("state %v, want %v", got, want)
	}
}

// objects returns the numbers of TAM objects in ASIC_DB, by type.
func (m *monitored) objects() string {
	m.Helper()
	n := map[string]int{}
	keys, err := m.Sim().Redis.DB(swss.ASICDB).AllKeys(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	for _, k := range keys {
		if parts := strings.Split(k, ":"); len(parts) > 1 && strings.Contains(k, "SAI_OBJECT_TYPE_") {
			n[strings.TrimPrefix(parts[1], "SAI_OBJECT_TYPE_")]++
		}
	}
	var list []string
	for _, t := range slices.Sorted(maps.Keys(n)) {
		if strings.HasPrefix(t, "TAM") || strings.HasPrefix(t, "ACL") {
			list = append(list, fmt.Sprintf("%s=%d", t, n[t]))
		}
	}
	return strings.Join(list, " ")
}

const monitorObjects = "TAM=1 TAM_COLLECTOR=1 TAM_EVENT=1 TAM_EVENT_ACTION=1 TAM_INT=1 TAM_REPORT=1 TAM_TRANSPORT=1"

// This is sonic-mgmt's test of the drop monitor for objects and states. It uses the same configuration, with a
// collector that is blackholed and restored, added and removed 20 times.
func TestDropMonitorObjects(t *testing.T) {
	for _, tt := range []struct{ six, flowAware bool }{{false, false}, {true, true}} {
		m := newMonitored(t, tt.six)
		want, group := monitorObjects, ""
		if tt.flowAware {
			group = "FG1"
			want = "ACL_COUNTER=1 ACL_ENTRY=1 ACL_TABLE=1 ACL_TABLE_GROUP=1 ACL_TABLE_GROUP_MEMBER=1 " + monitorObjects
		}
		for n := range 20 {
			m.configure(tt.flowAware)
			if m.wantState("active", "", group); m.objects() != want {
				t.Errorf("%d: objects %s, want %s", n, m.objects(), want)
			}
			if n == 0 {
				m.blackhole(tt.six, want, group)
			}
			if m.remove(tt.flowAware); m.objects() != "" || m.state() != nil {
				t.Fatalf("%d: left: %s, %v", n, m.objects(), m.state())
			}
		}
		for _, p := range m.Problems() {
			t.Error(p)
		}
	}
}

func (m *monitored) blackhole(six bool, want, group string) {
	m.Helper()
	route := "STATIC_ROUTE|10.20.30.40/32"
	if six {
		route = "STATIC_ROUTE|default|2001:db8:2::40/128"
	}
	m.Set(route, "blackhole", "true")
	m.wantState("inactive", fmt.Sprintf("no collector can be reached: collector %q: no route to %s", "COLLECTOR1", m.dst),
		group)
	if row := m.Row(swss.StateDB, "TAM_STATE_COLLECTOR_TABLE|COLLECTOR1"); row["status"] != "pending" ||
		row["reason"] != "no route to "+m.dst {
		m.Errorf("the collector: %v", row)
	}
	if m.objects() != "" {
		m.Errorf("objects %s without a way", m.objects())
	}
	m.Delete(route)
	m.wantState("active", "", group)
	if m.objects() != want {
		m.Errorf("objects %s, want %s", m.objects(), want)
	}
}

// packet returns a TCP frame to the router's MAC address, with these IP addresses and ports.
func (m *monitored) packet(src, dst string, sport, dport uint16) []byte {
	m.Helper()
	eth := layers.Ethernet{
		SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 0x11}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 7, 0xe4},
		EthernetType: layers.EthernetTypeIPv4,
	}
	ip := layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: net.ParseIP(src),
		DstIP: net.ParseIP(dst)}
	tcp := layers.TCP{SrcPort: layers.TCPPort(sport), DstPort: layers.TCPPort(dport), Window: 8192}
	devicetest.NoError(m.T, tcp.SetNetworkLayerForChecksum(&ip))
	b := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	devicetest.NoError(m.T, gopacket.SerializeLayers(b, opts, &eth, &ip, &tcp, gopacket.Payload(make([]byte, 46))))
	return b.Bytes()
}

// A dropReport is a record of a report, with the fields of its packet.
type dropReport struct {
	values           map[string]string
	src, dst         string
	tos              int
	srcMAC, dstMAC   string
	domain, sequence uint32
}

// reports decodes the frames that left by the collector's port. The decoder must have received all earlier ones.
func (m *monitored) reports(d *ipfix.Decoder, port string) []dropReport {
	m.Helper()
	return reportsIn(m.T, d, m.Left(port))
}

// reportsIn decodes the reports in frames.
func reportsIn(m *testing.T, d *ipfix.Decoder, frames [][]byte) (all []dropReport) {
	m.Helper()
	for _, f := range frames {
		p := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
		udp, ok := p.TransportLayer().(*layers.UDP)
		if !ok || udp.DstPort != 10000 {
			continue
		}
		eth := p.LinkLayer().(*layers.Ethernet)
		r := dropReport{srcMAC: eth.SrcMAC.String(), dstMAC: eth.DstMAC.String()}
		r.src, r.dst = p.NetworkLayer().NetworkFlow().Src().String(), p.NetworkLayer().NetworkFlow().Dst().String()
		switch ip := p.NetworkLayer().(type) {
		case *layers.IPv4:
			r.tos = int(ip.TOS)
		case *layers.IPv6:
			r.tos = int(ip.TrafficClass)
		}
		err := d.Message(udp.Payload, func(data *ipfix.DataRecord) {
			x := r
			x.domain, x.sequence, x.values = data.Domain, data.Sequence, map[string]string{}
			for i := range data.Fields {
				x.values[data.Fields[i].Name()] = fmt.Sprint(data.Fields[i].Value(data.Values[i]))
			}
			if data.Scope == 0 {
				all = append(all, x)
			}
		})
		if err != nil {
			m.Error(err)
		}
	}
	return all
}

// counted checks the session's counters in COUNTERS_DB.
func (m *monitored) counted(dropped, reports, messages string) {
	m.Helper()
	m.Poll()
	row := m.Row(swss.CountersDB, "TAM_DROP_MONITOR_COUNTERS:DROPMONITOR")
	for field, want := range map[string]string{
		"DROPPED_PACKETS": dropped, "TRAPPED_PACKETS": "0", "REPORTS": reports, "MESSAGES": messages, "SUPPRESSED": "0",
		"SAMPLED_OUT": "0", "UNSENDABLE": "0", "LOST": "0",
	} {
		if row[field] != want {
			m.Errorf("counted: %s %q, want %s (all: %v)", field, row[field], want, row)
		}
	}
}

// This is a strict form of sonic-mgmt's test of the drop monitor with packets. Each dropped packet of the monitored
// flows is reported once, with its frame, to a collector of IPv4 or IPv6. Packets of other flows and forwarded packets
// are not reported. Reports stop while the collector is blackholed, and resume when it is back.
func TestDropMonitorReports(t *testing.T) {
	for _, tt := range []struct{ six, flowAware bool }{{false, false}, {true, true}} {
		m := newMonitored(t, tt.six)
		m.configure(tt.flowAware)
		noRoute := m.packet("10.1.1.7", "30.3.3.3", 1000, 80) // a packet of no monitored flow
		watched := m.packet("10.1.1.7", "20.2.2.9", 1000, 80)
		forwarded := m.packet("10.1.1.7", "20.2.2.8", 1000, 80)
		m.Set("STATIC_ROUTE|20.2.2.9/32", "blackhole", "true")
		d := ipfix.NewDecoder(54321)
		send := func() {
			for range 3 {
				m.Send("Ethernet0", noRoute, watched, forwarded)
			}
			m.Advance(50 * time.Millisecond)
		}
		send()
		want := []string{"20.2.2.9", "20.2.2.9", "20.2.2.9"}
		if !tt.flowAware {
			want = append(want, "30.3.3.3", "30.3.3.3", "30.3.3.3")
		}
		got := m.reports(d, "Ethernet1")
		if c := d.Counts(); c.Lost+c.Late+c.Bad+c.WithoutTemplate > 0 {
			t.Errorf("the collector counts %+v", c)
		}
		m.judgeReports(got, want, map[string][]byte{"20.2.2.9": watched, "30.3.3.3": noRoute})
		n := fmt.Sprint(len(want))
		m.counted(n, n, n)

		route := map[bool]string{false: "STATIC_ROUTE|10.20.30.40/32",
			true: "STATIC_ROUTE|default|2001:db8:2::40/128"}[tt.six]
		m.Set(route, "blackhole", "true")
		send()
		if got := m.reports(d, "Ethernet1"); len(got) > 0 {
			t.Errorf("%d reports to a collector that is blackholed", len(got))
		}
		m.Delete(route)
		send()
		if got := m.reports(d, "Ethernet1"); len(got) != len(want) {
			t.Errorf("%d reports after the collector is back, want %d", len(got), len(want))
		}
	}
}

// judgeReports checks that the reports match the wanted frames, including duplicates, and checks all fields of the
// reports.
func (m *monitored) judgeReports(got []dropReport, want []string, frames map[string][]byte) {
	m.Helper()
	reasons := map[string]drop.Reason{"20.2.2.9": drop.Blackhole, "30.3.3.3": drop.NoRoute}
	var to []string
	for i, r := range got {
		dst := r.values["destinationIPv4Address"]
		to = append(to, dst)
		if r.src != m.src || r.dst != m.dst || r.tos>>2 != 32 || r.dstMAC != "02:00:00:00:00:22" || r.domain != 12345 ||
			r.srcMAC != "02:00:00:00:07:e4" || r.sequence != got[0].sequence+uint32(i) {
			m.Errorf("a report from %s at %s to %s at %s, TOS %d, domain %d, sequence %d", r.src, r.srcMAC, r.dst, r.dstMAC,
				r.tos, r.domain, r.sequence)
		}
		delete(r.values, "observationTimeNanoseconds")
		if all := map[string]string{
			"dataLinkFrameSection": hex.EncodeToString(frames[dst]), "dataLinkFrameSize": fmt.Sprint(len(frames[dst])),
			"destinationIPv4Address": dst, "sourceIPv4Address": "10.1.1.7", "protocolIdentifier": "6",
			"sourceTransportPort": "1000", "destinationTransportPort": "80", "droppedPacketDeltaCount": "1",
			"forwardingStatus": "131", // dropped, unroutable (RFC 7270)
			"ingressInterface": "1", "tamtamDropEvent": "1", "tamtamDropFlags": "0", "tamtamDropStage": "1",
			"tamtamDropReason": fmt.Sprint(int(reasons[dst])),
		}; !maps.Equal(r.values, all) {
			m.Errorf("a report of %v, want %v", r.values, all)
		}
	}
	if slices.Sort(to); !slices.Equal(to, want) {
		m.Errorf("reports of packets to %v, want %v", to, want)
	}
}

// The shell configures a drop monitor, and shows its state: the feature is active with its sessions, and the switch
// has the ids from TAM|device.
func TestDropMonitorByShell(t *testing.T) {
	m := newMonitored(t, false)
	m.Set("TAM|device", "device-id", "12345", "enterprise-id", "54321")
	m.CLI("configure terminal", "match-rule FG1 RULE1 src-ip-prefix 10.1.1.0/24 dst-ip-prefix 20.2.2.0/24 ip-protocol 6",
		"tam", "drop-monitor", "collector COLLECTOR1 ip 10.20.30.40 port 10000", "match-group FG1 ports Ethernet0",
		"session DROPMONITOR collector COLLECTOR1 flow-group FG1", "end")
	m.wantState("active", "", "FG1")
	for command, want := range map[string]string{
		"show tam drop-monitor": "Status             : Active\n\nName", "show tam features": "drop-monitor   Active\n",
		"show tam switch":              "Enterprise ID  : 54321\n\n",
		"show tam drop-monitor groups": "FG1           Ethernet0 ",
		"show running-configuration tam": "match-rule FG1 RULE1 src-ip-prefix 10.1.1.0/24 dst-ip-prefix 20.2.2.0/24 " +
			"ip-protocol 6\n",
		"show running-configuration":       "row TAM device device-id=12345 enterprise-id=54321\n",
		"show tam drop-monitor sessions":   "COLLECTOR1    Active ",
		"show tam drop-monitor collectors": "COLLECTOR1    10.20.30.40       10000  -                 32    default\n",
	} {
		if got := m.CLI(command); !strings.Contains(got, want) || strings.Contains(got, "not configured any more") {
			t.Errorf("%s: %s\nwant %q", command, got, want)
		}
	}
	m.CLI("configure terminal", "no match-rule FG1 RULE1", "end")
	if row := m.state(); row["status"] != "inactive" ||
		row["reason"] != `flow group "FG1" has no rules, so no packet is of it` {
		t.Errorf("without a rule: %v", row)
	}
	// A rejected session is not shown as waiting.
	m.Set("TAM_SESSION|REFUSED", "type", "drop-monitor", "collector@", "COLLECTOR1", "drop_type", "often")
	m.CLI("configure terminal", "match-rule FG1 RULE1 src-ip-prefix 10.1.1.0/24 dst-ip-prefix 20.2.2.0/24 ip-protocol 6",
		"tam", "drop-monitor", "session SECOND collector COLLECTOR1 flow-group FG1", "end")
	const taken = `flow group "FG1" is already watched by session "DROPMONITOR": one session of the drop monitor ` +
		`watches a flow group here`
	for command, want := range map[string][]string{
		"show tam drop-monitor sessions": {
			"COLLECTOR1    Failed ", "COLLECTOR1    Active ", "\nSECOND: Failed: " + taken,
			"\nREFUSED: Failed: drop_type \"often\": want stateless or stateful",
		},
		"show tam drop-monitor sessions SECOND": {"\nStatus             : Failed\n", "Reason             : " + taken},
	} {
		for _, text := range want {
			if got := m.CLI(command); !strings.Contains(got, text) || strings.Contains(got, "Pending") {
				t.Errorf("%s:\n%swant %q", command, got, text)
			}
		}
	}
	m.CLI("configure terminal", "no match-rule FG1 RULE1", "end")
	if got := m.CLI("show tam drop-monitor sessions DROPMONITOR"); !strings.Contains(got,
		"Status             : Pending\nReason             : flow group") {
		t.Errorf("what waits: %s", got)
	}
}
