package fates

import (
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"tamtam/device/devicetest"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/tam/record"
)

// early is a program whose first stage drops UDP to port 7777.
const early = `{"name": "early", "ingress": {"tables": [{"name": "filter", "stage": 0, "match": "exact", "size": 4,
 "key": [{"field": "l4.dst"}],
	"actions": [{"name": "drop", "ops": [{"do": "set", "to": "ctl.drop", "a": {"const": 1}}]}],
	"entries": [{"id": 1, "key": [{"value": 7777}], "action": "drop"}]}]}}`

// Packets are selected for recording before any decision about them. Of 300 packets, 200 are dropped before the
// ingress ACL, and each of the 300 has its record with the reason.
func TestRecordsOfEarlyDrops(t *testing.T) {
	program, err := pipe.Read(strings.NewReader(early))
	if err != nil {
		t.Fatal(err)
	}
	r := newRecording(t, profile.Small(), program, swss.FieldValues{"must-record": "ingress.filter"})
	frame := func(port layers.UDPPort) []byte {
		return ipPacket(t, &layers.Ethernet{SrcMAC: devicetest.HostMAC(0x11), DstMAC: devicetest.RouterMAC,
			EthernetType: layers.EthernetTypeIPv4},
			&layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 0, 0, 9},
				DstIP: []byte{10, 2, 0, 2}},
			&layers.UDP{SrcPort: 7, DstPort: port}, devicetest.Payload(20))
	}
	good, dropped := frame(80), frame(7777)
	fromGroup, noVLAN := slices.Clone(good), slices.Concat(good[:12], []byte{0x81, 0, 0x0f, 0xa0}, good[12:])
	fromGroup[6] |= 1
	noVLAN[5] ^= 1 // another destination than the router, which would trap the packet
	var frames []devicetest.SentFrame
	for i := range 300 {
		frames = append(frames, devicetest.SentFrame{Port: 0, Data: [][]byte{good, dropped, good, fromGroup, dropped,
			noVLAN}[i%6]})
	}
	r.send(frames...)
	plans := map[uint16]*record.Plan{0: r.plan("s0"), 1: r.plan("s1")}
	c, packets := r.records(plans[0])
	if r.check(plans, packets); len(packets) != 300 {
		t.Errorf("%d records of 300 frames", len(packets))
	}
	ended, hit := map[string]int{}, 0
	for _, p := range packets {
		ended[plans[0].Graph.Reasons[p.Why]]++
		if strings.Contains(p.Path(), "chip.acl hit") {
			hit++
		}
	}
	if ended["program"] != 100 || ended["source-address"] != 50 || ended["no-vlan"] != 50 || ended["none"] != 100 {
		t.Errorf("records of %v", ended)
	}
	// No packet matches the only rule of the operator's ACL, telnet.
	if report := c.Report(); hit != 0 || slices.Contains(report.Plans[0].Coverage.Never, "chip.acl") {
		t.Errorf("%d records have a hit in chip.acl; never run: %v", hit, report.Plans[0].Coverage.Never)
	}
}
