package ingest

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"tamtam/collector/result"
	"tamtam/fleet/stream"
	"tamtam/tam/sflow"
)

// inFragments splits the IP packet of a frame into fragments with at most size bytes of payload each.
func inFragments(frame []byte, id uint16, size int) (list [][]byte) {
	body := frame[34:]
	for at := 0; at < len(body); at += size {
		end := min(at+size, len(body))
		f := append(slices.Clone(frame[:34]), body[at:end]...)
		binary.BigEndian.PutUint16(f[16:], uint16(20+end-at))
		binary.BigEndian.PutUint16(f[18:], id)
		flags := uint16(at / 8)
		if end < len(body) {
			flags |= 0x2000
		}
		binary.BigEndian.PutUint16(f[20:], flags)
		list = append(list, f)
	}
	return list
}

// Fragmented reports and mirrored frames are read. If a fragment of a report is missing, the intact samples count, and
// the others are lost.
func TestTapFragments(t *testing.T) {
	datagram := func(number uint32) []byte {
		d := sflow.Datagram{Agent: exporterAt.Addr(), Sequence: number, Uptime: 5}
		for n := range uint32(4) {
			d.Samples = append(d.Samples, &sflow.Discarded{Sequence: 4*number + n, Source: sflow.Source{Index: 3}, Input: 3,
				Reason: sflow.ACL})
		}
		return ipOf(17, inUDP(6343, d.Append(nil)))
	}
	for _, missing := range []bool{false, true} {
		log, now := stream.NewMemory(0), start
		drops, err := NewSender(log, result.Drops, options("reports", 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		stamps, err := NewSender(log, result.Stamps, options("eth0", 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		tap := Tap{Stamps: stamps, Reports: NewReports(drops, nil), SFlow: 6343}
		first := inFragments(datagram(1), 1, 96)
		if missing {
			first = append(first[:1], first[2:]...)
		}
		frames := slices.Concat([][]byte{first[1]}, [][]byte{datagram(2)}, first[:1], first[2:],
			inFragments(stamped(true), 2, 48))
		for _, f := range frames {
			if err := tap.Frame(t.Context(), f, len(f), start); err != nil {
				t.Fatal(err)
			}
		}
		if err := tap.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Sender{drops, stamps} {
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var rows []result.Drop
		for _, b := range joined(t, log, result.Drops, 1) {
			rows = append(rows, b.Drops...)
		}
		// The head has 28 bytes and a sample has 40. So one sample is complete in the first 96-8 bytes.
		want, lost, unjoined := int64(8), int64(0), int64(0)
		if missing {
			want, lost, unjoined = 1+4, 3, int64(len(first))
		}
		if len(rows) != 1 || rows[0].Packets != want || drops.Stats().Lost != lost || tap.Counts().Unjoined != unjoined ||
			tap.Counts().Mirrored != 1 || (rows[0].Flags&result.Gap != 0) != missing {
			t.Errorf("missing %v: %+v, %+v, %+v: want %d packets, %d lost", missing, rows, drops.Stats(), tap.Counts(), want,
				lost)
		}
		if hops := joined(t, log, result.Stamps, 1); len(hops) != 1 || len(hops[0].Hops) != 1 ||
			hops[0].Hops[0].Packets != 1 {
			t.Errorf("%+v: want the stamp of the copy", hops)
		}
	}
}

// A packet with missing fragments is lost wherever it may count: for stamps and records if it may be a mirror copy, for
// records if it is a datagram, and for drops if it may be a report. Its time is flagged.
func TestTapIncomplete(t *testing.T) {
	other := ipOf(47, append([]byte{0, 0, 8, 0}, make([]byte, 200)...)) // a tunnel of IPv4
	at := func(port uint16) []byte { return ipOf(17, inUDP(port, make([]byte, 200))) }
	copied := ipOf(47, inERSPAN(5, 7, stamped(false)))
	for _, x := range []struct {
		name                   string
		frame                  []byte
		gone                   int // number of the missing fragment, from 0
		stamps, records, drops int64
	}{
		{"a copy without its end", copied, 1, 1, 1, 0},
		{"a copy without its beginning", copied, 0, 1, 1, 0},
		{"another tunnel without its end", other, 1, 0, 0, 0},
		{"another tunnel without its beginning", other, 0, 1, 1, 0},
		{"a datagram without its end", at(9), 1, 0, 1, 0},
		{"a datagram without its beginning", at(9), 0, 0, 1, 1},
		{"a report without its end", at(4739), 1, 0, 1, 1},
		{"a report without its beginning", at(4739), 0, 0, 1, 1},
		{"a datagram to a socket", at(4740), 1, 0, 0, 0},
		{"a segment", ipOf(6, make([]byte, 200)), 1, 0, 0, 0},
	} {
		log, now := stream.NewMemory(0), start
		var senders []*Sender
		for _, kind := range []result.Kind{result.Stamps, result.Records, result.Drops} {
			s, err := NewSender(log, kind, options("eth0", 1, &now))
			if err != nil {
				t.Fatal(err)
			}
			senders = append(senders, s)
		}
		tap := Tap{Stamps: senders[0], Records: NewRecords(senders[1]), Reports: NewReports(senders[2], nil), IPFIX: 4739,
			Sockets: []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:4740")}}
		frames := slices.Delete(inFragments(x.frame, 1, 48), x.gone, x.gone+1)
		frames = append(frames, ipOf(47, inERSPAN(5, 8, stamped(false))))
		for _, f := range frames {
			if err := tap.Frame(t.Context(), f, len(f), start); err != nil {
				t.Fatal(err)
			}
		}
		if err := tap.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{x.stamps, x.records, x.drops} {
			if err := senders[i].Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := senders[i].Stats().Lost; got != want {
				t.Errorf("%s: %d %v are lost, want %d", x.name, got, senders[i].Kind(), want)
			}
		}
		hops := joined(t, log, result.Stamps, 1)
		if len(hops) != 1 || len(hops[0].Hops) != 1 || hops[0].Hops[0].Packets != 1 ||
			(hops[0].Hops[0].Flags&result.Gap != 0) != (x.stamps > 0) {
			t.Errorf("%s: %+v", x.name, hops)
		}
	}
}
