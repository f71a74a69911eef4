package capture

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"
)

// A capture that is read ahead gives the same packets and the same error as without, also at the limits of a batch.
func TestAhead(t *testing.T) {
	for _, n := range []int{0, 1, batchPackets - 1, batchPackets, batchPackets + 1, 5*batchPackets + 7} {
		times := make([]int64, n)
		for i := range times {
			times[i] = int64(i ^ 1) // neighbours are swapped
		}
		for _, list := range [][]int64{times, append(times, 0)} { // a packet of time 0 comes too late after many
			want, wantErr := readAll(t, NewSorted(file(t, "a", list...)).Next)
			a := ReadAhead(NewSorted(file(t, "a", list...)))
			got, err := readAll(t, values(a))
			if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%d packets: %d and %v, want %d and %v", len(list), len(got), err, len(want), wantErr)
			}
			if _, again := a.Next(); err != nil && again != err || err == nil && again != io.EOF {
				t.Errorf("%d packets: then %v", len(list), again)
			}
			a.Close()
		}
	}
}

// values returns a's packets as values.
func values(a *Ahead) func() (Packet, error) {
	return func() (Packet, error) {
		p, err := a.Next()
		if err != nil {
			return Packet{}, err
		}
		return *p, nil
	}
}

// The data of a packet stay until the next call, whatever is read ahead. Packets of any size fit.
func TestAheadData(t *testing.T) {
	a := ReadAhead(NewSorted(sizes(t, 200, 3000)))
	defer a.Close()
	for i := range 200 {
		p, err := a.Next()
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Data) != 1+i*3000%MaxCaptured {
			t.Fatalf("packet %d has %d bytes", i, len(p.Data))
		}
		for _, b := range p.Data {
			if b != byte(i) {
				t.Fatalf("packet %d has a byte %d", i, b)
			}
		}
	}
}

// sizes returns a capture of n packets, of which each is so much longer than the one before.
func sizes(t *testing.T, n, step int) *Reader {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, "sizes")
	for i := range n {
		data := bytes.Repeat([]byte{byte(i)}, 1+i*step%MaxCaptured)
		if err := w.Write(time.Unix(int64(i), 0), data, len(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&b, "sizes")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Closed in the middle, it waits for nothing.
func TestAheadClosed(t *testing.T) {
	in, out := io.Pipe() // the rest is not read
	go func() {
		w := NewWriter(out, "pipe")
		for i := range 1000 {
			if w.Write(time.Unix(int64(i), 0), make([]byte, 60), 60) != nil || w.Flush() != nil {
				return
			}
		}
	}()
	r, err := NewReader(in, "pipe")
	if err != nil {
		t.Fatal(err)
	}
	a := ReadAhead(NewSorted(r))
	if _, err := a.Next(); err != nil {
		t.Fatal(err)
	}
	a.Close()
	in.Close()
}
