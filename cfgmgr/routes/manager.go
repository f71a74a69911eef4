// Package routes is the manager of VRFs, routed interfaces, static routes, neighbours, tunnels, static FDB entries, and
// of the switch's settings and hashes. It copies the configuration in CONFIG_DB, validated, to APPL_DB, and reports the
// outcome of every row in STATE_DB. For static routes it does the work of FRR's zebra. It finds the interface of a next
// hop, and chooses the next hops with the smallest distance.
//
// APPL_DB is a function of the current rows of CONFIG_DB, never of their order. If rows exclude each other, the one
// with the smaller name wins; of two rows of a static route, the one in SONiC's form. A row without its interface waits
// for it. Rows are parsed as they arrive. All of them are decided at every change, except that a change of static
// routes alone decides only these.
//
// ROUTE_TABLE, NEIGH_TABLE, FDB_TABLE and the tables of tunnels are shared. Rows without [schema.FieldConfigKey] belong
// to other programs (FRR, neighsyncd, swssconfig), and stay.
//
// What belongs here: decisions about those tables of CONFIG_DB. SAI calls do not.
package routes

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A parsed row of CONFIG_DB.
type parsed[T any] struct {
	row T
	err error
}

// rows contains the rows of one table, by key.
type rows[T any] map[string]parsed[T]

// sorted returns the keys in order of precedence.
func (r rows[T]) sorted() []string { return slices.SortedFunc(maps.Keys(r), schema.CompareNames) }

// A Manager holds the rows of interfaces, addresses, routes and neighbours. It runs on its daemon's goroutine.
type Manager struct {
	out *forward.Output
	due bool
	// changed holds the static routes that changed since all rows were decided, and prefixes holds the prefix of each.
	// last is the decision on all rows.
	changed  map[string]bool
	prefixes map[schema.Dest]bool
	byPrefix schema.PrefixKeys
	last     *decision

	// Rows of the ports, VLANs and members that interfaces are made of.
	ports      rows[schema.Port]
	lags       rows[schema.PortChannel]
	vrfs       rows[schema.VRF]
	vlans      rows[schema.VLAN]
	lagMembers rows[schema.PortChannelMember]
	members    rows[schema.VLANMember]

	// interfaces contains rows of all tables of interfaces, by [schema.StatusKey]: the name, from which the table follows.
	interfaces rows[schema.Interface]
	addresses  rows[schema.InterfaceAddress]
	routes     rows[schema.StaticRoute]
	neighbors  rows[schema.Neighbor]
	fdb        rows[schema.FDBEntry]
	switches   rows[schema.Switch]
	hashes     rows[schema.SwitchHash]
	tunnels    rows[schema.Tunnel]
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	switches := forward.TableOf(schema.CfgSwitch)
	switches.Fields = schema.TableOf(schema.CfgSwitch).FieldNames()
	m := &Manager{
		out: forward.New(d, r,
			switches, forward.TableOf(schema.CfgVRF), marked(schema.CfgInterface), marked(schema.CfgNeigh),
			marked(schema.CfgStaticRoute), marked(schema.CfgFDB), forward.TableOf(schema.CfgSwitchHash),
			marked(schema.CfgTunnel), forward.Table{Appl: schema.AppTunnelTerm, State: schema.AppTunnelTerm,
				Mark: schema.FieldConfigKey},
		),
		due: true, changed: map[string]bool{}, prefixes: map[schema.Dest]bool{},
		ports: rows[schema.Port]{}, lags: rows[schema.PortChannel]{}, vlans: rows[schema.VLAN]{},
		lagMembers: rows[schema.PortChannelMember]{}, members: rows[schema.VLANMember]{},
		vrfs:       rows[schema.VRF]{},
		interfaces: rows[schema.Interface]{}, addresses: rows[schema.InterfaceAddress]{}, routes: rows[schema.StaticRoute]{},
		neighbors: rows[schema.Neighbor]{}, fdb: rows[schema.FDBEntry]{}, switches: rows[schema.Switch]{},
		hashes: rows[schema.SwitchHash]{}, tunnels: rows[schema.Tunnel]{},
	}
	db := r.DB(swss.ConfigDB)
	consume(m, d, db, schema.CfgPort, m.ports, schema.ParsePort)
	consume(m, d, db, schema.CfgPortChannel, m.lags, schema.ParsePortChannel)
	consume(m, d, db, schema.CfgVLAN, m.vlans, schema.ParseVLAN)
	consume(m, d, db, schema.CfgPortChannelMbr, m.lagMembers, schema.ParsePortChannelMember)
	consume(m, d, db, schema.CfgVLANMember, m.members, schema.ParseVLANMember)
	consume(m, d, db, schema.CfgVRF, m.vrfs, schema.ParseVRF)
	for _, t := range schema.RoutedTables {
		m.consumeInterfaces(d, db, t)
	}
	forward.Consume(d, db, schema.CfgStaticRoute, m.storeRoute)
	consume(m, d, db, schema.CfgNeigh, m.neighbors, schema.ParseNeighbor)
	consume(m, d, db, schema.CfgFDB, m.fdb, schema.ParseFDB)
	consume(m, d, db, schema.CfgSwitch, m.switches, schema.ParseSwitch)
	consume(m, d, db, schema.CfgSwitchHash, m.hashes, schema.ParseSwitchHash)
	consume(m, d, db, schema.CfgTunnel, m.tunnels, schema.ParseTunnel)
	d.AfterRows(func() bool { return m.due || len(m.changed) > 0 }, m.flush)
	return m
}

// marked returns the description of a table that other daemons write, too. A field marks the rows that this manager
// wrote.
func marked(config string) forward.Table {
	t := forward.TableOf(config)
	t.Mark = schema.FieldConfigKey
	return t
}

// consume stores the parsed rows of a table in to.
func consume[T any](
	m *Manager, d *orch.Daemon, db *swss.DB, table string, to rows[T],
	parse func(string, map[string]string) (T, error),
) {
	forward.Consume(d, db, table, func(key string, fields swss.FieldValues) {
		m.due = true
		if fields == nil {
			delete(to, key)
			return
		}
		row, err := parse(key, fields)
		to[key] = parsed[T]{row, err}
	})
}

// consumeInterfaces stores the rows of a table of interfaces. Rows of interfaces are stored by name, and rows of
// addresses by key. A row in the wrong table has another key.
func (m *Manager) consumeInterfaces(d *orch.Daemon, db *swss.DB, table string) {
	forward.Consume(d, db, table, func(key string, fields swss.FieldValues) {
		m.due = true
		if !schema.IsAddressKey(key) {
			row, err := schema.ParseInterface(table, key, fields)
			keep(m.interfaces, schema.StatusKey(table, key), fields, row, err)
			return
		}
		row, err := schema.ParseInterfaceAddress(table, key, fields)
		keep(m.addresses, schema.StatusKey(table, key), fields, row, err)
	})
}

func keep[T any](to rows[T], key string, fields swss.FieldValues, row T, err error) {
	if fields == nil {
		delete(to, key)
		return
	}
	to[key] = parsed[T]{row, err}
}

// storeRoute stores a parsed row of static routes.
func (m *Manager) storeRoute(key string, fields swss.FieldValues) {
	m.changed[key] = true
	if old, ok := m.routes[key]; ok && old.err == nil {
		m.prefixes[old.row.Dest] = true
		m.byPrefix.Remove(old.row.Dest, key)
	}
	row, err := schema.ParseStaticRoute(key, fields)
	keep(m.routes, key, fields, row, err)
	if fields != nil && err == nil {
		m.prefixes[row.Dest] = true
		m.byPrefix.Add(row.Dest, key)
	}
}

// flush decides on rows and writes the changes.
func (m *Manager) flush(ctx context.Context) error {
	if err := m.out.Load(ctx); err != nil {
		return err
	}
	if m.due || m.last == nil || len(m.changed) == 0 {
		m.decideAll()
	} else {
		m.last.decideChanged()
	}
	if err := m.out.Flush(ctx); err != nil {
		return err
	}
	m.due = false
	m.changed, m.prefixes = orch.Emptied(m.changed), orch.Emptied(m.prefixes)
	return nil
}

// decideAll decides on all rows.
func (m *Manager) decideAll() {
	m.out.Clear()
	d := &decision{Manager: m}
	m.last = d
	d.decideSwitch()
	d.learnPorts()
	d.decideVRFs()
	d.decideInterfaces()
	d.decideAddresses()
	d.decideNeighbors()
	d.decideRoutes()
	d.decideFDB()
	d.decideHashes()
	d.decideTunnels()
}

// decision is one pass over all rows, with the rows accepted so far.
type decision struct {
	*Manager
	aliases map[string]string // port by alias
	master  map[string]string // PortChannel by member
	vlanOf  map[string]string // first VLAN by member
	inVLAN  map[string]bool   // set of VLAN|port
	routed  map[string]bool   // interfaces that route
	subnets map[schema.Dest]subnet
	lengths [2][]int // lengths of subnets, IPv4 and IPv6, the longest first
	own     map[place]string
}

// A place is an address in a VRF.
type place struct {
	vrf  string
	addr netip.Addr
}

// A subnet is the subnet of an interface address.
type subnet struct {
	name  string       // interface
	first netip.Prefix // the address that is configured first
}

// accept forwards a row, or reports the reason for not doing so. err is the error in the row. missing lists the things
// that the row waits for. key is the row's key in CONFIG_DB.
func (d *decision) accept(
	appl, state forward.Row, key string, fields func() map[string]string, err error, missing string,
) bool {
	switch {
	case err != nil:
		d.out.Report(state, schema.StatusFailed, schema.Reason(err))
	case missing != "":
		d.out.Report(state, schema.StatusPending, missing)
	default:
		f := fields()
		f[schema.FieldConfigKey] = key
		d.out.Forward(appl, f, state)
		return true
	}
	return false
}

// refuse reports that a row is not applied, because another row precedes it, or because it contradicts itself.
func (d *decision) refuse(state forward.Row, reason string, args ...any) {
	d.out.Report(state, schema.StatusFailed, fmt.Sprintf(reason, args...))
}

// decideSwitch forwards the switch's settings. There is always a row with SONiC's defaults and its outcome, because
// orchagent reports the switch's capabilities in the same row.
func (d *decision) decideSwitch() {
	appl := forward.Row{Table: schema.AppSwitch, Key: schema.SwitchKey}
	d.out.Forward(appl, schema.DefaultSwitch().Fields(), forward.Row{Table: schema.StateSwitch, Key: schema.SwitchKey})
	for _, key := range d.switches.sorted() {
		row, state := d.switches[key], forward.Row{Table: schema.StateSwitch, Key: key}
		if row.err != nil {
			if key == schema.SwitchKey {
				d.out.Keep(appl, schema.DefaultSwitch().Fields())
			}
			d.out.Report(state, schema.StatusFailed, schema.Reason(row.err))
			continue
		}
		d.out.Forward(appl, row.row.Fields(), state)
	}
}

// decideHashes forwards how the switch spreads flows.
func (d *decision) decideHashes() {
	for _, key := range d.hashes.sorted() {
		row, at := d.hashes[key], forward.Row{Table: schema.AppSwitchHash, Key: key}
		if row.err != nil {
			d.out.Report(at, schema.StatusFailed, schema.Reason(row.err))
			continue
		}
		d.out.Forward(at, row.row.Fields(), at)
	}
}

// decideTunnels forwards tunnels, each with its end.
func (d *decision) decideTunnels() {
	for _, key := range d.tunnels.sorted() {
		row, at := d.tunnels[key], forward.Row{Table: schema.AppTunnel, Key: key}
		if !d.accept(at, at, key, row.row.TunnelDecap.Fields, row.err, "") {
			continue
		}
		end := key + ":" + row.row.Dst.String()
		d.accept(forward.Row{Table: schema.AppTunnelTerm, Key: end},
			forward.Row{Table: schema.AppTunnelTerm, Key: schema.ConfigKey(end)}, key, row.row.Term().Fields, nil, "")
	}
}

// learnPorts collects the names and the uses of ports.
func (d *decision) learnPorts() {
	d.aliases, d.master = map[string]string{}, map[string]string{}
	d.vlanOf, d.inVLAN = map[string]string{}, map[string]bool{}
	for _, key := range d.ports.sorted() {
		if alias := d.ports[key].row.Alias; d.ports[key].err == nil && alias != "" && d.aliases[alias] == "" {
			d.aliases[alias] = key
		}
	}
	for _, key := range d.lagMembers.sorted() {
		m := d.lagMembers[key]
		if port := d.port(m.row.Port); m.err == nil && d.master[port] == "" && d.lags.valid(m.row.PortChannel) {
			d.master[port] = m.row.PortChannel
		}
	}
	for _, key := range d.members.sorted() {
		m := d.members[key]
		port := d.port(m.row.Port)
		if m.err != nil || d.master[port] != "" || !d.vlans.valid(m.row.VLAN) {
			continue
		}
		d.inVLAN[m.row.VLAN+"|"+port] = true
		if d.vlanOf[port] == "" {
			d.vlanOf[port] = m.row.VLAN
		}
	}
}

// port returns the name of a port that is given as name or alias.
func (d *decision) port(name string) string {
	if p, ok := d.aliases[name]; ok && !d.ports.valid(name) {
		return p
	}
	return name
}

// valid reports whether the row exists and has no error.
func (r rows[T]) valid(key string) bool {
	row, ok := r[key]
	return ok && row.err == nil
}
