package mgmt

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A pass says how the entries of a watch are read and sent once.
type pass struct {
	all        bool // send leaves that did not change, too
	quiet      bool // send nothing
	forget     bool // do not remember what was sent
	duplicates uint32
}

// pass reads the entries of a watch that fit a pattern and sends them.
func (st *stream) pass(ctx context.Context, w *watch, pattern []string, how pass) error {
	st.count++
	send := func(n *gpb.Notification) error {
		if n == nil || how.quiet {
			return nil
		}
		return st.send(ctx, &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}})
	}
	err := st.reader.with(w.selected).read(ctx, w.group, pattern, w.rows, func(es []*entry) error {
		for _, e := range es {
			if err := send(st.notify(w, e, how)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || how.forget {
		return err
	}
	for _, n := range st.deletes(w, pattern) {
		if err := send(n); err != nil {
			return err
		}
	}
	return nil
}

// notify makes the Notification of one entry; nil if there is nothing to send.
func (st *stream) notify(w *watch, e *entry, how pass) *gpb.Notification {
	n := &gpb.Notification{Timestamp: st.s.now().UnixNano(), Prefix: replyPrefix(st.list.GetPrefix(), nil)}
	var old *sentEntry
	if !how.forget {
		id := strings.Join(e.keys, "\x00")
		if old = w.sent[id]; old == nil {
			old = &sentEntry{keys: e.keys, hashes: make([]uint64, len(w.leaves))}
			w.sent[id] = old
		}
		old.pass = st.count
	}
	for i, l := range w.leaves {
		v := e.value(l)
		var hash, was uint64
		if len(v) > 0 {
			hash = st.hash(v)
		}
		if old != nil {
			was, old.hashes[i] = old.hashes[i], hash
		}
		switch {
		case hash == 0 && was != 0:
			n.Delete = append(n.Delete, e.path(l))
		case hash != 0 && (how.all || hash != was):
			n.Update = append(n.Update, &gpb.Update{Path: e.path(l), Val: l.typed(v, st.list.GetEncoding()),
				Duplicates: how.duplicates})
		}
	}
	if len(n.Update)+len(n.Delete) == 0 {
		return nil
	}
	return n
}

func (st *stream) hash(v []string) uint64 {
	var h maphash.Hash
	h.SetSeed(st.seed)
	for _, s := range v {
		h.WriteString(s)
		h.WriteByte(0)
	}
	return max(h.Sum64(), 1)
}

// deletes makes the Notifications of the entries that fit the pattern and were missing in this
// pass.
func (st *stream) deletes(w *watch, pattern []string) []*gpb.Notification {
	var gone []*sentEntry
	if !slices.Contains(pattern, wildcard) {
		if old := w.sent[strings.Join(pattern, "\x00")]; old != nil && old.pass != st.count {
			gone = append(gone, old)
		}
	} else {
		for _, old := range w.sent {
			if old.pass != st.count && matches(old.keys, pattern) {
				gone = append(gone, old)
			}
		}
	}
	slices.SortFunc(gone, func(a, b *sentEntry) int { return compareKeys(a.keys, b.keys) })
	var out []*gpb.Notification
	for _, old := range gone {
		delete(w.sent, strings.Join(old.keys, "\x00"))
		at := w.target.node
		if w.group.node.within(at) {
			at = w.group.node
		}
		if !slices.ContainsFunc(old.hashes, func(h uint64) bool { return h != 0 }) {
			continue
		}
		out = append(out, &gpb.Notification{
			Timestamp: st.s.now().UnixNano(), Prefix: replyPrefix(st.list.GetPrefix(), nil),
			Delete: []*gpb.Path{toPath(at, old.keys)},
		})
	}
	return out
}
