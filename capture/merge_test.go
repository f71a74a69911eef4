package capture

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"
)

// file writes a capture whose packets have the given times in nanoseconds; each one's data says
// which file and place it is from.
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

func TestMergeOrder(t *testing.T) {
	tests := []struct {
		name  string
		files [][]int64 // times of a, b, c
		want  string
	}{
		{"nothing", nil, ""},
		{"empty files", [][]int64{{}, {}}, ""},
		{"one file", [][]int64{{1, 2, 3}}, "a1 a2 a3"},
		{"interleaved", [][]int64{{1, 4, 5}, {2, 3, 6}}, "a1 b1 b2 a2 a3 b3"},
		{"ties go to the file given first", [][]int64{{1, 1, 2}, {1, 2}, {1}}, "a1 a2 b1 c1 a3 b2"},
		{"neighbours swapped in a file", [][]int64{{1, 3, 2, 4}, {2}}, "a1 a3 b1 a2 a4"},
		{"swapped with ties keep the file's order", [][]int64{{5, 1, 5, 1}}, "a2 a4 a1 a3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var readers []*Reader
			for i, times := range tt.files {
				readers = append(readers, file(t, string(rune('a'+i)), times...))
			}
			packets, err := readAll(t, NewMerge(readers...).Next)
			if err != nil {
				t.Fatal(err)
			}
			var order []string
			for _, p := range packets {
				if want := int(p.Data[0] - 'a'); p.Input != want {
					t.Errorf("Input %d of a packet of file %d", p.Input, want)
				}
				order = append(order, string(p.Data))
			}
			if got := strings.Join(order, " "); got != tt.want {
				t.Errorf("order %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMergeBoundsDisorder(t *testing.T) {
	late := func(by int) []int64 {
		times := []int64{1}
		for i := range by {
			times = append(times, int64(10+i))
		}
		return append(times, 5)
	}
	if packets, err := readAll(t, NewMerge(file(t, "a", late(lookAhead-1)...)).Next); err != nil || len(packets) != lookAhead+1 || packets[1].Time.UnixNano() != 5 {
		t.Errorf("%d packets, %v; want %d in order", len(packets), err, lookAhead+1)
	}
	_, err := readAll(t, NewMerge(file(t, "a", late(lookAhead+1)...)).Next)
	if want := "a: packet 259 of 1970-01-01 00:00:00.000000005"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestMergeGivesPacketsBeforeDamage(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, "damaged")
	w.Write(time.Unix(0, 1), []byte("x1"), 2)
	w.Write(time.Unix(0, 9), []byte("x2"), 2)
	w.Close()
	damaged, err := NewReader(bytes.NewReader(b.Bytes()[:b.Len()-1]), "damaged")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMerge(damaged, file(t, "b", 0, 5))
	packets, err := readAll(t, m.Next)
	if len(packets) != 2 || string(packets[1].Data) != "x1" || err == nil || !strings.Contains(err.Error(), "damaged: packet 2") {
		t.Errorf("%d packets, error %v; want the 2 up to the damage and its error", len(packets), err)
	}
	if _, again := m.Next(); again != err {
		t.Errorf("then %v, want the same error", again)
	}
}

// Any set of files, each a little out of order, merges to the sorted whole.
func TestMergeRandom(t *testing.T) {
	for seed := range int64(20) {
		random := rand.New(rand.NewSource(seed))
		var readers []*Reader
		total := 0
		for i := range 1 + random.Intn(5) {
			times := make([]int64, random.Intn(1000))
			for j := range times {
				times[j] = int64(j)*10 + random.Int63n(lookAhead*9)
			}
			total += len(times)
			readers = append(readers, file(t, string(rune('a'+i)), times...))
		}
		packets, err := readAll(t, NewMerge(readers...).Next)
		if err != nil || len(packets) != total {
			t.Fatalf("seed %d: %d of %d packets, %v", seed, len(packets), total, err)
		}
		for i, p := range packets[1:] {
			before := packets[i]
			if p.Time.Before(before.Time) || p.Time.Equal(before.Time) && p.Input < before.Input {
				t.Fatalf("seed %d: packet %d of input %d at %v after input %d at %v", seed, i+2, p.Input, p.Time, before.Input, before.Time)
			}
		}
	}
}
