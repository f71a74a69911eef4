package mgmt

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// What subscribers are sent of a leaf follows from a few rows. While these are what they were, its value, and the
// update in each encoding, are made once for all subscribers.

// maxMemos is how many entries of a group are remembered. With one more all are forgotten, and made again as they are
// asked for: of entries that only Get, ONCE and Poll have seen nobody hears that they are gone.
const maxMemos = 50_000

// memos are those of the entries that subscribers were sent something of, or that were in a list that a Get asked for.
type memos struct {
	seed maphash.Seed // of the hashes of values

	mu      sync.RWMutex
	entries map[*group]map[string]*memo
}

// A memo is what is remembered of an entry.
type memo struct {
	recall atomic.Pointer[recall] // for Gets

	mu     sync.Mutex
	path   []byte              // as it travels; nil: it was not asked for
	leaves map[*node]*leafMemo // for subscribers
}

// A leafMemo is a leaf's value, which nobody changes.
type leafMemo struct {
	stamp uint64 // of the rows that it follows from
	value []string
	hash  uint64 // 0: it has none

	mu    sync.Mutex
	coded [gpb.Encoding_JSON_IETF + 1][]byte // the update, by encoding
}

func newMemos() *memos {
	return &memos{seed: maphash.MakeSeed(), entries: map[*group]map[string]*memo{}}
}

// of returns the memo of an entry.
func (m *memos) of(g *group, id string) *memo {
	m.mu.RLock()
	x := m.entries[g][id]
	m.mu.RUnlock()
	if x != nil {
		return x
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[g] == nil || len(m.entries[g]) >= maxMemos {
		m.entries[g] = map[string]*memo{}
	}
	if x = m.entries[g][id]; x == nil {
		x = &memo{}
		m.entries[g][id] = x
	}
	return x
}

// size is how many entries of a group are remembered.
func (m *memos) size(g *group) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.entries[g])
}

// recalled returns what a Get remembered of an entry; nil: nothing.
func (m *memos) recalled(g *group, id string) *recall {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if x := m.entries[g][id]; x != nil {
		return x.recall.Load()
	}
	return nil
}

// forget forgets an entry that is not there.
func (m *memos) forget(g *group, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries[g], id)
}

// leaf returns what a leaf of an entry is, from the memo of the entry if that is still right.
func (m *memos) leaf(e *entry, x *memo, n *node) *leafMemo {
	if e.hides(n) { // from this subscriber; for whom it is there, it has the same value
		return &leafMemo{}
	}
	stamp, ok := e.stamp(n)
	if !ok {
		return m.make(e, n)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.leaves[n]
	if l == nil || l.stamp != stamp {
		l = m.make(e, n)
		l.stamp = stamp
		if x.leaves == nil {
			x.leaves = map[*node]*leafMemo{}
		}
		x.leaves[n] = l
	}
	return l
}

func (m *memos) make(e *entry, n *node) *leafMemo {
	l := &leafMemo{value: e.value(n)}
	if len(l.value) > 0 {
		var h maphash.Hash
		h.SetSeed(m.seed)
		for _, s := range l.value {
			h.WriteString(s)
			h.WriteByte(0)
		}
		l.hash = max(h.Sum64(), 1)
	}
	return l
}

// stamp stands for the versions of the rows that a leaf follows from; false: they are not all known.
func (e *entry) stamp(n *node) (uint64, bool) {
	if e.ports != nil {
		return 0, false
	}
	stamp := uint64(1)
	if e.left {
		stamp = 2
	}
	for i := range e.vers {
		if n.follows>>i&1 == 0 {
			continue
		}
		v := e.version(i)
		if v == 0 {
			return 0, false
		}
		stamp = mixed(stamp) + v
	}
	return mixed(stamp), true
}

// mixed is SplitMix64's: each bit of x makes half of all bits differ, and different x are different then.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// codedPath puts the path of an entry.
func (x *memo) codedPath(e *entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.path == nil {
		x.path = e.codedPath()
	}
	e.coded = x.path
}

// update is the update of the leaf in an encoding, as it travels, without duplicates.
func (l *leafMemo) update(e *entry, n *node, enc gpb.Encoding) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.coded[enc] == nil {
		l.coded[enc] = e.appendUpdate(nil, n, l.value, enc)
	}
	return l.coded[enc]
}

// entryKeys is one text of an entry's keys.
func entryKeys(keys []string) string {
	if len(keys) == 1 {
		return keys[0]
	}
	return strings.Join(keys, "\x00")
}
