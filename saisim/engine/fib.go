package engine

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"
)

// A fib finds the longest prefix that contains an address. It is a trie with 8 address bits per level. A node keeps the
// prefixes that end within its 8 bits as a binary tree in a bit set. In it, the prefix of n bits with value v is bit
// 1<<n | v, so the parent of bit i is bit i/2. The candidates for an octet are the bits on the path from 256 + octet to
// the root. Only existing prefixes use memory.
type fib struct {
	root fibNode
	n    int // number of prefixes
}

type fibNode struct {
	prefixes [8]uint64
	rank     [8]uint16 // number of prefixes in the words before
	dests    []*dest   // destinations of the prefixes, in the same order
	children octets    // those that have a child
	kids     []*fibNode
}

// octets is a set of octets.
type octets struct {
	bits [4]uint64
	rank [4]uint8 // number of octets in the words before
}

func (s *octets) has(o uint) bool { return s.bits[o>>6&3]>>(o&63)&1 != 0 }

// index returns the number of octets in the set that are less than o.
func (s *octets) index(o uint) int {
	w := o >> 6 & 3
	return int(s.rank[w]) + bits.OnesCount64(s.bits[w]&(1<<(o&63)-1))
}

// flip adds o, or removes it if it is in the set.
func (s *octets) flip(o uint) {
	s.bits[o>>6&3] ^= 1 << (o & 63)
	sum := uint8(0)
	for w, b := range s.bits {
		s.rank[w] = sum
		sum += uint8(bits.OnesCount64(b))
	}
}

// An address is 16 octets, as two words; an IPv4 address is in the first four.
type address [2]uint64

func (a *address) octet(i int) uint { return uint(a[i>>3&1]>>(56-8*(i&7))) & 0xff }

func addressOf(a netip.Addr) address {
	if a.Is4() {
		b := a.As4()
		return address{uint64(binary.BigEndian.Uint32(b[:])) << 32, 0}
	}
	b := a.As16()
	return address{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

// lookup returns the destination of the longest prefix that contains a, nil if there is none. levels is 4 for IPv4, 16
// for IPv6.
func (f *fib) lookup(a address, levels int) *dest {
	var longest *dest
	n, rest := &f.root, a[0]
	for deep := 1; ; deep++ {
		o := uint(rest >> 56)
		if len(n.dests) > 0 {
			if d := n.match(o); d != nil {
				longest = d
			}
		}
		if deep == levels || !n.children.has(o) {
			return longest
		}
		n = n.kids[n.children.index(o)]
		if rest <<= 8; deep == 8 {
			rest = a[1]
		}
	}
}

// match returns the destination of the node's longest prefix that contains the octet, nil if there is none.
func (n *fibNode) match(octet uint) *dest {
	for i := 256 | octet; i > 0; i >>= 1 {
		if n.prefixes[i>>6&7]>>(i&63)&1 != 0 {
			return n.dests[n.index(i)]
		}
	}
	return nil
}

// index returns the place of prefix bit i in dests.
func (n *fibNode) index(i uint) int {
	w := i >> 6 & 7
	return int(n.rank[w]) + bits.OnesCount64(n.prefixes[w]&(1<<(i&63)-1))
}

// split returns the address of a prefix, the level where the prefix ends, and its bit there.
func split(p netip.Prefix) (a address, level int, bit uint) {
	a = addressOf(p.Addr())
	n := p.Bits()
	if n > 0 {
		level = (n - 1) / 8
	}
	n -= 8 * level
	return a, level, 1<<n | a.octet(level)>>(8-n)
}

// put sets the destination of a prefix. The prefix must be masked.
func (f *fib) put(p netip.Prefix, d *dest) {
	a, level, bit := split(p)
	n := &f.root
	for i := range level {
		o := a.octet(i)
		k := n.children.index(o)
		if !n.children.has(o) {
			n.children.flip(o)
			n.kids = slices.Insert(n.kids, k, &fibNode{})
		}
		n = n.kids[k]
	}
	i := n.index(bit)
	if n.prefixes[bit>>6]>>(bit&63)&1 != 0 {
		n.dests[i] = d
		return
	}
	n.dests = slices.Insert(n.dests, i, d)
	n.prefixes[bit>>6] |= 1 << (bit & 63)
	n.count()
	f.n++
}

// remove deletes a prefix, and the nodes that only led to it.
func (f *fib) remove(p netip.Prefix) {
	a, level, bit := split(p)
	path := []*fibNode{&f.root}
	for i := range level {
		n, o := path[i], a.octet(i)
		if !n.children.has(o) {
			return
		}
		path = append(path, n.kids[n.children.index(o)])
	}
	n := path[level]
	if n.prefixes[bit>>6]>>(bit&63)&1 == 0 {
		return
	}
	i := n.index(bit)
	n.dests = slices.Delete(n.dests, i, i+1)
	n.prefixes[bit>>6] &^= 1 << (bit & 63)
	n.count()
	f.n--
	for ; level > 0 && len(path[level].dests)+len(path[level].kids) == 0; level-- {
		up, o := path[level-1], a.octet(level-1)
		k := up.children.index(o)
		up.kids = slices.Delete(up.kids, k, k+1)
		up.children.flip(o)
	}
}

func (n *fibNode) count() {
	sum := uint16(0)
	for w, p := range n.prefixes {
		n.rank[w] = sum
		sum += uint16(bits.OnesCount64(p))
	}
}
