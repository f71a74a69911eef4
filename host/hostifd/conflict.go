package hostifd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"tamtam/host"
	"tamtam/host/cpuport"
	"tamtam/host/hostrows"
	"tamtam/swss/schema"
)

// Received processes a copy of an ARP or neighbour discovery frame. A host that has an address of the switch is
// reported, which Linux does not do.
func (s *Sync) Received(p *cpuport.Packet) {
	addr, mac, ok := claimed(p.Data)
	if !ok {
		return
	}
	on := p.Port
	if vlan := fmt.Sprintf("Vlan%d", p.VLAN); s.plan.beside[vlan].VLAN == p.VLAN && p.VLAN != 0 {
		on = vlan
	} else if lag := s.plan.lagOf[p.Port]; lag != "" {
		on = lag
	}
	if d := p.Data; len(d) >= etherHeader && d[12] == 0x81 && d[13] == 0 {
		vlan := binary.BigEndian.Uint16(d[14:]) & 0xfff
		for name, x := range s.plan.devices {
			if x.On == on && x.VLAN == vlan {
				on = name
				break
			}
		}
	}
	s.addrs.Received(on, addr, mac)
}

// A Sender sends frames to the chip.
type Sender interface{ Send(cpuport.Frame) error }

// SetLine sets the sender to the chip. It is nil while the CPU port is not connected. Before the first call with a
// sender, another daemon may act as the switch's host, and own the host's rows.
func (s *Sync) SetLine(line Sender) {
	s.line, s.lined, s.due, s.lineAt = line, s.lined || line != nil, s.due || line != nil, s.d.Now()
}

func (s *Sync) sendAt(on string, frame []byte) error {
	if d := s.plan.devices[on]; d.On != "" {
		on, frame = d.On, slices.Concat(frame[:12], []byte{0x81, 0, byte(d.VLAN >> 8), byte(d.VLAN)}, frame[12:])
	}
	i, f := s.plan.beside[on], cpuport.Frame{Port: on, Data: frame}
	switch {
	case s.line == nil:
		return errors.New("there is no CPU port")
	case i.VLAN != 0:
		f.Port, f.VLAN = "", i.VLAN
	case i.LAG && len(i.Senders) == 0:
		return fmt.Errorf("%s has no member by which it may send", on)
	case i.LAG:
		f.Port = i.Senders[0]
	}
	return s.line.Send(f)
}

// addresses returns the addresses of the interfaces of a plan, including those that Linux derives from a MAC address.
func (p plan) addresses() (list []hostrows.Address) {
	for name, d := range p.devices {
		addrs, mac := d.Addrs, d.MAC
		local := p.local[name] || slices.ContainsFunc(addrs, func(a netip.Prefix) bool { return a.Addr().Is6() })
		switch own := netip.PrefixFrom(host.EUI64(host.MAC(mac)), 64); {
		case schema.IsLoopbackName(name):
			mac = schema.MAC{}
		case local && d.Routed && !slices.ContainsFunc(addrs, func(a netip.Prefix) bool { return a.Addr() == own.Addr() }):
			addrs = append(slices.Clone(addrs), own)
		}
		for _, a := range addrs {
			list = append(list, hostrows.Address{Interface: name, Prefix: a, MAC: mac, State: schema.AddressUsable})
		}
	}
	return list
}

const (
	etherHeader = 14
	tagLength   = 4
	arpLength   = 28
	ndLength    = 40 + 8 + 16 // headers of IPv6 and ICMPv6, and the target
)

// claimed returns the address that the sender of a frame claims, by ARP or neighbour discovery, and its MAC address.
func claimed(frame []byte) (netip.Addr, schema.MAC, bool) {
	if len(frame) < etherHeader+tagLength {
		return netip.Addr{}, schema.MAC{}, false
	}
	source, kind, b := schema.MAC(frame[6:12]), binary.BigEndian.Uint16(frame[12:]), frame[etherHeader:]
	if kind == 0x8100 {
		kind, b = binary.BigEndian.Uint16(frame[etherHeader+2:]), b[tagLength:]
	}
	switch {
	case kind == 0x0806 && len(b) >= arpLength && binary.BigEndian.Uint64(b)>>16 == 0x000108000604:
		return netip.AddrFrom4([4]byte(b[14:18])), schema.MAC(b[8:14]), true
	case kind == 0x86dd && len(b) >= ndLength && b[6] == 58 && b[7] == 255 && b[40] == 136: // a neighbour advertisement
		return netip.AddrFrom16([16]byte(b[48:64])), source, true
	}
	return netip.Addr{}, schema.MAC{}, false
}
