package hostifd

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"tamtam/host/cpuport"
	"tamtam/swss/schema"
)

// conflictAfter is how long a host that has an address of the switch is not reported again.
const conflictAfter = time.Minute

// mostConflicts bounds how many hosts are remembered as reported.
const mostConflicts = 1024

// A conflict is a host that has an address of the switch.
type conflict struct {
	on   string
	addr netip.Addr
	mac  schema.MAC
}

// Heard takes a copy of a frame of ARP or neighbour discovery. It reports a host that has an address of the switch:
// Linux does not.
func (s *Sync) Heard(p *cpuport.Packet) {
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
	d, now := s.plan.devices[on], s.d.Now()
	for _, own := range d.Addrs {
		c := conflict{on, addr, mac}
		if own.Addr() != addr || mac == d.MAC || now.Before(s.reported[c]) {
			continue
		}
		if len(s.reported) >= mostConflicts {
			maps.DeleteFunc(s.reported, func(_ conflict, until time.Time) bool { return !now.Before(until) })
		}
		if len(s.reported) < mostConflicts {
			s.reported[c] = now.Add(conflictAfter)
		}
		s.d.Logger().Warn("an address of the switch is somebody else's, too", "interface", on, "address", addr, "mac", mac)
	}
}

const (
	etherHeader = 14
	tagLength   = 4
	arpLength   = 28
	ndLength    = 40 + 8 + 16 // headers of IPv6 and ICMPv6, and the target
)

// claimed returns the address that the sender of a frame has, by ARP or neighbour discovery.
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
