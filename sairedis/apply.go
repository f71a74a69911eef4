package sairedis

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// applyView brings the ASIC to the view that was made since INIT_VIEW. If a
// step fails, the others are done all the same, ASIC_STATE tells what the ASIC
// then has, and the answer is a failure.
func (s *Server) applyView(ctx context.Context) (*result, error) {
	own := func(vid sai.OID) bool { return s.ids.own[vid] }
	cur, err := readView(ctx, s.asic, own, s.badRow)
	if err != nil {
		return nil, err
	}
	for _, vid := range s.ids.ownVIDs() {
		if t, ok := VIDType(vid); ok {
			cur.add(sai.Obj(t, vid), true)
		}
	}
	learned := takeLearned(cur)
	cur.link()
	next := s.view.graph
	next.link()
	matchViews(cur, next)
	t := &transition{s: s, cur: cur, next: next, ids: s.ids.ownCopy(s.view.removed), removed: s.view.removed}
	t.bring(ctx)
	s.view = nil
	res := &result{}
	if len(t.errs) > 0 {
		res.status = sai.StatusFailure
	}
	err = s.finish(ctx, res, t, learned)
	return res, err
}

// badRow tells of a row that was left out.
func (s *Server) badRow(err error) { s.log.Error("syncd: row dropped: " + err.Error()) }

// takeLearned takes the FDB entries that the ASIC learned out of a view: they
// are not configuration.
func takeLearned(g *graph) []*node {
	var list []*node
	for k, n := range g.nodes {
		if _, ok := k.Entry.(sai.FDBEntry); ok && n.attrs[sai.FDBEntryAttrType] == sai.FDBEntryTypeDynamic {
			list = append(list, n)
			delete(g.nodes, k)
		}
	}
	slices.SortFunc(list, func(a, b *node) int { return compareNodes(a, b) })
	return list
}

// ownCopy returns a map of the objects that nobody created, without some.
func (m *idMap) ownCopy(without map[sai.OID]bool) *idMap {
	c := newIDMap()
	c.children = m.children
	for vid := range m.own {
		if rid, ok := m.rid(vid); ok && !without[vid] {
			c.add(vid, rid)
			c.own[vid] = true
		}
	}
	return c
}

// finish makes the new view the current one, in memory and in ASIC_DB.
func (s *Server) finish(ctx context.Context, res *result, t *transition, learned []*node) error {
	for _, c := range t.cur.sorted() {
		if t.isSurplus(c) && c.key.Entry == nil && c.key.Type == sai.ObjectTypePort {
			t.forgetChildren(c)
		}
	}
	old := s.ids
	s.setIDs(t.ids)
	for _, n := range t.next.sorted() {
		if n.match == nil && !n.own && n.key.Entry == nil && n.key.Type == sai.ObjectTypePort {
			if rid, ok := s.ids.rid(n.key.OID); ok {
				if err := s.discover(ctx, res, sai.Obj(n.key.Type, rid)); err != nil {
					return err
				}
			}
		}
	}
	return s.rewrite(ctx, res, t, old, learned)
}

// forgetChildren drops what went with a removed port.
func (t *transition) forgetChildren(port *node) {
	rid, ok := t.s.ids.rid(port.key.OID)
	if !ok {
		return
	}
	for _, child := range t.ids.children[rid] {
		if vid, ok := t.ids.vid(child); ok {
			t.ids.remove(vid, child)
		}
	}
	delete(t.ids.children, rid)
}

// rewrite replaces rows and maps of ASIC_DB by those of the new view, in the
// transaction of the answer.
func (s *Server) rewrite(ctx context.Context, res *result, t *transition, old *idMap, learned []*node) error {
	var gone []string
	for _, pattern := range []string{asicState + ":*", tempAsicState + ":*"} {
		keys, err := s.asic.Client().Keys(ctx, pattern).Result()
		if err != nil {
			return err
		}
		gone = append(gone, keys...)
	}
	var rows []func(redis.Pipeliner)
	for _, n := range t.next.sorted() {
		if n.key.Entry == nil && !s.ids.known(n.key.OID) {
			continue
		}
		if _, err := s.ids.toRealKey(n.key); err != nil {
			continue
		}
		pairs, err := t.row(n)
		if err != nil {
			return err
		}
		rows = append(rows, putRow(ctx, asicState, n.key, pairs))
	}
	rows = append(rows, s.learnedRows(ctx, old, learned)...)
	later := res.writes // rows of discovered objects
	res.writes = append([]func(redis.Pipeliner){func(p redis.Pipeliner) {
		for chunk := range slices.Chunk(gone, 1000) {
			p.Del(ctx, chunk...)
		}
		p.Del(ctx, vidToRID, ridToVID)
	}}, append(rows, later...)...)
	res.mapped = nil
	for vid, rid := range s.ids.rids {
		res.mapped = append(res.mapped, vid.String(), rid.String())
	}
	s.flex.keep(s.ids.known)
	return nil
}

// row returns the attributes that an object has now.
func (t *transition) row(n *node) ([]swss.Pair, error) {
	var attrs []sai.Attr
	for _, a := range n.sortedAttrs() {
		if t.failed[n][a.ID] {
			if n.match == nil {
				continue
			}
			old, had := n.match.attrs[a.ID]
			if !had || namesObjects(old) {
				continue
			}
			a.Value = old
		} else if _, ok := t.real(a.Value); !ok {
			continue // it names what could not be created
		}
		attrs = append(attrs, a)
	}
	if n.match != nil {
		for _, a := range n.match.sortedAttrs() {
			if _, given := n.attrs[a.ID]; !given && sai.Meta(a.ID).Default == nil && !namesObjects(a.Value) {
				attrs = append(attrs, a) // it could not be taken back
			}
		}
	}
	return formatAttrs(attrs)
}

func namesObjects(v sai.Value) bool {
	found := false
	sai.References(v, func(sai.OID) { found = true })
	return found
}

// learnedRows returns the rows of learned FDB entries under the new virtual
// ids; what they named and has gone, they went with.
func (s *Server) learnedRows(ctx context.Context, old *idMap, learned []*node) []func(redis.Pipeliner) {
	var rows []func(redis.Pipeliner)
	for _, n := range learned {
		ok := true
		move := func(vid sai.OID) sai.OID {
			rid, had := old.rid(vid)
			now, has := s.ids.vid(rid)
			ok = ok && had && has
			return now
		}
		k := sai.MapKey(n.key, move)
		attrs := n.sortedAttrs()
		for i := range attrs {
			attrs[i].Value = sai.MapOIDs(attrs[i].Value, move)
		}
		if pairs, err := formatAttrs(attrs); err == nil && ok {
			rows = append(rows, putRow(ctx, asicState, k, pairs))
		}
	}
	return rows
}

// oldIDs is what ASIC_DB tells of the objects of an earlier run.
type oldIDs struct {
	vids map[sai.OID]sai.OID // by real id
	own  map[sai.OID]sai.ObjectType
}

func (s *Server) readOldIDs(ctx context.Context) (*oldIDs, error) {
	o := &oldIDs{vids: map[sai.OID]sai.OID{}, own: map[sai.OID]sai.ObjectType{}}
	vids, err := s.asic.Client().HGetAll(ctx, vidToRID).Result()
	if err != nil {
		return nil, err
	}
	cold, err := s.asic.Client().HGetAll(ctx, coldVIDs).Result()
	if err != nil {
		return nil, err
	}
	for v, r := range vids {
		vid, err := sai.ParseOID(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", vidToRID, err)
		}
		rid, err := sai.ParseOID(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", vidToRID, err)
		}
		o.vids[rid] = vid
	}
	for v := range cold {
		vid, err := sai.ParseOID(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", coldVIDs, err)
		}
		if t, ok := VIDType(vid); ok {
			o.own[vid] = t
		}
	}
	return o, nil
}

// claim returns the virtual id that a discovered object had in the earlier
// run. An id is given once.
func (o *oldIDs) claim(k sai.Key) (sai.OID, bool) {
	vid, ok := o.vids[k.OID]
	if !ok || o.own[vid] != k.Type {
		return 0, false
	}
	delete(o.vids, k.OID)
	return vid, true
}
