package hostd

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/hoststack"
	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
)

// An intf is what the host knows of a router interface besides the stack.
type intf struct{ linkLocal bool }

// configure tells the stack the interfaces.
func (h *Host) configure() {
	h.configured = true
	h.interfaces, h.members, h.lagOf = map[string]intf{}, map[string][]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h.rows[schema.AppLAGMember])) {
		lag, port, ok := strings.Cut(name, ":")
		if !ok {
			continue
		}
		h.lagOf[port] = lag
		if h.rows[schema.AppLAGMember][name]["status"] != "disabled" && h.isUp(port) {
			h.members[lag] = append(h.members[lag], port)
		}
	}
	all := map[string]*hoststack.Interface{}
	for _, name := range slices.Sorted(maps.Keys(h.rows[schema.AppInterface])) {
		fields := h.rows[schema.AppInterface][name]
		if on, text, isAddr := strings.Cut(name, ":"); isAddr {
			a, err := schema.ParseInterfaceAddress(schema.AppInterface, on+"|"+text, nil)
			if i := all[on]; i != nil && err == nil {
				i.Addrs = append(i.Addrs, a.Prefix)
			}
			continue
		}
		row, err := schema.ParseInterface(schema.AppInterface, name, fields)
		if err != nil {
			continue // orchagent says so
		}
		i := &hoststack.Interface{Name: name, MAC: hoststack.MAC(row.MAC), LinkLocal: row.LinkLocal}
		h.complete(i, row)
		all[name], h.interfaces[name] = i, intf{row.LinkLocal}
	}
	list := make([]hoststack.Interface, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[name])
	}
	h.stack.Configure(h.now(), list)
}

// complete adds what an interface has of what it is on.
func (h *Host) complete(i *hoststack.Interface, row schema.Interface) {
	_, vlan := schema.VLANNumber(i.Name)
	table := schema.AppPort
	switch {
	case schema.IsLoopbackName(i.Name):
		i.Up, i.MAC = true, hoststack.MAC{}
		return
	case vlan:
		table, i.Up = schema.AppVLAN, h.vlanUp(i.Name)
	case schema.IsPortChannelName(i.Name):
		table, i.Up = schema.AppLAG, h.isUp(i.Name)
	default:
		i.Up = h.isUp(i.Name)
	}
	if i.Also = h.mac; i.MAC == (hoststack.MAC{}) {
		i.MAC = h.mac
	}
	mtu, err := strconv.Atoi(h.rows[table][i.Name]["mtu"])
	if err != nil || mtu <= 0 {
		mtu = schema.DefaultMTU
	}
	i.MTU = row.MTUOn(mtu)
}

// isUp reports whether a port or PortChannel is up.
func (h *Host) isUp(name string) bool {
	table := schema.AppPort
	if schema.IsPortChannelName(name) {
		table = schema.AppLAG
	}
	return h.rows[table][name]["oper_status"] == "up"
}

// vlanUp reports whether a VLAN has a member that is up.
func (h *Host) vlanUp(vlan string) bool {
	for name := range h.rows[schema.AppVLANMember] {
		if on, member, ok := strings.Cut(name, ":"); ok && on == vlan && h.isUp(member) {
			return true
		}
	}
	return false
}

// hopsOf are the next hops of a row of ROUTE_TABLE.
func hopsOf(name string, fields swss.FieldValues) (p netip.Prefix, hops []hoststack.Hop) {
	if fields == nil {
		return p, nil
	}
	r, err := schema.ParseRoute(name, fields)
	if err != nil {
		return p, nil
	}
	for _, hop := range r.Hops {
		hops = append(hops, hoststack.Hop{Interface: hop.Interface, Addr: hop.Addr})
	}
	return r.Prefix, hops
}

// takeRoute has the stack know a route, and ask for its next hops.
func (h *Host) takeRoute(name string, was, fields swss.FieldValues) {
	p, before := hopsOf(name, was)
	q, after := hopsOf(name, fields)
	if len(before) > 0 {
		h.stack.SetRoute(h.now(), p, nil)
	}
	if len(after) > 0 {
		h.stack.SetRoute(h.now(), q, after)
	}
	h.count(before, -1)
	h.count(after, 1)
}

// count counts the routes that lead to next hops: one that any leads to is wanted.
func (h *Host) count(hops []hoststack.Hop, by int) {
	for _, hop := range hops {
		k := key{hop.Interface, hop.Addr}
		if !k.addr.IsValid() || k.addr.IsUnspecified() {
			continue
		}
		before := h.wanted[k]
		h.wanted[k] = before + by
		if h.wanted[k] <= 0 {
			delete(h.wanted, k)
		}
		if is := h.wanted[k] > 0; is != (before > 0) {
			h.stack.Want(h.now(), k.on, k.addr, is || h.asked[k])
			h.unsure[k] = true
		}
	}
}

// resolve takes a row of NEIGH_RESOLVE_TABLE: somebody wants a neighbour to be known.
func (h *Host) resolve(t orch.Task) {
	k, ok := parseKey(t.Key, ":")
	if !ok {
		return
	}
	delete(h.asked, k)
	if t.Op == orch.Set {
		h.asked[k] = true
	}
	h.stack.Want(h.now(), k.on, k.addr, h.asked[k] || h.wanted[k] > 0)
	h.unsure[k] = true
}

// needs are the traps that the stack needs, in groups as in SONiC's copp_cfg.json, which limits what comes.
var needs = []schema.COPPGroup{
	{Name: "host-arp", Action: "copy", Priority: 4, Queue: 4, Traps: []string{"arp_req", "arp_resp", "neigh_discovery"},
		COPPPolicer: atMost(600)},
	{Name: "host-ip2me", Action: "trap", Priority: 1, Queue: 1, Traps: []string{"ip2me"}, COPPPolicer: atMost(6000)},
	{Name: "host-error", Action: "trap", Priority: 1, Queue: 1,
		Traps: []string{"l3_mtu_error", "neighbor_miss", "ttl_error"}, COPPPolicer: atMost(600)},
}

// atMost lets so many packets pass in a second, and as many at once.
func atMost(packets uint64) schema.COPPPolicer {
	return schema.COPPPolicer{
		Meter: schema.MeterPackets, Mode: schema.ModeSRTCM, CIR: &packets, CBS: &packets, Red: "drop",
	}
}

// claimTraps has the chip give the CPU what the stack needs, as far as no other group says what becomes of it.
func (h *Host) claimTraps(ctx context.Context) error {
	taken := map[string]bool{}
	mine := map[string]bool{}
	for _, g := range needs {
		mine[g.Name] = true
	}
	for name, fields := range h.rows[schema.AppCOPP] {
		if !mine[name] {
			for id := range strings.SplitSeq(fields["trap_ids"], ",") {
				taken[id] = true
			}
		}
	}
	for _, g := range needs {
		g.Traps = slices.DeleteFunc(slices.Clone(g.Traps), func(id string) bool { return taken[id] })
		had, was := h.claimed[g.Name]
		if !was {
			had = strings.FieldsFunc(h.rows[schema.AppCOPP][g.Name]["trap_ids"], func(r rune) bool { return r == ',' })
		}
		if slices.Equal(had, g.Traps) {
			h.claimed[g.Name] = g.Traps
			continue
		}
		if len(g.Traps) == 0 {
			if err := h.traps.Del(ctx, g.Name); err != nil {
				return err
			}
		} else if err := h.traps.Set(ctx, g.Name, swss.Pairs(g.Fields())); err != nil {
			return err
		}
		h.claimed[g.Name] = g.Traps
	}
	h.look = false
	return nil
}
