package engine

import (
	"encoding/binary"

	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
)

// standing returns the actions of a trap without a rule.
func standing(t config.Trap) actions {
	switch t {
	case config.TrapLinkLocal, config.TrapSTP, config.TrapLACP, config.TrapEAPOL, config.TrapLLDP,
		config.TrapNeighborMiss, config.TrapTTL:
		return actDrop | actCopy
	case config.TrapStaticMove, config.TrapL3MTU:
		return actDrop
	}
	if t >= config.TrapIP2ME && t <= config.TrapNTPServer { // traps of packets to the switch itself
		return actDrop | actCopy
	}
	return 0
}

// A trapState defines the actions for the packets of a trap.
type trapState struct {
	act      actions
	set      bool // true if set by a rule
	priority uint32
	cpu      toCPU
}

// A toCPU holds the queue, the policer and the counter of packets for the CPU.
type toCPU struct {
	policer *policer // nil means no limit
	queue   uint8
	counter *trapCounter // nil means no counter
}

// A trapCounter counts the packets for the CPU of the traps that name it.
type trapCounter struct{ Tally }

// passes counts a packet of the given number of bytes for the CPU, and reports whether the policer passes it.
func (to *toCPU) passes(now Cycle, bytes uint64) bool {
	if n := to.counter; n != nil {
		n.Packets++
		n.Bytes += bytes
	}
	return to.policer == nil || to.policer.passes(now, bytes)
}

// traps holds the states of all traps.
type traps struct {
	*core
	states [config.NumTraps]trapState
	others toCPU // for packets that no rule traps
	ip     bool  // true if a trap that trapIP handles is set
	udp    bool  // true if the trap of DHCP or LDP is set. No other applies to unicast IPv4 frames of TCP or UDP
}

// reset sets traps to their actions without an object.
func (c *traps) reset() {
	c.states, c.others = [config.NumTraps]trapState{}, toCPU{}
	c.defaultTraps()
}

func (c *traps) defaultTraps() {
	for t := range config.NumTraps {
		c.states[t] = trapState{act: standing(t)}
	}
	c.ip, c.udp = false, false
}

// applyTrap sets or removes the rule of its trap.
func (c *traps) applyTrap(r config.TrapRule, gone bool) {
	if gone {
		t := at[config.Trap](c.core, r.ID)
		if t == config.TrapNone {
			return
		}
		delete(c.ids, r.ID)
		c.states[t] = trapState{act: standing(t)}
	} else {
		c.ids[r.ID] = r.Trap
		c.states[r.Trap] = trapState{
			act: actionsOf(r.Action), set: true, priority: r.Priority, cpu: c.toCPU(r.ToCPU),
		}
	}
	c.ip, c.udp = c.states[config.TrapLDP].set, c.states[config.TrapDHCP].set || c.states[config.TrapLDP].set
	for t := config.TrapDHCP; t < config.TrapIP2ME; t++ {
		c.ip = c.ip || c.states[t].set
	}
}

// applyPolicer compiles a policer.
func (c *traps) applyPolicer(r config.Policer, gone bool) {
	switch p := at[*policer](c.core, r.ID); {
	case gone:
		delete(c.ids, r.ID) // no trap refers to it
	case p == nil:
		c.ids[r.ID] = newPolicer(r, c.prof.ClockHz, c.now)
	default:
		p.change(r, c.now)
	}
}

// applyCounter makes or removes a counter of traps.
func (c *traps) applyCounter(r config.Counter, gone bool) {
	if gone {
		delete(c.ids, r.ID) // no trap refers to it
	} else if c.ids[r.ID] == nil {
		c.ids[r.ID] = &trapCounter{}
	}
}

// TrapCount returns the packets that a counter of traps has counted.
func (c *core) TrapCount(id config.ID) Tally { return at[*trapCounter](c, id).Tally }

// PolicerCounts returns a policer's counts of each colour.
func (c *core) PolicerCounts(id config.ID) [config.NumColours]Tally {
	return at[*policer](c, id).counts
}

// applyDefault sets the queue and policer of packets for the CPU that no rule traps.
func (c *traps) applyDefault(r config.TrapDefault, gone bool) {
	if c.others = (toCPU{}); !gone {
		c.others = c.toCPU(r.ToCPU)
	}
}

func (c *traps) toCPU(r config.ToCPU) toCPU {
	return toCPU{at[*policer](c.core, r.Policer), r.Queue, at[*trapCounter](c.core, r.Counter)}
}

// cpu returns the queue and policer of a trap's packets for the CPU.
func (c *traps) cpu(t config.Trap) toCPU {
	if s := &c.states[t]; s.set {
		return s.cpu
	}
	return c.others
}

// trap applies a trap's actions to the packet.
func (c *traps) trap(pk *packet, t config.Trap) { c.trapAs(pk, t, c.states[t].act) }

func (c *traps) trapAs(pk *packet, t config.Trap, act actions) {
	pk.act |= act
	if c.found != nil && act != 0 {
		c.found(pk, Finding{Table: describe.Trap.String(), Hit: true, Trap: t}.withAction(act))
	}
	if c.noting && act != 0 {
		pk.noteTrap(t, act)
	}
	if act&actCopy != 0 && pk.trap == config.TrapNone {
		pk.trap = t
	}
	if act&actDrop != 0 && pk.removedBy == config.TrapNone {
		pk.removedBy = t
	}
}

// better returns the trap that counts if a packet has two. A trap with a rule wins, then the higher priority, then the
// one later in the list.
func (c *traps) better(a, b config.Trap) config.Trap {
	x, y := &c.states[a], &c.states[b]
	switch {
	case x.set != y.set:
		if x.set {
			return a
		}
		return b
	case x.priority != y.priority:
		if x.priority > y.priority {
			return a
		}
		return b
	}
	return max(a, b)
}

// Group addresses of protocols between bridges. A bridge does not forward frames to link-local group addresses,
// 01-80-C2-00-00-00 to -0F.
const (
	linkLocal   = 0x0180c2000000
	ciscoGroup  = 0x01000ccccccc // CDP, UDLD and others, in SNAP
	ciscoSSTP   = 0x01000ccccccd // PVRST
	isisLevel1  = 0x0180c2000014
	isisLevel2  = 0x0180c2000015
	isisAll     = 0x09002b000005
	snapUDLD    = 0x0111
	snapCDP     = 0x2000
	broadcast   = 0xffffffffffff
	dhcpServer  = 67
	dhcpClient  = 68
	dhcp6Client = 546
	dhcp6Server = 547
	ldp         = 646
	allRouters  = 0xe0000002 // 224.0.0.2
	protoOSPF   = 89
	protoPIM    = 103
	protoVRRP   = 112
)

// mayTrap reports whether trapFrame must be called for a packet.
func (c *traps) mayTrap(h *headers) bool {
	return c.ip || h.dmac>>40&1 != 0 || h.dmac == c.switchMAC || h.flags&flagARP != 0
}

// trapFrame applies the traps for a packet's kind, at admission. A closed port is a member from which its LAG accepts
// no frames. Only protocols of the link itself are trapped there, because all others belong to the LAG.
func (c *traps) trapFrame(pk *packet, closed bool) {
	h := &pk.h
	if h.dmac>>40&1 != 0 {
		switch {
		case h.dmac&^0xf == linkLocal:
			c.trap(pk, linkLocalTrap(h.dmac&0xf))
			return
		case h.dmac == ciscoGroup:
			c.trapSNAP(pk)
		case h.dmac == ciscoSSTP:
			c.trap(pk, config.TrapPVRST)
		case !closed && (h.dmac == isisLevel1 || h.dmac == isisLevel2 || h.dmac == isisAll):
			c.trap(pk, config.TrapISIS)
		}
	} else if !closed && c.forSwitch(pk) {
		c.trap(pk, config.TrapIP2ME)
	}
	switch {
	case closed:
	case h.flags&flagARP != 0 && h.flags&flagARPRequest != 0:
		c.trap(pk, config.TrapARPRequest)
	case h.flags&flagARP != 0:
		c.trap(pk, config.TrapARPResponse)
	case c.ip && h.flags&flagIP != 0:
		c.trapIP(pk)
	}
}

// forSwitch reports whether a packet is to the switch's MAC address, at no router interface, and is allowed at its
// port.
func (c *traps) forSwitch(pk *packet) bool {
	return pk.h.dmac == c.switchMAC && c.switchMAC != 0 && pk.router == nil && !pk.foreign()
}

// foreign reports whether a packet is barred by the VLAN in its tag, or because the port requires or forbids a tag.
func (pk *packet) foreign() bool {
	return pk.barred && (pk.why == drop.TagFilter || pk.tagged && pk.h.tci[0]&0xfff != 0)
}

func linkLocalTrap(low uint64) config.Trap {
	switch low {
	case 0x0:
		return config.TrapSTP
	case 0x2:
		return config.TrapLACP
	case 0x3:
		return config.TrapEAPOL
	case 0xe:
		return config.TrapLLDP
	}
	return config.TrapLinkLocal
}

// trapSNAP distinguishes the protocols of Cisco's group address: an 802.3 frame with AA-AA-03, the OUI 00-00-0C and the
// protocol.
func (c *traps) trapSNAP(pk *packet) {
	b := pk.data[min(int(pk.h.l3), len(pk.data)):]
	if pk.h.flags&flagEthernet2 != 0 || len(b) < 8 || binary.BigEndian.Uint32(b) != 0xaaaa0300 || b[4] != 0 ||
		b[5] != 0x0c {
		return
	}
	switch binary.BigEndian.Uint16(b[6:]) {
	case snapUDLD:
		c.trap(pk, config.TrapUDLD)
	case snapCDP:
		c.trap(pk, config.TrapCDP)
	}
}

// trapIP traps IP protocols that the switch handles, whatever the destination. It is called only while there is a rule
// for one of them.
func (c *traps) trapIP(pk *packet) {
	h := &pk.h
	t := config.TrapNone
	switch {
	case h.flags&flagICMPv6 != 0 && h.icmpType >= 133 && h.icmpType <= 137 && h.ttl == 255:
		t = c.discoveryTrap(h.icmpType)
	case h.proto == protoUDP:
		if t = broadcastDHCP(h); h.flags&(flagIPv4|flagL4) == flagIPv4|flagL4 && h.l4dst == ldp && h.dst[1] == allRouters &&
			c.states[config.TrapLDP].set {
			t = config.TrapLDP
		}
	case h.group():
		t = groupTrap(h)
	}
	if t != config.TrapNone {
		c.trap(pk, t)
	}
}

// discoveryTrap returns the trap of an ICMPv6 message of neighbour discovery.
func (c *traps) discoveryTrap(icmpType uint8) config.Trap {
	switch icmpType {
	case 135:
		return c.better(config.TrapND, config.TrapNS)
	case 136:
		return c.better(config.TrapND, config.TrapNA)
	}
	return config.TrapND
}

// broadcastDHCP returns the trap of a DHCP packet to the broadcast address, or in IPv6 to a group.
func broadcastDHCP(h *headers) config.Trap {
	everybody := h.dst[1] == 0xffffffff
	if h.flags&flagIPv4 == 0 {
		everybody = h.group()
	}
	if !everybody {
		return config.TrapNone
	}
	return dhcpTrap(h)
}

// dhcpTrap returns the trap of a UDP packet by its ports.
func dhcpTrap(h *headers) config.Trap {
	v4 := h.flags&flagIPv4 != 0
	switch {
	case v4 && (isDHCP(h.l4src) || isDHCP(h.l4dst)):
		return config.TrapDHCP
	case !v4 && (isDHCPv6(h.l4src) || isDHCPv6(h.l4dst)):
		return config.TrapDHCPv6
	}
	return config.TrapNone
}

// groupTrap returns the trap of an IP packet to a group, by its protocol.
func groupTrap(h *headers) config.Trap {
	switch h.proto {
	case protoOSPF:
		return h.byVersion(config.TrapOSPF, config.TrapOSPFv6)
	case protoPIM:
		return h.byVersion(config.TrapPIM, config.TrapNone)
	case protoVRRP:
		return h.byVersion(config.TrapVRRP, config.TrapVRRPv6)
	}
	return config.TrapNone
}

func isDHCP(p uint16) bool { return p == dhcpServer || p == dhcpClient }

func isDHCPv6(p uint16) bool { return p == dhcp6Server || p == dhcp6Client }

// trapLocal traps an IP packet to one of the switch's own addresses. It uses the trap of the packet's protocol if that
// has a rule, otherwise TrapIP2ME.
func (c *traps) trapLocal(pk *packet) {
	h := &pk.h
	t := config.TrapIP2ME
	if u := localTrap(h); u != config.TrapNone && c.states[u].set {
		t = c.better(t, u)
	}
	c.trap(pk, t)
}

// localTrap returns the trap of a packet to the switch, by its protocol.
func localTrap(h *headers) config.Trap {
	switch {
	case h.flags&flagL4 == 0:
		if h.proto == protoOSPF {
			return h.byVersion(config.TrapOSPF, config.TrapOSPFv6)
		}
	case h.proto != protoTCP && h.proto != protoUDP:
	case h.l4src == 123:
		return config.TrapNTPClient
	case h.l4dst == 123:
		return config.TrapNTPServer
	case h.proto == protoTCP:
		return localTCP(h)
	case h.l4dst == 3784 || h.l4dst == 4784:
		return h.byVersion(config.TrapBFD, config.TrapBFDv6)
	case h.l4dst == 6784:
		return h.byVersion(config.TrapMicroBFD, config.TrapMicroBFDv6)
	case h.l4dst == 161:
		return config.TrapSNMP
	default:
		return dhcpTrap(h)
	}
	return config.TrapNone
}

func localTCP(h *headers) config.Trap {
	if h.l4src == 179 || h.l4dst == 179 {
		return h.byVersion(config.TrapBGP, config.TrapBGPv6)
	}
	if h.l4src == ldp || h.l4dst == ldp {
		return config.TrapLDP
	}
	switch h.l4dst {
	case 22:
		return config.TrapSSH
	case 9339:
		return config.TrapGNMI
	case 9559:
		return config.TrapP4RT
	}
	return config.TrapNone
}
