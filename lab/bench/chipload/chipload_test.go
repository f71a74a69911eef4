package chipload

import (
	"testing"
	"time"

	"tamtam/saisim"
)

// feed creates a load's chip, and runs it until no memory grows any more.
func feed(t *testing.T, l Load) *Feed {
	t.Helper()
	f, err := New(t.Context(), l)
	if err == nil {
		err = f.Send(20_000)
	}
	for before := uint64(0); err == nil && f.kept() > before; { // memory for kept drops grows until it is full
		before = f.kept()
		err = f.Send(1000)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// kept returns the number of drops for which the chip has allocated memory.
func (f *Feed) kept() (n uint64) {
	f.chip.Why(func(v *saisim.WhyView) { n = v.Drops.Kept - v.Drops.Forgotten })
	return n
}

// Every load forwards or drops what it should, and allocates nothing for a packet. So no measurement includes packets
// that took another path.
func TestLoads(t *testing.T) {
	if testing.Short() {
		t.Skip("allocations are counted without the race detector")
	}
	loads := map[string]Load{
		"1,500 bytes":                {Size: 1500, Pause: 4},
		"in priority groups":         {Accounts: true},
		"streamed":                   {Ports: 64, Pause: PauseFor(64, 0.1), Streamed: 10 * time.Microsecond},
		"100,000 routes":             {Routes: 100_000},
		"ECMP":                       {Routes: 1024, ECMP: true},
		"10,000 flows marked":        {Flows: 10_000, Marked: true},
		"recording, 1 packet of 100": {Table: true, Plan: true, Sample: 100, Pause: 24},
		"recording, every packet":    {Table: true, Plan: true, Sample: 1, Pause: 24},
		"nine CMU groups":            {Flows: 1024, Groups: 9},
		"sketch":                     {Sketch: true},
		"1 packet of 3 dropped":      {Dropped: 3},
		"every packet dropped":       {Dropped: 1},
	}
	for _, p := range Parts {
		loads["part: "+p.Name] = p.Load
		loads["part before: "+p.Name] = p.Than
	}
	for name, l := range loads {
		t.Run(name, func(t *testing.T) {
			f := feed(t, l)
			var err error
			if n := testing.AllocsPerRun(5, func() { err = f.Send(1000) }); n != 0 {
				t.Errorf("%v allocations in 1000 packets", n)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A frame has the length of the load, and its header is valid for a router.
func TestFrames(t *testing.T) {
	for size, want := range map[int]int{0: 60, 64: 60, 1500: 1496} {
		f := Load{Size: size, Routes: 1}.Frame(1, 2)
		if len(f) != want || int(f[16])<<8|int(f[17]) != want-14 {
			t.Errorf("size %d: %d bytes, % x", size, len(f), f[:34])
		}
		if sum := checksum(f[14:34]); sum != 0 {
			t.Errorf("size %d: checksum over all %x", size, sum)
		}
	}
}

// Each kind of change takes effect in a filled chip.
func TestChanges(t *testing.T) {
	c, err := NewFilled(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range Changes {
		for n := range 2 {
			if err := c.Change(what, n); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
