package config

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// A Table is one of the tables, in an order in which rows may be put: a row refers to rows of earlier tables. ACLs and
// mirror sessions are an exception. They are bound by rows that may be put earlier, and a binding takes effect once
// both exist.
type Table uint8

// The tables.
const (
	SwitchTable Table = iota
	PoolTable
	SamplerTable
	PortTable
	LAGTable
	BridgePortTable
	VLANTable
	FDBTable
	RouterTable
	InterfaceTable
	NeighborTable
	NextHopTable
	HopGroupTable
	RouteTable
	TunnelTable
	TunnelEndTable
	PolicerTable
	CounterTable
	TrapTable
	TrapDefaultTable
	TAMIntTable
	MirrorTable
	TAMCollectorTable
	TAMEventTable
	TAMTable
	ACLRangeTable
	ACLCounterTable
	ACLTableTable
	ACLEntryTable
	ACLGroupTable
	AltMarkTable
	AltMarkOuterTable
	SketchTable
	RecordPlanTable
	MSSClampTable
	ReadoutTable
)

// A Key identifies a row. Most rows have an ID of their own. Other rows are identified by Of: a number, a name, an
// address or a prefix.
type Key struct {
	Table Table
	ID    ID
	Of    any
}

func (k Key) compare(l Key) int {
	if c := cmp.Or(cmp.Compare(k.Table, l.Table), cmp.Compare(k.ID, l.ID)); c != 0 {
		return c // within a table, all values of Of have the same type
	}
	return compareOf(k.Of, l.Of)
}

// compareOf compares the Of values of two rows of one table.
func compareOf(a, b any) int {
	switch a := a.(type) {
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case string:
		return cmp.Compare(a, b.(string))
	case netip.Addr:
		return a.Compare(b.(netip.Addr))
	case netip.Prefix:
		b := b.(netip.Prefix)
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	}
	return 0
}

// A Row is a row of a table. A row that is put must not be changed afterwards.
type Row interface{ key() Key }

func (r Switch) key() Key       { return Key{Table: SwitchTable} }
func (r Pool) key() Key         { return Key{Table: PoolTable, Of: uint64(r.Index)} }
func (r Sampler) key() Key      { return Key{Table: SamplerTable, ID: r.ID} }
func (r Port) key() Key         { return Key{Table: PortTable, ID: r.ID} }
func (r LAG) key() Key          { return Key{Table: LAGTable, ID: r.ID} }
func (r BridgePort) key() Key   { return Key{Table: BridgePortTable, ID: r.ID} }
func (r VLAN) key() Key         { return Key{Table: VLANTable, ID: r.ID} }
func (r FDBEntry) key() Key     { return Key{Table: FDBTable, ID: r.VLAN, Of: r.MAC.Number()} }
func (r Router) key() Key       { return Key{Table: RouterTable, ID: r.ID} }
func (r Interface) key() Key    { return Key{Table: InterfaceTable, ID: r.ID} }
func (r Neighbor) key() Key     { return Key{Table: NeighborTable, ID: r.Interface, Of: r.IP} }
func (r NextHop) key() Key      { return Key{Table: NextHopTable, ID: r.ID} }
func (r HopGroup) key() Key     { return Key{Table: HopGroupTable, ID: r.ID} }
func (r Route) key() Key        { return Key{Table: RouteTable, ID: r.Router, Of: r.Prefix} }
func (r Tunnel) key() Key       { return Key{Table: TunnelTable, ID: r.ID} }
func (r TunnelEnd) key() Key    { return Key{Table: TunnelEndTable, ID: r.ID} }
func (r Policer) key() Key      { return Key{Table: PolicerTable, ID: r.ID} }
func (r Counter) key() Key      { return Key{Table: CounterTable, ID: r.ID} }
func (r TrapDefault) key() Key  { return Key{Table: TrapDefaultTable} }
func (r TrapRule) key() Key     { return Key{Table: TrapTable, ID: r.ID} }
func (r TAMInt) key() Key       { return Key{Table: TAMIntTable, ID: r.ID} }
func (r Mirror) key() Key       { return Key{Table: MirrorTable, ID: r.ID} }
func (r TAMCollector) key() Key { return Key{Table: TAMCollectorTable, ID: r.ID} }
func (r TAMEvent) key() Key     { return Key{Table: TAMEventTable, ID: r.ID} }
func (r TAM) key() Key          { return Key{Table: TAMTable, ID: r.ID} }
func (r ACLRange) key() Key     { return Key{Table: ACLRangeTable, ID: r.ID} }
func (r ACLCounter) key() Key   { return Key{Table: ACLCounterTable, ID: r.ID} }
func (r ACLTable) key() Key     { return Key{Table: ACLTableTable, ID: r.ID} }
func (r ACLEntry) key() Key     { return Key{Table: ACLEntryTable, ID: r.ID} }
func (r ACLGroup) key() Key     { return Key{Table: ACLGroupTable, ID: r.ID} }
func (r AltMark) key() Key      { return Key{Table: AltMarkTable, Of: uint64(r.Lane)} }
func (r AltMarkOuter) key() Key {
	return Key{Table: AltMarkOuterTable, Of: uint64(r.Index)}
}
func (r Sketch) key() Key     { return Key{Table: SketchTable, Of: r.Task} }
func (r RecordPlan) key() Key { return Key{Table: RecordPlanTable, ID: r.Object} }
func (r MSSClamp) key() Key   { return Key{Table: MSSClampTable, ID: r.ID} }
func (r Readout) key() Key    { return Key{Table: ReadoutTable, ID: r.ID} }

// Number returns the address as a number of 48 bits.
func (m MAC) Number() (n uint64) {
	for _, b := range m {
		n = n<<8 | uint64(b)
	}
	return n
}

// A Step puts a row, or removes the row with its key.
type Step struct {
	Row  Row
	Gone bool
}

// A Change is a list of steps that take effect together, in this order.
type Change []Step

// Put adds a step that puts a row. It replaces a row with the same key.
func (c *Change) Put(r Row) { *c = append(*c, Step{Row: r}) }

// Remove adds a step that removes the row with r's key. Other fields of r are ignored.
func (c *Change) Remove(r Row) { *c = append(*c, Step{Row: r, Gone: true}) }

// A Set is the result of a series of changes, table by table. The cost of a change does not depend on the size of the
// set.
type Set map[Table]map[Key]Row

// Apply applies a change.
func (s Set) Apply(c Change) {
	for _, x := range c {
		k := x.Row.key()
		switch rows := s[k.Table]; {
		case x.Gone:
			if delete(rows, k); len(rows) == 0 {
				delete(s, k.Table)
			}
		case rows == nil:
			s[k.Table] = map[Key]Row{k: x.Row}
		default:
			rows[k] = x.Row
		}
	}
}

// Clone returns an independent copy of the set.
func (s Set) Clone() Set {
	c := make(Set, len(s))
	for t, rows := range s {
		c[t] = maps.Clone(rows)
	}
	return c
}

// Of returns an independent copy of some tables.
func (s Set) Of(tables ...Table) Set {
	c := make(Set, len(tables))
	for _, t := range tables {
		c[t] = maps.Clone(s[t])
	}
	return c
}

// Rows returns all rows in an order in which they may be put.
func (s Set) Rows() Change {
	n, most := 0, 0
	for _, rows := range s {
		n, most = n+len(rows), max(most, len(rows))
	}
	c, keys := make(Change, 0, n), make([]Key, 0, most)
	for _, t := range slices.Sorted(maps.Keys(s)) {
		keys = slices.AppendSeq(keys[:0], maps.Keys(s[t]))
		slices.SortFunc(keys, Key.compare)
		for _, k := range keys {
			c.Put(s[t][k])
		}
	}
	return c
}

// Tables returns all rows, sorted as defined in [Tables].
func (s Set) Tables() Tables {
	var t Tables
	for _, x := range s.Rows() {
		if !t.addPort(x.Row) && !t.addRoute(x.Row) && !t.addACL(x.Row) {
			t.addTAM(x.Row)
		}
	}
	slices.SortFunc(t.Ports, func(a, b Port) int { return cmp.Compare(a.Port, b.Port) })
	slices.SortFunc(t.VLANs, func(a, b VLAN) int { return cmp.Compare(a.VID, b.VID) })
	slices.SortStableFunc(t.FDB, func(a, b FDBEntry) int {
		return cmp.Or(cmp.Compare(a.VID, b.VID), cmp.Compare(a.MAC.Number(), b.MAC.Number()))
	})
	slices.SortStableFunc(t.ACLEntries, func(a, b ACLEntry) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(b.Priority, a.Priority),
			cmp.Compare(a.Content, b.Content), cmp.Compare(a.ID, b.ID))
	})
	return t
}

func (t *Tables) addPort(r Row) bool {
	switch r := r.(type) {
	case Switch:
		t.Switch = r
	case Pool:
		t.Pools = append(t.Pools, r)
	case Sampler:
		t.Samplers = append(t.Samplers, r)
	case Port:
		t.Ports = append(t.Ports, r)
	case LAG:
		t.LAGs = append(t.LAGs, r)
	case BridgePort:
		t.BridgePorts = append(t.BridgePorts, r)
	case VLAN:
		t.VLANs = append(t.VLANs, r)
	case FDBEntry:
		t.FDB = append(t.FDB, r)
	default:
		return false
	}
	return true
}

func (t *Tables) addRoute(r Row) bool {
	switch r := r.(type) {
	case Router:
		t.Routers = append(t.Routers, r)
	case Interface:
		t.Interfaces = append(t.Interfaces, r)
	case Neighbor:
		t.Neighbors = append(t.Neighbors, r)
	case NextHop:
		t.NextHops = append(t.NextHops, r)
	case HopGroup:
		t.HopGroups = append(t.HopGroups, r)
	case Route:
		t.Routes = append(t.Routes, r)
	case Tunnel:
		t.Tunnels = append(t.Tunnels, r)
	case TunnelEnd:
		t.TunnelEnds = append(t.TunnelEnds, r)
	default:
		return false
	}
	return true
}

func (t *Tables) addACL(r Row) bool {
	switch r := r.(type) {
	case ACLRange:
		t.ACLRanges = append(t.ACLRanges, r)
	case ACLCounter:
		t.ACLCounters = append(t.ACLCounters, r)
	case ACLTable:
		t.ACLTables = append(t.ACLTables, r)
	case ACLEntry:
		t.ACLEntries = append(t.ACLEntries, r)
	case ACLGroup:
		t.ACLGroups = append(t.ACLGroups, r)
	default:
		return false
	}
	return true
}

func (t *Tables) addTAM(r Row) {
	switch r := r.(type) {
	case Policer:
		t.Policers = append(t.Policers, r)
	case Counter:
		t.Counters = append(t.Counters, r)
	case TrapRule:
		t.Traps = append(t.Traps, r)
	case TrapDefault:
		t.TrapDefault = r
	case TAMInt:
		t.TAMInts = append(t.TAMInts, r)
	case Mirror:
		t.Mirrors = append(t.Mirrors, r)
	case TAMCollector:
		t.TAMCollectors = append(t.TAMCollectors, r)
	case TAMEvent:
		t.TAMEvents = append(t.TAMEvents, r)
	case TAM:
		t.TAMs = append(t.TAMs, r)
	case AltMark:
		t.AltMarks = append(t.AltMarks, r)
	case AltMarkOuter:
		t.AltMarkOuters = append(t.AltMarkOuters, r)
	case Sketch:
		t.Sketches = append(t.Sketches, r)
	case RecordPlan:
		t.RecordPlans = append(t.RecordPlans, r)
	case MSSClamp:
		t.MSSClamps = append(t.MSSClamps, r)
	case Readout:
		t.Readouts = append(t.Readouts, r)
	}
}

// Find returns the row with an ID in the table of a row type, and false if there is none.
func Find[R Row](s Set, id ID) (r R, ok bool) {
	k := r.key()
	k.ID = id
	r, ok = s[k.Table][k].(R)
	return r, ok
}
