package objects

import (
	"tamtam/sai"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects/counts"
	"tamtam/saisim/tm"
)

// A priorityGroup is an INGRESS_PRIORITY_GROUP object: one of the groups of a port, with its buffer profile.
type priorityGroup struct {
	port   *port
	index  int
	buffer *bufferProfile // nil means that packets are not charged to the group
}

// settings returns the settings of a group, by its profile. If the pool has no shared headroom, RESERVED_BUFFER_SIZE
// contains the headroom of the group.
func (g *priorityGroup) settings() (s tm.GroupSettings) {
	b := g.buffer
	if b == nil {
		return s
	}
	s = tm.GroupSettings{
		On: true, Pool: b.pool.index, Reserved: b.reserved, Limit: b.limit, Headroom: b.xoff, Xon: b.xon,
		XonOffset: b.xonOffset, Own: b.pool.headroom == 0,
	}
	if s.Own {
		s.Reserved -= min(s.Reserved, s.Headroom)
	}
	return s
}

// priorityGroupKind returns the kind of ingress priority groups.
func (ps *ports) priorityGroupKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.IngressPriorityGroupAttrPort, sai.IngressPriorityGroupAttrIndex, sai.IngressPriorityGroupAttrBufferProfile,
		},
		create: refuseCreate(sai.ObjectTypeIngressPriorityGroup, "every port has its priority groups"),
		remove: refuseRemove("priority groups go with their port"),
		check: func(o *object) error {
			return ps.checkProfiles(sai.IngressPriorityGroupAttrBufferProfile, true, false,
				o.ref(sai.IngressPriorityGroupAttrBufferProfile))
		},
		set: func(o *object, a sai.Attr) error {
			g := o.self.(*priorityGroup)
			g.buffer, _ = self[*bufferProfile](ps.core, a.Value.(sai.OID))
			ps.putPort(g.port)
			return nil
		},
	}
	table := counts.Groups(ps.prof.Buffer.CellBytes)
	k.stats = counts.Sorted(table)
	state := func(o *object) engine.GroupState {
		g := o.self.(*priorityGroup)
		return ps.engine.GroupState(g.port.id(), g.index)
	}
	k.stat = func(o *object, id sai.StatID) uint64 { s := state(o); return table[id](&s) }
	k.reader = readerOf(table, state)
	k.clear = func(o *object, id sai.StatID) bool {
		level, total, shared, headroom := counts.GroupWatermark(id)
		if total || shared || headroom {
			g := o.self.(*priorityGroup)
			ps.engine.ClearGroup(g.port.id(), g.index, total, shared, headroom)
		}
		return level
	}
	return k
}

// readerOf returns a kind's reader of statistics that are functions of a state.
func readerOf[S any](table map[sai.StatID]func(*S) uint64, state func(*object) S,
) func(o *object, ids []sai.StatID) func(to []uint64) {
	return func(o *object, ids []sai.StatID) func(to []uint64) {
		reads := make([]func(*S) uint64, len(ids))
		for i, id := range ids {
			reads[i] = table[id]
		}
		var s S
		return func(to []uint64) {
			s = state(o)
			for i, f := range reads {
				to[i] = f(&s)
			}
		}
	}
}
