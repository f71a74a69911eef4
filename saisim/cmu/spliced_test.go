package cmu_test

import (
	"slices"
	"testing"

	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// spliced moves the task to a group of Appendix E.
func spliced(l flymon.Layout) flymon.Layout {
	l.Units, l.Masks = slices.Clone(l.Units), slices.Clone(l.Masks)
	l.Units[0].Group, l.Masks[0].Group = 9, 9
	return l
}

// A task in spliced groups counts a packet when it returns, in the epoch of its first pass. A packet that cannot return
// is lost. No other task is affected.
func TestSecondPass(t *testing.T) {
	b := newBench(t, small(32))
	b.SetOracle(10)
	l := spliced(epochs(t))
	stacked := one(t, "stacked", 0, 32)
	stacked.Filter = filter(t, "ip=4")
	b.apply(l, stacked)
	p := at(2*second - 1)
	p.Number = 1
	if !b.Run(&p) {
		t.Fatal("the packet is not wanted again")
	}
	if s := b.status("t").Banks; s != [2]flymon.ChipBank{} {
		t.Errorf("%+v before the second pass", s)
	}
	q := at(2 * second)
	q.Number = 2
	b.Run(&q)
	b.RunAgain(&p)
	b.LostAgain(&q)
	s := b.status("t").Banks
	if s[1].Packets != 1 || s[1].Epoch != 1 || s[0].Packets != 0 || s[0].Lost != 1 || !s[0].Used {
		t.Errorf("%+v, want a packet in epoch 1 and one lost in epoch 2", s)
	}
	if slices.Max(b.words("t", 0, 1)) != 1 || slices.Max(b.words("t", 0, 0)) != 0 {
		t.Error("words are not those of one packet in bank 1")
	}
	if x, _ := b.Truth("t", 0); x.Packets != 1 {
		t.Errorf("%d packets, want the lost one to be known exactly", x.Packets)
	}
	if n := b.status("stacked").Banks[0].Packets; n != 2 {
		t.Errorf("%d packets of the other task, want 2", n)
	}
	b.Remove("t")
	if b.Run(&p) {
		t.Error("nobody is there who wants it again")
	}
}

// Only packets that a task would count are recirculated, since the port has little capacity.
func TestWhoGoesRound(t *testing.T) {
	b := newBench(t, small(32))
	l := spliced(one(t, "t", 0, 32))
	l.Filter = filter(t, "dst-port=443,src-ip=10.0.0.0/16")
	l.Units[0].From, l.Units[0].To = 0, 64
	b.apply(l)
	for i := range 500 {
		p := *packet(i)
		p.Number = uint64(i + 1)
		if again := b.Run(&p); again != (cmu.Coin(p.Number) < 64) {
			t.Fatalf("packet %d of coin %d: %v", i, cmu.Coin(p.Number), again)
		}
		p.Vector[0] = 0
		if b.Run(&p) {
			t.Fatal("a packet that does not match")
		}
	}
}

// A task does not count packets that were being recirculated when the task was added or began with zeros. It does count
// them if only its filter has changed.
func TestTasksThatComeBetweenPasses(t *testing.T) {
	b := newBench(t, small(32))
	l := spliced(one(t, "t", 0, 32))
	other := spliced(one(t, "other", 64, 32))
	other.Units[0].CMU = 1
	b.apply(other)
	run := func() *cmu.Packet {
		p := *packet(1)
		b.number++
		p.Number = b.number
		if !b.Run(&p) {
			t.Fatal("the packet is not wanted again")
		}
		return &p
	}
	count := func(what string, want uint64) {
		t.Helper()
		if n := b.status("t").Banks[0]; n.Packets+n.Lost != want {
			t.Errorf("%s: %d packets, want %d", what, n.Packets, want)
		}
	}
	p := run()
	b.apply(l)
	b.RunAgain(p)
	b.LostAgain(p)
	count("new", 0)
	p = run()
	l.Filter = filter(t, "ip=4")
	b.apply(l)
	b.RunAgain(p)
	count("another filter", 1)
	p = run()
	l.Units[0].Base = 128
	b.apply(l)
	b.RunAgain(p)
	count("another place", 0)
	b.RunAgain(run())
	count("since then", 1)
	if n := b.status("other").Banks[0]; n.Packets != 4 || n.Lost != 1 {
		t.Errorf("%+v: the other task has seen all", n)
	}
}
