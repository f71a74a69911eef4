package fetch

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// The value of a leaf depends on a small number of rows. While these rows do not change, the value and its encoded
// updates are computed once for all subscribers.

// maxMemos bounds the remembered entries of a group. Beyond it all memos are dropped, and recomputed on request. The
// bound limits memory for entries that are read only by Get, ONCE and Poll, because the deletion of such an entry is
// not noticed.
const maxMemos = 50_000

// Memos holds memos of entries that were sent to subscribers, or that were in a list that a Get requested.
type Memos struct {
	seed maphash.Seed // for the hashes of values

	mu      sync.RWMutex
	entries map[*tree.List]map[string]*Memo
}

// A Memo holds the remembered values of an entry.
type Memo struct {
	recall atomic.Pointer[tree.Recall] // for Gets

	mu     sync.Mutex
	path   []byte                   // the encoded path; nil until needed
	leaves map[*tree.Node]*LeafMemo // for subscribers
}

// A LeafMemo is a leaf's value. The value is immutable.
type LeafMemo struct {
	stamp uint64 // hash of the versions of the rows that the value depends on
	Value []string
	Hash  uint64 // hash of the value; 0 if there is no value

	mu    sync.Mutex
	coded [gpb.Encoding_JSON_IETF + 1][]byte // the update, by encoding
}

func newMemos() *Memos {
	return &Memos{seed: maphash.MakeSeed(), entries: map[*tree.List]map[string]*Memo{}}
}

// Of returns the memo of an entry, and creates it if needed.
func (m *Memos) Of(g *tree.List, id string) *Memo {
	m.mu.RLock()
	x := m.entries[g][id]
	m.mu.RUnlock()
	if x != nil {
		return x
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[g] == nil || len(m.entries[g]) >= maxMemos {
		m.entries[g] = map[string]*Memo{}
	}
	if x = m.entries[g][id]; x == nil {
		x = &Memo{}
		m.entries[g][id] = x
	}
	return x
}

// Size returns how many entries of a group are remembered.
func (m *Memos) Size(g *tree.List) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.entries[g])
}

// recalled returns the recall of an entry for Gets, or nil.
func (m *Memos) recalled(g *tree.List, id string) *tree.Recall {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if x := m.entries[g][id]; x != nil {
		return x.recall.Load()
	}
	return nil
}

// Forget drops the memo of an entry that does not exist.
func (m *Memos) Forget(g *tree.List, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries[g], id)
}

// Leaf returns the value of a leaf of an entry, from the memo of the entry if that is still valid.
func (m *Memos) Leaf(e *tree.Entry, x *Memo, n *tree.Node) *LeafMemo {
	if e.Hides(n) { // hidden from this subscriber only; the memo stays for others
		return &LeafMemo{}
	}
	stamp, ok := e.Stamp(n)
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
			x.leaves = map[*tree.Node]*LeafMemo{}
		}
		x.leaves[n] = l
	}
	return l
}

func (m *Memos) make(e *tree.Entry, n *tree.Node) *LeafMemo {
	l := &LeafMemo{Value: e.Value(n)}
	if len(l.Value) > 0 {
		var h maphash.Hash
		h.SetSeed(m.seed)
		for _, s := range l.Value {
			h.WriteString(s)
			h.WriteByte(0)
		}
		l.Hash = max(h.Sum64(), 1)
	}
	return l
}

// CodedPath stores the encoded path in an entry. It encodes the path only once.
func (x *Memo) CodedPath(e *tree.Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.path == nil {
		x.path = e.CodedPath()
	}
	e.Coded = x.path
}

// Update returns the encoded update of the leaf in an encoding, without duplicates.
func (l *LeafMemo) Update(e *tree.Entry, n *tree.Node, enc gpb.Encoding) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.coded[enc] == nil {
		l.coded[enc] = e.AppendUpdate(nil, n, l.Value, enc)
	}
	return l.coded[enc]
}
