package capture

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// manyPackets returns a capture of n frames of 100 bytes, a microsecond apart.
func manyPackets(b *testing.B, n int) []byte {
	b.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf, "bench")
	data := make([]byte, 100)
	for i := range n {
		if err := w.Write(time.Unix(0, int64(i)*1000), data, len(data)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return buf.Bytes()
}

func benchmarkNext(b *testing.B, open func(content []byte) func() (Packet, error)) {
	const packets = 10000
	content := manyPackets(b, packets)
	b.ReportAllocs()
	for b.Loop() {
		next, n := open(content), 0
		for {
			if _, err := next(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n%packets != 0 || n == 0 {
			b.Fatalf("%d packets", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/packets, "ns/packet")
}

func BenchmarkReader(b *testing.B) {
	benchmarkNext(b, func(content []byte) func() (Packet, error) {
		r, err := NewReader(bytes.NewReader(content), "bench")
		if err != nil {
			b.Fatal(err)
		}
		return r.Next
	})
}

func BenchmarkSorted(b *testing.B) {
	benchmarkNext(b, func(content []byte) func() (Packet, error) {
		r, err := NewReader(bytes.NewReader(content), "bench")
		if err != nil {
			b.Fatal(err)
		}
		return NewSorted(r).Next
	})
}
