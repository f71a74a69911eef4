package engine

import (
	"math/bits"
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/tam/ifa"
)

// An aclTable is an ACL table with its entries.
type aclTable struct {
	space tupleSpace
	id    config.ID
}

// An aclGroup is a group of tables of one stage.
type aclGroup struct {
	sequential bool
	members    []config.ACLMember
}

// An aclEntry is an ACL entry in the form for lookups. The fields needed by every hit are in its first cache lines.
type aclEntry struct {
	next     *aclEntry // next entry with the same masked value, in order of precedence
	priority uint32
	act      actions
	does     entryActions
	narrow   bool // true if it also matches ports or LAGs
	noLearn  bool
	mark     uint32 // value of alternate marking that replaces the metadata
	counter  *aclCounter
	stamp    *stampAction
	key      aclKey // masked words whose mask is not 0, in their order

	mask          aclKey
	in, out       *portSet
	inLAG, outLAG *lag
	content       string // canonical text of the match, then of the actions
	id            config.ID
	table         *aclTable
	enabled       bool
	redirect      verdict
	hop           *adjacency // either hop or group may be set
	group         *hopGroup
	mirrors       uint64 // mirror sessions, by index
	tam           *tamSet
	tc            uint8
	dscp          uint8
	metadata      uint32
	ifa           *ifaAction
	sampling      *entrySampling // nil if the entry never had a sampler
}

// entryActions is the set of an entry's less common actions.
type entryActions uint16

const (
	doesRedirect entryActions = 1 << iota
	doesStamp
	doesMeta
	doesMark // alternate marking
	doesMirror
	doesTC
	doesDSCP
	doesTAM
	doesIFA
	doesSample
	doesNoTrim
)

// An entrySampling is the state by which an ACL entry samples the packets that hit it.
type entrySampling struct {
	by   *sampler  // nil if its sampler was removed
	own  *sampling // exists as long as the entry
	next *aclEntry // next entry in samplingHits
}

// sample sets the sampler of an entry. nil means none.
func (e *aclEntry) sample(s *sampler) {
	if s != nil {
		e.does, e.sampling = e.does|doesSample, &entrySampling{by: s}
	}
}

// keepSampling takes over the sampling state of the entry's former version. old is nil for a new entry.
func (e *aclEntry) keepSampling(old *aclEntry) {
	switch {
	case old != nil && old.sampling != nil:
		if e.sampling == nil {
			e.sampling = new(entrySampling)
		}
		e.sampling.own = old.sampling.own
	case e.sampling != nil:
		e.sampling.own = &sampling{stream: entryStream | uint64(e.id)}
	}
}

// samplingHits holds the entries with a sampler that a packet hits, in the order of lookups. Each entry occurs once.
type samplingHits struct{ first *aclEntry }

func (h *samplingHits) add(e *aclEntry) {
	at := &h.first
	for *at != nil {
		at = &(*at).sampling.next
	}
	*at = e
}

// An aclCounter counts the packets that hit entries, and the results for those that were to be stamped.
type aclCounter struct {
	packets, bytes uint64 // bytes are frame lengths with FCS
	config.ACLCounter
	stamps [NumStampResults]uint64
	ifa    *IFACounts // nil if no entry with IFA has counted here
}

func (x *aclCounter) hit(bytes int) {
	if x.CountPackets {
		x.packets++
	}
	if x.CountBytes {
		x.bytes += uint64(bytes)
	}
}

// IFACounts holds the results of IFA for packets, by [ifa.Count].
type IFACounts [ifa.NumCounts]uint64

// An ifaInt is a TAM INT object of IFA.
type ifaInt struct {
	values  *ifaValues
	matched uint64    // packets that hit entries that initiate IFA
	counts  IFACounts // counts of transit
	reports *tamEvent // event that reports stripped copies; nil means none
}

// ifaValues holds the values of an object. They never change. A packet keeps the values that applied when it hit the
// entry.
type ifaValues struct {
	config.IFA
	device uint32
}

// An ifaAction is the IFA action of an entry.
type ifaAction struct {
	of      *ifaInt
	ends    bool
	reports uint64     // mirror sessions that get stripped copies, by index
	counts  *IFACounts // nil if results are not counted
}

// An aclKey is the lookup key of ACL tables: every field of a packet that can be matched, packed into words.
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

const (
	keyWords  = 11
	flagsWord = 2
)

// A portSet is a set of ports.
type portSet [profile.MaxLanes / 64]uint64

func (s *portSet) add(p PortID) { s[p/64] |= 1 << (p % 64) }

func (s *portSet) remove(p PortID) { s[p/64] &^= 1 << (p % 64) }

func (s *portSet) has(p PortID) bool { return p < profile.MaxLanes && s[p/64]>>(p%64)&1 != 0 }

// A crossing is the place of a packet, for the matches that are not in the key.
type crossing struct {
	in, out       PortID
	inLAG, outLAG *lag
}

// An aclRule is a match under construction.
type aclRule struct {
	value, mask   aclKey // value is masked
	in, out       *portSet
	inLAG, outLAG *lag
	never         bool // true if the matches contradict each other
}

// match sets the entry's match to a rule.
func (e *aclEntry) match(r *aclRule) {
	e.mask = r.mask
	n := 0
	for w, m := range r.mask {
		if m != 0 {
			e.key[n] = r.value[w]
			n++
		}
	}
	e.in, e.out, e.inLAG, e.outLAG = r.in, r.out, r.inLAG, r.outLAG
	e.narrow = e.in != nil || e.out != nil || e.inLAG != nil || e.outLAG != nil
}

// before reports whether e takes precedence over f: by priority, then by content, never by the order of creation.
func (e *aclEntry) before(f *aclEntry) bool {
	if e.priority != f.priority {
		return e.priority > f.priority
	}
	if e.content != f.content {
		return e.content < f.content
	}
	return e.id < f.id
}

func (e *aclEntry) admits(x *crossing) bool { return !e.narrow || e.places(x) }

// places reports whether a packet is at the ports and LAGs that the entry matches.
func (e *aclEntry) places(x *crossing) bool {
	return (e.in == nil || e.in.has(x.in)) && (e.out == nil || e.out.has(x.out)) &&
		(e.inLAG == nil || e.inLAG == x.inLAG) && (e.outLAG == nil || e.outLAG == x.outLAG)
}

// A tupleSpace finds the matching entry with the highest precedence. It has one hash table for each mask in use (a
// tuple). A sieve is tested before its tuples, and stops most packets that hit none of their entries.
type tupleSpace struct {
	sieves []sieve // sorted by top, descending
	byMask map[aclKey]*tuple
}

// A tuple is the hash table of the entries with one mask.
type tuple struct {
	slots []tupleSlot // open addressing, linear probing
	top   uint32      // highest priority of its entries
	rest  []keyPart   // all parts except the sieve's
	parts []keyPart   // parts where the mask is not 0

	mask   aclKey
	behind keyPart // part of the sieve
	n      int
	used   int // number of slots in use
}

type tupleSlot struct {
	hash  uint32
	entry *aclEntry // chain of entries with this value; nil means free
}

// hash returns the hash of a key: the sum of the hashes of its parts. h is the hash of the sieve's part.
func (t *tuple) hash(k *aclKey, h uint64) uint32 {
	for i := range t.rest {
		p := &t.rest[i]
		h += p.hash(k[p.word])
	}
	return uint32(h)
}

func (t *tuple) hashOf(e *aclEntry) uint32 {
	var h uint64
	for i := range t.parts {
		h += t.parts[i].hash(e.key[i])
	}
	return uint32(h)
}

func (t *tuple) equal(e *aclEntry, k *aclKey) bool {
	for i := range t.parts {
		p := &t.parts[i]
		if e.key[i] != k[p.word]&p.mask {
			return false
		}
	}
	return true
}

// find returns the entries that match a key apart from ports and LAGs, in order of precedence. sieved is the hash of
// the sieve's part.
func (t *tuple) find(k *aclKey, sieved uint64) *aclEntry {
	hash := t.hash(k, sieved)
	for i := int(hash); ; i++ {
		s := &t.slots[i&(len(t.slots)-1)]
		if s.entry == nil || s.hash == hash && t.equal(s.entry, k) {
			return s.entry
		}
	}
}

// slot returns the slot of the entries with e's match, or the free slot for it.
func (t *tuple) slot(hash uint32, e *aclEntry) *tupleSlot {
	for i := int(hash); ; i++ {
		s := &t.slots[i&(len(t.slots)-1)]
		if s.entry == nil || s.hash == hash && s.entry.key == e.key {
			return s
		}
	}
}

// lookup returns the entry that a packet hits, nil if there is none.
func (s *tupleSpace) lookup(k *aclKey, x *crossing) *aclEntry {
	var best *aclEntry
	for i := range s.sieves {
		v := &s.sieves[i]
		if best != nil && best.priority > v.top {
			break
		}
		h := v.hash(k[v.word])
		if !v.has(h) {
			continue
		}
		for _, t := range v.tuples {
			if best != nil && best.priority > t.top {
				break
			}
			for e := t.find(k, h); e != nil; e = e.next {
				if e.admits(x) {
					if best == nil || e.before(best) {
						best = e
					}
					break
				}
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
	i := s.index(t.behind)
	if t.insert(e) {
		s.sieves[i].add(t, e)
	}
	if e.priority > t.top {
		t.top = e.priority
		s.sieves[i].rise(t)
		s.reorder(i)
	}
}

// insert adds an entry, and reports whether it is the first with its value.
func (t *tuple) insert(e *aclEntry) (fresh bool) {
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	t.n++
	hash := t.hashOf(e)
	slot := t.slot(hash, e)
	if fresh = slot.entry == nil; fresh {
		t.used++
		slot.hash = hash
	}
	at := &slot.entry
	for *at != nil && !e.before(*at) {
		at = &(*at).next
	}
	e.next, *at = *at, e
	return fresh
}

func (t *tuple) grow() {
	old := t.slots
	t.slots = make([]tupleSlot, 2*len(old))
	for _, o := range old {
		if o.entry != nil {
			*t.slot(o.hash, o.entry) = o
		}
	}
}

// remove removes an entry that was inserted.
func (s *tupleSpace) remove(e *aclEntry) {
	t := s.byMask[e.mask]
	slot := t.slot(t.hashOf(e), e)
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
		s.drop(t)
	}
}

// close removes a slot whose chain is empty.
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

// A sieve is a part of the key that several tuples share, with a filter of their entries' values there. One test
// excludes a packet from all these tuples. A packet that passes the filter may still hit none.
type sieve struct {
	keyPart
	top    uint32   // highest top of its tuples
	tuples []*tuple // sorted by top, descending
	filter          // may also hold values of removed entries
}

// hashOf returns the hash of an entry's value in the sieve's part. The entry must be in one of the sieve's tuples.
func (s *sieve) hashOf(t *tuple, e *aclEntry) uint64 {
	for i := range t.parts {
		if t.parts[i].word == s.word {
			return s.hash(e.key[i])
		}
	}
	return 0 // the tuple that matches everything
}

// add adds the value of an entry to the sieve's filter. The entry must be in its tuple.
func (s *sieve) add(t *tuple, e *aclEntry) {
	if s.full() {
		s.renew()
		return
	}
	s.note(s.hashOf(t, e))
}

// renew rebuilds the filter, without values of removed entries.
func (s *sieve) renew() {
	n := 0
	for _, t := range s.tuples {
		n += t.used
	}
	s.filter = newFilter(n)
	for _, t := range s.tuples {
		for i := range t.slots {
			if e := t.slots[i].entry; e != nil {
				s.note(s.hashOf(t, e))
			}
		}
	}
}

// rise moves a tuple to its new place after its top has risen.
func (s *sieve) rise(t *tuple) {
	for i := slices.Index(s.tuples, t); i > 0 && s.tuples[i-1].top < t.top; i-- {
		s.tuples[i-1], s.tuples[i] = s.tuples[i], s.tuples[i-1]
	}
	s.top = s.tuples[0].top
}

// sharedBits is the number of bits that suffice for an existing sieve to be shared.
const sharedBits = 16

// choose returns the part for a tuple's sieve. An existing sieve is preferred, the one with most tuples first.
// Otherwise it is the part with the most bits. The word of parser flags and protocol counts as 0 bits, because it
// distinguishes packets badly.
func (s *tupleSpace) choose(t *tuple) (best keyPart) {
	width := func(p keyPart) int {
		if p.word == flagsWord {
			return 0
		}
		return bits.OnesCount64(p.mask)
	}
	for _, p := range t.parts {
		if best.mask == 0 || width(p) >= width(best) {
			best = p
		}
	}
	most := 0
	for i := range s.sieves {
		p := s.sieves[i].keyPart
		if n := len(s.sieves[i].tuples); n > most && t.mask[p.word] == p.mask && width(p) >= min(sharedBits, width(best)) {
			best, most = p, n
		}
	}
	return best
}

// index returns the index of a sieve, -1 if there is none.
func (s *tupleSpace) index(p keyPart) int {
	return slices.IndexFunc(s.sieves, func(v sieve) bool { return v.keyPart == p })
}

// reorder moves a sieve to its place in the order of tops.
func (s *tupleSpace) reorder(i int) {
	v := s.sieves
	for ; i > 0 && v[i-1].top < v[i].top; i-- {
		v[i-1], v[i] = v[i], v[i-1]
	}
	for ; i+1 < len(v) && v[i+1].top > v[i].top; i++ {
		v[i+1], v[i] = v[i], v[i+1]
	}
}

// add creates the tuple of a mask.
func (s *tupleSpace) add(mask aclKey) *tuple {
	t := &tuple{mask: mask, slots: make([]tupleSlot, 4)}
	for w, m := range mask {
		if m != 0 {
			t.parts = append(t.parts, keyPart{m, mixers[w], uint8(w)})
		}
	}
	if s.byMask == nil {
		s.byMask = map[aclKey]*tuple{}
	}
	s.byMask[mask] = t
	t.behind = s.choose(t)
	t.rest = slices.DeleteFunc(slices.Clone(t.parts), func(p keyPart) bool { return p == t.behind })
	i := s.index(t.behind)
	if i < 0 {
		i = len(s.sieves)
		s.sieves = append(s.sieves, sieve{keyPart: t.behind, filter: newFilter(0)})
	}
	s.sieves[i].tuples = append(s.sieves[i].tuples, t)
	return t
}

// drop removes a tuple without entries.
func (s *tupleSpace) drop(t *tuple) {
	delete(s.byMask, t.mask)
	i := s.index(t.behind)
	v := &s.sieves[i]
	at := slices.Index(v.tuples, t)
	if v.tuples = slices.Delete(v.tuples, at, at+1); len(v.tuples) == 0 {
		s.sieves = slices.Delete(s.sieves, i, i+1)
		return
	}
	v.top = v.tuples[0].top
	s.reorder(i)
}
