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

// neighborTime is the time for which rows of NEIGH_TABLE stay whose neighbours Linux lacks when hostifd starts. hostifd
// probes these neighbours meanwhile.
const neighborTime = 30 * time.Second

const mostNeighbors = 1 << 16

// A neighborhood writes the neighbours of Linux to NEIGH_TABLE, and those of tammgrd to Linux. It runs on the daemon's
// goroutine.
type neighborhood struct {
	table  beside.Table
	kernel Kernel
	known  map[string]Neighbor         // neighbours in Linux, by key
	seen   map[string]swss.FieldValues // rows of NEIGH_TABLE
	put    map[string]bool             // rows that were written, and may not be in seen yet
	before map[string]bool             // rows that existed before Linux reported its neighbours
	static map[string]Neighbor         // permanent neighbours in Linux that were set, by key
	read   bool                        // true once static has those of earlier processes; others count as learned
	dirty  map[string]bool             // keys of rows to be written
	states states
	next   map[string]time.Time  // time when a known neighbour is probed again, by key
	ask    bool                  // true if before and static must be written to Linux
	routed func(key string) bool // reports whether a neighbour is a next hop of a route, or orchagent waits for it
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

func (b *neighborhood) learned(n Neighbor) {
	key := keyOf(n)
	delete(b.before, key)
	b.dirty[key] = true
	b.states.learned(n)
	if n.Gone {
		delete(b.known, key)
		if _, is := b.static[key]; is { // Linux drops permanent neighbours too when an interface goes down
			delete(b.static, key)
			b.ask = true
		}
	} else if _, known := b.known[key]; known || len(b.known) < mostNeighbors {
		b.known[key] = n
	}
}

// leaving reports whether the permanent neighbour with a key is one that tammgrd had, and that is to be removed from
// Linux.
func (b *neighborhood) leaving(key string) bool {
	_, is := b.static[key]
	return is && !beside.Tammgrs(b.seen[key])
}

// forget starts a new report of all neighbours of Linux. Until it is complete their rows stay.
func (b *neighborhood) forget() {
	for key := range b.known {
		b.before[key] = true
	}
	clear(b.known)
	b.states.forget()
}

// saw processes a row of NEIGH_TABLE; nil fields mean that it is deleted.
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

// swept removes rows that Linux has not reported.
func (b *neighborhood) swept() {
	for key := range b.before {
		b.dirty[key] = true
	}
	clear(b.before)
	b.states.swept()
}

// wanted reports whether a neighbour of Linux is one of the switch, by neighsyncd's rules. Link-local IPv6 addresses
// count only if the interface uses only those; multicast addresses do not. Beyond these rules a link-local neighbour is
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

// fields returns the fields of a row as neighsyncd writes them.
func fields(n Neighbor) []swss.Pair {
	family := "IPv4"
	if n.Addr.Is6() {
		family = "IPv6"
	}
	return []swss.Pair{{Field: "neigh", Value: n.MAC.String()}, {Field: "family", Value: family}}
}

// flush writes the differences. Rows that are tammgrd's stay; saw reports when one of them is deleted.
func (b *neighborhood) flush(ctx context.Context, p plan) error {
	if err := b.states.flush(ctx); err != nil {
		return err
	}
	var list []beside.Row
	for _, key := range slices.Sorted(maps.Keys(b.dirty)) {
		n, known := b.known[key]
		seen, is := b.seen[key]
		row := beside.Row{Key: key}
		if known && b.wanted(p, n) && !(n.Permanent && b.leaving(key)) {
			row.Fields = fields(n)
		}
		switch {
		case b.before[key], beside.Tammgrs(seen), n.Permanent && !b.read:
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

// ofDevice reports whether a key is that of a neighbour at an interface that Linux could have.
func ofDevice(key string) bool { _, ok := neighborOf(key, nil); return ok }

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

// readStatic reads, once, the permanent neighbours that earlier processes have set. Those that are not configured any
// more will be removed.
func (b *neighborhood) readStatic() error {
	if b.read {
		return nil
	}
	list, err := b.kernel.Configured()
	if err != nil {
		return err
	}
	for _, n := range list {
		b.static[keyOf(n)] = n
	}
	b.read = true
	for key, n := range b.known {
		if n.Permanent {
			b.dirty[key] = true
		}
	}
	return nil
}

// toKernel writes neighbours to Linux: those of tammgrd as permanent ones, and those from before its first report, to
// be probed. Failures, for example since an interface is not up yet, are retried.
func (b *neighborhood) toKernel(p plan) {
	if b.readStatic() != nil {
		return
	}
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
		if _, there := p.devices[n.Interface]; !there { // Linux removed its neighbours with the device
			delete(b.static, key)
		} else if b.leaving(key) {
			if b.kernel.RemoveNeighbor(n) != nil {
				b.ask = true
				continue
			}
			if delete(b.static, key); b.known[key].Permanent { // Linux will report that it is gone
				delete(b.known, key)
			}
		}
	}
}
