package routes

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A hop identifies a next hop and its neighbour.
type hop struct {
	name string // interface
	addr netip.Addr
}

func (h hop) String() string { return fmt.Sprintf("%s on %s", h.addr, h.name) }

// key returns the key of the neighbour's row.
func (h hop) key() string { return h.name + ":" + h.addr.String() }

// in returns the neighbour if it is in the ASIC and stays, or nil.
func (h hop) in(hops map[hop]*nextHop) *nextHop {
	if n := hops[h]; n != nil && !n.leaving {
		return n
	}
	return nil
}

func (h hop) compare(o hop) int {
	return cmp.Or(schema.CompareNames(h.name, o.name), h.addr.Compare(o.addr))
}

// A plan is the target state of the ASIC.
type plan struct {
	vrfs      map[string]bool // "" is the default one
	rifs      map[string]rifSpec
	down      map[string]bool // router interfaces whose port is down
	neighbors map[hop]neighborSpec
	routes    map[schema.Dest]routeSpec
	base      map[schema.Dest]routeSpec // routes that do not come from rows of routes
	why       map[orch.RowKey]error     // rows that are not in the plan
}

// A rifSpec is the target state of a router interface.
type rifSpec struct {
	vrf  string
	on   sai.Key
	drop bool // whether to drop packets that would leave by the interface by which they arrived
	mac  sai.MAC
	mtu  uint32
	vlan uint16 // VLAN of a sub-port; 0 for others
	off  bool   // whether it is not to route, although its port is up
}

type neighborSpec struct {
	mac sai.MAC
	row orch.RowKey
}

// A routeSpec is a route: to the CPU, to the link of an interface, to next hops,
// or to nowhere.
type routeSpec struct {
	row    orch.RowKey
	always bool // true if the VRF has the route without a row for it
	cpu    bool
	link   string
	hops   []schema.Hop
}

// makePlan computes the target state from the rows and from the existing ports and VLANs.
func (o *Orch) makePlan() *plan {
	p := &plan{
		vrfs: map[string]bool{"": true},
		rifs: map[string]rifSpec{}, down: map[string]bool{}, neighbors: map[hop]neighborSpec{},
		routes: make(map[schema.Dest]routeSpec, len(o.rows.routes)+16), why: map[orch.RowKey]error{},
	}
	o.planVRFs(p)
	for _, name := range sorted(o.rows.interfaces) {
		o.planRIF(p, name)
	}
	o.planAddresses(p)
	o.planNeighbors(p)
	p.base = make(map[schema.Dest]routeSpec, len(p.routes)) // a clone would have the capacity for all routes
	maps.Copy(p.base, p.routes)
	o.planRoutes(p)
	return p
}

// planVRFs plans the VRFs, with the routes that each of them has.
func (o *Orch) planVRFs(p *plan) {
	for _, key := range sorted(o.rows.vrfs) {
		k, row := orch.Row(schema.AppVRF, key), o.rows.vrfs[key]
		if err := cmp.Or(row.err, o.ledger.Failed[k]); err != nil {
			p.why[k] = err
			continue
		}
		p.vrfs[key] = true
	}
	for vrf := range p.vrfs {
		p.addDefaults(vrf, o.ports.MAC())
	}
}

// addDefaults plans the routes that a VRF always has.
func (p *plan) addDefaults(vrf string, mac sai.MAC) {
	add := func(prefix netip.Prefix, cpu bool) {
		to := schema.Dest{VRF: vrf, Prefix: prefix}
		p.routes[to] = routeSpec{row: ownRow(to), always: true, cpu: cpu}
	}
	for _, drop := range defaultRoutes {
		add(drop, false)
	}
	for _, cpu := range []netip.Prefix{netip.MustParsePrefix("fe80::/10"), netip.PrefixFrom(linkLocal(mac), 128)} {
		add(cpu, true)
	}
}

// defaultRoutes contains the routes that drop packets without a better route.
var defaultRoutes = [2]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// ownRow returns the row of a route that a VRF always has: that of the VRF, or a placeholder for the default VRF.
func ownRow(to schema.Dest) orch.RowKey {
	if to.VRF != "" {
		return orch.Row(schema.AppVRF, to.VRF)
	}
	return orch.Row("", to.Key())
}

// linkLocal returns the IPv6 address that an interface with the MAC address assigns to itself (RFC 4291, appendix A).
func linkLocal(m sai.MAC) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]})
}

func (o *Orch) planRIF(p *plan, name string) {
	k := orch.Row(schema.AppInterface, name)
	row := o.rows.interfaces[name]
	switch {
	case row.err != nil:
		p.why[k] = row.err
	case o.ledger.Refused(k):
		p.why[k] = o.ledger.Failed[k]
	case !p.vrfs[row.row.VRF]:
		p.why[k] = orch.Wait("VRF", row.row.VRF, "VRF %s is not in the ASIC", row.row.VRF)
	case schema.IsLoopbackName(name):
	default:
		port, _, sub := schema.SubPort(name)
		if !sub {
			port = name
		}
		on, mtu, err := o.ports.RouterPort(port)
		if err != nil {
			p.why[k] = err
			return
		}
		spec := rifSpec{vrf: row.row.VRF, on: on, drop: row.row.LoopbackDrop, mac: sai.MAC(row.row.MAC),
			mtu: uint32(row.row.MTUOn(int(mtu))), vlan: row.row.VLAN, off: row.row.AdminDown}
		if row.row.MAC.IsZero() {
			spec.mac = o.ports.MAC()
		}
		p.rifs[name] = spec
		if spec.off || !o.ports.Up(port) {
			p.down[name] = true
		}
	}
}

// sameLayout reports whether ports and VLANs still result in the same router interfaces with the same up and down
// states.
func (o *Orch) sameLayout() bool {
	p := &plan{
		vrfs: map[string]bool{"": true},
		rifs: map[string]rifSpec{}, down: map[string]bool{}, routes: map[schema.Dest]routeSpec{},
		why: map[orch.RowKey]error{},
	}
	o.planVRFs(p)
	for name := range o.rows.interfaces {
		o.planRIF(p, name)
		k := orch.Row(schema.AppInterface, name)
		if fmt.Sprint(p.why[k]) != fmt.Sprint(o.ledger.Why[k]) {
			return false
		}
	}
	for prefix := range p.routes {
		if _, ok := o.routes[prefix]; !ok {
			return false
		}
	}
	for name, r := range o.rifs {
		if p.rifs[name] != r.spec {
			return false
		}
	}
	return len(p.rifs) == len(o.rifs) && maps.Equal(p.down, o.plan.down)
}

// routing returns the reason why an interface does not route, or nil if it does.
func (p *plan) routing(o *Orch, name string) error {
	if _, ok := p.rifs[name]; ok {
		return nil
	}
	k := orch.Row(schema.AppInterface, name)
	if err := p.why[k]; err != nil {
		return orch.Wait("interface", name, "%s: %s", name, orch.Explain(err))
	}
	if _, ok := o.rows.interfaces[name]; ok {
		return nil // a loopback
	}
	return orch.Wait("interface", name, "%s does not route", name)
}

// vrfOf returns the VRF of an interface, "" for the default one.
func (o *Orch) vrfOf(name string) string { return o.rows.interfaces[name].row.VRF }

// host returns an address in the VRF of an interface.
func (o *Orch) host(name string, a netip.Addr) schema.Dest {
	return schema.Dest{VRF: o.vrfOf(name), Prefix: netip.PrefixFrom(a, a.BitLen())}
}

// planAddresses plans the routes of the interfaces' addresses and subnets.
func (o *Orch) planAddresses(p *plan) {
	for _, key := range sorted(o.rows.addresses) {
		k := orch.Row(schema.AppInterface, key)
		row := o.rows.addresses[key]
		a := row.row
		err := cmp.Or(row.err, o.ledger.Failed[k])
		if err == nil {
			err = p.routing(o, a.Name)
		}
		if err != nil {
			p.why[k] = err
			continue
		}
		if a.Prefix.Addr().IsLinkLocalUnicast() {
			continue // fe80::/10 leads to the CPU in any case
		}
		own, subnet := o.host(a.Name, a.Prefix.Addr()), schema.Dest{VRF: o.vrfOf(a.Name), Prefix: a.Prefix.Masked()}
		if have, taken := p.routes[own]; taken && !have.always {
			p.why[k] = orch.Wait("address", own.String(), "%s is taken by %s", own.Prefix.Addr(), have.row.Key)
			continue
		}
		p.routes[own] = routeSpec{row: k, cpu: true}
		if _, taken := p.routes[subnet]; !taken && !schema.IsLoopbackName(a.Name) {
			p.routes[subnet] = routeSpec{row: k, link: a.Name}
		}
	}
}

func (o *Orch) planNeighbors(p *plan) {
	for _, key := range sorted(o.rows.neighbors) {
		k := orch.Row(schema.AppNeigh, key)
		row := o.rows.neighbors[key]
		n := row.row
		err := cmp.Or(row.err, o.ledger.Failed[k])
		if err == nil {
			err = p.routing(o, n.Interface)
		}
		if _, own := p.routes[o.host(n.Interface, n.Addr)]; err == nil && own {
			err = orch.Wait("address", n.Addr.String(), "%s is the switch's own address", n.Addr)
		}
		h := hop{n.Interface, n.Addr}
		if have, taken := p.neighbors[h]; err == nil && taken {
			err = orch.Wait("neighbour", h.String(), "%s is the same neighbour", have.row.Key)
		}
		if err != nil {
			p.why[k] = err
			continue
		}
		p.neighbors[h] = neighborSpec{sai.MAC(n.MAC), k}
	}
}

func (o *Orch) planRoutes(p *plan) {
	for _, key := range sorted(o.rows.routes) {
		o.planRoute(p, key)
	}
}

// planRoute plans a row of routes, after the rows that have precedence over it.
func (o *Orch) planRoute(p *plan, key string) {
	k := orch.Row(schema.AppRoute, key)
	row := o.rows.routes[key]
	if err := cmp.Or(row.err, o.ledger.Failed[k]); err != nil {
		p.why[k] = err
		return
	}
	r := row.row
	spec := routeSpec{row: k, hops: r.Hops}
	if len(r.Hops) == 1 && !r.Hops[0].Addr.IsValid() {
		spec.link, spec.hops = r.Hops[0].Interface, nil
		if err := p.routing(o, spec.link); err != nil {
			p.why[k] = err
			return
		}
	}
	if !p.vrfs[r.VRF] {
		p.why[k] = orch.Wait("VRF", r.VRF, "VRF %s is not in the ASIC", r.VRF)
		return
	}
	switch have, taken := p.routes[r.Dest]; {
	case !taken || have.always && !have.cpu:
		p.routes[r.Dest] = spec
	case have.link != "" && have.link == spec.link: // FRR has the same route
	case have.cpu && spec.link != "" && strings.HasPrefix(have.row.Key, spec.link+":"): // the interface's own address
	case have.link != "":
		p.why[k] = orch.Wait("route", r.Dest.String(), "%s is connected to %s, and that comes first", r.Dest, have.link)
	case have.cpu:
		p.why[k] = orch.Wait("route", r.Dest.String(), "%s is the switch's own", r.Dest)
	default:
		p.why[k] = orch.Wait("route", r.Dest.String(), "ROUTE_TABLE:%s is the same route", have.row.Key)
	}
}

// replan replaces the recorded error of a changed row of routes.
func (o *Orch) replan(k orch.RowKey) {
	delete(o.plan.why, k)
	if row, ok := o.rows.routes[k.Key]; ok && row.err != nil {
		o.plan.why[k], o.ledger.Why[k] = row.err, row.err
	}
}

// replanPrefix plans the route to a prefix again, and returns the rows that request it.
func (o *Orch) replanPrefix(prefix schema.Dest) (rows []orch.RowKey) {
	p := o.plan
	delete(p.routes, prefix)
	if spec, ok := p.base[prefix]; ok {
		p.routes[prefix] = spec
	}
	for _, key := range o.rows.byPrefix.Keys(prefix) {
		k := orch.Row(schema.AppRoute, key)
		for _, m := range []map[orch.RowKey]error{p.why, o.ledger.Why} {
			delete(m, k)
		}
		delete(o.ledger.Notes, k)
		if o.planRoute(p, key); p.why[k] != nil {
			o.ledger.Why[k] = p.why[k]
		}
		rows = append(rows, k)
	}
	return rows
}

// usable returns the route's next hops that are in the ASIC and stay, and the reasons why the other next hops are not
// usable.
func (o *Orch) usable(p *plan, spec routeSpec) (hops []schema.Hop, lacks []string) {
	for _, h := range spec.hops {
		key := hop{h.Interface, h.Addr}
		have := o.hops[key]
		switch {
		case !h.Addr.IsValid():
			lacks = append(lacks, fmt.Sprintf("the link of %s cannot be one of several ways", h.Interface))
		case have != nil && !have.leaving && o.rifs[h.Interface] != nil && !o.rifs[h.Interface].leaving:
			hops = append(hops, h)
		default:
			lacks = append(lacks, o.lack(p, key))
		}
	}
	return hops, lacks
}

// withoutDown omits next hops whose port is down, unless all ports are down. lacks contains the reasons.
func (p *plan) withoutDown(hops []schema.Hop) (up []schema.Hop, lacks []string) {
	for _, h := range hops {
		if p.down[h.Interface] {
			lacks = append(lacks, fmt.Sprintf("%s is left out: %s is down", hopOf(h), h.Interface))
		} else {
			up = append(up, h)
		}
	}
	if len(up) == 0 && len(hops) > 0 {
		return hops, []string{"the ports of all next hops are down, and none is left out"}
	}
	return up, lacks
}

// lack returns the reason why a next hop is not in the ASIC.
func (o *Orch) lack(p *plan, h hop) string {
	if err := p.routing(o, h.name); err != nil {
		return err.Error()
	}
	if n, ok := p.neighbors[h]; ok {
		err := o.ledger.Failed[n.row]
		if err == nil {
			err = o.ledger.Failed[orch.Row(schema.AppInterface, h.name)]
		}
		if err != nil {
			return fmt.Sprintf("neighbour %s: %s", h, orch.Explain(err))
		}
		return fmt.Sprintf("neighbour %s is not in the ASIC", h)
	}
	if err := p.why[orch.Row(schema.AppNeigh, h.name+":"+h.addr.String())]; err != nil {
		return fmt.Sprintf("neighbour %s: %s", h, orch.Explain(err))
	}
	return fmt.Sprintf("no neighbour %s: there is no row NEIGH|%s|%s", h, h.name, h.addr)
}

// sortedHops returns the sorted keys of a map of next hops.
func sortedHops[V any](m map[hop]V) []hop {
	list := make([]hop, 0, len(m))
	for h := range m {
		list = append(list, h)
	}
	slices.SortFunc(list, hop.compare)
	return list
}
