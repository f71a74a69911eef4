package ingest

import (
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/fleet/stream"
)

// An answer is sent once, whatever query returned it and however often the connection was lost. An answer by a clock
// that is far off is reported and not sent.
func TestSketching(t *testing.T) {
	now := start
	log := stream.NewMemory(0)
	s, err := NewSender(log, result.Sketches, options("leaf1", 1, &now))
	if err != nil {
		t.Fatal(err)
	}
	var news []string
	r := &sketchingReader{reported: map[answerKey]int64{}, Sketching: &Sketching{Switch: "leaf1", Target: "leaf1:1", To: s,
		Report: func(e dial.SketchEvent) {
			if e.Kind == dial.Bad {
				news = append(news, e.Err.Error())
			}
		}}}
	low := 5.0
	answer := func(ended time.Duration) dial.SketchEvent {
		end := start.Add(ended).UnixNano()
		return dial.SketchEvent{Kind: dial.Answered, Answer: dial.Answer{Task: "heavy", Key: "packets", Epoch: 9, End: end,
			Start: end - int64(time.Second), Flags: []string{"first", "saturated"}, Estimate: 7, Lower: &low}}
	}
	for _, e := range []dial.SketchEvent{answer(-time.Second), {Kind: dial.Synced}, answer(-time.Second),
		{Kind: dial.Lost},
		answer(-time.Second), answer(0), answer(3 * time.Hour)} {
		if err := r.apply(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(news) != 1 || !strings.Contains(news[0], "epoch 9 ended 3h0m0s from this host's time") || s.Stats().Lost != 1 {
		t.Errorf("told %q, %+v", news, s.Stats())
	}
	rows := 0
	for _, b := range joined(t, log, result.Sketches, 1) {
		for _, x := range b.Sketches {
			rows++
			if x.Switch != "leaf1" || x.Task != "heavy" || x.Key != "packets" || x.Estimate != 7 || !x.Bounded || x.Low != 5 ||
				x.Time-x.Start != int64(time.Second) || x.Flags != "first, saturated" {
				t.Errorf("%+v", x)
			}
		}
	}
	if rows != 2 {
		t.Errorf("%d rows, want 2", rows)
	}
}
