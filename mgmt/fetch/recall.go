package fetch

import (
	"tamtam/mgmt/tree"
)

// recall gives entries their remembered values. It remembers values of entries whose rows have all been read.
func (r Reader) recall(es []*tree.Entry) {
	if r.Hub == nil || len(es) == 0 || !es[0].List.Recallable() {
		return
	}
	var scratch []string
	for _, e := range es {
		if e.Ports != nil {
			continue
		}
		id := tree.KeysText(e.Keys)
		c := r.Hub.Memos.recalled(e.List, id)
		same, stale := e.Follows(c)
		if stale && e.Whole() {
			if c, scratch = e.Remembered(scratch[:0]); c == nil {
				continue
			}
			r.Hub.Memos.Of(e.List, id).recall.Store(c)
			same, _ = e.Follows(c)
		}
		e.Recalled, e.Same = c, same
	}
}
