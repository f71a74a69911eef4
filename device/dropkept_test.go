package device_test

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device/devicetest"
)

// keptReports is a file with messages of a chip, one per line in hexadecimal, for tests of their readers.
const keptReports = "../collector/export/testdata/dropreports.hex"

// six returns a frame of UDP over IPv6.
func (m *monitored) six(sport uint16) []byte {
	m.Helper()
	eth := layers.Ethernet{
		SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 0x11}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 7, 0xe4},
		EthernetType: layers.EthernetTypeIPv6,
	}
	ip := layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP,
		SrcIP: net.ParseIP("2000:10:1::7"), DstIP: net.ParseIP("2001:db8:77::9")}
	udp := layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: 53}
	devicetest.NoError(m.T, udp.SetNetworkLayerForChecksum(&ip))
	b := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	devicetest.NoError(m.T, gopacket.SerializeLayers(b, opts, &eth, &ip, &udp, gopacket.Payload("drop")))
	return b.Bytes()
}

// The stored reports for tests of collectors equal the reports that a chip makes. Packets are dropped for lack of a
// route, by a queue that three ports have filled, and by a blackhole. One packet is received only by the CPU. The
// packets have both IP versions and different source ports.
func TestKeptDropReports(t *testing.T) {
	m := newMonitored(t, false)
	m.Set("TAM_COLLECTOR|COLLECTOR1", "dst_ip", "10.20.30.40", "dst_port", "10000")
	m.Set("TAM_SESSION|DROPMONITOR", "type", "drop-monitor", "collector@", "COLLECTOR1")
	m.Set("STATIC_ROUTE|20.2.2.9/32", "blackhole", "true")
	m.Set("BUFFER_POOL|POOL", "type", "egress", "mode", "static", "size", "40000")
	m.Set("BUFFER_PROFILE|FEW", "pool", "POOL", "size", "0", "static_th", fmt.Sprint(8*64))
	m.Set("BUFFER_QUEUE|Ethernet2|1", "profile", "FEW")
	m.Set("DSCP_TO_TC_MAP|ALL", "0", "1")
	m.Set("PORT_QOS_MAP|Ethernet0,Ethernet1,Ethernet3", "dscp_to_tc_map", "ALL")
	m.Set("INTERFACE|Ethernet3")
	m.Set("INTERFACE|Ethernet3|10.4.0.1/24")
	m.Send("Ethernet0", m.packet("10.1.1.7", "20.2.2.9", 7001, 80), m.packet("10.1.1.7", "30.3.3.3", 7002, 80),
		m.six(7003),
		m.lastHop("10.1.1.7", "20.2.2.8", 7004))
	m.Advance(50 * time.Millisecond)
	for n := range uint16(6) {
		for i, port := range []string{"Ethernet0", "Ethernet1", "Ethernet3"} {
			m.Send(port, m.packet("10.1.1.7", "20.2.2.8", 7100+10*n+uint16(i), 80))
		}
	}
	m.Advance(50 * time.Millisecond)
	var lines []string
	for _, f := range m.Left("Ethernet1") {
		p := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
		if udp, ok := p.TransportLayer().(*layers.UDP); ok && udp.DstPort == 10000 {
			lines = append(lines, hex.EncodeToString(udp.Payload))
		}
	}
	text := strings.Join(lines, "\n") + "\n"
	kept, err := os.ReadFile(keptReports)
	if err != nil || string(kept) != text {
		t.Errorf("%s is not what the chip sends (%v): TAMTAM_KEEP=1 go test -run TestKeptDropReports ./device", keptReports,
			err)
	}
	if os.Getenv("TAMTAM_KEEP") != "" {
		devicetest.NoError(t, os.WriteFile(keptReports, []byte(text), 0o644))
	}
}
