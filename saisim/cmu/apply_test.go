package cmu_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

func TestNewWantsAGeometry(t *testing.T) {
	geo := geometry()
	geo.Depth = 1000
	if g, err := cmu.New(geo); err == nil || !strings.Contains(err.Error(), "depth is 1000") {
		t.Errorf("%v, %v", g, err)
	}
	b := newBench(t, geometry())
	if b.Geometry() != geometry() || b.Busy() || b.Tasks() != 0 {
		t.Errorf("%+v, busy %v, %d tasks", b.Geometry(), b.Busy(), b.Tasks())
	}
}

// Each refusal names the conflict, and changes nothing.
func TestRefusals(t *testing.T) {
	there := one(t, "there", 64, 32)
	there.Filter = filter(t, "src-ip=10.0.0.0/8")
	there.Epoch = 1_000_000_000
	for _, tt := range []struct {
		name   string
		change func(l *flymon.Layout)
		bad    []string // empty if the layout fits
	}{
		{"beside", func(*flymon.Layout) {}, nil},
		{"in its first bank", func(l *flymon.Layout) { l.Units[0].Base = 64 },
			[]string{"group 0, cmu 0", "base is 64", `task "there"`, "64 to 127"}},
		{"in its second bank", func(l *flymon.Layout) { l.Units[0].Base = 96 }, []string{"base is 96", `task "there"`}},
		{"around it", func(l *flymon.Layout) { l.Units[0].Base, l.Units[0].Size = 0, 1024 },
			[]string{"base is 0", `task "there"`}},
		{"in front of it, with two banks", func(l *flymon.Layout) {
			l.Epoch, l.Units[0].Base, l.Units[0].Size = 1_000_000, 0,
				64
		}, []string{"base is 0", `task "there"`}},
		{"the same place in another CMU", func(l *flymon.Layout) { l.Units[0].CMU, l.Units[0].Base = 1, 64 }, nil},
		{"the same place in another group", func(l *flymon.Layout) {
			l.Units[0].Group, l.Masks[0].Group, l.Units[0].Base = 1, 1, 64
		}, nil},
		{"another mask", func(l *flymon.Layout) { l.Masks[0].Key = key(t, "dst-ip") },
			[]string{"group 0, hash unit 0", "mask is dst-ip", `task "there" has src-ip`}},
		{"another mask in another unit", func(l *flymon.Layout) {
			l.Masks[0], l.Units[0].Key = flymon.MaskRule{Unit: 1, Key: key(t, "dst-ip")}, flymon.Ref{A: 1}
		}, nil},
		{"a filter that meets", func(l *flymon.Layout) { l.Filter = filter(t, "dst-port=80") },
			[]string{"group 0, cmu 0", "filter dst-port=80 meets src-ip=10.0.0.0/8", `task "there"`}},
		{"all packets", func(l *flymon.Layout) { l.Filter = flymon.Filter{} }, []string{"filter any meets", `task "there"`}},
		{"a filter that meets in another CMU", func(l *flymon.Layout) { l.Filter, l.Units[0].CMU = flymon.Filter{}, 1 }, nil},
		{"half of the packets, where it has all", func(l *flymon.Layout) {
			l.Filter, l.Units[0].From, l.Units[0].To = flymon.Filter{}, 0, 128
		}, []string{"coins that do not meet"}},
		{"a unit in a spliced group too", func(l *flymon.Layout) {
			u := l.Units[0]
			u.Group = 9
			l.Units, l.Masks = append(l.Units, u), append(l.Masks, flymon.MaskRule{Group: 9, Key: l.Masks[0].Key})
		}, []string{"group 0", "group 9", "spliced"}},
		{"in a spliced group alone", func(l *flymon.Layout) { l.Units[0].Group, l.Masks[0].Group = 11, 11 }, nil},
		{"frozen where another is", func(l *flymon.Layout) {
			l.Frozen = slices.Clone(l.Units)
			l.Frozen[0].Base = 96
		}, []string{"frozen[0]", `task "there"`}},
		{"frozen where it counts", func(l *flymon.Layout) { l.Frozen = slices.Clone(l.Units) },
			[]string{"frozen[0]", "base is 32", "units[0]"}},
		{"frozen twice", func(l *flymon.Layout) {
			l.Frozen = append(slices.Clone(l.Units), l.Units...)
			l.Frozen[0].CMU, l.Frozen[1].CMU = 2, 2
		}, []string{"frozen[1]", "frozen[0]"}},
		{"frozen elsewhere", func(l *flymon.Layout) {
			l.Frozen = slices.Clone(l.Units)
			l.Frozen[0].Base = 512
		}, nil},
		{"wrong by itself", func(l *flymon.Layout) { l.Units[0].CMU = 7 }, []string{`task "new"`, "cmu is 7"}},
		{"two things at once", func(l *flymon.Layout) { l.Units[0].Base, l.Masks[0].Key = 64, key(t, "dst-ip") },
			[]string{"base is 64", "mask is dst-ip"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, small(32))
			before := one(t, "new", 128, 32)
			before.Filter = filter(t, "src-ip=11.0.0.0/8")
			b.apply(there, before)
			b.send(*packet(1))
			b.send(cmu.Packet{Vector: flymon.Make(ip4(11, 0, 0, 1), ip4(1, 1, 1, 1), 0, 0, 1, 0)})
			was, status := b.words("new", 0, 0), b.status("new")
			l := one(t, "new", 32, 32)
			l.Filter = before.Filter
			tt.change(&l)
			err := b.Apply(l)
			if (err == nil) != (tt.bad == nil) {
				t.Fatalf("error %v, want one with %q", err, tt.bad)
			}
			if err == nil {
				return
			}
			for _, s := range tt.bad {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q, want %q in it", err, s)
				}
			}
			if got, _ := b.Layout("new"); !reflect.DeepEqual(got, before) || b.status("new") != status ||
				!slices.Equal(b.words("new", 0, 0), was) {
				t.Error("the task has changed")
			}
			b.send(cmu.Packet{Vector: flymon.Make(ip4(11, 0, 0, 1), ip4(1, 1, 1, 1), 0, 0, 1, 0)})
			if n := b.status("new").Banks[0].Packets; n != 2 {
				t.Errorf("%d packets, want it to count as before", n)
			}
		})
	}
}

// 96 tasks fit into a group, each with its own filter and partition. A 97th does not fit, but each of the 96 may be
// changed.
func TestTasksOfAGroup(t *testing.T) {
	b := newBench(t, small(32))
	task := func(i int) flymon.Layout {
		l := one(t, fmt.Sprintf("t%d", i), uint32(i/3%32)*32, 32)
		l.Filter = filter(t, fmt.Sprintf("src-ip=10.0.%d.0/24", i))
		l.Units[0].CMU = i % 3
		return l
	}
	for i := range flymon.MaxTasks {
		b.apply(task(i))
	}
	b.apply(task(5))
	next := task(96)
	next.Units[0].CMU = 1
	b.Remove("t1") // frees its partition
	b.apply(next)
	more := task(1)
	more.Units[0].Group, more.Masks[0].Group = 1, 1
	b.apply(more)
	more = task(97)
	more.Units[0].CMU, more.Units[0].Base = 2, 0
	if err := b.Apply(more); err == nil || !strings.Contains(err.Error(), "group 0 has 96 tasks") {
		t.Errorf("the 97th task: %v", err)
	}
	for i := range 300 {
		b.send(cmu.Packet{Vector: flymon.Make(ip4(10, 0, byte(i%100), 1), ip4(10, 1, 0, 1), 0, 0, 1, 0)})
	}
	for i := range 97 {
		name := fmt.Sprintf("t%d", i)
		sum := uint32(0)
		for _, w := range b.words(name, 0, 0) {
			sum += w
		}
		if s := b.status(name).Banks[0]; s.Packets != 3 || sum != 3 {
			t.Errorf("%s: %d packets, %d counted, want 3", name, s.Packets, sum)
		}
	}
}

// Tasks with overlapping filters share a CMU if they have no coin in common. A mask is free again when its last task is
// removed.
func TestShares(t *testing.T) {
	b := newBench(t, small(32))
	for i := range 4 {
		l := one(t, fmt.Sprintf("t%d", i), uint32(i)*32, 32)
		l.Units[0].From, l.Units[0].To = uint16(i)*64, uint16(i+1)*64
		b.apply(l)
	}
	l := one(t, "t4", 512, 32)
	l.Units[0].From, l.Units[0].To = 255, 256
	if err := b.Apply(l); err == nil || !strings.Contains(err.Error(), `task "t3"`) {
		t.Errorf("a coin twice: %v", err)
	}
	l.Masks[0].Key = key(t, "dst-ip")
	for i := range 4 {
		if err := b.Apply(l); err == nil {
			t.Fatal("a mask that is in use has changed")
		}
		if !b.Remove(fmt.Sprintf("t%d", i)) || b.Remove(fmt.Sprintf("t%d", i)) {
			t.Error("a task is removed once")
		}
	}
	b.apply(l)
}

// More masks are used and freed than there are hash units, beside some that stay.
func TestMasksComeAndGo(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		b := newBench(t, small(32))
		stays := rows(t, 3, 3, flymon.Unit{CMU: 1, Size: 1024, Op: flymon.CondAdd, P1: constant(1), P2: always(),
			Key: flymon.Ref{A: 1}})
		stays.Task = "stays"
		for i := range stays.Units {
			stays.Units[i].CMU = 1
		}
		for i := range stays.Masks {
			stays.Masks[i].Unit++
		}
		b.apply(stays)
		packets := newTraffic(seed)
		var want [3][1024]uint32
		for i := range 300 {
			l := one(t, "t", 0, 32)
			l.Masks[0].Key = key(t, fmt.Sprintf("src-ip/%d,dst-ip/%d", 1+i%32, 1+i/32))
			b.apply(l)
			p := packets.next()
			b.send(p)
			if at := l.Bucket(&b.geo, 0, p.Vector); b.words("t", 0, 0)[at] != 1 {
				t.Fatalf("%d: %v, want 1 in bucket %d", i, b.words("t", 0, 0), at)
			}
			for i := range want {
				want[i][stays.Bucket(&b.geo, i, p.Vector)]++
			}
		}
		for i := range want {
			if got := b.words("stays", i, 0); !slices.Equal(got, want[i][:]) {
				t.Errorf("unit %d: %s", i, differ(got, want[i][:]))
			}
		}
	})
}

// The chip has its own copy of a layout.
func TestLayoutIsCopied(t *testing.T) {
	b := newBench(t, small(32))
	l := one(t, "t", 0, 32)
	l.Units[0].Map = []flymon.MapRule{rule(0, 0, 1)}
	b.apply(l)
	got, _ := b.Layout("t")
	got.Units[0].Map[0].Out, l.Units[0].Base = 5, 64
	if now, ok := b.Layout("t"); !ok || now.Units[0].Base != 0 || now.Units[0].Map[0].Out != 1 {
		t.Errorf("%+v", now)
	}
	if _, ok := b.Layout("u"); ok {
		t.Error("a task that there is not")
	}
}
