package lab

import (
	"strings"
	"testing"

	"tamtam/internal/racetest"
)

// Frames of a spaced source have the same idle time between them, whatever their lengths. While it sends, the line is
// used at the configured rate.
func TestSpaced(t *testing.T) {
	racetest.Stepped(t)
	text := strings.Replace(chain(""), "traffic:", `traffic:
- {name: spaced, kind: spaced, from: h1, to: h2, rate: 10Gbps, gap: 21us, size: {uniform: [64, 1518]}, start: 0s,
  count: 500}`, 1)
	top, err := Parse("spaced.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(t.Context(), top, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := l.sources[0]
	for range 400 {
		begin, size := s.at, s.size
		if err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		// A byte takes 800 ps at 10 Gb/s; preamble 8, FCS 4, gap 12.
		if idle := s.at - begin - Time(size+24)*800; idle != 21*Microsecond {
			t.Fatalf("idle for %v after a frame of %d bytes, want 21us", idle, size)
		}
	}
	for field, set := range map[string]func(*Traffic){
		"gap":  func(f *Traffic) { f.Gap = 0 },
		"rate": func(f *Traffic) { f.Rate, f.PPS = 0, 1000 },
	} {
		bad := *top
		bad.Traffic = []Traffic{top.Traffic[0]}
		set(&bad.Traffic[0])
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "traffic[spaced]."+field) {
			t.Errorf("without %s: %v", field, err)
		}
	}
}
