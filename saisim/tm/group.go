package tm

// GroupSettings holds the configuration of an ingress priority group. In the zero value it accounts for no packets.
type GroupSettings struct {
	On       bool // true if packets are charged to the group
	Pool     int
	Reserved uint64 // number of cells
	Limit    Limit
	Headroom uint64 // cells for packets beyond Limit; zero means that the group is lossy
	// Own is true if Headroom is taken from the cells of the pool, false if it shares the headroom of the pool.
	Own bool
	// A paused group resumes when it holds at most Xon cells, or XonOffset cells less than it may hold.
	Xon, XonOffset uint64
}

// GroupCounts holds the counters of a group. The high watermarks are in cells.
type GroupCounts struct {
	Packets, Bytes                     uint64 // that were admitted, without FCS
	Dropped                            uint64
	MaxCells, MaxShared, MaxInHeadroom uint64
}

// A Group is an ingress priority group: the account of the packets of a port that are in the packet memory.
type Group struct {
	GroupSettings
	GroupCounts
	paused          bool
	cells, headroom uint64 // cells of all packets, and those of them that are in the headroom
}

// Cells returns the number of cells that the group holds.
func (g *Group) Cells() uint64 { return g.cells }

// InHeadroom returns the number of these cells that are in the headroom.
func (g *Group) InHeadroom() uint64 { return g.headroom }

// Shared returns the number of these cells that are neither reserved nor in the headroom.
func (g *Group) Shared() uint64 { return g.base() - min(g.base(), g.Reserved) }

// Paused reports whether the group asks the sender to pause.
func (g *Group) Paused() bool { return g.paused }

// base returns the number of cells outside the headroom.
func (g *Group) base() uint64 { return g.cells - g.headroom }

// unused returns the number of reserved cells that the group does not use.
func (g *Group) unused() uint64 { return g.Reserved - min(g.Reserved, g.base()) }

// account adds what the group holds and reserves to its pool, or subtracts it.
func (g *Group) account(b *Buffer, sign uint64) {
	if !g.On {
		return
	}
	p := &b.Pools[g.Pool]
	p.used += sign * g.base()
	p.inHeadroom += sign * g.headroom
	p.reserved += sign * g.unused()
	if g.Own {
		p.reserved += sign * g.Headroom
	}
}

// ConfigureGroup changes the settings of a group. Its packets move to the new pool.
func (b *Buffer) ConfigureGroup(g *Group, s GroupSettings) {
	g.account(b, ^uint64(0))
	g.GroupSettings = s
	g.account(b, 1)
	g.paused = g.paused && s.On && s.Headroom > 0
}

// Charge charges a packet of n bytes to a group that is on. It returns false if the group does not admit it.
func (b *Buffer) Charge(g *Group, n uint64) bool {
	p, cells := &b.Pools[g.Pool], b.Cells(n)
	own := min(cells, g.unused())
	rest := cells - own
	switch {
	case rest == 0 || g.fits(p, rest):
		p.used += cells
	case rest <= g.Headroom-min(g.Headroom, g.headroom) &&
		(g.Own || rest <= p.Headroom-min(p.Headroom, p.inHeadroom)):
		p.used += own
		g.headroom += rest
		p.inHeadroom += rest
		g.paused = true
	default:
		g.paused = g.Headroom > 0 && g.cells > 0
		g.Dropped++
		p.Dropped++
		return false
	}
	p.reserved -= own
	g.cells += cells
	g.Packets++
	g.Bytes += n
	g.Observe()
	p.Observe()
	return true
}

// fits reports whether the group may use so many free cells of its pool.
func (g *Group) fits(p *Pool, cells uint64) bool {
	free := p.free()
	return int64(cells) <= free && max(g.base(), g.Reserved)-g.Reserved+cells <= g.Limit.of(uint64(free))
}

// Release ends the charge of a packet of n bytes, for which Charge returned true. If left is not 0, the charge is then
// that of a packet of left bytes.
func (b *Buffer) Release(g *Group, n, left uint64) {
	cells, p := b.Cells(n), (*Pool)(nil)
	if left > 0 {
		cells -= b.Cells(left)
	}
	if g.On {
		p = &b.Pools[g.Pool]
	}
	was, from := g.unused(), min(g.headroom, cells)
	g.cells -= cells
	g.headroom -= from
	if p == nil {
		return
	}
	p.inHeadroom -= from
	p.used -= cells - from
	p.reserved += g.unused() - was
	g.paused = g.paused && !g.resumes(p)
}

// resumes reports whether the group holds so little that its sender may go on.
func (g *Group) resumes(p *Pool) bool {
	most := g.Reserved + g.Limit.of(uint64(max(0, p.free())))
	return g.headroom == 0 && g.cells <= max(g.Xon, most-min(most, g.XonOffset))
}

// Observe updates the watermarks, as [Pool.Observe] does.
func (g *Group) Observe() {
	g.MaxCells, g.MaxShared = max(g.MaxCells, g.cells), max(g.MaxShared, g.Shared())
	g.MaxInHeadroom = max(g.MaxInHeadroom, g.headroom)
}
