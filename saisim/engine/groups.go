package engine

import (
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tm"
)

// This file accounts for packets at the ingress. A packet that leaves the ingress pipe for ports or the CPU is charged
// once to the priority group of its port and traffic class, and to the group's pool. The charge ends when the last of
// its copies leaves its queue. Copies for the CPU are in no queue, and copies that sessions make are not charged.

// portGroups holds the priority groups of a lane. They outlast the port, because their packets may.
type portGroups [config.PriorityGroups]tm.Group

// accounts holds the ingress accounts of all lanes.
type accounts struct {
	groups []*portGroups // by lane; nil if no port of the lane has had a profile for a group
	on     int           // number of groups with a profile
	moved  bool          // settings have changed since the last event
}

// group returns the group that accounts for a packet, nil if there is none.
func (c *queues) group(pk *packet) (g *tm.Group, i uint8) {
	p := c.port(pk.in)
	if p == nil || c.accounts.groups[pk.in] == nil {
		return nil, 0
	}
	i = p.class.groupOf(pk.tc)
	if g = &c.accounts.groups[pk.in][i]; !g.On {
		return nil, 0
	}
	return g, i
}

// groupOf returns the priority group of a traffic class.
func (q *qosClass) groupOf(tc uint8) uint8 {
	if q.group == nil || int(tc) >= len(q.group) {
		return 0
	}
	return q.group[tc]
}

// charge charges a packet that has a destination, and holds the charge. It returns false if the packet is refused.
func (c *queues) charge(pk *packet) bool {
	g, i := c.group(pk)
	if g == nil {
		return true
	}
	pk.group, pk.met.groupCells = i+1, uint32(g.Cells())
	was := g.Paused()
	ok := c.buffer.Charge(g, uint64(pk.length))
	if c.found != nil {
		c.found(pk, Finding{Table: TableGroup, Hit: ok, Port: pk.in, Queue: i, Number: pk.met.groupCells})
	}
	if ok {
		pk.held = 1
	}
	c.changed(pk.in, int(i), was)
	return ok
}

// uncharge gives up one hold on the charge of a packet. The last one ends the charge.
func (c *queues) uncharge(pk *packet) {
	if pk.held == 0 {
		return
	}
	if pk.held--; pk.held == 0 {
		n := pk.length
		if pk.shrunk {
			n = int(pk.met.trim.kept)
		}
		c.release(pk.in, int(pk.group-1), n, 0)
	}
}

// shrink reduces the charge of a packet to that of its first n bytes, of which its trimmed copy consists.
func (c *queues) shrink(pk *packet, n int) {
	pk.shrunk = true
	c.release(pk.in, int(pk.group-1), pk.length, n)
}

// release ends the charge of a packet of n bytes, or reduces it to left bytes if that is not 0.
func (c *queues) release(lane PortID, group, n, left int) {
	g := &c.accounts.groups[lane][group]
	was := g.Paused()
	c.buffer.Release(g, uint64(n), uint64(left))
	c.changed(lane, group, was)
}

// refused ends a packet that its group does not admit: it has no destination.
func (pk *packet) refused() {
	pk.verdict.kind, pk.verdict.cpu, pk.why = noDestination, false, drop.PriorityGroup
}

// configure changes the groups of a lane to those of a port's row. A port that is new begins with new counts.
func (c *queues) configure(lane PortID, to *[config.PriorityGroups]tm.GroupSettings, fresh bool) {
	a := &c.accounts
	if a.groups[lane] == nil {
		if !slices.ContainsFunc(to[:], func(s tm.GroupSettings) bool { return s.On }) {
			return
		}
		a.groups[lane] = new(portGroups)
	}
	a.moved = true
	for i := range to {
		g := &a.groups[lane][i]
		if g.On {
			a.on--
		}
		if to[i].On {
			a.on++
		}
		c.buffer.ConfigureGroup(g, to[i])
		if fresh {
			g.GroupCounts = tm.GroupCounts{}
		}
	}
}

// observe updates the watermarks after changes of settings.
func (c *queues) observe() {
	if !c.accounts.moved {
		return
	}
	c.accounts.moved = false
	for i := range c.buffer.Pools {
		c.buffer.Pools[i].Observe()
	}
	for _, groups := range c.accounts.groups {
		if groups == nil {
			continue
		}
		for i := range groups {
			groups[i].Observe()
		}
	}
}

// A GroupState holds the fill and the counts of an ingress priority group, in cells.
type GroupState struct {
	Cells, Shared, InHeadroom uint64
	Paused                    bool
	tm.GroupCounts
}

// GroupState returns the state of a group of a port. It is zero if there is no such port, or has been no profile.
func (c *Engine) GroupState(id PortID, group int) GroupState {
	if c.port(id) == nil || c.queues.accounts.groups[id] == nil {
		return GroupState{}
	}
	g := &c.queues.accounts.groups[id][group]
	return GroupState{g.Cells(), g.Shared(), g.InHeadroom(), g.Paused(), g.GroupCounts}
}

// ClearGroup restarts watermarks of a group at their present levels.
func (c *Engine) ClearGroup(id PortID, group int, total, shared, headroom bool) {
	if c.port(id) == nil || c.queues.accounts.groups[id] == nil {
		return
	}
	g := &c.queues.accounts.groups[id][group]
	if total {
		g.MaxCells = g.Cells()
	}
	if shared {
		g.MaxShared = g.Shared()
	}
	if headroom {
		g.MaxInHeadroom = g.InHeadroom()
	}
}

// A PoolState holds the cells of a pool in use, and the high watermarks. Cells in the headroom are not part of Used.
// Dropped is the number of packets that queues or priority groups of the pool did not admit.
type PoolState struct{ Used, InHeadroom, MaxUsed, MaxInHeadroom, Dropped uint64 }

// PoolState returns the state of an existing pool.
func (c *Engine) PoolState(pool int) PoolState {
	p := &c.queues.buffer.Pools[pool]
	return PoolState{p.Used(), p.InHeadroom(), p.MaxUsed, p.MaxInHeadroom, p.Dropped}
}

// ClearPool restarts a watermark of an existing pool at its present level.
func (c *Engine) ClearPool(pool int, headroom bool) {
	if p := &c.queues.buffer.Pools[pool]; headroom {
		p.MaxInHeadroom = p.InHeadroom()
	} else {
		p.MaxUsed = p.Used()
	}
}
