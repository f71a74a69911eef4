package hft

import (
	"fmt"
	"testing"
	"time"

	"tamtam/tam/ipfix"
)

// bench returns a stream of 64 ports with 30 statistics each, and values for it.
func bench(b *testing.B, format Format, send func(Message)) (*Stream, []uint64) {
	b.Helper()
	var columns []Column
	for i := range uint16(64) {
		for id := range uint32(30) {
			columns = append(columns, port(fmt.Sprint("Ethernet", 4*i), 1+i, id))
		}
	}
	c := Config{Format: format, Size: ipfix.MaxSize, Bulk: 1, Refresh: time.Hour, RefreshMessages: 1e9}
	return newStream(b, c, columns, send), make([]uint64, len(columns))
}

// A record of 64 ports with 30 statistics is encoded.
func BenchmarkSample(b *testing.B) {
	for _, format := range []Format{SONiC, Conforming} {
		b.Run(format.String(), func(b *testing.B) {
			s, values := bench(b, format, func(Message) {})
			at := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				at += 10_000
				sample(b, s, time.Unix(1, 0), at, values...)
			}
		})
	}
}

// The same record is decoded, and its place in the stream checked.
func BenchmarkDecode(b *testing.B) {
	for _, format := range []Format{SONiC, Conforming} {
		b.Run(format.String(), func(b *testing.B) {
			d := newDecoder(b, 10*time.Microsecond, nil)
			var last []byte
			s, values := bench(b, format, func(m Message) {
				last = append(last[:0], m.Bytes...)
				if err := d.Messages(m.Bytes, func(*Record) {}); err != nil {
					b.Fatal(err)
				}
			})
			sample(b, s, time.Unix(1, 0), 10_000, values...)
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Messages(last, func(*Record) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
