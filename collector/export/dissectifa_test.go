package export

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"tamtam/tam/dropreport"
	"tamtam/tam/ifa"
)

// analysedFrame returns a UDP or TCP frame with these IFA hops, as switches would make it, beginning with the first
// hop.
func analysedFrame(t *testing.T, v6, tcp bool, hops []ifa.Hop) []byte {
	t.Helper()
	proto, n, payload := byte(17), 8, udp(80, make([]byte, 30))
	if tcp {
		proto, n, payload = 6, 24, make([]byte, 60)
		payload[12] = 6 << 4
	}
	f := ethernet(v6, false, proto, payload)
	at := map[bool]int{false: 20, true: 40}[v6]
	ip := ifa.Insert(bytes.Clone(f[14:]), at, n, ifa.Header{GNS: ifa.PerHop, Next: proto, Flags: ifa.Inband,
		MaxLength: 64},
		ifa.Metadata{Request: 3, Action: 4, HopLimit: 9}, &hops[0])
	for i := range hops[1:] {
		p, err := ifa.Locate(ip)
		if err != nil {
			t.Fatal(err)
		}
		ip = p.Push(ip, &hops[i+1])
	}
	return append(f[:14:14], ip...)
}

// reportOf returns a terminator's report of a frame.
func reportOf(frame []byte) []byte {
	u16, u32 := binary.BigEndian.AppendUint16, binary.BigEndian.AppendUint32
	record := append(make([]byte, 8), dropreport.StatusForwarded)
	record = u16(u32(u32(record, 1), 3), uint16(len(frame)))
	record = append(u16(append(record, 255), uint16(len(frame))), frame...)
	set := append(u16(u16(nil, dropreport.IFATemplate), uint16(len(record)+4)), record...)
	message := append(u16(u16(nil, 10), uint16(len(set)+16)), make([]byte, 12)...)
	return ethernet(false, false, 17, udp(4739, append(message, set...)))
}

// The dissector reads the same hops as tamtam: in TCP and UDP packets, in copies and in reports. For frames without
// IFA, or truncated ones, it shows nothing.
func TestDissectIFA(t *testing.T) {
	hasTshark(t)
	at := uint32(epoch.Unix())
	hops := []ifa.Hop{
		{Device: 11, TTL: 63, Speed: 4, Congestion: 3, Queue: 5, Seconds: at & (1<<20 - 1), Nanoseconds: 7, InPort: 4,
			OutPort:   8,
			Residence: 612, QueueBytes: 1400},
		{Device: ifa.MaxDevice, TTL: 62, Speed: ifa.UnknownSpeed, Seconds: (at - 5) & (1<<20 - 1), Nanoseconds: 999_999_999,
			InPort: ifa.NoPort, OutPort: 0, Residence: ifa.Longest, QueueBytes: 1<<32 - 1,
			Trust: ifa.NoEgress | ifa.Unsynchronised},
	}
	plain, tcp := analysedFrame(t, false, false, hops), analysedFrame(t, true, true, hops)
	foreign := bytes.Clone(plain)
	foreign[34] = 2<<4 | 3 // the global name space of the IFA header
	cut := bytes.Clone(plain)
	cut[34+4+8+3] = 250 // the metadata stack is longer than the packet
	got := dissected(t, [][]byte{plain, tcp, erspan(false, plain), reportOf(tcp), foreign, cut, reportOf(cut)},
		"tamtam.ifa.gns", "tamtam.ifa.next", "tamtam.ifa.max_length", "tamtam.ifa.request", "tamtam.ifa.action",
		"tamtam.ifa.hop_limit",
		"tamtam.ifa.length", "tamtam.ifa.device", "tamtam.ifa.ttl", "tamtam.ifa.speed", "tamtam.ifa.congestion",
		"tamtam.ifa.queue",
		"tamtam.ifa.in_port", "tamtam.ifa.out_port", "tamtam.ifa.residence", "tamtam.ifa.queue_bytes", "tamtam.ifa.no_egress",
		"tamtam.ifa.unsynchronised", "tamtam.ifa.received")
	stamp := func(h ifa.Hop) string {
		when, _ := h.Received(epoch)
		return when.Format("Jan _2, 2006 15:04:05.000000000 UTC")
	}
	const head = "\t64\t0x03\t0x04\t8\t16\t"
	hop := "1048575,11\t62,63\t15,4\t0,3\t0,5\t65535,4\t0,8\t612\t4294967295,1400\t1,0\t1,0\t" + stamp(hops[1]) + "," +
		stamp(hops[0])
	want := []string{"15\t17" + head + hop, "15\t6" + head + hop, "15\t17" + head + hop, "15\t6" + head + hop,
		"3\t17" + head, "", ""}
	for i, line := range got {
		if i >= len(want) || strings.TrimRight(line, "\t") != strings.TrimRight(want[i], "\t") {
			t.Errorf("frame %d:\ngot  %q\nwant %q", i, line, want[min(i, len(want)-1)])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d frames, want %d", len(got), len(want))
	}
}
