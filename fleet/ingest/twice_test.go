package ingest

import (
	"net/netip"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/stream"
	"tamtam/tam/sflow"
)

// A datagram that the network delivers twice is counted once, however late the second copy comes.
func TestTwice(t *testing.T) {
	rows, stats, counts := reported(t, func(r *Reports) {
		messages := drops(t, 6)
		for i := range messages {
			for _, m := range [][]byte{messages[i], messages[max(i-3, 0)], messages[i]} {
				if err := r.IPFIX(t.Context(), exporterAt, m, start.Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range uint32(6) {
			d := sflow.Datagram{Agent: exporterAt.Addr(), Sequence: i + 1, Uptime: 100 * i, Samples: []sflow.Sample{
				&sflow.Discarded{Sequence: i + 1, Source: sflow.Source{Index: 3}, Input: 3, Reason: sflow.ACL}}}
			for range 3 {
				if err := r.SFlow(t.Context(), exporterAt, d.Append(nil), start); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	packets := map[string]int64{}
	for _, row := range rows {
		packets[row.Source] += row.Packets
		if row.Flags != 0 {
			t.Errorf("%+v: want no flags", row)
		}
	}
	if packets["ipfix"] != 12 || packets["sflow"] != 6 || stats.Lost != 0 || counts.Twice != 24 {
		t.Errorf("%v packets, %+v, %+v: want 12 and 6, none lost, 24 datagrams that came twice", packets, stats, counts)
	}
}

// Frames that are captured twice along their path are flagged, however many partitions there are.
func TestCapturedTwice(t *testing.T) {
	const partitions, flows = 7, 40
	log, now := stream.NewMemory(0), start
	s, err := NewSender(log, result.Stamps, options("eth0", partitions, &now))
	if err != nil {
		t.Fatal(err)
	}
	for flow := range uint16(flows) {
		hops := []event.Hop{{Switch: 1, In: 1, Out: 2}, {Switch: 2, In: 1, Out: 2}}
		for n := range hops {
			f := event.Frame{Time: start.UnixNano(), Flow: event.Flow{Form: event.IPv4, SourcePort: flow}, Hops: hops[:n+1]}
			if err := s.Frame(t.Context(), &f); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, used := 0, 0
	for _, b := range joined(t, log, result.Stamps, partitions) {
		rows, used = rows+len(b.Hops), used+min(1, len(b.Hops))
		for _, h := range b.Hops {
			if h.Flags != result.Twice {
				t.Errorf("%+v: want the flag that its frames may be counted twice", h)
			}
		}
	}
	if rows != 3*flows || used != partitions {
		t.Errorf("%d rows in %d partitions, want %d in %d", rows, used, 3*flows, partitions)
	}
}

// Datagrams to a socket of this host are not read from frames, too.
func TestSockets(t *testing.T) {
	for at, want := range map[string]int64{"": 1, "[::]:4739": 0, "0.0.0.0:4739": 0, "10.0.0.8:4739": 0,
		"10.0.0.7:4739": 1,
		"[::]:4740":     1} {
		_, stats, _ := reported(t, func(r *Reports) {
			tap := Tap{Reports: r, IPFIX: 4739}
			if at != "" {
				tap.Sockets = []netip.AddrPort{netip.MustParseAddrPort(at)}
			}
			frame := ipOf(17, inUDP(4739, drops(t, 1)[0])) // to 10.0.0.8
			if err := tap.Frame(t.Context(), frame, len(frame), start.Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
		})
		if stats.Events != want {
			t.Errorf("where %q is read: %d events of frames, want %d", at, stats.Events, want)
		}
	}
}

// If the clock of one switch is years ahead, no report of another switch becomes late. Its own reports get a time
// before their arrival.
func TestClockAhead(t *testing.T) {
	other := netip.MustParseAddrPort("192.0.2.2:5000")
	rows, _, _ := reported(t, func(r *Reports) {
		messages := drops(t, 6) // by the clock of the switch, one each second from start on
		for i, m := range messages {
			at := start.Add(time.Duration(i) * time.Second)
			early := start.AddDate(-8, 0, i) // long ago for the others
			if i == 0 {
				if err := r.IPFIX(t.Context(), exporterAt, m, early); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.IPFIX(t.Context(), other, m, at); err != nil {
				t.Fatal(err)
			}
		}
	})
	if len(rows) != 2 || rows[0].First != start.AddDate(-8, 0, 0).UnixNano() || rows[1].Flags != 0 ||
		rows[1].Packets != 12 {
		t.Errorf("%+v: want the drops of leaf1 when they came, and those of the other switch without a flag", rows)
	}
}

// A restarted agent whose first datagrams are lost does not count as late: what is missing afterwards is lost. The same
// holds for copies of a mirror session that restarted.
func TestBeganAnew(t *testing.T) {
	a := agentState{numbering: numbering{begun: true, next: 500}, uptime: 1_000_000}
	for _, x := range []struct {
		number, uptime uint32
		want           int64
	}{{499, 999_900, 0}, {3, 100, 1}, {4, 200, 0}, {7, 300, 2}, {6, 250, 0}, {8, 400, 0}, {1, 50, 0}, {2, 60, 0},
		{4, 70, 1}} {
		if got := a.number(&sflow.Datagram{Sequence: x.number, Uptime: x.uptime}, start).lost; got != x.want {
			t.Errorf("datagram %d at %d: %d missing, want %d", x.number, x.uptime, got, x.want)
		}
	}
	var n numbers
	missing := int64(0)
	give := func(sequence uint32) {
		missing += n.missing(&collector.MirrorCopy{From: exporterAt.Addr(), Session: 1, Sequence: sequence, Numbered: true},
			start).lost
	}
	for i := range uint32(500) {
		give(i)
	}
	for i := range uint32(20) { // restarted: some count as late, until the restart is certain
		give(i)
	}
	if missing != 1 {
		t.Errorf("%d copies are missing where a session began anew, want that one may be", missing)
	}
	give(25)
	if missing != 1+5 {
		t.Errorf("%d copies are missing, want five more", missing)
	}
}
