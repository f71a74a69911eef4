package hostifd

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	"tamtam/host/beside"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// neighborTime is how long rows of NEIGH_TABLE that Linux does not know when hostifd begins stay: it is asked to ask
// them.
const neighborTime = 30 * time.Second

// mostNeighbors is how many are kept.
const mostNeighbors = 1 << 16

// A neighborhood brings what Linux knows of its neighbours to NEIGH_TABLE, and what tammgrd has there to Linux. It runs
// on the daemon's goroutine.
type neighborhood struct {
	table  beside.Table
	kernel Kernel
	known  map[string]Neighbor         // that Linux has, by key
	seen   map[string]swss.FieldValues // rows of NEIGH_TABLE
	put    map[string]bool             // rows that were written, and may not have been seen yet
	before map[string]bool             // rows that were there before Linux knew
	static map[string]Neighbor         // permanent in Linux
	dirty  map[string]bool             // to be written
	states states
	next   map[string]time.Time  // when a known neighbour is asked again
	ask    bool                  // before and static are to be brought to Linux
	routed func(key string) bool // whether a route leads by a neighbour, or orchagent waits for it
}

func newNeighborhood(d *orch.Daemon, db, state *swss.DB, k Kernel) *neighborhood {
	return &neighborhood{
		table: beside.Table{DB: db, Name: schema.AppNeigh}, kernel: k, known: map[string]Neighbor{},
		seen: map[string]swss.FieldValues{}, put: map[string]bool{}, before: map[string]bool{},
		static: map[string]Neighbor{}, dirty: map[string]bool{}, states: newStates(d, state),
		next: map[string]time.Time{}, routed: func(string) bool { return false },
	}
}

func keyOf(n Neighbor) string { return n.Interface + ":" + n.Addr.String() }

// learned takes what Linux says of a neighbour.
func (b *neighborhood) learned(n Neighbor) {
	key := keyOf(n)
	delete(b.before, key)
	b.dirty[key] = true
	b.states.learned(n)
	if n.Gone {
		delete(b.known, key)
	} else if len(b.known) < mostNeighbors {
		b.known[key] = n
	}
}

// forget begins a new look at all neighbours of Linux. Until it has told them their rows stay.
func (b *neighborhood) forget() {
	for key := range b.known {
		b.before[key] = true
	}
	clear(b.known)
	b.states.forget()
}

// saw takes what is in NEIGH_TABLE: nil fields: no row.
func (b *neighborhood) saw(key string, fields swss.FieldValues, begins bool) {
	delete(b.put, key)
	if fields == nil {
		delete(b.seen, key)
	} else {
		b.seen[key] = fields
	}
	b.dirty[key], b.ask = true, true
	if _, known := b.known[key]; begins && !known && fields != nil && !beside.Tammgrs(fields) {
		b.before[key] = true
	}
}

// swept forgets rows that Linux has not come to know.
func (b *neighborhood) swept() {
	for key := range b.before {
		b.dirty[key] = true
	}
	clear(b.before)
	b.states.swept()
}

// wanted reports whether a neighbour of Linux is one of the switch, by neighsyncd's rules: IPv6 addresses of the link
// only where the interface works with those alone, no groups of receivers. Beyond these rules an address of the link is
// wanted while a route leads there, since the route is not in the chip without it.
func (b *neighborhood) wanted(p plan, n Neighbor) bool {
	_, ours := p.devices[n.Interface]
	switch {
	case !ours, n.MAC.IsZero(), n.MAC[0]&1 == 1, n.Addr.IsMulticast(), n.Addr.IsUnspecified(), n.Addr.IsLoopback():
		return false
	case n.Addr.Is6() && n.Addr.IsLinkLocalUnicast():
		return p.local[n.Interface] || b.routed(keyOf(n))
	}
	return true
}

// fields are those of neighsyncd.
func fields(n Neighbor) []swss.Pair {
	family := "IPv4"
	if n.Addr.Is6() {
		family = "IPv6"
	}
	return []swss.Pair{{Field: "neigh", Value: n.MAC.String()}, {Field: "family", Value: family}}
}

// flush writes what differs. Rows that are tammgrd's stay; that one of them has gone, saw tells.
func (b *neighborhood) flush(ctx context.Context, p plan) error {
	if err := b.states.flush(ctx); err != nil {
		return err
	}
	var list []beside.Row
	for _, key := range slices.Sorted(maps.Keys(b.dirty)) {
		n, known := b.known[key]
		seen, is := b.seen[key]
		row := beside.Row{Key: key}
		if known && b.wanted(p, n) {
			row.Fields = fields(n)
		}
		switch {
		case b.before[key], beside.Tammgrs(seen):
		case row.Fields == nil && (is || b.put[key]) && ofDevice(key),
			row.Fields != nil && !maps.Equal(seen, swss.ToFieldValues(row.Fields)):
			list = append(list, row)
		}
	}
	if len(list) > 0 {
		if _, err := b.table.Put(ctx, list); err != nil {
			return err
		}
		for _, row := range list {
			b.put[row.Key] = row.Fields != nil
		}
	}
	clear(b.dirty)
	return nil
}

// ofDevice says whether a key is that of a neighbour at an interface that Linux could have.
func ofDevice(key string) bool { _, ok := neighborOf(key, nil); return ok }

// neighborOf reads a row of NEIGH_TABLE.
func neighborOf(key string, f swss.FieldValues) (Neighbor, bool) {
	for i := range key {
		if key[i] == ':' {
			a, err := netip.ParseAddr(key[i+1:])
			mac, _ := schema.ParseMAC(f["neigh"])
			name := key[:i]
			return Neighbor{Interface: name, Addr: a, MAC: mac}, err == nil && schema.InterfaceTable(name) != ""
		}
	}
	return Neighbor{}, false
}

// toKernel brings to Linux what it does not know: neighbours that tammgrd has, for good, and those that were there
// before it knew any, to be asked. What cannot be done now, as an interface is not up yet, is tried again.
func (b *neighborhood) toKernel(p plan) {
	b.ask = false
	for key, f := range b.seen {
		n, ok := neighborOf(key, f)
		if _, there := p.devices[n.Interface]; !ok || !there || n.MAC.IsZero() {
			continue
		}
		switch theirs := beside.Tammgrs(f); {
		case theirs && b.static[key] != n:
			if b.kernel.SetNeighbor(n, true) != nil {
				b.ask = true
				continue
			}
			b.static[key] = n
		case !theirs && b.before[key]:
			b.ask = b.kernel.SetNeighbor(n, false) != nil || b.ask
		}
	}
	for key, n := range b.static {
		if _, there := p.devices[n.Interface]; !there { // its neighbours have gone with it
			delete(b.static, key)
		} else if !beside.Tammgrs(b.seen[key]) {
			delete(b.static, key)
			_ = b.kernel.RemoveNeighbor(n) // it may have gone by itself
		}
	}
}
