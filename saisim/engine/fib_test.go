package engine

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/config"
)

// slowest returns the longest prefix that contains an address, by a search through all of them.
func slowest(table map[netip.Prefix]*dest, a netip.Addr) (d *dest) {
	bits := -1
	for p, x := range table {
		if p.Contains(a) && p.Bits() > bits {
			d, bits = x, p.Bits()
		}
	}
	return d
}

// The trie finds the same as a search through every prefix, whatever is added and removed, and is empty when everything
// is removed.
func TestFIB(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	randtest.Run(t, randtest.Cases{Count: 6}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		v4 := seed%2 == 0
		levels, width := 16, 128
		if v4 {
			levels, width = 4, 32
		}
		random := func() netip.Addr { // close together, so that prefixes nest
			var b [16]byte
			for i := range b {
				b[i] = byte(rnd.IntN(2) * rnd.IntN(4) * 85)
			}
			if v4 {
				return netip.AddrFrom4([4]byte(b[:4]))
			}
			return netip.AddrFrom16(b)
		}
		var f fib
		table := map[netip.Prefix]*dest{}
		var keys []netip.Prefix
		for range 3000 {
			p := netip.PrefixFrom(random(), rnd.IntN(width+1)).Masked()
			if _, ok := table[p]; ok && rnd.IntN(2) == 0 || len(table) > 60 {
				i := rnd.IntN(len(keys))
				p = keys[i]
				keys = slices.Delete(keys, i, i+1)
				delete(table, p)
				f.remove(p)
			} else {
				if table[p] == nil {
					keys = append(keys, p)
				}
				table[p] = &dest{}
				f.put(p, table[p])
			}
			if f.n != len(table) {
				t.Fatalf("%d prefixes, want %d", f.n, len(table))
			}
			for range 20 {
				a := random()
				if got, want := f.lookup(addressOf(a), levels), slowest(table, a); got != want {
					t.Fatalf("%s leads to %p, want %p of %v", a, got, want, table)
				}
			}
		}
		for p := range table {
			f.remove(p)
			f.remove(p) // already removed
		}
		if f.n != 0 || len(f.root.kids)+len(f.root.dests) != 0 {
			t.Errorf("something is left: %+v", f.root)
		}
	})
}

// Lookups allocate nothing, with as many routes as the default profile has.
func TestFIBLookupDoesNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("allocations are counted without the race detector")
	}
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		f := fullFIB(seed)
		i := uint64(0)
		if n := testing.AllocsPerRun(100, func() { f.lookup(address{i * 0x9e3779b97f4a7c15}, 4); i++ }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func fullFIB(seed uint64) *fib {
	var f fib
	rnd := rand.New(rand.NewPCG(seed, 12))
	for range 131072 {
		v := rnd.Uint32()
		a := netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
		f.put(netip.PrefixFrom(a, 8+rnd.IntN(25)).Masked(), &dest{})
	}
	return &f
}

func BenchmarkFIB(b *testing.B) {
	f := fullFIB(1)
	found := 0
	x := uint64(1)
	for b.Loop() {
		x = x*0x9e3779b97f4a7c15 + 1
		if f.lookup(address{x}, 4) != nil {
			found++
		}
	}
	if b.N > 1000 && found == 0 {
		b.Fatal("nothing found")
	}
}

// A flow's next hop depends only on the flow and the seed. Flows spread evenly. The choice of a LAG member is
// independent of that of the next hop.
func TestFlowHash(t *testing.T) {
	const flows, ways = 40_000, 4
	var lag, ecmp [ways]int
	var both [ways][ways]int
	moved := 0
	for i := range uint64(flows) {
		h := headers{
			flags: flagIP | flagIPv4 | flagL4, proto: protoUDP, l4src: uint16(i), l4dst: 53,
			src: [2]uint64{0, 0x0a000000 + i>>8}, dst: [2]uint64{0, 0x0a010001},
		}
		a, b := flowHash(&h, saltLAG)%ways, flowHash(&h, saltECMP)%ways
		lag[a]++
		ecmp[b]++
		both[a][b]++
		if flowHash(&h, 7<<32|saltLAG)%ways != a {
			moved++
		}
		g := h
		g.ttl, g.ipID, g.tos = 9, 9, 9
		if flowHash(&g, saltLAG) != flowHash(&h, saltLAG) {
			t.Fatal("the hash depends on more than the flow")
		}
		g, h2 := h, h
		g.flags |= flagFragment
		h2.flags |= flagFragment
		h2.l4src, h2.l4dst = 0, 0
		if flowHash(&g, saltLAG) != flowHash(&h2, saltLAG) {
			t.Fatal("fragments of a datagram part")
		}
	}
	for i := range ways {
		for what, n := range map[string]int{"LAG": lag[i], "next hop": ecmp[i]} {
			if n < flows/ways*95/100 || n > flows/ways*105/100 {
				t.Errorf("%s %d has %d of %d flows", what, i, n, flows)
			}
		}
		for j := range ways {
			if n := both[i][j]; n < flows/ways/ways*9/10 || n > flows/ways/ways*11/10 {
				t.Errorf("LAG member %d and next hop %d have %d flows together", i, j, n)
			}
		}
	}
	if moved < flows*7/10 || moved > flows*8/10 {
		t.Errorf("another seed moves %d of %d flows, want three quarters", moved, flows)
	}
	// The documented algorithm, worked by hand for one flow of zeros.
	if got := flowHash(&headers{flags: flagIP}, 0); got != 0 {
		t.Errorf("hash of zeros is %#x, want 0", got)
	}
}

// The linear hashes are those of their names: check values of the catalogue of CRCs, of the ASCII digits 1 to 8.
func TestLinearHashes(t *testing.T) {
	digits := []uint64{0x3132333435363738}
	for name, got := range map[string][2]uint32{
		"XOR":    {xorHash(digits), 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738},
		"CRC-32": {crc32Hash(digits), 0x9ae0daaf}, "CRC-16 CCITT": {ccittHash(digits), 0xa12b},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %#x, want %#x", name, got[0], got[1])
		}
	}
}

// Flows are shared out by the weights.
func TestHopGroupWeights(t *testing.T) {
	e := &Engine{}
	e.ids = map[config.ID]any{}
	e.wire()
	row := config.HopGroup{ID: 1}
	for i, w := range []uint32{5, 2, 1} { // the members are in the order of their addresses
		hop := config.ID(10 + i)
		e.ids[hop] = &nextHop{&adjacency{ip: netip.AddrFrom4([4]byte{10, 0, 0, byte(7 + i)}), mac: uint64(w)}}
		row.Members = append(row.Members, config.HopMember{NextHop: hop, Weight: w})
	}
	e.router.applyHopGroup(row, false)
	g := at[*hopGroup](&e.core, 1)
	var got [6]int
	for hash := range uint32(8000) {
		got[g.choose(hash).mac]++
	}
	if got != [6]int{1: 1000, 2: 2000, 5: 5000} {
		t.Errorf("by weight: %v", got)
	}
	if a := g.choose(0).ip; a != netip.AddrFrom4([4]byte{10, 0, 0, 7}) {
		t.Errorf("the first is %s, want the first of the row", a)
	}
	if (&hopGroup{}).choose(1) != nil {
		t.Error("an empty group chooses")
	}
}
