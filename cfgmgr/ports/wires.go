package ports

import (
	"context"
	"strconv"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// leastMTU is the least that an IP link has (RFC 791).
const leastMTU = 68

// fieldMTU is the field of ports, PortChannels and VLANs.
const fieldMTU = "mtu"

// sawWire takes the MTU of a port's live interface. A row without one, and one that goes as syncd has ended, takes the
// limit back.
func (m *Manager) sawWire(_ context.Context, k swss.KeyOpFieldsValues) error {
	mtu, _ := strconv.ParseUint(swss.ToFieldValues(k.Fields)[schema.WireMTU], 10, 16) // too large a number: the largest
	if k.Op != swss.OpSet || mtu < leastMTU {
		mtu = 0
	}
	if uint16(mtu) != m.wires[k.Key] {
		m.wires[k.Key], m.due = uint16(mtu), true
	}
	return nil
}

// fitWires lowers MTUs to those of the live interfaces behind ports: what is longer is lost there, and its sender is
// not told. A PortChannel and its members have the smallest MTU of all members. So has a VLAN, as a Linux bridge has.
// The router interface follows, and has the CPU tell senders what does not fit.
func (d *decision) fitWires(wires map[string]uint16) {
	least := map[string]uint16{} // by port without a PortChannel, and by PortChannel
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

// lower lowers the MTU of a row that was accepted, if there is such a row; 0 is no limit.
func (d *decision) lower(table, key string, most uint16) {
	r, ok := d.requests[forward.Row{Table: table, Key: key}]
	if is, err := strconv.Atoi(r.fields[fieldMTU]); ok && err == nil && most != 0 && int(most) < is {
		r.fields[fieldMTU] = strconv.Itoa(int(most))
	}
}
