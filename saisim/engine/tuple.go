package engine

import (
	"math/bits"
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
)

// An aclTable is an ACL table with its entries.
type aclTable struct{ space tupleSpace }

// An aclGroup is a group of tables of one stage.
type aclGroup struct {
	sequential bool
	members    []config.ACLMember
}

// An aclEntry is an ACL entry as lookups see it.
type aclEntry struct {
	aclRule
	table    *aclTable
	enabled  bool
	counter  *aclCounter
	act      actions
	noLearn  bool
	redirect verdict
	stamp    *stampAction
	hop      *adjacency // or one of these
	group    *hopGroup
	mirrors  uint64 // sessions, by index
	setTC    bool
	tc       uint8
	setDSCP  bool
	dscp     uint8
	setMeta  bool
	mark     uint32 // of alternate marking: instead of metadata; 0: none
	metadata uint32
}

// An aclCounter counts the packets that hit entries, and what became of those
// that were to be stamped.
type aclCounter struct {
	config.ACLCounter
	packets, bytes uint64 // bytes: frame lengths with FCS
	stamps         [NumStampResults]uint64
}

func (x *aclCounter) hit(bytes int) {
	if x.CountPackets {
		x.packets++
	}
	if x.CountBytes {
		x.bytes += uint64(bytes)
	}
}

// An aclKey is what an ACL table looks at: every field of a packet that can be
// matched, packed into words.
//
//	0  dst MAC 48, EtherType 16
//	1  src MAC 48, outer tag 16 (priority, CFI, the VLAN the frame is in)
//	2  parser flags 24, protocol 8, TOS 8, TTL 8, TCP flags 8, IPv4 flags 8
//	3  L4 source port 16, L4 destination port 16, ICMP type 8, code 8, IPv4 id 16
//	4  source address (IPv4: word 5), 6 destination address likewise
//	8  inner tag 16, flow label 32 (20), traffic class 16
//	9  ACL user metadata 32, the rest 0
//	10 one bit for each range checker
type aclKey [keyWords]uint64

const keyWords = 11

// A portSet is a set of ports.
type portSet [profile.MaxLanes / 64]uint64

func (s *portSet) add(p PortID) { s[p/64] |= 1 << (p % 64) }

func (s *portSet) remove(p PortID) { s[p/64] &^= 1 << (p % 64) }

func (s *portSet) has(p PortID) bool { return p < profile.MaxLanes && s[p/64]>>(p%64)&1 != 0 }

// after returns the next port of the set behind p in the order of numbers, which
// begins again after the last. The set must not be empty.
func (s *portSet) after(p PortID) PortID {
	i := int(p / 64)
	if w := s[i] &^ (2<<(p%64) - 1); w != 0 {
		return PortID(i*64 + bits.TrailingZeros64(w))
	}
	for n := 1; ; n++ {
		if w := s[(i+n)%len(s)]; w != 0 {
			return PortID((i+n)%len(s)*64 + bits.TrailingZeros64(w))
		}
	}
}

// A crossing says where a packet is, for the matches that are not in the key.
type crossing struct {
	in, out       PortID
	inLAG, outLAG *lag
}

// An aclRule is a match with a priority, in the form that lookups use.
type aclRule struct {
	value, mask   aclKey // value is masked
	priority      uint32
	content       string // canonical text of the match, then of the actions
	in, out       *portSet
	inLAG, outLAG *lag
	never         bool      // the matches contradict each other
	next          *aclEntry // same masked value, in order of precedence
}

// before reports whether e takes precedence over f: by priority, then by what
// they say, never by which was first.
func (e *aclEntry) before(f *aclEntry) bool {
	if e.priority != f.priority {
		return e.priority > f.priority
	}
	return e.content < f.content
}

func (e *aclEntry) admits(x *crossing) bool {
	return (e.in == nil || e.in.has(x.in)) && (e.out == nil || e.out.has(x.out)) &&
		(e.inLAG == nil || e.inLAG == x.inLAG) && (e.outLAG == nil || e.outLAG == x.outLAG)
}

// A tupleSpace finds the entry with the highest precedence that matches: one
// hash table for each mask in use (a tuple), tried in order of the highest
// priority in it.
type tupleSpace struct {
	tuples []*tuple // top descending
	byMask map[aclKey]*tuple
}

type tuple struct {
	mask  aclKey
	words []uint8 // words where the mask is not 0
	top   uint32  // no entry in it has a higher priority
	n     int
	slots []tupleSlot // open addressing, linear probing
	used  int         // slots in use
}

type tupleSlot struct {
	hash  uint32
	entry *aclEntry // nil: free; the chain of entries with this value
}

func (t *tuple) hash(k *aclKey) uint32 {
	var h uint64
	for _, w := range t.words {
		h = (h ^ k[w]&t.mask[w]) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return uint32(h >> 32)
}

func (t *tuple) equal(e *aclEntry, k *aclKey) bool {
	for _, w := range t.words {
		if e.value[w] != k[w]&t.mask[w] {
			return false
		}
	}
	return true
}

// find returns the slot with the key's value, or the free one where it belongs.
func (t *tuple) find(hash uint32, k *aclKey) *tupleSlot {
	for i := int(hash) & (len(t.slots) - 1); ; i = (i + 1) & (len(t.slots) - 1) {
		s := &t.slots[i]
		if s.entry == nil || s.hash == hash && t.equal(s.entry, k) {
			return s
		}
	}
}

// lookup returns the entry that a packet hits, nil if there is none.
func (s *tupleSpace) lookup(k *aclKey, x *crossing) *aclEntry {
	var best *aclEntry
	for _, t := range s.tuples {
		if best != nil && best.priority > t.top {
			break
		}
		for e := t.find(t.hash(k), k).entry; e != nil; e = e.next {
			if e.admits(x) {
				if best == nil || e.before(best) {
					best = e
				}
				break
			}
		}
	}
	return best
}

func (s *tupleSpace) insert(e *aclEntry) {
	t := s.byMask[e.mask]
	if t == nil {
		t = s.add(e.mask)
	}
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	t.n++
	hash := t.hash(&e.value)
	slot := t.find(hash, &e.value)
	if slot.entry == nil {
		t.used++
		slot.hash = hash
	}
	at := &slot.entry
	for *at != nil && !e.before(*at) {
		at = &(*at).next
	}
	e.next, *at = *at, e
	if e.priority > t.top {
		t.top = e.priority
		for i := slices.Index(s.tuples, t); i > 0 && s.tuples[i-1].top < t.top; i-- {
			s.tuples[i-1], s.tuples[i] = s.tuples[i], s.tuples[i-1]
		}
	}
}

func (s *tupleSpace) add(mask aclKey) *tuple {
	t := &tuple{mask: mask, slots: make([]tupleSlot, 4)}
	for w, m := range mask {
		if m != 0 {
			t.words = append(t.words, uint8(w))
		}
	}
	if s.byMask == nil {
		s.byMask = map[aclKey]*tuple{}
	}
	s.byMask[mask] = t
	s.tuples = append(s.tuples, t)
	return t
}

func (t *tuple) grow() {
	old := t.slots
	t.slots = make([]tupleSlot, 2*len(old))
	for _, o := range old {
		if o.entry != nil {
			*t.find(o.hash, &o.entry.value) = o
		}
	}
}

// remove takes out an entry that insert put in.
func (s *tupleSpace) remove(e *aclEntry) {
	t := s.byMask[e.mask]
	slot := t.find(t.hash(&e.value), &e.value)
	for at := &slot.entry; *at != nil; at = &(*at).next {
		if *at == e {
			*at, e.next = e.next, nil
			break
		}
	}
	if slot.entry == nil {
		t.close(slot)
	}
	if t.n--; t.n == 0 {
		delete(s.byMask, e.mask)
		i := slices.Index(s.tuples, t)
		s.tuples = slices.Delete(s.tuples, i, i+1)
	}
}

// close takes out a slot whose chain is empty.
func (t *tuple) close(slot *tupleSlot) {
	t.used--
	mask := len(t.slots) - 1
	i := int(slot.hash) & mask
	for &t.slots[i] != slot {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		if t.slots[j].entry == nil {
			break
		}
		if home := int(t.slots[j].hash) & mask; (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = tupleSlot{}
}
