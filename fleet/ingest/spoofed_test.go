package ingest

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"

	"tamtam/collector/result"
	"tamtam/fleet/stream"
)

// manyTemplates returns an IPFIX message with templates of many fields.
func manyTemplates(number, fields int) []byte {
	b := make([]byte, 20)
	for i := range number {
		b = binary.BigEndian.AppendUint16(b, uint16(300+i))
		b = binary.BigEndian.AppendUint16(b, uint16(fields))
		b = append(b, bytes.Repeat([]byte{0, 7, 0, 2}, fields)...)
	}
	binary.BigEndian.PutUint16(b, 10)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	binary.BigEndian.PutUint32(b[4:], uint32(start.Unix()))
	binary.BigEndian.PutUint16(b[16:], 2)
	binary.BigEndian.PutUint16(b[18:], uint16(len(b)-16))
	return b
}

// data returns an IPFIX message with a data set of a template.
func data(template, bytes int) []byte {
	b := make([]byte, 20+bytes)
	binary.BigEndian.PutUint16(b, 10)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	binary.BigEndian.PutUint32(b[4:], uint32(start.Unix()))
	binary.BigEndian.PutUint16(b[16:], uint16(template))
	binary.BigEndian.PutUint16(b[18:], uint16(4+bytes))
	return b
}

// Forged exporters, each with as many templates as it can send, need a bounded memory. An honest exporter before them
// loses no template: its drops are still read. The records of a template that has no place are lost, which is counted.
func TestForgedExporters(t *testing.T) {
	log, now := stream.NewMemory(0), start
	s, err := NewSender(log, result.Drops, options("eth0", 1, &now))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReports(s, nil)
	honest := netip.MustParseAddrPort("10.0.0.1:4739")
	messages := drops(t, 100) // the first ones have the templates
	last := messages[len(messages)-1]
	for _, m := range messages[:len(messages)-1] {
		if err := r.IPFIX(t.Context(), honest, m, start); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	forged := manyTemplates(3, 450)
	source := func(i int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{172, 16, byte(i >> 8), byte(i)}), 1)
	}
	for i := range MaxExporters - 1 {
		if err := r.IPFIX(t.Context(), source(i), forged, start); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 80<<20 {
		t.Errorf("%d bytes for %d exporters, want about 64 MiB at most", n, MaxExporters)
	}
	lost, events := s.Stats().Lost, s.Stats().Events
	if err := r.IPFIX(t.Context(), source(0), data(300, 900), start); err != nil {
		t.Fatal(err)
	}
	if s.Stats().Lost == lost {
		t.Error("a record without its template is not counted as lost")
	}
	lost = s.Stats().Lost
	if err := r.IPFIX(t.Context(), honest, last, start); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(); got.Lost != lost || got.Events <= events {
		t.Errorf("%d lost and %d events, want %d, and more than %d: the drops of the honest exporter", got.Lost, got.Events,
			lost, events)
	}
	runtime.KeepAlive(r)
}
