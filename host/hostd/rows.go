package hostd

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"tamtam/host"
	"tamtam/host/hostrows"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// load reads once the rows of NEIGH_TABLE that an earlier hostd has written, and makes them the stack's again.
func (h *Host) load(ctx context.Context) error {
	if h.loaded {
		return nil
	}
	left, err := h.states.Read(ctx)
	if err != nil {
		return err
	}
	h.loaded = true
	h.configure()
	now := h.now()
	for name, fields := range h.rows[schema.AppNeigh] {
		k, ok := parseKey(name, ":")
		if !ok {
			continue
		}
		mac, valid := schema.ParseMAC(fields["neigh"])
		if _, config := fields[schema.FieldConfigKey]; config || left[k.state()]["neigh"] == "" || !valid {
			h.applyNeighbor(k, fields)
			continue
		}
		h.own[k], h.unsure[k] = host.MAC(mac), true
		h.stack.Restore(now, k.on, k.addr, host.MAC(mac))
	}
	return nil
}

// applyNeighbor processes a row of NEIGH_TABLE that has changed, or is deleted (nil).
func (h *Host) applyNeighbor(k key, fields swss.FieldValues) {
	_, config := fields[schema.FieldConfigKey]
	mac, valid := schema.ParseMAC(fields["neigh"])
	_, own := h.own[k]
	switch {
	case own && !config: // as written, or a change by a client that does not own it
		h.unsure[k] = true
		return
	case own: // the row has become a static one
		delete(h.own, k)
	}
	h.unsure[k] = true // the stack may resolve it
	if fields == nil || !valid {
		mac = schema.MAC{}
	}
	h.stack.SetStatic(h.now(), k.on, k.addr, host.MAC(mac))
}

// write updates the rows of NEIGH_TABLE that may have to be written or removed. A row is marked in STATE_DB before it
// is written, and the mark is removed after the row.
func (h *Host) write(ctx context.Context) error {
	if len(h.unsure) == 0 {
		return nil
	}
	var set []swss.Row
	var gone []string
	next := map[key]host.MAC{}
	marks := map[string]swss.FieldValues{}
	for _, k := range slices.SortedFunc(maps.Keys(h.unsure), compareKeys) {
		n, ok := h.stack.Neighbor(k.on, k.addr)
		mac, own := h.own[k]
		row := h.rows[schema.AppNeigh][k.String()]
		switch {
		case ok && n.MAC != (host.MAC{}) && h.published(k):
			next[k] = n.MAC
			if own && mac == n.MAC && row["neigh"] == n.MAC.String() {
				continue
			}
			r := schema.Neighbor{Interface: k.on, Addr: k.addr, MAC: schema.MAC(n.MAC)}
			set = append(set, swss.Row{Key: k.String(), Fields: swss.Pairs(r.Fields())})
			marks[k.state()] = stateOf(n)
		case own:
			gone = append(gone, k.String())
		}
	}
	if err := h.states.Add(ctx, marks); err != nil {
		return err
	}
	if len(set) > 0 {
		if err := h.neighs.SetMany(ctx, set); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		if err := h.neighs.DelMany(ctx, gone); err != nil {
			return err
		}
	}
	for k := range h.unsure {
		if mac, ok := next[k]; ok {
			h.own[k] = mac
		} else {
			delete(h.own, k)
		}
	}
	clear(h.unsure)
	return nil
}

// published reports whether a neighbour should be in NEIGH_TABLE.
func (h *Host) published(k key) bool {
	return !k.addr.IsLinkLocalUnicast() || h.wanted[k] > 0 || h.asked[k] || h.interfaces[k.on].linkLocal
}

func compareKeys(a, b key) int {
	if a.on != b.on {
		return schema.CompareNames(a.on, b.on)
	}
	return a.addr.Compare(b.addr)
}

func stateOf(n host.Neighbor) swss.FieldValues {
	row := swss.FieldValues{"state": n.State.String(), "neigh": "", "confirmed": ""}
	if n.MAC != (host.MAC{}) {
		row["neigh"] = n.MAC.String()
	}
	if !n.Confirmed.IsZero() {
		row["confirmed"] = n.Confirmed.UTC().Format(time.RFC3339)
	}
	return row
}

// report writes the state of each neighbour to STATE_DB, and the counters to COUNTERS_DB, as differences.
func (h *Host) report(ctx context.Context, _ time.Time) error {
	if !h.loaded || !h.configured {
		return nil
	}
	neighs := map[string]swss.FieldValues{}
	for _, n := range h.stack.Neighbors() {
		neighs[key{n.Interface, n.Addr}.state()] = stateOf(n)
	}
	there, err := h.states.Read(ctx)
	if err != nil {
		return err
	}
	for k, mac := range h.own { // states stay as long as their rows
		if neighs[k.state()] != nil {
			continue
		}
		if neighs[k.state()] = there[k.state()]; there[k.state()] == nil {
			neighs[k.state()] = stateOf(host.Neighbor{MAC: mac})
		}
	}
	h.setAddresses()
	if err := h.states.Write(ctx, neighs); err != nil {
		return err
	}
	counts, refused := h.lldp.Counts()
	counts["drop-cpu-port"] = strconv.FormatUint(h.lost+refused, 10)
	for name, n := range h.stack.Counters() {
		counts[name] = strconv.FormatUint(n, 10)
	}
	if c, ok := h.cpu(); ok {
		for name, n := range map[string]uint64{
			"cpu-port-punted": c.Punted, "cpu-port-drop-no-client": c.NoClient, "cpu-port-drop-full": c.Full,
			"cpu-port-sent": c.Sent, "cpu-port-drop-send-full": c.SendFull, "cpu-port-refused": c.Refused,
		} {
			counts[name] = strconv.FormatUint(n, 10)
		}
	}
	return h.counts.Write(ctx, map[string]swss.FieldValues{"hostd": counts})
}

func (h *Host) setAddresses() {
	var addrs []hostrows.Address
	for _, a := range h.stack.Addresses() {
		state := schema.AddressUsable
		switch {
		case a.Tentative:
			state = schema.AddressTentative
		case a.Duplicate:
			state = schema.AddressDuplicate
		}
		mac := schema.MAC(a.MAC)
		addrs = append(addrs, hostrows.Address{Interface: a.Interface, Prefix: a.Prefix, MAC: mac, State: state})
	}
	h.addrs.Set(addrs)
}
