package device_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/swss"
)

// qosConfig forwards frames from Ethernet0 and Ethernet1 to Ethernet3, by DSCP: 8 into queue 1, 16 into queue 2, 46
// into queue 3.
const qosConfig = `{
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up"},
		"Ethernet3": {"lanes": "3", "speed": "10000", "admin_status": "up"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"},
		"Vlan10|Ethernet3": {"tagging_mode": "untagged"}},
	"FDB": {"Vlan10|02:00:00:00:00:33": {"port": "Ethernet3"}},
	"DSCP_TO_TC_MAP": {"AZURE": {"8": "1", "16": "2", "46": "5"}},
	"TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "1": "1", "2": "2", "5": "3"}},
	"PORT_QOS_MAP": {"Ethernet0,Ethernet1,Ethernet3": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"}},
	"SCHEDULER": {"strict": {"type": "STRICT"}, "one": {"type": "DWRR", "weight": "1"}, "three": {"type": "DWRR",
	 "weight": "3"}},
	"WRED_PROFILE": {"ecn": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "8000",
	 "green_max_threshold": "8001"}},
	"QUEUE": {
		"Ethernet3|1": {"scheduler": "one"}, "Ethernet3|2": {"scheduler": "three"}, "Ethernet3|3": {"scheduler": "strict"},
		"Ethernet3|0": {"scheduler": "one", "wred_profile": "ecn"}}
}`

// A qosSwitch is a switch with qosConfig.
type qosSwitch struct {
	*routed
}

func newQoS(t *testing.T) qosSwitch {
	c, err := device.ParseConfigDB([]byte(qosConfig))
	if err != nil {
		t.Fatal(err)
	}
	r := &routed{T: t, Sim: devicetest.NewSim(t, device.SimConfig{Config: c})}
	devicetest.RunUntilIdle(t, r.Sim)
	r.output()
	rows, err := r.Redis.DB(swss.StateDB).Client().Keys(t.Context(), "*QUEUE_TABLE|*").Result()
	if err != nil || len(rows) != 4 {
		t.Fatalf("rows %v, %v", rows, err)
	}
	for _, row := range rows {
		table, key, _ := strings.Cut(row, "|")
		if f := r.state(table, key); f["status"] != "active" {
			t.Fatalf("%s: %v", row, f)
		}
	}
	return qosSwitch{r}
}

// frame returns an IPv4 frame of 1020 bytes, 1024 with FCS: four quanta.
func (q qosSwitch) frame(tos uint8) []byte {
	q.Helper()
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: devicetest.HostMAC(1), DstMAC: devicetest.HostMAC(0x33),
			EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, IHL: 5, TOS: tos, TTL: 9, Protocol: 253, SrcIP: net.IP{10, 0, 0, 1},
			DstIP: net.IP{10, 0, 0, 2}},
		gopacket.Payload(make([]byte, 1020-34)))
	if err != nil {
		q.Fatal(err)
	}
	return buf.Bytes()
}

// race makes n frames arrive back to back at both ports, and returns the TOS bytes of the frames that left, in order.
func (q qosSwitch) race(n int, tos0, tos1 uint8) (out []uint8) {
	q.Helper()
	q.outs = nil
	at := q.Chip.Now()
	for range n {
		for port, tos := range []uint8{tos0, tos1} {
			devicetest.NoError(q.T, q.Chip.Receive(saisim.PortID(port), at, saisim.Frame{Data: q.frame(tos)}))
		}
	}
	devicetest.NoError(q.T, q.Advance(q.Context(), at+saisim.Cycle(q.Chip.Profile().ClockHz/1000)))
	for _, f := range q.outs {
		if f.Port != 3 {
			q.Errorf("a frame left at port %d", f.Port)
		}
		if s := describe(f); strings.Contains(s, "wrong checksum") {
			q.Error(s)
		}
		out = append(out, f.Data[15])
	}
	return out
}

func countTOS(list []uint8, tos uint8) int { return bytes.Count(list, []byte{tos}) }

const (
	dscp8, dscp16, dscp46 = 8 << 2, 16 << 2, 46 << 2
	ect0, ce              = 2, 3
)

// Packets of the strict queue leave before all others. At most one other frame precedes them: the frame that was being
// sent when the first strict packet arrived.
func TestStrictPriority(t *testing.T) {
	q := newQoS(t)
	out := q.race(60, dscp8, dscp46)
	first, last := bytes.IndexByte(out, dscp46), bytes.LastIndexByte(out, dscp46)
	if len(out) != 120 || first > 1 || countTOS(out[first:last+1], dscp46) != 60 || last-first != 59 {
		t.Errorf("%d frames left; the strict queue's from %d to %d", len(out), first, last)
	}
}

// Two queues of weights 1 and 3 that are never empty share the port 1 to 3, in every four frames.
func TestDeficitRoundRobinShares(t *testing.T) {
	q := newQoS(t)
	out := q.race(60, dscp8, dscp16)
	if len(out) != 120 {
		t.Fatalf("%d frames left", len(out))
	}
	// The queue of weight 3 lasts for 80 frames. The first ones leave before both queues hold frames.
	for i := 8; i+4 <= 76; i++ {
		if n := countTOS(out[i:i+4], dscp16); n != 3 {
			t.Errorf("frames %d to %d: %d of the queue of weight 3: %v", i, i+3, n, out[:80])
			break
		}
	}
}

// Above the threshold, ECN-capable frames are marked, and other frames are dropped. The chip's counters, COUNTERS_DB
// and the frames that left agree.
func TestECN(t *testing.T) {
	q := newQoS(t)
	out := q.race(60, ect0, ect0)
	marked := countTOS(out, ce)
	s, _ := q.Chip.QueueState(3, 0)
	if len(out) != 120 || marked == 0 || uint64(marked) != s.Marked {
		t.Errorf("%d frames left, %d marked; the chip says %d", len(out), marked, s.Marked)
	}
	// Two frames arrive for each that leaves, so the queue exceeds 8000 bytes from about the 17th frame on. At the end
	// it drains without new frames.
	if marked < 100 || marked > 106 {
		t.Errorf("%d of 120 are marked", marked)
	}
	out = q.race(60, 0, ect0)
	now, _ := q.Chip.QueueState(3, 0)
	if dropped := now.DroppedWRED; countTOS(out, 0) != 60-int(dropped) || dropped == 0 ||
		countTOS(out, ect0)+countTOS(out, ce) != 60 {
		t.Errorf("%d frames that cannot be marked left, %d were dropped, of the others %d left", countTOS(out, 0), dropped,
			countTOS(out, ect0)+countTOS(out, ce))
	}
	devicetest.NoError(t, q.Poll(t.Context()))
	counters := q.Redis.DB(swss.CountersDB).Client()
	oid, err := counters.HGet(t.Context(), "COUNTERS_QUEUE_NAME_MAP", "Ethernet3:0").Result()
	if err != nil {
		t.Fatal(err)
	}
	for stat, want := range map[string]uint64{
		"SAI_QUEUE_STAT_PACKETS": now.Dequeued, "SAI_QUEUE_STAT_DROPPED_PACKETS": now.DroppedWRED,
		"SAI_QUEUE_STAT_WRED_DROPPED_PACKETS": now.DroppedWRED, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": now.Marked,
	} {
		if got := counters.HGet(t.Context(), "COUNTERS:"+oid, stat).Val(); got != fmt.Sprint(want) {
			t.Errorf("%s is %s, the chip says %d", stat, got, want)
		}
	}
}

// A rule mirrors frames from Ethernet3 to a collector that a route leads to. The copy is the frame as it arrived, in
// GRE and ERSPAN type II. Without the neighbour, the session and the rule wait, and report the cause.
func TestERSPAN(t *testing.T) {
	r := newRouted(t)
	r.config("MIRROR_SESSION|far", swss.FieldValues{"src_ip": "10.255.0.1", "dst_ip": "10.9.0.5", "dscp": "8",
		"ttl": "64"})
	r.config("ACL_TABLE|M", swss.FieldValues{"type": "MIRROR", "ports@": "Ethernet3"})
	r.config("ACL_RULE|M|R", swss.FieldValues{"PRIORITY": "10", "SRC_IP": "10.3.0.0/24", "MIRROR_INGRESS_ACTION": "far"})
	if f := r.state("MIRROR_SESSION_TABLE", "far"); f["status"] != "active" || f["monitor_port"] != "Ethernet2" ||
		f["next_hop_ip"] != "10.2.0.2" {
		t.Errorf("session %v", f)
	}
	if f := r.state("ACL_RULE_TABLE", "M|R"); f["status"] != "Active" {
		t.Errorf("rule %v", f)
	}
	in := ipFrame(t, devicetest.HostMAC(0x33), "10.3.0.2", "10.7.0.1", 64,
		9) // the route drops the frame, but it is still mirrored
	got := r.send(3, in)
	if len(got) != 1 || got[0].Port != 2 {
		t.Fatalf("%d frames left", len(got))
	}
	out := got[0].Data
	head := "020000000022" + "0200000007e4" + "0800" + // Ethernet header, to the neighbour
		"4520%04x000040004" + "02f%04x" + "0aff0001" + "0a090005" + // TOS 32, not to be fragmented, TTL 64, GRE
		"1000" + "88be" + "00000000" // GRE with sequence number 0, ERSPAN
	want := fmt.Sprintf(head, 20+8+8+len(in), binary.BigEndian.Uint16(out[24:]))
	if h := hex.EncodeToString(out[:42]); h != want {
		t.Errorf("headers\n got %s\nwant %s", h, want)
	}
	if s := describe(got[0]); strings.Contains(s, "wrong checksum") {
		t.Error(s)
	}
	p := gopacket.NewPacket(out[42:], layers.LayerTypeERSPANII, gopacket.Default)
	if e, ok := p.Layer(layers.LayerTypeERSPANII).(*layers.ERSPANII); !ok || e.Version != 1 {
		t.Errorf("ERSPAN header %x", out[42:50])
	}
	if !bytes.Equal(out[50:], in) {
		t.Errorf("mirrored\n%x\ncame in\n%x", out[50:], in)
	}

	r.config("NEIGH|Ethernet2|10.2.0.2", nil)
	if f := r.state("MIRROR_SESSION_TABLE", "far"); f["status"] != "inactive" || f["reason"] == "" ||
		f["monitor_port"] != "" {
		t.Errorf("session without a neighbour: %v", f)
	}
	if f := r.state("ACL_RULE_TABLE", "M|R"); f["reason"] != "mirror session far is not active" {
		t.Errorf("rule without its session: %v", f)
	}
	if got := r.send(3, in); len(got) != 0 {
		t.Errorf("%d frames left without a session", len(got))
	}
	r.config("NEIGH|Ethernet2|10.2.0.2", swss.FieldValues{"neigh": "02:00:00:00:00:22"})
	if got := r.send(3, in); len(got) != 1 {
		t.Errorf("%d frames left when the neighbour was back", len(got))
	}
}
