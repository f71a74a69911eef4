package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
)

// file writes a capture whose packets have these times in nanoseconds. The data of each packet contain its file and
// position.
func file(t *testing.T, name string, times ...int64) *Reader {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, name)
	for i, ns := range times {
		data := fmt.Appendf(nil, "%s%d", name, i+1)
		if err := w.Write(time.Unix(0, ns), data, len(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&b, name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSorted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		times []int64
		want  string
	}{
		{"nothing", nil, ""},
		{"in order", []int64{1, 2, 3}, "a1 a2 a3"},
		{"neighbours swapped", []int64{1, 3, 2, 4}, "a1 a3 a2 a4"},
		{"ties keep the file's order", []int64{5, 1, 5, 1}, "a2 a4 a1 a3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			packets, err := readAll(t, NewSorted(file(t, "a", tt.times...)).Next)
			if err != nil {
				t.Fatal(err)
			}
			var order []string
			for _, p := range packets {
				order = append(order, string(p.Data))
				if want := fmt.Sprint("a", p.Number); string(p.Data) != want {
					t.Errorf("number %d of packet %s", p.Number, p.Data)
				}
			}
			if got := strings.Join(order, " "); got != tt.want {
				t.Errorf("order %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSortedBoundsDisorder(t *testing.T) {
	late := func(by int) []int64 {
		times := []int64{1}
		for i := range by {
			times = append(times, int64(10+i))
		}
		return append(times, 5)
	}
	if packets, err := readAll(t, NewSorted(file(t, "a", late(lookAhead-1)...)).Next); err != nil ||
		len(packets) != lookAhead+1 || packets[1].Time.UnixNano() != 5 {
		t.Errorf("%d packets, %v; want %d in order", len(packets), err, lookAhead+1)
	}
	_, err := readAll(t, NewSorted(file(t, "a", late(lookAhead+1)...)).Next)
	if want := "a: packet 259 of 1970-01-01 00:00:00.000000005"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestSortedGivesPacketsBeforeDamage(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, "damaged")
	w.Write(time.Unix(0, 1), []byte("x1"), 2)
	w.Write(time.Unix(0, 9), []byte("x2"), 2)
	w.Close()
	damaged, err := NewReader(bytes.NewReader(b.Bytes()[:b.Len()-1]), "damaged")
	if err != nil {
		t.Fatal(err)
	}
	m := NewSorted(damaged)
	packets, err := readAll(t, m.Next)
	if len(packets) != 1 || string(packets[0].Data) != "x1" || err == nil ||
		!strings.Contains(err.Error(), "damaged: packet 2") {
		t.Errorf("%d packets, error %v; want the one before the damage and its error", len(packets), err)
	}
	if _, again := m.Next(); again != err {
		t.Errorf("then %v, want the same error", again)
	}
}

// Any file with small disorder is sorted completely.
func TestSortedRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 20}, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		times := make([]int64, random.IntN(5000))
		for j := range times {
			times[j] = int64(j)*10 + random.Int64N(lookAhead*9)
		}
		packets, err := readAll(t, NewSorted(file(t, "a", times...)).Next)
		if err != nil || len(packets) != len(times) {
			t.Fatalf("%d of %d packets, %v", len(packets), len(times), err)
		}
		for i := range packets[min(1, len(packets)):] {
			a, b := packets[i], packets[i+1]
			if b.Time.Before(a.Time) || b.Time.Equal(a.Time) && b.Number < a.Number {
				t.Fatalf("packet %d at %v after packet %d at %v", b.Number, b.Time, a.Number, a.Time)
			}
		}
	})
}
