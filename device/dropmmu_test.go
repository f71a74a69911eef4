package device_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"tamtam/saisim/drop"
	"tamtam/swss"
	"tamtam/tam/ipfix"
)

// numbered returns a frame of a flow, extended by more bytes, with the number n in its last bytes.
func (m *monitored) numbered(src string, n, more int) []byte {
	f := append(m.packet(src, "20.2.2.8", 1000, 80), make([]byte, more)...)
	binary.BigEndian.PutUint32(f[len(f)-4:], uint32(n))
	return f
}

func numberOf(frame []byte) int { return int(binary.BigEndian.Uint32(frame[len(frame)-4:])) }

// This is a strict form of sonic-mgmt's test of drops in the MMU. Two ports send at line rate to a third one, whose
// queue holds 40 cells of 64 bytes. Each frame either leaves or is reported, never both. Each report contains the queue
// and its depth, which leaves no space for the frame. It also contains the queue's cells by ingress port: whole frames
// of 2 and 3 cells.
func TestDropMonitorMMU(t *testing.T) {
	for _, flowAware := range []bool{false, true} {
		m := newMonitored(t, flowAware)
		m.Set("INTERFACE|Ethernet3")
		m.Set("INTERFACE|Ethernet3|10.4.0.1/24")
		m.Set("BUFFER_POOL|POOL", "type", "egress", "mode", "static", "size", "40000")
		m.Set("BUFFER_PROFILE|FEW", "pool", "POOL", "size", "0", "static_th", fmt.Sprint(40*64))
		m.Set("BUFFER_QUEUE|Ethernet2|0", "profile", "FEW")
		m.configure(flowAware)
		for _, p := range m.Problems() {
			t.Error(p)
		}
		const each = 200
		sent := map[int][]byte{}
		for n := range each {
			one, other := m.numbered("10.1.1.7", n, 0), m.numbered("10.1.1.9", each+n, 64)
			m.Send("Ethernet0", one)
			m.Send("Ethernet3", other)
			sent[n], sent[each+n] = one, other
		}
		m.Advance(50 * time.Millisecond)
		left := map[int]bool{}
		for _, f := range m.Left("Ethernet2") {
			left[numberOf(f)] = true
		}
		d := ipfix.NewDecoder(54321)
		got := m.reports(d, "Ethernet1")
		reported := map[int]bool{}
		for _, r := range got {
			n := m.judgeMMU(r, sent)
			if left[n] || reported[n] {
				t.Errorf("frame %d: left %v, reported %v, reported again", n, left[n], reported[n])
			}
			reported[n] = true
		}
		missing := 0
		for n := range sent {
			if !left[n] && !reported[n] && !(flowAware && n >= each) { // frames of the other port are not monitored
				missing++
			}
		}
		if c := d.Counts(); missing > 0 || len(reported) < each/10 || c.Lost+c.Late+c.Bad+c.WithoutTemplate > 0 {
			t.Errorf("%d frames neither left nor were reported, %d reports, %+v", missing, len(reported), c)
		}
		n := fmt.Sprint(len(reported))
		m.counted(n, n, n)
		if flowAware && slices.Max(slices.Collect(maps.Keys(reported))) >= each {
			t.Error("a report of a port that is not watched")
		}
	}
}

// judgeMMU checks all fields of a report of a full queue, and returns the frame's number.
func (m *monitored) judgeMMU(r dropReport, sent map[int][]byte) int {
	m.Helper()
	section, err := hex.DecodeString(r.values["dataLinkFrameSection"])
	if err != nil {
		m.Fatal(err)
	}
	n := numberOf(section)
	field := func(name string) int {
		v, err := strconv.Atoi(r.values[name])
		if err != nil {
			m.Errorf("%s: %v", name, err)
		}
		return v
	}
	bytes, who := map[string]int{}, ""
	for i := 1; i <= 3; i++ {
		filler, filled := fmt.Sprint("tamtamQueueFiller", i), fmt.Sprint("tamtamQueueFilled", i)
		bytes[r.values[filler]] += field(filled)
		who += r.values[filler] + " "
		delete(r.values, filler)
		delete(r.values, filled)
	}
	few, many := bytes["1"]/len(sent[0]), bytes["4"]/len(sent[len(sent)-1])
	depth, cells := few*len(sent[0])+many*len(sent[len(sent)-1]), 2*few+3*many
	if cells > 40 || cells+(len(section)+63)/64 <= 40 || bytes["1"]+bytes["4"] != depth || bytes["0"] != 0 {
		m.Errorf("a queue filled by %s with %v: want whole frames, and no room for one of %d bytes", who, bytes, len(section))
	}
	delete(r.values, "observationTimeNanoseconds")
	in, src := "1", "10.1.1.7"
	if n >= len(sent)/2 {
		in, src = "4", "10.1.1.9"
	}
	if all := map[string]string{
		"dataLinkFrameSection": hex.EncodeToString(sent[n]), "dataLinkFrameSize": fmt.Sprint(len(section)),
		"destinationIPv4Address": "20.2.2.8", "sourceIPv4Address": src, "protocolIdentifier": "6",
		"sourceTransportPort": "1000", "destinationTransportPort": "80", "droppedPacketDeltaCount": "1",
		"forwardingStatus": "128", "ingressInterface": in, "egressInterface": "3", "tamtamDropEvent": "1",
		"tamtamDropFlags": "0", "tamtamDropStage": "2", "tamtamDropReason": fmt.Sprint(int(drop.QueueLimit)),
		"tamtamQueue": "0", "tamtamQueueDepth": fmt.Sprint(depth),
	}; !maps.Equal(r.values, all) {
		m.Errorf("a report of %v, want %v", r.values, all)
	}
	return n
}

// lastHop returns a packet whose TTL ends here.
func (m *monitored) lastHop(src, dst string, sport uint16) []byte {
	f := m.packet(src, dst, sport, 80)
	f[22], f[24], f[25] = 1, 0, 0
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(f[i:]))
	}
	binary.BigEndian.PutUint16(f[24:], ^uint16(sum+sum>>16))
	return f
}

// Packets that a trap removes from forwarding are reported with the reason, and counted separately from drops. If the
// trap drops packets, they count as dropped.
func TestDropMonitorTraps(t *testing.T) {
	m := newMonitored(t, false)
	m.configure(false)
	over := m.lastHop("10.1.1.7", "20.2.2.8", 1000)
	unknown := m.packet("10.1.1.7", "10.3.0.77", 1000, 80)
	d := ipfix.NewDecoder(54321)
	want := func(step, reports, dropped, trapped string) {
		t.Helper()
		m.Send("Ethernet0", over, unknown)
		m.Advance(50 * time.Millisecond)
		got := ""
		for _, r := range m.reports(d, "Ethernet1") {
			got += fmt.Sprint(r.values["tamtamDropReason"], "/", r.values["tamtamDropFlags"], "/", r.values["forwardingStatus"],
				" ")
		}
		if got != reports {
			t.Errorf("%s: reason/flags/status %s, want %s", step, got, reports)
		}
		m.Poll()
		row := m.Row(swss.CountersDB, "TAM_DROP_MONITOR_COUNTERS:DROPMONITOR")
		if row["DROPPED_PACKETS"] != dropped || row["TRAPPED_PACKETS"] != trapped {
			t.Errorf("%s: %v, want %s dropped, %s trapped", step, row, dropped, trapped)
		}
	}
	ttl, neighbor := int(drop.TTL), int(drop.NoNeighbor)
	want("trapped", fmt.Sprintf("%d/16/193 %d/16/194 ", ttl, neighbor), "0", "2")
	m.Set("COPP_GROUP|quiet", "trap_action", "drop", "queue", "0")
	m.Set("COPP_TRAP|errors", "trap_ids", "ttl_error,neighbor_miss", "trap_group", "quiet", "always_enabled", "true")
	want("dropped", fmt.Sprintf("%d/0/137 %d/0/132 ", ttl, neighbor), "2", "2")
}
