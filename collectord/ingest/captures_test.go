package ingest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/stream"
	"tamtam/collectord/event"
	"tamtam/collectord/result"
)

// A capture with a frame of times to come is read up to that, as one that is damaged there: its window would be open
// for as long, and hold all that other sources say meanwhile in the log.
func TestCaptureAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ahead.pcap")
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f := stamped(false)
	for _, ahead := range []time.Duration{0, event.MaxAhead, 50 * 365 * 24 * time.Hour} {
		if err := w.Write(start.Add(ahead), f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, bounded := range []bool{true, false} {
		log, now := stream.NewMemory(0), start
		s, err := NewSender(log, event.Stamps, options("captures", 1, &now))
		if err != nil {
			t.Fatal(err)
		}
		tap, want := &Tap{Stamps: s}, int64(3)
		if bounded {
			tap.Ahead, want = event.MaxAhead, 2
		}
		err = ReadCaptures(t.Context(), tap, path)
		if bounded == (err == nil) || bounded && !strings.Contains(err.Error(), path+": a frame of 2073-") {
			t.Errorf("bounded %v: %v: want the capture and the time", bounded, err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.Stats().Events != want {
			t.Errorf("bounded %v: %+v: want %d frames", bounded, s.Stats(), want)
		}
		for _, b := range joined(t, log, event.Stamps, 1) {
			for _, h := range b.Hops {
				if late := h.Window.Start > start.UnixNano(); bounded && late && h.Flags&result.Gap == 0 {
					t.Errorf("%+v: want that more may be missing", h)
				}
			}
		}
	}
}
