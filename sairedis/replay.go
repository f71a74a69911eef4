package sairedis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
)

// replay brings a backend without a switch to the state that ASIC_DB holds
// from an earlier run (SONiC's hard reinit). Virtual ids stay.
func (s *Server) replay(ctx context.Context) error {
	old, err := s.readOldIDs(ctx)
	if err != nil {
		return err
	}
	next, err := readView(ctx, s.asic, func(vid sai.OID) bool { _, ok := old.own[vid]; return ok }, s.badRow)
	if err != nil {
		return err
	}
	takeLearned(next)
	next.link()
	sw := next.byOID[SwitchVID]
	if sw == nil {
		return nil // a new device
	}
	attrs, cur := switchAttrs(sw)
	rid, err := s.backend.Create(ctx, sai.ObjectTypeSwitch, attrs)
	if err != nil {
		return fmt.Errorf("replay: create switch: %w", err)
	}
	s.ids.add(SwitchVID, rid)
	res := &result{}
	removed, err := s.recognize(ctx, res, old, cur, sai.Obj(sai.ObjectTypeSwitch, rid))
	if err != nil {
		return err
	}
	cur.link()
	matchViews(cur, next)
	t := &transition{s: s, cur: cur, next: next, ids: s.ids.ownCopy(removed), removed: removed}
	t.bring(ctx)
	s.recognizeChildren(ctx, t, old)
	if err := s.finish(ctx, res, t, nil); err != nil {
		return err
	}
	s.noteDefaults(ctx, res, sai.Obj(sai.ObjectTypeSwitch, rid))
	s.log.Info("syncd: replayed the state of an earlier run", "objects", len(next.nodes), "failures", len(t.errs))
	_, err = s.asic.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, w := range res.writes {
			w(p)
		}
		res.writeMaps(ctx, p)
		return nil
	})
	return err
}

// switchAttrs returns the attributes to create the switch with, and a view that
// holds the switch with just these. Objects cannot be named then.
func switchAttrs(sw *node) ([]sai.Attr, *graph) {
	cur := newGraph()
	n := cur.add(sw.key, false)
	var attrs []sai.Attr
	for _, a := range sw.sortedAttrs() {
		if !namesObjects(a.Value) && !sai.Meta(a.ID).Has(sai.ReadOnly) {
			attrs = append(attrs, a)
			n.attrs[a.ID] = a.Value
		}
	}
	return attrs, cur
}

// recognize gives the objects that came with the switch the virtual ids that
// they had, and adds them to the view cur. It returns those that were removed
// in the earlier run.
func (s *Server) recognize(
	ctx context.Context, res *result, old *oldIDs, cur *graph, sw sai.Key,
) (map[sai.OID]bool, error) {
	if err := s.movePorts(ctx, old, sw); err != nil {
		return nil, err
	}
	var fresh []sai.Key
	for _, k := range s.walk(ctx, sw) {
		if vid, ok := old.claim(k); ok {
			s.ids.add(vid, k.OID)
			s.ids.own[vid] = true
			cur.add(sai.Obj(k.Type, vid), true)
			continue
		}
		fresh = append(fresh, k)
	}
	if err := s.adopt(ctx, res, fresh); err != nil {
		return nil, err
	}
	removed := map[sai.OID]bool{}
	for _, k := range fresh {
		vid, _ := s.ids.vid(k.OID)
		cur.add(sai.Obj(k.Type, vid), true)
		switch k.Type {
		case sai.ObjectTypePort, sai.ObjectTypeBridgePort, sai.ObjectTypeVLANMember:
			removed[vid] = true
		}
	}
	// What is to go, and what goes with it, gets no rows.
	going := map[sai.OID]bool{}
	for vid := range removed {
		rid, _ := s.ids.rid(vid)
		for _, child := range s.ids.children[rid] {
			going[child] = true
		}
	}
	res.writes, res.mapped = nil, nil
	for _, k := range fresh {
		if vid, _ := s.ids.vid(k.OID); !removed[vid] && !going[k.OID] {
			s.own(ctx, res, k, vid)
		}
	}
	return removed, nil
}

// movePorts corrects the old map where a port with the same lanes has another
// real id than in the earlier run.
func (s *Server) movePorts(ctx context.Context, old *oldIDs, sw sai.Key) error {
	before, err := s.asic.Client().HGetAll(ctx, lanes).Result()
	if err != nil {
		return err
	}
	moved := map[sai.OID]sai.OID{} // virtual ids by new real id
	for _, l := range s.portLanes(ctx, sw) {
		was, err := sai.ParseOID(before[strconv.FormatUint(l.lane, 10)])
		if err != nil || was == l.port {
			continue
		}
		if vid, ok := old.vids[was]; ok && old.own[vid] == sai.ObjectTypePort {
			moved[l.port] = vid
		}
	}
	for rid := range moved {
		if vid, ok := old.vids[rid]; ok && old.own[vid] == sai.ObjectTypePort {
			delete(old.vids, rid)
		}
	}
	for rid, vid := range moved {
		old.vids[rid] = vid
	}
	return nil
}

// recognizeChildren gives the objects that came with ports created again the
// virtual ids that they had.
func (s *Server) recognizeChildren(ctx context.Context, t *transition, old *oldIDs) {
	for _, n := range t.next.sorted() {
		if n.match != nil || n.own || n.key.Entry != nil || n.key.Type != sai.ObjectTypePort {
			continue
		}
		rid, ok := t.ids.rid(n.key.OID)
		if !ok {
			continue
		}
		for _, k := range s.walk(ctx, sai.Obj(sai.ObjectTypePort, rid)) {
			if _, known := t.ids.vid(k.OID); known {
				continue
			}
			if vid, ok := old.claim(k); ok {
				t.ids.add(vid, k.OID)
				t.ids.own[vid] = true
			}
		}
	}
}
