package collector

import (
	"net/netip"
	"strings"
	"testing"

	"tamtam/tam/sflow"
)

// sflowDatagram returns a datagram with a sample of each kind.
func sflowDatagram(sequence, uptime uint32) []byte {
	depth := uint32(5000)
	header := append(
		[]byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00\x45\x00\x00\x2e\x00\x00\x00\x00\x40\x11\x00\x00"+
			"\xc0\x00\x02\x01\xc0\x00\x02\x02\x03\xe8\x00\x50\x00\x1a\x00\x00"), make([]byte, 18)...)
	generic := &sflow.Generic{Index: 5, Type: sflow.TypeEthernet, InOctets: 900, OutOctets: sflow.Unknown64,
		Promiscuous: sflow.Unknown32}
	packet := sflow.Packet{Header: &sflow.Header{Protocol: sflow.EthernetHeader, Length: 64, Stripped: 4, Bytes: header}}
	dropped := packet
	dropped.Queue, dropped.Trap = &sflow.Queue{Number: 3, Depth: &depth},
		&sflow.Trap{Group: "tamtam", Name: "queue-limit\n"}
	return (&sflow.Datagram{Agent: netip.MustParseAddr("10.0.0.9"), Sequence: sequence, Uptime: uptime,
		Samples: []sflow.Sample{
			&sflow.FlowSample{Sequence: 4, Source: sflow.Source{Index: 5}, Rate: 256, Pool: 1024,
				Input:  sflow.Interface{Value: 5},
				Output: sflow.Interface{Format: sflow.Discard, Value: uint32(sflow.TTLExceeded)}, Packet: packet},
			&sflow.CounterSample{Sequence: 7, Source: sflow.Source{Index: 5}, Generic: generic},
			&sflow.Discarded{Sequence: 1, Source: sflow.Source{Index: 5}, Drops: 9, Input: 5, Output: 8,
				Reason: sflow.NoBufferSpace, Packet: dropped},
			&sflow.Other{Enterprise: 4413, Format: 1, Bytes: make([]byte, 8)},
		}}).Append(nil)
}

var sflowFrom = netip.MustParseAddrPort("192.0.2.9:40000")

func printed(t *testing.T, asJSON bool, datagrams ...[]byte) string {
	t.Helper()
	var out strings.Builder
	s := NewSFlow(&out, asJSON)
	for _, b := range datagrams {
		if err := s.Datagram(sflowFrom, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Report(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Each sample is a line. Unknown values are absent, and text from a switch cannot control the terminal.
func TestSFlowLines(t *testing.T) {
	want := "10.0.0.9/0 datagram 1 flow source=5 sequence=4 rate=256 pool=1024 drops=0 input=5 " +
		"output=discard:ttl_exceeded " +
		"length=64 UDP 192.0.2.1:1000 > 192.0.2.2:80\n" +
		"10.0.0.9/0 datagram 1 counters source=5 sequence=7 Index=5 Type=6 Speed=0 Direction=0 Status=0 InOctets=900 " +
		"InUnicast=0 InMulticast=0 InBroadcast=0 InDiscards=0 InErrors=0 InUnknownProtocols=0 " +
		"OutUnicast=0 OutMulticast=0 OutBroadcast=0 OutDiscards=0 OutErrors=0\n" +
		"10.0.0.9/0 datagram 1 discard source=5 sequence=1 drops=9 input=5 output=8 reason=no_buffer_space " +
		`trap="tamtam/queue-limit\n" queue=3 queue_bytes=5000 length=64 UDP 192.0.2.1:1000 > 192.0.2.2:80
10.0.0.9/0 datagram 1 other unread=["4413:1, 8 bytes"]
192.0.2.9:40000: sflow: byte 4: version: 1768713313, want 5
10.0.0.9/0: 1 datagrams, 0 lost: 1 flow samples, 1 counter samples, 1 discards, 1 samples that are not known here
1 datagrams that are wrong, 0 of agents beyond the first 256, of which nothing is known
`
	if got := printed(t, false, sflowDatagram(1, 1), []byte("illa")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, want := range []string{
		`"sample":"flow","source":"5","sequence":4,"rate":256,"pool":1024,"drops":0,"input":"5","output":"discard ` +
			`ttl_exceeded"`,
		`"counters":{"Direction":0,"InBroadcast":0,`,
		`"reason":"no_buffer_space","trap":"tamtam/queue-limit\n","queue":3,"queue_bytes":5000`,
		`{"agent":"10.0.0.9/0","datagrams":1,"flow_samples":1,"counter_samples":1,"discards":1,"others":1,` +
			`"datagrams_lost":0,` +
			`"datagrams_late":0,"restarts":0}`,
	} {
		if got := printed(t, true, sflowDatagram(1, 1)); !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// Missing datagrams are counted by their numbers, also when these wrap. A late datagram no longer counts as missing. A
// restart of an agent does not count as a loss.
func TestSFlowLost(t *testing.T) {
	for _, tt := range []struct {
		name    string
		numbers [][2]uint32 // sequence numbers and uptimes
		want    string
	}{
		{"none", [][2]uint32{{7, 1}, {8, 2}, {9, 3}}, "3 datagrams, 0 lost:"},
		{"three", [][2]uint32{{1, 1}, {5, 2}}, "2 datagrams, 3 lost:"},
		{"late", [][2]uint32{{1, 1}, {3, 3}, {2, 2}, {4, 4}},
			"4 datagrams, 0 lost: 4 flow samples, 4 counter samples, 4 discards, 4 samples that are not known here, 1 " +
				"datagrams that came late"},
		{"the end of the range", [][2]uint32{{1<<32 - 1, 1}, {1, 2}}, "2 datagrams, 1 lost:"},
		{"anew", [][2]uint32{{900, 50000}, {1, 10}, {2, 20}},
			"3 datagrams, 0 lost: 3 flow samples, 3 counter samples, 3 discards, 3 samples that are not known here, 1 restarts"},
		{"anew, and the first is lost", [][2]uint32{{900, 50000}, {3, 10}}, "1 restarts"},
	} {
		var all [][]byte
		for _, n := range tt.numbers {
			all = append(all, sflowDatagram(n[0], n[1]))
		}
		if got := printed(t, false, all...); !strings.Contains(got, tt.want) {
			t.Errorf("%s: no %s in\n%s", tt.name, tt.want, got)
		}
	}
}

// The intact samples of a damaged datagram are printed. The loss is reported and counted.
func TestSFlowDamaged(t *testing.T) {
	whole := sflowDatagram(1, 1)
	cut, longer := whole[:len(whole)-9], append(sflowDatagram(2, 2), 1, 2, 3, 4)
	got := printed(t, false, cut, longer)
	for _, want := range []string{
		"192.0.2.9:40000: sflow: byte 456: sample length: wants 4 bytes, 3 are left\n",
		"10.0.0.9/0 datagram 1 discard source=5 sequence=1", "10.0.0.9/0 datagram 2 other",
		"192.0.2.9:40000: sflow: byte 468: end: 4 bytes behind the last sample\n",
		"10.0.0.9/0: 2 datagrams, 0 lost: 2 flow samples, 2 counter samples, 2 discards, 1 samples that are not known " +
			"here, " +
			"2 datagrams that are damaged, 1 samples of these that could not be read, 4 bytes behind the last sample\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := printed(t, true, cut); !strings.Contains(got, `"datagrams_damaged":1,"samples_unread":1}`) {
		t.Errorf("%s", got)
	}
}

// Agents beyond the limit are counted, and need no memory.
func TestSFlowAgents(t *testing.T) {
	var all [][]byte
	for n := range MaxSFlowAgents + 3 {
		all = append(all, (&sflow.Datagram{SubAgent: uint32(n)}).Append(nil))
	}
	if got := printed(t, false, all...); !strings.Contains(got,
		"0 datagrams that are wrong, 3 of agents beyond the first 256") ||
		strings.Count(got, "\n") != MaxSFlowAgents+1 {
		t.Errorf("%s", got)
	}
}

// Any input is printed or refused, one line each.
func FuzzSFlow(f *testing.F) {
	f.Add(sflowDatagram(1, 1), true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, b []byte, asJSON bool) {
		var out strings.Builder
		s := NewSFlow(&out, asJSON)
		if err := s.Datagram(sflowFrom, b); err != nil {
			t.Fatal(err)
		}
		wrong := int64(s.bad)
		for _, c := range s.agents {
			wrong += int64(c.Damaged)
		}
		if n := int64(strings.Count(out.String(), "\n")); n != s.Records()+wrong {
			t.Errorf("%d lines of %d samples", n, s.Records())
		}
	})
}
