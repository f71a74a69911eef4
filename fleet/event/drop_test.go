package event

import (
	"math"
	"strings"
	"testing"

	"tamtam/collector/result"
)

// A report for a queue that no row can hold is refused: it would be stored as another one, or as none.
func TestDropRefused(t *testing.T) {
	w, err := NewWriter(result.Drops, "leaf1")
	if err != nil {
		t.Fatal(err)
	}
	for queue, ok := range map[int]bool{result.NoQueue: true, result.UnknownQueue: true, 0: true, math.MaxInt32: true,
		-3: false, math.MaxInt32 + 1: false} {
		d := Drop{Switch: "leaf1", Queue: queue, Reason: "acl", Packets: 1, Source: "sflow"}
		if _, err := w.AddDrop(1, &d); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "queue") {
			t.Errorf("queue %d: %v, want that it is accepted: %v", queue, err, ok)
		}
	}
}
