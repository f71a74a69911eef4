package sairedis

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
)

// listRoom is the room offered for lists of objects in a first get.
const listRoom = 128

// discover finds the objects that came with root (a real key), gives them
// virtual ids in the order of their real ids, and notes them in ASIC_DB.
func (s *Server) discover(ctx context.Context, res *result, root sai.Key) error {
	fresh := slices.DeleteFunc(s.walk(ctx, root), func(k sai.Key) bool { _, ok := s.ids.vid(k.OID); return ok })
	if err := s.adopt(ctx, res, fresh); err != nil {
		return err
	}
	if root.Type == sai.ObjectTypeSwitch {
		s.noteDefaults(ctx, res, root)
	}
	return nil
}

// adopt gives virtual ids to objects (real keys) that nobody created.
func (s *Server) adopt(ctx context.Context, res *result, fresh []sai.Key) error {
	if len(fresh) == 0 {
		return nil
	}
	last, err := s.asic.Add(ctx, vidCounter, int64(len(fresh)))
	if err != nil {
		return err
	}
	for i, k := range fresh {
		vid, err := newVID(k.Type, last-int64(len(fresh))+1+int64(i))
		if err != nil {
			return err
		}
		s.own(ctx, res, k, vid)
	}
	return nil
}

// own notes a real object that nobody created under its virtual id.
func (s *Server) own(ctx context.Context, res *result, k sai.Key, vid sai.OID) {
	s.created(ctx, res, sai.Obj(k.Type, vid), k.OID, nil)
	s.ids.own[vid] = true
	res.write(func(p redis.Pipeliner) { p.HSet(ctx, coldVIDs, vid.String(), k.Type.String()) })
}

// walk returns all objects that can be reached from root through attributes,
// without root, sorted by real id. What comes with a port (queues) is noted as its
// children, which go when it goes; not what it merely names, such as a mirror session.
func (s *Server) walk(ctx context.Context, root sai.Key) []sai.Key {
	seen := map[sai.OID]bool{root.OID: true}
	var found []sai.Key
	for queue := []sai.Key{root}; len(queue) > 0; queue = queue[1:] {
		for _, m := range sai.ObjectMeta(queue[0].Type).Attrs {
			if m.Form != sai.FormPlain || m.Kind != sai.KindOID && m.Kind != sai.KindOIDList {
				continue
			}
			for _, rid := range s.oids(ctx, queue[0], m.ID) {
				if rid == sai.NullOID || seen[rid] {
					continue
				}
				seen[rid] = true
				t, ok := s.typeOf(ctx, m.ID, rid)
				if !ok || sai.ObjectMeta(t) == nil {
					continue
				}
				at := queue[0]
				if at.Type == sai.ObjectTypePort && withPort(t) && !slices.Contains(s.ids.children[at.OID], rid) {
					s.ids.children[at.OID] = append(s.ids.children[at.OID], rid)
				}
				found = append(found, sai.Obj(t, rid))
				queue = append(queue, sai.Obj(t, rid))
			}
		}
	}
	slices.SortFunc(found, func(a, b sai.Key) int { return compareOIDs(a.OID, b.OID) })
	return found
}

func compareOIDs(a, b sai.OID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// oids returns the objects that an attribute names; none if the backend does
// not have the attribute.
func (s *Server) oids(ctx context.Context, k sai.Key, id sai.AttrID) []sai.OID {
	got, err := s.backend.Get(ctx, k, []sai.Attr{sai.Want(id, listRoom)})
	if status, _ := sai.StatusOf(err); status == sai.StatusBufferOverflow && len(got) == 1 {
		n, _ := sai.ListLen(got[0].Value)
		got, err = s.backend.Get(ctx, k, []sai.Attr{sai.Want(id, n)})
	}
	if err != nil || len(got) != 1 {
		return nil
	}
	var list []sai.OID
	sai.References(got[0].Value, func(o sai.OID) { list = append(list, o) })
	return list
}

// noteDefaults writes the keys HIDDEN (the switch's default objects) and LANES
// (which port has a lane), with real ids.
func (s *Server) noteDefaults(ctx context.Context, res *result, sw sai.Key) {
	for _, id := range []sai.AttrID{
		sai.SwitchAttrCPUPort, sai.SwitchAttrDefaultVLANID, sai.SwitchAttrDefaultVirtualRouterID,
		sai.SwitchAttrDefault1qBridgeID, sai.SwitchAttrDefaultTrapGroup, sai.SwitchAttrDefaultStpInstID,
	} {
		if l := s.oids(ctx, sw, id); len(l) == 1 && l[0] != sai.NullOID {
			res.write(func(p redis.Pipeliner) { p.HSet(ctx, hidden, id.String(), l[0].String()) })
		}
	}
	lane := s.portLanes(ctx, sw)
	if len(lane) > 0 {
		args := make([]any, 0, 2*len(lane))
		for _, l := range lane {
			args = append(args, strconv.FormatUint(l.lane, 10), l.port.String())
		}
		res.write(func(p redis.Pipeliner) { p.HSet(ctx, lanes, args...) })
	}
}

type portLane struct {
	lane uint64
	port sai.OID
}

// portLanes returns the lanes of all ports (real ids).
func (s *Server) portLanes(ctx context.Context, sw sai.Key) []portLane {
	var list []portLane
	for _, port := range s.oids(ctx, sw, sai.SwitchAttrPortList) {
		got, err := s.backend.Get(ctx, sai.Obj(sai.ObjectTypePort, port), []sai.Attr{sai.Want(sai.PortAttrHWLaneList, 16)})
		if err != nil {
			continue
		}
		if l, ok := got[0].Value.(sai.Uints); ok {
			for _, n := range l {
				list = append(list, portLane{n, port})
			}
		}
	}
	return list
}
