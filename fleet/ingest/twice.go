package ingest

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
)

// twice finds repeated datagrams, since networks deliver some of them twice. It remembers the last keptDatagrams by
// hashes of their source and all their bytes. Senders that number their datagrams, or add a time, send no two that are
// equal.
type twice struct {
	seed maphash.Seed
	last map[uint64]bool
	ring []uint64
	next int
}

// keptDatagrams is the maximum number of other datagrams between a datagram and its repetition.
const keptDatagrams = 1 << 10

// came reports whether a datagram arrived before, and remembers it.
func (t *twice) came(from netip.AddrPort, numbers uint64, payload []byte) bool {
	if t.last == nil {
		t.seed, t.last = maphash.MakeSeed(), map[uint64]bool{}
	}
	var h maphash.Hash
	h.SetSeed(t.seed)
	source := from.Addr().As16()
	h.Write(source[:])
	h.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16(nil, from.Port()), numbers))
	h.Write(payload)
	sum := h.Sum64()
	if t.last[sum] {
		return true
	}
	t.last[sum] = true
	if len(t.ring) < keptDatagrams {
		t.ring = append(t.ring, sum)
		return false
	}
	delete(t.last, t.ring[t.next])
	t.ring[t.next] = sum
	t.next = (t.next + 1) % keptDatagrams
	return false
}
