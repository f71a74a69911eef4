package mgmt

import (
	"context"
	"maps"
	"slices"
	"time"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A pass describes how the entries of a watch are read and sent once.
type pass struct {
	all        bool // send unchanged leaves, too
	quiet      bool // send nothing
	forget     bool // do not remember what was sent
	duplicates uint32
}

// pass reads the entries of a watch that match a pattern and sends them.
func (st *stream) pass(ctx context.Context, w *watch, pattern []string, how pass) error {
	st.count++
	below, err := st.below(ctx, w, pattern)
	if err != nil {
		return err
	}
	err = st.reader.SeenBy(st.view).With(w.Selected).Read(ctx, w.group, pattern, w.Rows, func(es []*tree.Entry) error {
		for _, e := range es {
			st.notify(w, e, below[tree.KeysText(e.Keys)], how)
		}
		return st.flush(ctx)
	})
	if err != nil || how.forget {
		return err
	}
	st.deletes(w, pattern, how)
	for _, b := range w.below { // the Notification of the atomic entry has shown that they are gone
		maps.DeleteFunc(b.sent, func(id string, old *sentEntry) bool {
			return old.pass != st.count && tree.Matches(old.keys, tree.Extend(pattern, b.group))
		})
	}
	return nil
}

// passKeys reads and sends some entries that changed.
func (st *stream) passKeys(ctx context.Context, w *watch, keys [][]string, touched map[string]concerned) error {
	st.count++
	r := st.reader.SeenBy(st.view).With(w.Selected)
	err := r.ReadKeys(ctx, w.group, keys, w.Rows, func(es []*tree.Entry) error {
		for _, e := range es {
			if !r.Shows(ctx, e) {
				continue
			}
			st.notify(w, e, nil, pass{duplicates: touched[tree.KeysText(e.Keys)].duplicates()})
		}
		return st.flush(ctx)
	})
	if err != nil {
		return err
	}
	for _, k := range keys {
		if old := w.sent[tree.KeysText(k)]; old != nil && old.pass != st.count {
			st.end(w, old)
		}
	}
	return nil
}

// An inner is an entry below an atomic entry, with its watch.
type inner struct {
	w *watch
	e *tree.Entry
}

// below reads the entries below the atomic entries that match a pattern, and returns them by the keys of these.
func (st *stream) below(ctx context.Context, w *watch, pattern []string) (map[string][]inner, error) {
	out := map[string][]inner{}
	for _, b := range w.below {
		read := st.reader.SeenBy(st.view).With(b.Selected).Read
		err := read(ctx, b.group, tree.Extend(pattern, b.group), b.Rows, func(es []*tree.Entry) error {
			for _, e := range es {
				id := tree.KeysText(e.Keys[:len(w.pattern)])
				out[id] = append(out[id], inner{b, e})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A reading is the value of a leaf of an entry, with the hash of the value that was sent before.
type reading struct {
	e    *tree.Entry
	leaf *tree.Node
	v    *fetch.LeafMemo
	was  uint64
}

// readings appends the values of an entry, and remembers them as sent. same is false if the number of entries below it
// has changed.
func (st *stream) readings(to []reading, w *watch, e *tree.Entry, below int, how pass) (all []reading, same bool) {
	id := tree.KeysText(e.Keys)
	same = true
	var old *sentEntry
	if !how.forget {
		if old = w.sent[id]; old == nil {
			old = &sentEntry{keys: e.Keys, hashes: make([]uint64, len(w.Leaves))}
			w.sent[id] = old
		}
		same, old.below, old.pass = old.below == below, below, st.count
	}
	m := st.s.hub.Memos.Of(w.group, id)
	m.CodedPath(e)
	for i, l := range w.Leaves {
		r := reading{e: e, leaf: l, v: st.s.hub.Memos.Leaf(e, m, l)}
		if old != nil {
			r.was, old.hashes[i] = old.hashes[i], r.v.Hash
		}
		to = append(to, r)
	}
	return to, same
}

// notify queues the Notification of one entry, if there is something to send. An atomic entry, with those below it, is
// sent whole.
func (st *stream) notify(w *watch, e *tree.Entry, below []inner, how pass) {
	all, same := st.readings(st.scratch[:0], w, e, len(below), how)
	n := &notice{st: st, how: how, at: e.ReadAt}
	for _, i := range below {
		all, _ = st.readings(all, i.w, i.e, 0, how)
		if i.e.ReadAt.After(n.at) {
			n.at = i.e.ReadAt
		}
	}
	st.scratch = all
	if how.all || n.at.IsZero() {
		n.at = st.s.now()
	}
	if w.atomic {
		n.entry = e
		how.all = how.all || !same || slices.ContainsFunc(all, func(r reading) bool { return r.v.Hash != r.was })
	}
	var counters []*notice // one for each time at which counters were collected
	for _, r := range all {
		switch {
		case how.quiet:
		case r.v.Hash == 0 && r.was != 0:
			n.gone(r.e.Path(r.leaf))
		case r.v.Hash != 0 && (how.all || r.v.Hash != r.was):
			to := n
			if at := r.e.CollectedAt(r.leaf); !at.IsZero() && !w.atomic {
				to = noticeAt(&counters, at, n)
			}
			to.update(r.e, r.leaf, r.v)
		}
	}
	for _, n := range append([]*notice{n}, counters...) {
		if len(n.raw) > 0 {
			st.batch = append(st.batch, n.response())
		}
	}
}

// noticeAt returns the notice with a time, and adds one like n if there is none.
func noticeAt(all *[]*notice, at time.Time, n *notice) *notice {
	for _, n := range *all {
		if n.at.Equal(at) {
			return n
		}
	}
	added := &notice{st: n.st, how: n.how, at: at}
	*all = append(*all, added)
	return added
}

// deletes queues the Notifications of the entries that match the pattern and were missing in this pass.
func (st *stream) deletes(w *watch, pattern []string, how pass) {
	var gone []*sentEntry
	if !slices.Contains(pattern, tree.Wildcard) {
		if old := w.sent[tree.KeysText(pattern)]; old != nil && old.pass != st.count {
			gone = append(gone, old)
		}
	} else {
		for _, old := range w.sent {
			if old.pass != st.count && tree.Matches(old.keys, pattern) {
				gone = append(gone, old)
			}
		}
	}
	slices.SortFunc(gone, func(a, b *sentEntry) int { return tree.CompareKeys(a.keys, b.keys) })
	for _, old := range gone {
		st.end(w, old)
	}
}

// end queues the Notification that an entry was deleted.
func (st *stream) end(w *watch, old *sentEntry) {
	id := tree.KeysText(old.keys)
	delete(w.sent, id)
	st.s.hub.Memos.Forget(w.group, id)
	at := w.target.Node
	if w.group.Node.Within(at) {
		at = w.group.Node
	}
	if !slices.ContainsFunc(old.hashes, func(h uint64) bool { return h != 0 }) {
		return
	}
	n := &notice{st: st, at: st.s.now()}
	n.gone(tree.PathTo(at, old.keys))
	st.ends = append(st.ends, ending{w.rank, n.response()})
}

// An ending is the Notification that an entry was deleted.
type ending struct {
	rank int // of its list
	note *gpb.SubscribeResponse
}

// flushEnds sends the deletes of a change after its updates. What is referred to is deleted last.
func (st *stream) flushEnds(ctx context.Context) error {
	slices.SortStableFunc(st.ends, func(a, b ending) int { return b.rank - a.rank })
	for _, e := range st.ends {
		st.batch = append(st.batch, e.note)
	}
	st.ends = nil
	return st.flush(ctx)
}
