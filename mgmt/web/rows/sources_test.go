package rows

import (
	"math"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// A source is the sum of its partitions, whichever is read first. A loss of unknown partition is a gap in each, so the
// number of losses has bounds.
func TestSourcesOfPartitions(t *testing.T) {
	store := result.NewMemory(0)
	for i, lost := range []int64{1, 3, 2} {
		b := &result.Batch{Partition: result.Stamps.Partition(i), First: 1, Position: result.Position{Last: 1,
			Sources: []result.Source{
				{Name: "b", Kind: "tailstamp", Batches: 10, Events: 5, Lost: lost, Latest: int64(i), Silent: i == 1,
					LeftOut: int64(-i / 2)},
				{Name: "a", Kind: "tailstamp", Batches: 1, Lost: lost - 1},
			}}}
		if _, err := store.Put(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 { // the order of partitions is random
		s, err := Read(t.Context(), store, 0, math.MaxInt64, time.Unix(100, 0))
		if err != nil {
			t.Fatal(err)
		}
		list := SourceItems(s)
		want := []SourceItem{{Name: "a", Kind: "tailstamp", Batches: 3, Lost: query.Range{Low: 2, High: 3}},
			{Name: "b", Kind: "tailstamp", Batches: 30, Events: 15, Lost: query.Range{Low: 3, High: 6}, LeftOut: -1, Latest: 2,
				Silent: true}}
		if len(list) != 2 || list[0] != want[0] || list[1] != want[1] {
			t.Fatalf("%+v, want %+v", list, want)
		}
	}
}
