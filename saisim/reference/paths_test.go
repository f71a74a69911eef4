package reference_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim"
)

// paths selects event by event, and windows with vectors of the lengths at the edges.
var paths = []int{0, 1, 2, 63, 64}

// newPathTest makes engines with the same changes that differ in the path of packets.
func newPathTest(seed uint64) (*compileTest, error) {
	t, err := newChanged(seed)
	if err != nil {
		return nil, err
	}
	observed := t.chance(25)
	if observed {
		t.saw["chips with an observer"]++
	}
	for _, vector := range paths {
		e := t.newCompiled(fmt.Sprint("by ", vector), vector, observed)
		for _, s := range t.steps {
			if err := e.do(s); err != nil {
				return nil, err
			}
		}
		t.engines = append(t.engines, e)
	}
	t.engines[0].steps = nil // no maximum per advance
	t.steps = nil
	return t, nil
}

// runLong sends bursts of frames through all engines, without configuring or reading anything meanwhile. It compares
// the engines while frames are in the chip, and when the chip is empty.
func (t *compileTest) runLong(bursts, frames int) error {
	for range bursts {
		if err := t.burst(frames); err != nil {
			return err
		}
		for n := 1 + t.IntN(10); n > 0; n-- {
			t.advance(t.chip.Now() + saisim.Cycle(t.Uint64N(40_000)))
		}
		if _, busy := t.chip.NextEvent(); busy {
			t.saw["compared with frames in the chip"]++
		}
		if err := t.differs(false); err != nil {
			return fmt.Errorf("after %d packets, at cycle %d: %w", t.packets, t.chip.Now(), err)
		}
	}
	t.drainAll()
	if err := t.differs(true); err != nil {
		return fmt.Errorf("after %d packets and all events: %w", t.packets, err)
	}
	return nil
}

// seenOfPaths lists events that must occur, or the test is trivial.
var seenOfPaths = []string{"chips with an observer", "compared with frames in the chip"}

var pathCases = randtest.Cases{Seed: 91_000_000, Count: 8, Short: 2}

// Packets do the same event by event and in windows, with vectors of all lengths. Compared are the frames that leave,
// their times and order, everything learned and counted, and the waiting packets at every instant.
func TestPathsAgree(t *testing.T) {
	const bursts, frames = 2, longPackets / 2
	y := tally{}
	run := randtest.Run(t, pathCases, func(t *testing.T, seed uint64) {
		c, err := newPathTest(seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.runLong(bursts, frames); err != nil {
			t.Fatal(err)
		}
		b := c.chip.FrameCounts()
		y["frames"] += c.packets
		y["copies that left"] += int(b.Sent + b.ToCPU)
		for _, what := range seenOfPaths {
			y[what] += c.saw[what]
		}
	})
	for _, what := range slices.Sorted(maps.Keys(y)) {
		t.Logf("%10d %s", y[what], what)
	}
	if !run.Whole(pathCases) || t.Failed() {
		return
	}
	if y["copies that left"] < y["frames"]/4 {
		t.Errorf("of %d frames %d copies left, want a fourth of the frames at least", y["frames"], y["copies that left"])
	}
	for _, what := range seenOfPaths {
		if y[what] == 0 {
			t.Errorf("%s: never", what)
		}
	}
}
