package capture

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"
)

func TestWriterRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Ethernet0.pcap")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Packet{
		{Time: time.Unix(0, 0).UTC(), Data: []byte("epoch"), Len: 5},
		{Time: time.Unix(1700000000, 999999999).UTC(), Data: []byte("cut"), Len: 1514},
		{Time: time.Unix(math.MaxUint32, 1).UTC(), Data: []byte{}, Len: 0},
	}
	for _, p := range want {
		if err := w.Write(p.Time, p.Data, p.Len); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	packets, err := readAll(t, r.Next)
	if err != nil || len(packets) != len(want) {
		t.Fatalf("%d packets, %v; want %d", len(packets), err, len(want))
	}
	for i, p := range packets {
		if !same(p, want[i]) {
			t.Errorf("packet %d: %v, want %v", i, p, want[i])
		}
	}
}

func TestPortThatSentNothingHasAnEmptyCapture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Ethernet0.pcap")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.ReadPacketData(); err != io.EOF || len(content) != 24 {
		t.Errorf("%d bytes and then %v, want a header of 24 bytes only", len(content), err)
	}
}

func TestWriterRefuses(t *testing.T) {
	tests := []struct {
		name   string
		at     time.Time
		data   []byte
		length int
		want   string
	}{
		{"time before 1970", time.Unix(-1, 0), nil, 0, "want one from 1970 to 2106"},
		{"time after 2106", time.Unix(math.MaxUint32+1, 0), nil, 0, "want one from 1970 to 2106"},
		{"the zero time", time.Time{}, nil, 0, "want one from 1970 to 2106"},
		{"more data than length", time.Unix(0, 0), []byte("abc"), 2, "3 bytes of a frame of 2"},
		{"too long", time.Unix(0, 0), make([]byte, MaxCaptured+1), MaxCaptured + 1, "want at most 262144"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWriter(io.Discard, "x")
			if err := w.Write(tt.at, tt.data, tt.length); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

type brokenWriter struct{ err error }

func (b brokenWriter) Write([]byte) (int, error) { return 0, b.err }

func TestFullDiskIsReported(t *testing.T) {
	full := errors.New("no space left")
	w := NewWriter(brokenWriter{full}, "out.pcap")
	if err := w.Write(time.Unix(1, 0), []byte("x"), 1); err != nil {
		t.Errorf("buffered write: %v", err)
	}
	if err := w.Close(); !errors.Is(err, full) || !strings.Contains(err.Error(), "out.pcap") {
		t.Errorf("Close: %v, want %v with the file's name", err, full)
	}
}

func TestWritingDoesNotAllocate(t *testing.T) {
	w := NewWriter(io.Discard, "x")
	data := make([]byte, 1514)
	at := time.Unix(1700000000, 1)
	if n := testing.AllocsPerRun(100, func() { w.Write(at, data, len(data)) }); n > 0 {
		t.Errorf("%v allocations a packet, want none", n)
	}
}

// After an error of the file it gets no more data, and every call returns the error.
func TestWriterEndsWithItsFile(t *testing.T) {
	full, out := errors.New("no space left"), &failingOnce{}
	out.err = full
	w := NewWriter(out, "out.pcap")
	data, failed := make([]byte, 1500), 0
	for range 200 {
		if err := w.Write(time.Unix(1, 0), data, len(data)); err != nil {
			failed++
			if !errors.Is(err, full) {
				t.Fatal(err)
			}
		}
	}
	if err := w.Flush(); failed == 0 || !errors.Is(err, full) || out.calls != 1 {
		t.Errorf("%d errors, then %v, after %d calls", failed, err, out.calls)
	}
}

// failingOnce fails in its first call.
type failingOnce struct {
	err   error
	calls int
}

func (f *failingOnce) Write(b []byte) (int, error) {
	if f.calls++; f.calls == 1 {
		return 0, f.err
	}
	return len(b), nil
}
