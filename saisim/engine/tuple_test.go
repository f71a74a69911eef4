package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/config"
)

// ruleOf returns an entry that matches some bits of a key.
func ruleOf(k, mask aclKey) *aclEntry {
	r := aclRule{mask: mask}
	for w, v := range k {
		r.value[w] = v & mask[w]
	}
	e := &aclEntry{}
	e.match(&r)
	return e
}

// matches reports whether an entry matches a key, by comparing all its words.
func (e *aclEntry) matches(k *aclKey, x *crossing) bool {
	i := 0
	for w, m := range e.mask {
		if m != 0 {
			if k[w]&m != e.key[i] {
				return false
			}
			i++
		}
	}
	return e.places(x)
}

// checkSieves checks the invariants of lookups. Each entry passes the sieve of its tuple. Sieves and tuples are sorted
// by priority.
func (s *tupleSpace) checkSieves(t *testing.T) {
	t.Helper()
	tuples := 0
	for i := range s.sieves {
		v := &s.sieves[i]
		if len(v.tuples) == 0 || v.noted > filterFull*len(v.words) || len(v.words)&(len(v.words)-1) != 0 {
			t.Fatalf("a sieve with %d tuples, %d values in %d words", len(v.tuples), v.noted, len(v.words))
		}
		if i > 0 && s.sieves[i-1].top < v.top {
			t.Fatalf("a sieve with priority %d before one with %d", s.sieves[i-1].top, v.top)
		}
		for j, u := range v.tuples {
			tuples++
			if s.byMask[u.mask] != u || u.mask[v.word] != v.mask || u.top > v.top || j > 0 && v.tuples[j-1].top < u.top {
				t.Fatalf("tuple %d behind sieve %+v does not belong there: %+v", j, v.keyPart, u)
			}
			for _, slot := range u.slots {
				for e := slot.entry; e != nil; e = e.next {
					var k aclKey
					for n, p := range u.parts {
						k[p.word] = e.key[n] | ^p.mask
					}
					if e.priority > u.top || !v.has(v.hash(k[v.word])) {
						t.Fatalf("an entry of priority %d is missed behind sieve %+v", e.priority, v.keyPart)
					}
				}
			}
		}
	}
	if tuples != len(s.byMask) {
		t.Fatalf("%d tuples behind sieves, there are %d", tuples, len(s.byMask))
	}
}

// The tuple space finds the same as a search through all rules, while rules are added and removed. The masks share
// words, and sets of values are small and large.
func TestTupleSpace(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 10}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		var s tupleSpace
		var all []*aclEntry
		masks := make([]aclKey, 6+rnd.IntN(4))
		for i := range masks {
			for w := range masks[i] {
				if rnd.IntN(4) == 0 {
					masks[i][w] = []uint64{uint64(rnd.IntN(8)) << (rnd.IntN(3) * 20), 1<<64 - 1}[rnd.IntN(2)]
				}
			}
		}
		values := 1 + rnd.IntN(8)
		key := func() (k aclKey) {
			for w := range k {
				k[w] = uint64(rnd.IntN(values)) | uint64(rnd.IntN(8))<<20&-uint64(values&1) | uint64(rnd.IntN(values))<<40
			}
			return k
		}
		for step := range 1500 {
			if rnd.IntN(3) > 0 || len(all) == 0 {
				e := ruleOf(key(), masks[rnd.IntN(len(masks))])
				e.priority, e.content = uint32(rnd.IntN(6)), fmt.Sprintf("%05d", rnd.IntN(50))
				e.id = config.ID(rnd.Uint64()) // with equal content, entries still count in separate counters
				if rnd.IntN(2) == 0 {
					e.in, e.narrow = &portSet{}, true
					e.in.add(PortID(rnd.IntN(3)))
				}
				s.insert(e)
				all = append(all, e)
			} else {
				i := rnd.IntN(len(all))
				s.remove(all[i])
				all = slices.Delete(all, i, i+1)
			}
			k, x := key(), crossing{in: PortID(rnd.IntN(3))}
			var want *aclEntry
			for _, e := range all {
				if e.matches(&k, &x) && (want == nil || e.before(want)) {
					want = e
				}
			}
			if got := s.lookup(&k, &x); got != want {
				t.Fatalf("step %d: found %+v, want %+v", step, got, want)
			}
			if step%100 == 0 {
				s.checkSieves(t)
			}
		}
		for _, e := range all {
			s.remove(e)
		}
		if len(s.sieves) != 0 || len(s.byMask) != 0 {
			t.Errorf("%d sieves, %d tuples left", len(s.sieves), len(s.byMask))
		}
	})
}

// flowRules returns entries of four masks that share the source address, and one below them that matches everything.
func flowRules(n int) []*aclEntry {
	base := aclKey{}
	base[flagsWord], base[5] = flagIPv4<<40, 1<<32-1
	entries := []*aclEntry{ruleOf(aclKey{}, aclKey{})}
	for i := range n {
		k, mask := aclKey{}, base
		k[flagsWord], k[3], k[5], k[7] = flagIPv4<<40|17<<32, uint64(i)<<32, 11<<24+uint64(i), 12<<24+uint64(i)<<8
		switch i % 4 {
		case 1:
			mask[7] = 0xffffff00
		case 2:
			mask[3] = 0xffff << 32
		case 3:
			mask[flagsWord] |= 0xff << 32
		}
		e := ruleOf(k, mask)
		e.priority = uint32(1000 + i%5000)
		entries = append(entries, e)
	}
	return entries
}

// foreign returns the key of a packet that hits only the last of flowRules.
func foreign(i int) (k aclKey) {
	k[flagsWord], k[3], k[5], k[7] = flagIPv4<<40|17<<32, 53<<32, 10<<24+uint64(i), 12<<24
	return k
}

// A sieve stops nearly all packets that hit no entry, at any size, and also after entries were added and removed.
func TestSieveKeepsOff(t *testing.T) {
	for _, n := range []int{10, 1000, 100_000} {
		if n > 1000 && testing.Short() {
			continue
		}
		var s tupleSpace
		all := flowRules(n)
		for _, e := range all {
			s.insert(e)
		}
		for round := range 3 {
			if len(s.sieves) != 2 {
				t.Fatalf("%d sieves, want that of the source address and that of all", len(s.sieves))
			}
			passed := 0
			for i := range 10_000 {
				k := foreign(i)
				if s.sieves[0].has(s.sieves[0].hash(k[5])) {
					passed++
				}
			}
			if passed > 700 {
				t.Errorf("%d rules, round %d: %d of 10000 packets pass", n, round, passed)
			}
			for _, e := range all[1:] { // others are added and removed again
				other := ruleOf(aclKey{5: e.key[0] ^ 1<<31}, aclKey{5: 1<<32 - 1})
				s.insert(other)
				s.remove(other)
			}
			s.checkSieves(t)
		}
	}
}

// BenchmarkLookup measures a lookup: for a packet that only the last entry matches, and for one of a flow.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000, 100_000} {
		var s tupleSpace
		for _, e := range flowRules(n) {
			s.insert(e)
		}
		for _, of := range []string{"foreign", "flow"} {
			keys := make([]aclKey, 1<<12)
			for i := range keys {
				if keys[i] = foreign(i); of == "flow" {
					flow := uint64(i * 7919 % n)
					keys[i][3], keys[i][5], keys[i][7] = flow<<32, 11<<24+flow, 12<<24+flow<<8
				}
			}
			b.Run(fmt.Sprintf("%d rules/%s", n, of), func(b *testing.B) {
				var x crossing
				for i := range b.N {
					if s.lookup(&keys[i&(len(keys)-1)], &x) == nil {
						b.Fatal("nothing found")
					}
				}
			})
		}
	}
}
