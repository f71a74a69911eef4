package hostd

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/host"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// An intf holds properties of a router interface that the stack does not have.
type intf struct{ linkLocal bool }

func (h *Host) configure() {
	h.configured = true
	h.interfaces, h.members, h.lagOf = map[string]intf{}, map[string][]string{}, map[string]string{}
	h.subPorts, h.tagOf = map[tagged]string{}, map[string]tagged{}
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
	all := map[string]*host.Interface{}
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
			continue // orchagent reports the error
		}
		i := &host.Interface{Name: name, MAC: host.MAC(row.MAC), LinkLocal: row.LinkLocal}
		h.complete(i, row)
		all[name], h.interfaces[name] = i, intf{row.LinkLocal}
	}
	list := make([]host.Interface, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[name])
	}
	h.stack.Configure(h.now(), list)
	h.setAddresses()
}

// complete adds the properties of the port, PortChannel or VLAN that an interface is on.
func (h *Host) complete(i *host.Interface, row schema.Interface) {
	_, vlan := schema.VLANNumber(i.Name)
	table, on := schema.AppPort, i.Name
	if port, _, sub := schema.SubPort(i.Name); sub {
		on = port
		h.tagOf[i.Name] = tagged{on, row.VLAN}
		h.subPorts[h.tagOf[i.Name]] = i.Name
	}
	switch {
	case schema.IsLoopbackName(i.Name):
		i.Up, i.MAC = true, host.MAC{}
		return
	case vlan:
		table, i.Up = schema.AppVLAN, h.vlanUp(i.Name)
	case schema.IsPortChannelName(on):
		table, i.Up = schema.AppLAG, h.isUp(on) && !row.AdminDown
	default:
		i.Up = h.isUp(on) && !row.AdminDown
	}
	if i.Also = h.mac; i.MAC == (host.MAC{}) {
		i.MAC = h.mac
	}
	mtu, err := strconv.Atoi(h.rows[table][on]["mtu"])
	if err != nil || mtu <= 0 {
		mtu = schema.DefaultMTU
	}
	i.MTU = row.MTUOn(mtu)
}

func (h *Host) isUp(name string) bool {
	table := schema.AppPort
	if schema.IsPortChannelName(name) {
		table = schema.AppLAG
	}
	return h.rows[table][name]["oper_status"] == "up"
}

// vlanUp reports whether a VLAN is not suspended and has a member that is up.
func (h *Host) vlanUp(vlan string) bool {
	if h.rows[schema.AppVLAN][vlan]["admin_status"] == "down" {
		return false
	}
	for name := range h.rows[schema.AppVLANMember] {
		if on, member, ok := strings.Cut(name, ":"); ok && on == vlan && h.isUp(member) {
			return true
		}
	}
	return false
}

func hopsOf(name string, fields swss.FieldValues) (p netip.Prefix, hops []host.Hop) {
	if fields == nil {
		return p, nil
	}
	r, err := schema.ParseRoute(name, fields)
	if err != nil {
		return p, nil
	}
	if r.Blackhole {
		return r.Prefix, []host.Hop{{}}
	}
	for _, hop := range r.Hops {
		hops = append(hops, host.Hop{Interface: hop.Interface, Addr: hop.Addr})
	}
	return r.Prefix, hops
}

// applyRoute passes a route to the stack, and makes it resolve the next hops.
func (h *Host) applyRoute(name string, was, fields swss.FieldValues) {
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

// count counts the routes by next hop: a next hop of any route is wanted.
func (h *Host) count(hops []host.Hop, by int) {
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

// resolve processes a row of NEIGH_RESOLVE_TABLE, which requests that a neighbour be resolved.
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
