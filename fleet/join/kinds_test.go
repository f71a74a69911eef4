package join

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
)

// Batches of kinds that are not joined are errors and counted as bad, and their times are flagged.
func TestNotJoined(t *testing.T) {
	now := time.Unix(0, 0)
	for kind := result.Stamps; kind < result.Kinds; kind++ {
		p := New(kind.Partition(0), Options{}, result.Position{}, now)
		w, err := event.NewWriter(kind, "leaf1")
		if err != nil {
			t.Fatal(err)
		}
		err = p.Consume(1, w.Finish(event.Ended), now)
		refused := slices.Contains([]result.Kind{result.Records, result.Periods}, kind)
		if refused != (err != nil && strings.Contains(err.Error(), kind.String()+" are not joined here")) {
			t.Errorf("%v: %v, want an error: %v", kind, err, refused)
		}
		if b := p.Cut(now, true); len(b.Sources) != 1 || (b.Sources[0].Bad == 1) != refused {
			t.Errorf("%v: sources %+v, want a bad batch: %v", kind, b.Sources, refused)
		}
	}
}
