package synthetic

import (
	"context"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/join"
	"tamtam/fleet/stream"
	"tamtam/internal/randtest"
)

func small(seed uint64) Shape {
	return Shape{Leaves: 6, Spines: 2, Flows: 300, Alive: 5 * time.Second, Stamps: 60_000, Time: 30 * time.Second,
		Every: time.Second, Partitions: 3, Seed: seed}
}

// The packets of a small fleet are in the store, one by one.
func TestRun(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		res, err := Run(t.Context(), small(seed), stream.NewMemory(0), result.NewMemory(0),
			join.Options{Window: 5 * time.Second})
		if err != nil || res.Stamps != 60_000 || res.Rows == 0 {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// lossy is a store that drops a row of each batch: the comparison must find that.
type lossy struct {
	*result.Memory
}

func (l lossy) Put(ctx context.Context, b *result.Batch) (bool, error) {
	if len(b.Hops) > 0 {
		b.Hops = b.Hops[1:]
	}
	return l.Memory.Put(ctx, b)
}

func TestMissing(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		_, err := Run(t.Context(), small(seed), stream.NewMemory(0), lossy{result.NewMemory(0)}, join.Options{})
		if err == nil || !strings.Contains(err.Error(), "were sent") {
			t.Errorf("%v: want that the store has fewer packets than were sent", err)
		}
	})
}
