package ingest

import (
	"encoding/binary"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/stream"
	"tamtam/tam/record"
)

// ipOf returns an Ethernet frame with an IP packet.
func ipOf(protocol byte, payload []byte) []byte {
	frame := make([]byte, 34, 34+len(payload))
	frame[12], frame[14], frame[22], frame[23] = 8, 0x45, 64, protocol
	binary.BigEndian.PutUint16(frame[16:], uint16(20+len(payload)))
	copy(frame[26:], []byte{10, 0, 0, 9, 10, 0, 0, 8})
	return append(frame, payload...)
}

func inUDP(port uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0, 7}, port)
	b = append(binary.BigEndian.AppendUint16(b, uint16(8+len(payload))), 0, 0)
	return append(b, payload...)
}

// inERSPAN returns a numbered ERSPAN copy of type II.
func inERSPAN(session uint16, number uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0x10, 0, 0x88, 0xbe}, number)
	b = append(b, 0x10, 0, byte(session>>8)|0xfc, byte(session), 0, 0, 0, 0)
	return append(b, payload...)
}

// copyOf returns the copy of a record: the first bytes of a UDP packet, and the record.
func copyOf(packet byte, kept int) []byte {
	frame := ipOf(17, inUDP(9, append([]byte{packet}, make([]byte, 99)...)))
	r := record.Record{Bits: []byte{1}, Switch: 3, Plan: 4, In: record.Time{Seconds: 1_700_000_000},
		At:     record.Time{Seconds: 1_700_000_000, Nanoseconds: 700},
		InPort: 1, OutPort: 2, Length: uint32(len(frame))}
	return r.Append(frame[:kept:kept])
}

// Copies of records are found in UDP and in ERSPAN, and those of one packet go to one partition. Copies that are
// missing by their numbers, truncated, or impossible to join are counted as lost.
func TestRecords(t *testing.T) {
	log, now := stream.NewMemory(0), start
	s, err := NewSender(log, result.Records, options("eth0", 2, &now))
	if err != nil {
		t.Fatal(err)
	}
	drops, err := NewSender(log, result.Drops, options("eth0", 2, &now))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecords(s)
	tap := Tap{Records: r, Reports: NewReports(drops, nil), IPFIX: 4739}
	lost := int64(0)
	for i, x := range []struct {
		frame []byte
		cut   int
		lost  int64
	}{
		{frame: ipOf(17, inUDP(9070, copyOf(1, 80)))},
		{frame: ipOf(17, inUDP(4739, copyOf(1, 80)))}, // a port for reports, too
		{frame: ipOf(47, inERSPAN(5, 100, copyOf(1, 80)))},
		{frame: ipOf(47, inERSPAN(5, 101, copyOf(2, 80)))},
		{frame: ipOf(47, inERSPAN(5, 104, copyOf(3, 80))), lost: 2},
		{frame: ipOf(47, inERSPAN(5, 103, copyOf(4, 80)))},     // late
		{frame: ipOf(47, inERSPAN(6, 200, copyOf(5, 80)))},     // of another session
		{frame: ipOf(47, inERSPAN(5, 0, copyOf(6, 80)))},       // counts as late
		{frame: ipOf(17, inUDP(9070, copyOf(7, 50))), lost: 1}, // too short for a key
		{frame: ipOf(17, inUDP(9070, copyOf(8, 80))), cut: 1, lost: 1},
		{frame: ipOf(17, inUDP(9070, make([]byte, 80)))},               // contains no record
		{frame: ipOf(47, inERSPAN(6, 201, ipOf(17, make([]byte, 9))))}, // contains no record
	} {
		if err := tap.Frame(t.Context(), x.frame[:len(x.frame)-x.cut], len(x.frame), start); err != nil {
			t.Fatal(err)
		}
		if lost += x.lost; s.Stats().Lost != lost {
			t.Errorf("behind frame %d: %d lost, want %d", i, s.Stats().Lost, lost)
		}
	}
	if err := r.UDP(t.Context(), exporterAt, []byte("nonsense"), start); err != nil || s.Stats().Lost != lost+1 {
		t.Errorf("%v, %d lost: want one more for a datagram without a record", err, s.Stats().Lost)
	}
	if err := r.UDP(t.Context(), exporterAt, copyOf(1, 90), start.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Counts(), (RecordCounts{Copies: 10, Short: 1, Others: 1}); got != want || s.Stats().Events != 9 {
		t.Errorf("%+v, %d events: want %+v, and 9", got, s.Stats().Events, want)
	}
	partition, first := map[string]int{}, 0
	for i := range 2 {
		entries, err := log.Read(t.Context(), result.Records.Partition(i), 1, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			var read event.Reader
			if err := read.Open(e.Data); err != nil {
				t.Fatal(err)
			}
			blobs, err := read.Blobs()
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range blobs {
				c, err := event.ReadRecord(b)
				if err != nil || c.Switch != 3 || c.TTL != 64 || c.Flow.String() != "UDP 10.0.0.9:7 > 10.0.0.8:9" {
					t.Errorf("%+v, %v", c, err)
				}
				if before, known := partition[string(c.Key)]; known && before != i {
					t.Errorf("a packet is in partitions %d and %d", before, i)
				}
				partition[string(c.Key)] = i
				if c.Key[len(c.Key)-24] == 1 {
					first++
				}
			}
		}
	}
	if len(partition) != 6 || first != 4 {
		t.Errorf("%d packets, %d copies of the first: want 6, and 4", len(partition), first)
	}
}
