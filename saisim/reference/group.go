package reference

import (
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tm"
)

// A groupName names an ingress priority group by its port's lane and its number.
type groupName struct {
	lane  saisim.PortID
	index int
}

// A group is what an ingress priority group remembers. What it holds is counted from the packets in the queues.
type group struct {
	tm.GroupSettings
	tm.GroupCounts
	headroom int // cells in the headroom
	paused   bool
	due      saisim.Cycle // when a pause is refreshed
}

// accounts holds the groups of all lanes, and the watermarks of the pools. It follows the text of saisim/tm.
type accounts struct {
	groups map[groupName]*group // those that have had a profile
	marks  map[int]*poolMarks   // watermarks and drops, by index of the pool
	asking *packet              // packet that is charged and not yet in its queues
	moved  bool                 // the configuration has changed since the last cycle
}

type poolMarks struct {
	used, headroom int
	dropped        uint64 // packets that its queues or groups refused
}

func newAccounts() accounts {
	return accounts{groups: map[groupName]*group{}, marks: map[int]*poolMarks{}}
}

// configureGroups changes the groups of all ports, before the ports change.
func (c *Chip) configureGroups(to config.Tables) {
	c.moved = true
	for n, g := range c.groups {
		p := c.portAt(n.lane)
		if p != nil && !slices.ContainsFunc(to.Ports, func(r config.Port) bool { return r.ID == p.ID }) {
			g.set(tm.GroupSettings{})
		}
	}
	for _, row := range to.Ports {
		for i, s := range row.QoS.Groups {
			n := groupName{row.Port, i}
			g := c.groups[n]
			switch {
			case g == nil && !s.On:
				continue
			case g == nil:
				g = &group{}
				c.groups[n] = g
			}
			g.set(s)
			if c.portWith(row.ID) == nil {
				g.GroupCounts = tm.GroupCounts{}
			}
		}
	}
	for i := range c.marks {
		if i > 0 && !slices.ContainsFunc(to.Pools, func(r config.Pool) bool { return r.Index == i }) {
			delete(c.marks, i)
		}
	}
}

func (g *group) set(s tm.GroupSettings) {
	g.GroupSettings = s
	g.paused = g.paused && s.On && s.Headroom > 0
}

func (c *Chip) cellsOfPacket(pk *packet) int {
	size := int(c.prof.Buffer.CellBytes)
	return max(1, (pk.chargedBytes+size-1)/size)
}

// held returns the cells of the packets that are charged to a group.
func (c *Chip) held(n groupName) (cells int) {
	seen := map[*packet]bool{}
	count := func(pk *packet) {
		if !seen[pk] && pk.charged && pk.in == n.lane && pk.group == n.index {
			cells += c.cellsOfPacket(pk)
		}
		seen[pk] = true
	}
	for _, p := range c.ports {
		for _, q := range p.queues {
			for _, o := range q.items {
				if !o.made() {
					count(o.packet)
				}
			}
		}
	}
	if c.asking != nil {
		count(c.asking)
	}
	return cells
}

// inPool returns the cells of a pool that queues or groups use, and those of groups in their headroom.
func (c *Chip) inPool(index int) (used, headroom int) {
	for _, p := range c.ports {
		for _, q := range p.queues {
			if q.Pool == index && !c.conf.ingressPool(index) {
				used += q.cells(c.prof)
			}
		}
	}
	for n, g := range c.groups {
		if g.On && g.Pool == index {
			used += c.held(n) - g.headroom
			headroom += g.headroom
		}
	}
	return used, headroom
}

// freeFor returns the cells of an ingress pool that all of its groups may use.
func (c *Chip) freeFor(index int) int {
	left := c.conf.poolCells(c.prof, index)
	for n, g := range c.groups {
		if !g.On || g.Pool != index {
			continue
		}
		left -= max(int(g.Reserved), c.held(n)-g.headroom)
		if g.Own {
			left -= int(g.Headroom)
		}
	}
	return left
}

// admits charges a packet that leaves the ingress pipe to its group. It reports whether the group admits it.
func (c *Chip) admits(pk *packet) bool {
	p := c.portAt(pk.in)
	if p == nil {
		return true
	}
	pk.group = 0
	if p.QoS.Group != nil && pk.tc < 16 {
		pk.group = int(p.QoS.Group[pk.tc])
	}
	name := groupName{pk.in, pk.group}
	g := c.groups[name]
	if g == nil || !g.On {
		return true
	}
	pk.chargedBytes = pk.length
	held, was := c.held(name), g.paused
	ok := c.charge(g, held, c.cellsOfPacket(pk))
	pk.find(saisim.Finding{Table: "priority_group", Port: pk.in, Queue: uint8(pk.group), Number: uint32(held), Hit: ok})
	if g.paused && !was {
		c.signal(name, g)
	}
	if !ok {
		pk.kind, pk.cpu, pk.why = nowhere, false, drop.PriorityGroup
		return false
	}
	g.Packets++
	g.Bytes += uint64(pk.length)
	pk.charged, c.asking = true, pk
	c.seeGroup(name)
	c.seePool(g.Pool)
	return true
}

// charge decides whether a group that holds some cells admits n more.
func (c *Chip) charge(g *group, held, n int) bool {
	base, reserved := held-g.headroom, int(g.Reserved)
	rest := n - min(n, max(0, reserved-base))
	free := c.freeFor(g.Pool)
	if rest == 0 || rest <= free && max(0, base-reserved)+rest <= limitOf(g.Limit, free) {
		return true
	}
	_, used := c.inPool(g.Pool)
	if g.headroom+rest <= int(g.Headroom) && (g.Own || used+rest <= c.conf.headroomOf(g.Pool)) {
		c.Queueing("a packet in the headroom")
		g.headroom += rest
		g.paused = true
		return true
	}
	g.paused = g.Headroom > 0 && held > 0
	g.Dropped++
	c.pool(g.Pool).dropped++
	return false
}

// left ends the charge of a packet if none of its copies is in a queue.
func (c *Chip) left(pk *packet) {
	if !pk.charged || c.asking == pk {
		return
	}
	for _, p := range c.ports {
		for _, q := range p.queues {
			for _, o := range q.items {
				if o.packet == pk && !o.made() {
					return
				}
			}
		}
	}
	pk.charged = false
	c.uncharge(groupName{pk.in, pk.group}, c.cellsOfPacket(pk))
}

// chargeLess reduces the charge of a packet, if it has one, to that of some bytes.
func (c *Chip) chargeLess(pk *packet, bytes int) {
	if !pk.charged {
		return
	}
	was := c.cellsOfPacket(pk)
	pk.chargedBytes = bytes
	c.uncharge(groupName{pk.in, pk.group}, was-c.cellsOfPacket(pk))
}

// uncharge ends the charge of some cells, which the group does not hold any more.
func (c *Chip) uncharge(name groupName, cells int) {
	g := c.groups[name]
	g.headroom -= min(g.headroom, cells)
	if !g.paused {
		return
	}
	most := int(g.Reserved) + limitOf(g.Limit, max(0, c.freeFor(g.Pool)))
	if g.headroom == 0 && c.held(name) <= max(int(g.Xon), most-int(g.XonOffset)) {
		c.Queueing("a group resumes")
		g.paused = false
		c.signal(name, g)
	}
}

// limitOf returns a limit, given the free cells of the pool.
func limitOf(l tm.Limit, free int) int {
	switch {
	case l.Static:
		return int(l.Cells)
	case l.Alpha >= 0:
		return free << l.Alpha
	}
	return free / (1 << -l.Alpha)
}

// seeMoved updates all watermarks after changes of the configuration.
func (c *Chip) seeMoved() {
	if !c.moved {
		return
	}
	c.moved = false
	for n := range c.groups {
		c.seeGroup(n)
	}
	c.seePool(0)
	for _, r := range c.conf.Pools {
		c.seePool(r.Index)
	}
}

func (c *Chip) seeGroup(n groupName) {
	g, s := c.groups[n], c.GroupState(n.lane, n.index)
	g.MaxCells, g.MaxShared = max(g.MaxCells, s.Cells), max(g.MaxShared, s.Shared)
	g.MaxInHeadroom = max(g.MaxInHeadroom, s.InHeadroom)
}

// pool returns what is noted of a pool.
func (c *Chip) pool(index int) *poolMarks {
	if c.marks[index] == nil {
		c.marks[index] = &poolMarks{}
	}
	return c.marks[index]
}

func (c *Chip) seePool(index int) {
	m := c.pool(index)
	used, headroom := c.inPool(index)
	m.used, m.headroom = max(m.used, used), max(m.headroom, headroom)
}

// GroupState returns the state of an ingress priority group.
func (c *Chip) GroupState(id saisim.PortID, index int) saisim.GroupState {
	n := groupName{id, index}
	g := c.groups[n]
	if g == nil {
		return saisim.GroupState{}
	}
	held := c.held(n)
	return saisim.GroupState{
		Cells: uint64(held), Shared: uint64(max(0, held-g.headroom-int(g.Reserved))), InHeadroom: uint64(g.headroom),
		Paused: g.paused, GroupCounts: g.GroupCounts,
	}
}

// PoolState returns the state of a pool.
func (c *Chip) PoolState(index int) (s saisim.PoolState) {
	used, headroom := c.inPool(index)
	s.Used, s.InHeadroom = uint64(used), uint64(headroom)
	if m := c.marks[index]; m != nil {
		s.MaxUsed, s.MaxInHeadroom, s.Dropped = uint64(m.used), uint64(m.headroom), m.dropped
	}
	return s
}

// ClearGroup restarts watermarks of a group.
func (c *Chip) ClearGroup(id saisim.PortID, index int, total, shared, headroom bool) {
	n := groupName{id, index}
	g := c.groups[n]
	if g == nil {
		return
	}
	if total {
		g.MaxCells = 0
	}
	if shared {
		g.MaxShared = 0
	}
	if headroom {
		g.MaxInHeadroom = 0
	}
	c.seeGroup(n)
}

// ClearPool restarts a watermark of a pool.
func (c *Chip) ClearPool(index int, headroom bool) {
	if m := c.marks[index]; m != nil && headroom {
		m.headroom = 0
	} else if m != nil {
		m.used = 0
	}
	c.seePool(index)
}

// ingressPool reports whether a pool is for priority groups.
func (conf *settings) ingressPool(index int) bool {
	return slices.ContainsFunc(conf.Pools, func(p config.Pool) bool { return p.Index == index && p.Ingress })
}

// headroomOf returns the cells of the headroom that the groups of a pool share.
func (conf *settings) headroomOf(index int) int {
	for _, p := range conf.Pools {
		if p.Index == index {
			return int(p.Headroom)
		}
	}
	return 0
}
