package sonicmgmt_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/swss"
	"tamtam/tamtamtest"
)

// routed is a switch with four routed ports, a host at each, a route behind the host of Ethernet1, and a VLAN.
const routed = `{
	"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:00:01"}},
	"INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.1/24": {}, "Ethernet1": {}, "Ethernet1|10.1.0.1/24": {},
		"Ethernet2": {}, "Ethernet2|10.2.0.1/24": {}, "Ethernet3": {}, "Ethernet3|10.3.0.1/24": {},
		"Ethernet0|2001:db8::1/64": {}},
	"NEIGH": {"Ethernet0|10.0.0.2": {"neigh": "02:00:00:00:01:00"}, "Ethernet1|10.1.0.2": {"neigh": "02:00:00:00:01:01"},
		"Ethernet2|10.2.0.2": {"neigh": "02:00:00:00:01:02"}, "Ethernet3|10.3.0.2": {"neigh": "02:00:00:00:01:03"}},
	"STATIC_ROUTE": {"10.9.0.0/16": {"nexthop": "10.1.0.2"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {"Vlan10|Ethernet4": {"tagging_mode": "untagged"}, "Vlan10|Ethernet5": {"tagging_mode": "untagged"}}}`

// A bench is a switch with the configuration routed.
type bench struct {
	*testing.T
	*tamtamtest.Switch
}

func newBench(t *testing.T, more ...string) bench {
	t.Helper()
	return bench{t, tamtamtest.Start(t, append([]string{routed}, more...)...)}
}

// A packet has the fields of a test's packet.
type packet struct {
	eth layers.Ethernet
	ip  layers.IPv4
	udp layers.UDP
}

func mac(n byte) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 1, n} }

// frame returns a UDP datagram from the host of Ethernet0 to 10.9.0.1, by the switch, after changes.
func frame(t *testing.T, change ...func(p *packet)) []byte {
	t.Helper()
	p := packet{
		layers.Ethernet{SrcMAC: mac(0), DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, EthernetType: layers.EthernetTypeIPv4},
		layers.IPv4{Version: 4, IHL: 5, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{10, 0, 0, 2},
			DstIP: net.IP{10, 9, 0, 1}},
		layers.UDP{SrcPort: 1000, DstPort: 2000},
	}
	for _, f := range change {
		f(&p)
	}
	if err := p.udp.SetNetworkLayerForChecksum(&p.ip); err != nil {
		t.Fatal(err)
	}
	return serialized(t, &p.eth, &p.ip, &p.udp, gopacket.Payload(make([]byte, 60)))
}

func serialized(t *testing.T, list ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		list...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// inject sends a frame n times, and lets it pass the switch.
func (b bench) inject(port string, frame []byte, n int) {
	b.Helper()
	for range n {
		b.Send(port, frame)
		b.Advance(10 * time.Microsecond)
	}
}

// left returns how many frames have left by each port since the last call. Ports without frames are missing.
func (b bench) left() map[string]int {
	n := map[string]int{}
	for _, port := range []string{"Ethernet0", "Ethernet1", "Ethernet2", "Ethernet3", "Ethernet4", "Ethernet5",
		"Ethernet6", "Ethernet7", tamtamtest.CPU} {
		if frames := len(b.Left(port)); frames > 0 {
			n[port] = frames
		}
	}
	return n
}

// statistic returns a statistic of a port, as syncd has read it.
func (b bench) statistic(port, stat string) uint64 {
	b.Helper()
	b.Poll()
	oid := b.Row(swss.CountersDB, "COUNTERS_PORT_NAME_MAP")[port]
	n, err := strconv.ParseUint(b.Row(swss.CountersDB, "COUNTERS:"+oid)[stat], 10, 64)
	if err != nil {
		b.Fatalf("%s of %s: %v", stat, port, err)
	}
	return n
}

// debugged returns what a debug counter has counted at a port.
func (b bench) debugged(port, counter string) uint64 {
	b.Helper()
	return b.statistic(port, b.Row(swss.CountersDB, "COUNTERS_DEBUG_NAME_PORT_STAT_MAP")[counter])
}
