package ports

import (
	"context"
	"strconv"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// leastMTU is the minimum MTU of an IP link (RFC 791).
const leastMTU = 68

// fieldMTU is the field with the MTU of ports, PortChannels and VLANs.
const fieldMTU = "mtu"

// sawWire records the MTU of a port's live interface. A row without an MTU removes the limit. So does the deletion of
// the row, when syncd ends.
func (m *Manager) sawWire(_ context.Context, k swss.KeyOpFieldsValues) error {
	// ParseUint returns the maximum for a number that is too large.
	mtu, _ := strconv.ParseUint(swss.ToFieldValues(k.Fields)[schema.WireMTU], 10, 16)
	if k.Op != swss.OpSet || mtu < leastMTU {
		mtu = 0
	}
	if uint16(mtu) == m.wires[k.Key] {
		return nil
	}
	if m.wires[k.Key], m.due = uint16(mtu), true; mtu == 0 {
		delete(m.wires, k.Key)
	}
	return nil
}

// fitWires lowers MTUs to those of the live interfaces of ports. Longer frames would be lost there, and their sender
// would not be notified. A PortChannel and its members get the smallest MTU of all members. A VLAN does, too, like a
// Linux bridge. The router interface gets the same MTU, and the CPU notifies senders of packets that do not fit.
func (d *decision) fitWires(wires map[string]uint16) {
	least := map[string]uint16{} // by PortChannel, or by port if it has none
	for _, port := range d.order {
		name := port
		if lag := d.master[port]; lag != "" {
			name = lag
		}
		if mtu, is := wires[port], least[name]; mtu != 0 && (is == 0 || mtu < is) {
			least[name] = mtu
		}
	}
	for _, port := range d.order {
		if lag := d.master[port]; lag != "" {
			d.lower(schema.AppPort, port, least[lag])
		}
	}
	for name, mtu := range least {
		d.lower(schema.AppPort, name, mtu)
		d.lower(schema.AppLAG, name, mtu)
		for _, vlan := range d.vlansOf[name] {
			d.lower(schema.AppVLAN, vlan, mtu)
		}
	}
}

// lower lowers the MTU of an accepted row to most, if the row exists. If most is 0, there is no limit.
func (d *decision) lower(table, key string, most uint16) {
	r, ok := d.requests[forward.Row{Table: table, Key: key}]
	if is, err := strconv.Atoi(r.fields[fieldMTU]); ok && err == nil && most != 0 && int(most) < is {
		r.fields[fieldMTU] = strconv.Itoa(int(most))
	}
}
