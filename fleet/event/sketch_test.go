package event

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"tamtam/collector/result"
)

// Incomplete or impossible answers are refused, with the reason.
func TestSketchRefused(t *testing.T) {
	one, two := 1.0, 2.0
	for want, s := range map[string]Sketch{
		"without a switch":      {Task: "cms"},
		"without a task":        {Switch: "leaf1"},
		"epoch from 2 to 1":     {Switch: "leaf1", Task: "cms", Start: 2},
		"NaN":                   {Switch: "leaf1", Task: "cms", Estimate: math.NaN()},
		"between 2 and 1: want": {Switch: "leaf1", Task: "cms", Low: &two, High: &one},
	} {
		w, err := NewWriter(result.Sketches, "leaf1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.AddSketch(1, &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

// Whatever is read as an answer is written back as the same.
func FuzzReadSketch(f *testing.F) {
	f.Add([]byte(`{"switch":"leaf1","task":"cms","key":"10.0.0.1","estimate":7,"low":5,"flags":"saturated"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadSketch(Blob{Time: 1, Data: data})
		if err != nil {
			return
		}
		w, _ := NewWriter(result.Sketches, "leaf1")
		if ok, err := w.AddSketch(1, &s); err != nil || !ok {
			return // the event is too long for a batch
		}
		var r Reader
		if err := r.Open(w.Finish(1)); err != nil {
			t.Fatal(err)
		}
		blobs, err := r.Blobs()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ReadSketch(blobs[0]); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%+v, %v: want %+v", again, err, s)
		}
	})
}
