package join

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/stream"
)

// heldBy counts the partitions that are held, and reports whether one is held twice.
func heldBy(pools []*Pool, names []string) (total int, twice bool) {
	for _, name := range names {
		n := 0
		for _, p := range pools {
			if p.Held(name) {
				n++
			}
		}
		total += n
		twice = twice || n > 1
	}
	return total, twice
}

// Three pools hold five partitions, each once. When pools end, the others hold as many partitions as their limits
// allow.
func TestPool(t *testing.T) {
	names := []string{"p-0", "p-1", "p-2", "p-3", "p-4"}
	log, store := stream.NewMemory(0), result.NewMemory(0)
	var pools []*Pool
	var stops []context.CancelFunc
	var running sync.WaitGroup
	for i := range 3 {
		ctx, stop := context.WithCancel(t.Context())
		p := &Pool{Worker: Worker{Log: log, Store: store}, Work: log, Partitions: names, Most: i + 2, Hold: time.Millisecond}
		pools, stops = append(pools, p), append(stops, stop)
		running.Go(func() {
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wait := func(what string, want int) {
		t.Helper()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			total, twice := heldBy(pools, names)
			if total == want && !twice {
				return
			}
			select {
			case <-tick.C:
			case <-limit.Done():
				t.Fatalf("%s: %d partitions are held, want %d; one twice: %v", what, total, want, twice)
			}
		}
	}
	wait("three pools", 5)
	stops[0]()
	wait("two pools", 5)
	stops[2]()
	wait("one pool", 3)
	stops[1]()
	running.Wait()
	wait("no pool", 0)
}

type badStore struct{ result.Store }

var errBad = errors.New("the disk is gone")

func (badStore) Last(context.Context, string) (result.Position, error) {
	return result.Position{}, errBad
}

// A pool ends when the store fails, and returns the cause.
func TestPoolFails(t *testing.T) {
	log := stream.NewMemory(0)
	p := &Pool{Worker: Worker{Log: log, Store: badStore{}}, Work: log, Partitions: []string{"p-0"}}
	if err := p.Run(t.Context()); !errors.Is(err, errBad) {
		t.Errorf("%v: want %v", err, errBad)
	}
	for _, bad := range []*Pool{{}, {Partitions: p.Partitions, Most: -1}, {Partitions: p.Partitions, Hold: -1}} {
		if err := bad.Run(t.Context()); err == nil {
			t.Error(fmt.Sprint(bad.Partitions, bad.Most, bad.Hold), ": no error")
		}
	}
}
