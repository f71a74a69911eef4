package mgmt

import (
	"context"
	"slices"
	"time"

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
	err := st.reader.SeenBy(st.view).With(w.Selected).Read(ctx, w.group, pattern, w.Rows, func(es []*tree.Entry) error {
		for _, e := range es {
			st.notify(w, e, how)
		}
		return st.flush(ctx)
	})
	if err != nil || how.forget {
		return err
	}
	st.deletes(w, pattern, how)
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
			st.notify(w, e, pass{duplicates: touched[tree.KeysText(e.Keys)].duplicates()})
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

// notify queues the Notification of one entry, if there is something to send.
func (st *stream) notify(w *watch, e *tree.Entry, how pass) {
	id := tree.KeysText(e.Keys)
	n := &notice{st: st, how: how, at: e.ReadAt}
	if how.all || n.at.IsZero() {
		n.at = st.s.now()
	}
	var old *sentEntry
	if !how.forget {
		if old = w.sent[id]; old == nil {
			old = &sentEntry{keys: e.Keys, hashes: make([]uint64, len(w.Leaves))}
			w.sent[id] = old
		}
		old.pass = st.count
	}
	var counters []*notice // one for each time at which counters were collected
	m := st.s.hub.Memos.Of(w.group, id)
	m.CodedPath(e)
	for i, l := range w.Leaves {
		v := st.s.hub.Memos.Leaf(e, m, l)
		var was uint64
		if old != nil {
			was, old.hashes[i] = old.hashes[i], v.Hash
		}
		switch {
		case how.quiet:
		case v.Hash == 0 && was != 0:
			n.gone(e.Path(l))
		case v.Hash != 0 && (how.all || v.Hash != was):
			to := n
			if at := e.CollectedAt(l); !at.IsZero() {
				to = noticeAt(&counters, at, n)
			}
			to.update(e, l, v)
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
