package cmu_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

const second = 1_000_000_000

// epochs returns a task of one unit with epochs of a second.
func epochs(t testing.TB) flymon.Layout {
	l := one(t, "t", 0, 32)
	l.Epoch = second
	return l
}

func at(ns uint64) cmu.Packet {
	p := *packet(1)
	p.Vector[5] = ns
	return p
}

// Epoch n counts in bank n mod 2. A bank that still holds another epoch's counts is dirty.
func TestEpochs(t *testing.T) {
	b := newBench(t, small(32))
	l := epochs(t)
	b.apply(l)
	where := l.Bucket(&b.geo, 0, packet(1).Vector)
	check := func(what string, n0, n1 uint32, want0, want1 flymon.ChipBank) {
		t.Helper()
		s := b.status("t")
		if got := [2]uint32{b.words("t", 0, 0)[where], b.words("t", 0, 1)[where]}; got != [2]uint32{n0, n1} {
			t.Errorf("%s: words %v, want %d and %d", what, got, n0, n1)
		}
		if s.Banks != [2]flymon.ChipBank{want0, want1} {
			t.Errorf("%s: %+v\nwant %+v\nand %+v", what, s.Banks, want0, want1)
		}
	}
	check("before the first packet", 0, 0, flymon.ChipBank{}, flymon.ChipBank{})
	bank := func(epoch, packets, first, last uint64) flymon.ChipBank {
		return flymon.ChipBank{Epoch: epoch, Used: true, Packets: packets, Bytes: 64 * packets, First: first, Last: last}
	}
	b.send(at(4*second), at(5*second-1))
	b4 := bank(4, 2, 4*second, 5*second-1)
	check("epoch 4", 2, 0, b4, flymon.ChipBank{})
	b.send(at(5 * second))
	check("epoch 5", 2, 1, b4, bank(5, 1, 5*second, 5*second))
	if err := b.Clear("t", 0); err != nil {
		t.Fatal(err)
	}
	check("epoch 4 is cleared", 0, 1, flymon.ChipBank{Epoch: 4}, bank(5, 1, 5*second, 5*second))
	b.send(at(6*second + 7))
	b6 := bank(6, 1, 6*second+7, 6*second+7)
	check("epoch 6", 1, 1, b6, bank(5, 1, 5*second, 5*second))
	b.send(at(9 * second))
	dirty := bank(9, 2, 5*second, 9*second)
	dirty.Dirty = true
	check("epoch 9 without clearing 5", 1, 2, b6, dirty)
	b.send(at(6*second + 8))
	b6.Packets, b6.Bytes, b6.Last = 2, 128, 6*second+8
	check("back to epoch 6", 2, 2, b6, dirty)
	if err := b.Clear("t", 1); err != nil {
		t.Fatal(err)
	}
	b.send(at(9*second + 1))
	check("epoch 9 again, cleared", 2, 1, b6, bank(9, 1, 9*second+1, 9*second+1))
	if err := b.Clear("t", 1); err != nil {
		t.Fatal(err)
	}
	b.send(at(9*second + 2)) // clears the bank that counts now
	check("epoch 9, cleared in its midst", 2, 1, b6, bank(9, 1, 9*second+2, 9*second+2))
}

// Without an epoch there is always one bank.
func TestOneBank(t *testing.T) {
	b := newBench(t, small(32))
	b.apply(one(t, "t", 992, 32))
	b.send(at(0), at(77*second), at(^uint64(0)), at(^uint64(0)), at(3))
	if s := b.status("t"); s.Banks[0].Packets != 5 || s.Banks[0].Dirty || s.Banks[1].Used {
		t.Errorf("%+v", s)
	}
	if _, err := b.Read("t", 0, 1, 0, 32); err == nil || !strings.Contains(err.Error(), "bank is 1, want 0 to 0") {
		t.Errorf("bank 1: %v", err)
	}
}

// Only existing banks and units can be read and cleared.
func TestReadAndClear(t *testing.T) {
	b := newBench(t, small(32))
	b.apply(epochs(t))
	for _, tt := range []struct {
		task       string
		unit, bank int
		from, n    uint32
		bad        string
	}{
		{"t", 0, 1, 0, 32, ""}, {"t", 0, 1, 32, 0, ""}, {"t", 0, 0, 31, 1, ""},
		{"u", 0, 0, 0, 1, `task "u"`}, {"t", 1, 0, 0, 1, "unit is 1, want 0 to 0"}, {"t", -1, 0, 0, 1, "unit is -1"},
		{"t", 0, 2, 0, 1, "bank is 2, want 0 to 1"}, {"t", 0, -1, 0, 1, "bank is -1"},
		{"t", 0, 0, 1, 32, "32 buckets from 1"}, {"t", 0, 0, ^uint32(0), 2, "want some of 32"},
		{"t", 0, 0, 2, ^uint32(0), "want some of 32"},
	} {
		w, err := b.Read(tt.task, tt.unit, tt.bank, tt.from, tt.n)
		clearErr := b.ClearRange(tt.task, tt.unit, tt.bank, tt.from, tt.n)
		for _, err := range []error{err, clearErr} {
			if (err == nil) != (tt.bad == "") || err != nil && !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("%+v: %v", tt, err)
			}
		}
		if err == nil && len(w) != int(tt.n) {
			t.Errorf("%+v: %d words", tt, len(w))
		}
	}
	for _, err := range []error{b.Clear("u", 0), b.Clear("t", 2)} {
		if err == nil {
			t.Error("what is not there is cleared")
		}
	}
	if _, ok := b.Status("u"); ok {
		t.Error("status of no task")
	}
	l, _ := b.Layout("t")
	where := l.Bucket(&b.geo, 0, packet(1).Vector)
	b.send(at(0), at(second))
	if err := b.ClearRange("t", 0, 1, where, 1); err != nil {
		t.Fatal(err)
	}
	if b.words("t", 0, 0)[where] != 1 || b.words("t", 0, 1)[where] != 0 || b.status("t").Banks[1].Packets != 1 {
		t.Errorf("%v, %v, %+v: want a bucket of bank 1 cleared, and not its counts", b.words("t", 0, 0), b.words("t", 0, 1),
			b.status("t"))
	}
}

// A full counter also makes digests of later flows in its bucket, since they might be heavy.
func TestDigestsOfFullCounters(t *testing.T) {
	b := newBench(t, small(32))
	l := epochs(t)
	l.Units[0].P2 = constant(5)
	l.Digest = &flymon.Digest{Threshold: 5, Key: key(t, "src-ip")}
	l.Masks[0].Key = flymon.Key{} // all flows in one bucket
	b.apply(l)
	for i := range 3 {
		for range 5 {
			p := *packet(i)
			p.Vector[5] = 2 * second
			b.send(p)
		}
	}
	if got := b.digests("t", 0); len(got) != 3 {
		t.Errorf("%d digests of three flows, of which the first filled the counter", len(got))
	}
}

// A digest is made once for a flow whose bucket reaches the threshold, in the bank that counts, up to a
// limit.
func TestDigests(t *testing.T) {
	b := newBench(t, small(32))
	l := epochs(t)
	l.Units[0].Size = 512
	l.Digest = &flymon.Digest{Threshold: 3, Key: key(t, "src-ip")}
	b.apply(l)
	flow := func(i int) flymon.Vector { return packet(i).Vector.And(l.Digest.Key) }
	var want []flymon.Vector
	for i := range 11 { // there is capacity for 8 digests
		for range 4 {
			p := *packet(i)
			p.Vector[5] = 2 * second
			b.send(p)
		}
		want = append(want, flow(i))
	}
	if got := b.digests("t", 0); !reflect.DeepEqual(got, want[:8]) {
		t.Errorf("%v, want %v", got, want[:8])
	}
	if s := b.status("t").Banks[0]; s.Digests != 8 || s.DigestsLost != 6 { // two packets of each of three flows
		t.Errorf("%+v, want 6 digests lost", s)
	}
	if got, err := b.Digests("t", 0, 6, 5); err != nil || !reflect.DeepEqual(got, want[6:8]) {
		t.Errorf("from 6: %v, %v", got, err)
	}
	if got, err := b.Digests("t", 0, 8, 5); err != nil || len(got) != 0 {
		t.Errorf("from 8: %v, %v", got, err)
	}
	for _, from := range []int{-1, 9} {
		if _, err := b.Digests("t", 0, from, 1); err == nil {
			t.Errorf("digests from %d", from)
		}
	}
	if _, err := b.Digests("t", 0, 0, -1); err == nil {
		t.Error("less than no digests")
	}
	if len(b.digests("t", 1)) != 0 {
		t.Error("digests of the other bank")
	}
	if err := b.Clear("t", 0); err != nil || len(b.digests("t", 0)) != 0 {
		t.Errorf("digests after clearing: %v", err)
	}
}

// A new filter changes neither words nor counts. New units begin with zeros, and the old words stay in frozen
// partitions until these are freed.
func TestFreezeAndDivert(t *testing.T) {
	b := newBench(t, small(32))
	b.SetOracle(100)
	l := epochs(t)
	l.Digest = &flymon.Digest{Threshold: 1, Key: l.Flow}
	b.apply(l)
	b.send(at(4*second+1), at(5*second+2))
	first := b.status("t")

	l.Filter = filter(t, "src-ip=10.0.0.0/8")
	b.apply(l)
	if s := b.status("t"); s != first || len(b.digests("t", 0)) != 1 {
		t.Fatalf("%+v after another filter, want %+v", s, first)
	}

	next := l
	next.Units = slices.Clone(l.Units)
	next.Units[0].Base, next.Units[0].Size = 128, 64
	next.Frozen = l.Units
	b.apply(next)
	s := b.status("t")
	if s.Generation == first.Generation || s.Banks != [2]flymon.ChipBank{} || s.Frozen != first.Banks ||
		s.FrozenAt != 5*second+2 {
		t.Fatalf("%+v, want the counts of %+v frozen", s, first)
	}
	b.send(at(5*second+3), at(5*second+4))
	s = b.status("t")
	old, now := b.words("t", 1, 1), b.words("t", 0, 1)
	if o, n := l.Bucket(&b.geo, 0, packet(1).Vector),
		next.Bucket(&b.geo, 0, packet(1).Vector); old[o] != 1 || now[n] != 2 || s.Banks[1].Packets != 2 ||
		s.Frozen != first.Banks {
		t.Fatalf("%v, %v, %+v: want one packet frozen, two counted", old, now, s)
	}
	if n := len(b.digests("t", 1)); n != 2 {
		t.Errorf("%d digests, want the one from before too", n)
	}
	if x, ok := b.Truth("t", 1); !ok || x.Packets != 3 {
		t.Errorf("%+v: want all 3 packets to be known", x)
	}

	next.Filter = filter(t, "src-ip=10.0.0.0/9")
	b.apply(next)
	if again := b.status("t"); again != s {
		t.Errorf("%+v after another filter, want %+v", again, s)
	}

	if err := b.Clear("t", 0); err != nil || b.status("t").Frozen[0].Used || slices.Max(b.words("t", 1, 0)) != 0 ||
		len(b.digests("t", 0)) != 0 {
		t.Errorf("a bank that is cleared is so in frozen partitions too: %v", err)
	}
	if x, _ := b.Truth("t", 0); x.Packets != 0 || len(x.Flows) != 0 {
		t.Errorf("%+v after clearing", x)
	}

	next.Frozen = nil
	b.apply(next)
	thawed := b.status("t")
	if thawed.Generation != s.Generation || thawed.Banks[1] != s.Banks[1] || thawed.Frozen != [2]flymon.ChipBank{} ||
		thawed.FrozenAt != 0 {
		t.Errorf("%+v after what was frozen is given back, want the counts of %+v", thawed, s)
	}
	if _, err := b.Read("t", 1, 0, 0, 1); err == nil {
		t.Error("what was given back can be read")
	}
	if x, _ := b.Truth("t", 1); len(b.digests("t", 1)) != 1 || x.Packets != 2 {
		t.Errorf("%d digests, %d packets, want those since", len(b.digests("t", 1)), x.Packets)
	}
	other := one(t, "other", 0, 32)
	other.Filter = filter(t, "src-ip=11.0.0.0/8")
	b.apply(other)
	if w := b.words("other", 0, 0); slices.Max(w) != 0 {
		t.Errorf("%v: a partition that was another's has words in it", w)
	}
}

// A partition of one bank differs from a partition of two banks.
func TestBanksComeAndGo(t *testing.T) {
	b := newBench(t, small(32))
	l := one(t, "t", 0, 64)
	b.apply(l)
	b.send(*packet(1))
	next := epochs(t)
	next.Units[0].Base, next.Units[0].Size, next.Frozen = 128, 64, slices.Clone(l.Units)
	b.apply(next)
	if s := b.status("t"); slices.Max(b.words("t", 1, 0)) != 0 || s.Frozen != [2]flymon.ChipBank{} {
		t.Errorf("%v, %+v: want zeros", b.words("t", 1, 0), s)
	}
}

// After a change of the threshold, all flows make digests again.
func TestDigestsOfAnotherThreshold(t *testing.T) {
	b := newBench(t, small(32))
	l := one(t, "t", 0, 64)
	for threshold := uint32(1); threshold < 4; threshold++ {
		l.Digest = &flymon.Digest{Threshold: threshold, Key: l.Flow}
		b.apply(l)
		if s := b.status("t").Banks[0]; s.Digests != 0 || len(b.digests("t", 0)) != 0 || s.Packets != 2*uint64(threshold-1) {
			t.Errorf("threshold %d: %+v before the first packet", threshold, s)
		}
		b.send(*packet(1), *packet(1))
		if s := b.status("t").Banks[0]; s.Digests != 1 || len(b.digests("t", 0)) != 1 {
			t.Errorf("threshold %d: %+v", threshold, s)
		}
	}
}

// A task may free some of its units. The others continue, with their digests. Another task may count the same packets
// in the freed partition.
func TestUnitsThatAreLeft(t *testing.T) {
	b := newBench(t, small(32))
	b.SetOracle(10)
	l := countMin(t, "t", 0, 0, 32)
	l.Digest = &flymon.Digest{Threshold: 2, Key: l.Flow}
	b.apply(l)
	b.send(*packet(1), *packet(1))
	before := b.status("t")
	less := l
	less.Units, less.Frozen = l.Units[:2], l.Units[2:]
	b.apply(less)
	same := one(t, "same", 512, 32)
	same.Units[0].CMU, same.Units[0].Key.A, same.Masks[0].Unit = 2, 1, 1
	b.apply(same)
	b.send(*packet(1))
	s := b.status("t")
	if s.Generation != before.Generation || s.Banks[0].Packets != 3 || s.Frozen != before.Banks ||
		slices.Max(b.words("t", 1, 0)) != 3 || slices.Max(b.words("t", 2, 0)) != 2 {
		t.Errorf("%+v, before %+v", s, before)
	}
	if x, _ := b.Truth("t", 0); len(b.digests("t", 0)) != 1 || x.Packets != 3 {
		t.Errorf("%d digests, %d packets, want 1 and 3", len(b.digests("t", 0)), x.Packets)
	}
	if slices.Max(b.words("same", 0, 0)) != 1 {
		t.Error("the other task in the CMU did not count")
	}
}

// Words are kept only if their meaning does not change.
func TestWhatIsZeroed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(l *flymon.Layout)
		stays  bool
	}{
		{"nothing", func(*flymon.Layout) {}, true},
		{"filter", func(l *flymon.Layout) { l.Filter = filter(t, "ip=4") }, true},
		{"digest", func(l *flymon.Layout) { l.Digest = &flymon.Digest{Threshold: 5, Key: l.Flow} }, true},
		{"mask of a hash unit that the unit does not use", func(l *flymon.Layout) {
			l.Masks = append(l.Masks, flymon.MaskRule{Unit: 1, Key: key(t, "dst-ip")})
		}, true},
		{"mask", func(l *flymon.Layout) { l.Masks = []flymon.MaskRule{{Key: key(t, "dst-ip")}} }, false},
		{"length of the epoch", func(l *flymon.Layout) { l.Epoch = 2 * second }, false},
		{"size", func(l *flymon.Layout) { l.Units[0].Size = 64 }, false},
		{"base", func(l *flymon.Layout) { l.Units[0].Base = 64 }, false},
		{"operation", func(l *flymon.Layout) { l.Units[0].Op = flymon.Max }, false},
		{"parameter", func(l *flymon.Layout) { l.Units[0].P1 = constant(2) }, false},
		{"map", func(l *flymon.Layout) { l.Units[0].Map = []flymon.MapRule{rule(0, 0, 1)} }, false},
		{"coin", func(l *flymon.Layout) { l.Units[0].To = 256 }, false},
		{"translation", func(l *flymon.Layout) { l.Units[0].Shifted = true }, false},
		{"key", func(l *flymon.Layout) { l.Units[0].Key.Shift = 1 }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, small(32))
			l := epochs(t)
			b.apply(l)
			b.send(at(2 * second))
			before := b.status("t")
			l.Units = slices.Clone(l.Units)
			tt.change(&l)
			b.apply(l)
			s := b.status("t")
			if stays := slices.Max(b.words("t", 0, 0)) == 1; stays != tt.stays || (s == before) != tt.stays {
				t.Errorf("words stay: %v, %+v, before %+v", stays, s, before)
			}
		})
	}
	b := newBench(t, small(32))
	b.apply(epochs(t))
	g := b.status("t").Generation
	b.Remove("t")
	b.apply(epochs(t))
	if b.status("t").Generation == g {
		t.Error("a task that begins anew has its old generation")
	}
}
