package fates

import (
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"tamtam/collector"
	"tamtam/device/devicetest"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/tam/record"
)

// byQueue is a program whose ingress pipe chooses a queue, and whose egress pipe runs tables by queue, port and
// length.
const byQueue = `{"name": "by-queue",
	"ingress": {"tables": [{"name": "class", "stage": 0, "match": "exact", "size": 4, "key": [{"field": "l4.dst"}],
		"actions": [{"name": "voice", "ops": [{"do": "set", "to": "pkt.tc", "a": {"const": 3}}]}],
		"entries": [{"id": 1, "key": [{"value": 4791}], "action": "voice"}]}]},
	"egress": {"tables": [
		{"name": "voice", "stage": 0, "match": "always", "gate": [[{"field": "q.id", "is": "eq", "value": 3}]]},
		{"name": "uplink", "stage": 1, "match": "always", "gate": [[{"field": "out.port", "is": "eq", "value": 1}]]},
		{"name": "long", "stage": 2, "match": "always",
			"gate": [[{"field": "in.port", "is": "eq", "value": 0}, {"field": "pkt.length", "is": "ge", "value": 100}]]}]}}`

// A record contains port, queue, length and trap of its packet. These determine which gates were open, and what the
// packet has matched before the trap. If a plan's bits alone leave several possible paths, these facts leave one.
func TestRecordsByWhereTheyEnded(t *testing.T) {
	program, err := pipe.Read(strings.NewReader(byQueue))
	if err != nil {
		t.Fatal(err)
	}
	r := newRecording(t, profile.Small(), program, swss.FieldValues{"phv": "8", "mode": record.ModeExecution,
		"must-record": "chip.acl,chip.learning,chip.router_mac,chip.next_hop,chip.fdb,chip.flymon,chip.egress_acl," +
			"chip.tail_stamp"})
	frame := func(ttl uint8, port layers.UDPPort, n int) devicetest.SentFrame {
		return devicetest.SentFrame{Port: 0, Data: ipPacket(t, &layers.Ethernet{SrcMAC: devicetest.HostMAC(0x11),
			DstMAC:       devicetest.RouterMAC,
			EthernetType: layers.EthernetTypeIPv4},
			&layers.IPv4{Version: 4, TTL: ttl, Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 0, 0, 9},
				DstIP: []byte{10, 2, 0, 2}},
			&layers.UDP{SrcPort: 7, DstPort: port}, devicetest.Payload(n))}
	}
	r.send(frame(64, 80, 20), frame(64, 4791, 20), frame(64, 80, 200), frame(64, 4791, 200), frame(1, 80, 20))
	plans := map[uint16]*record.Plan{0: r.plan("s0"), 1: r.plan("s1")}
	c, packets := r.records(plans[0])
	alone, err := collector.NewRecords(plans[0])
	if err != nil {
		t.Fatal(err)
	}
	alone.BitsAlone()
	for _, f := range r.frames {
		alone.Add(f, len(f))
	}
	if exact := r.check(plans, packets); len(packets) != 5 || exact != 4 {
		t.Errorf("%d of %d records have an exact path: %s", exact, len(packets), packets[0].Path())
	}
	if p := alone.Report().Plans[0]; p.Exact != 0 || p.Ambiguous != 5 {
		t.Errorf("by their bits alone %d records have an exact path", p.Exact)
	}
	for i, want := range []string{"", "egress.voice", "egress.long", "egress.voice > egress.long"} {
		has := func(table string) bool { return strings.Contains(packets[i].Path(), table) }
		if has("egress.voice") != strings.Contains(want, "voice") || has("egress.long") != strings.Contains(want, "long") {
			t.Errorf("record %d: %s, want %s", i, packets[i].Path(), want)
		}
	}
	if fate := packets[4].Fate(); fate != "CPU (ttl_error)" {
		t.Errorf("a packet whose TTL ends: %s", fate)
	}
	if n := c.Report().Plans[0].Exact; n != 4 {
		t.Errorf("%d exact in the report", n)
	}
}
