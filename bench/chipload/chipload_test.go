package chipload

import (
	"testing"
)

// feed makes a load's chip, and runs it until nothing grows any more.
func feed(t *testing.T, l Load) *Feed {
	t.Helper()
	f, err := New(t.Context(), l)
	if err == nil {
		err = f.Send(20_000)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Every load that is compared forwards, or drops, what it says, and allocates nothing for a packet: nothing is
// measured of packets that went elsewhere.
func TestLoads(t *testing.T) {
	if testing.Short() {
		t.Skip("allocations are counted without the race detector")
	}
	loads := map[string]Load{}
	for _, n := range Chip {
		loads[n.Name] = n.Load
	}
	for _, p := range Parts {
		loads["part: "+p.Name] = p.Load
		if !p.First {
			loads["part before: "+p.Name] = p.Than
		}
	}
	for name, l := range loads {
		t.Run(name, func(t *testing.T) {
			f := feed(t, l)
			var err error
			// The memory for the drops that a chip keeps grows, 512 at a time, until it is full.
			if n := testing.AllocsPerRun(5, func() { err = f.Send(1000) }); n > 2 {
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

// A frame is as long as the load says, and its header is one that a router takes.
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

// What changes in a filled chip changes.
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
