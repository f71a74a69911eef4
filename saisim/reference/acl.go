package reference

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tamtam/saisim/config"
)

// effects are the effects of packet actions.
type effects struct {
	drop   bool // not forwarded
	copy   bool // a copy to the CPU
	cancel bool // no copy to the CPU
}

func (e effects) or(f effects) effects {
	return effects{e.drop || f.drop, e.copy || f.copy, e.cancel || f.cancel}
}

func packetAction(a config.PacketAction) effects {
	switch a {
	case config.Drop:
		return effects{drop: true}
	case config.Copy, config.Log:
		return effects{copy: true}
	case config.CopyCancel, config.Transit:
		return effects{cancel: true}
	case config.Punt:
		return effects{drop: true, copy: true}
	case config.Deny:
		return effects{drop: true, cancel: true}
	}
	return effects{}
}

// A subject is a packet in the form for ACL tables.
type subject struct {
	*packet
	in, out       config.ID // ports; None for the CPU or if not known yet
	inLAG, outLAG config.ID
	bytes         int    // bytes for counters, FCS included
	meta          uint32 // user metadata
	egress        bool
	early         bool // true for pre-ingress lookups: after the parser, before any decision
}

// A hit is an entry that a packet has hit in a table.
type hit struct {
	entry    config.ACLEntry
	priority uint32 // priority of the table in its group
}

// before reports whether the actions of h take precedence over those of g.
func (h hit) before(g hit) bool {
	if h.priority != g.priority {
		return h.priority > g.priority
	}
	if h.entry.Priority != g.entry.Priority {
		return h.entry.Priority > g.entry.Priority
	}
	if h.entry.Content != g.entry.Content {
		return h.entry.Content < g.entry.Content
	}
	return h.entry.ID < g.entry.ID
}

// lookup looks a packet up in the tables that its bind points lead to, and counts the hits. If several lead to a table,
// it is looked up for the first of these bind points.
func (c *Chip) lookup(conf *settings, points []config.ID, s subject) (hits []hit) {
	taken := map[config.ID]bool{}
	for _, point := range points {
		group, ok := conf.aclGroups[point]
		if !ok { // the object is a table, or does not exist
			group = config.ACLGroup{Members: []config.ACLMember{{Table: point}}}
		}
		var members []config.ACLMember
		for _, m := range group.Members {
			if !taken[m.Table] && conf.aclTables[m.Table] {
				taken[m.Table] = true
				members = append(members, m)
			}
		}
		for _, m := range members {
			e, ok := conf.firstMatch(m.Table, s)
			s.findEntry(conf, m.Table, e, ok)
			if ok {
				hits = append(hits, hit{e, m.Priority})
				if group.Sequential {
					break
				}
			}
		}
	}
	for _, h := range hits {
		for _, counter := range h.entry.Of(config.ActCounter) {
			c.count(conf, counter, s.bytes)
		}
	}
	return hits
}

// anyTable reports whether bind points lead to a table.
func (conf *settings) anyTable(points []config.ID) bool {
	return slices.ContainsFunc(points, func(point config.ID) bool {
		group, ok := conf.aclGroups[point]
		return ok && len(group.Members) > 0 || !ok && point != config.None
	})
}

func (c *Chip) count(conf *settings, oid config.ID, bytes int) {
	row, x := conf.aclCounters[oid], c.counter(oid)
	if row.CountPackets {
		x.Packets++
	}
	if row.CountBytes {
		x.Bytes += uint64(bytes)
	}
}

// action returns the action of a kind that takes effect, and the hit that it belongs to. It returns nil if no hit has
// such an action.
func action(hits []hit, kind config.ACLActionKind) (a *config.ACLAction, by hit) {
	for _, h := range hits {
		for i := range h.entry.Actions {
			if h.entry.Actions[i].Kind == kind && (a == nil || h.before(by)) {
				a, by = &h.entry.Actions[i], h
			}
		}
	}
	return a, by
}

// effectsOf combines the packet actions of all hits.
func effectsOf(hits []hit) (e effects) {
	for _, h := range hits {
		for _, a := range h.entry.Actions {
			if a.Kind == config.ActPacket {
				e = e.or(packetAction(config.PacketAction(a.Number)))
			}
		}
	}
	return e
}

// stamping returns the tail-stamping of the hits, nil if there is none.
func stamping(conf *settings, hits []hit) *stamp {
	a, by := action(hits, config.ActStamp)
	if a == nil {
		return nil
	}
	s := &stamp{switchID: conf.tamInts[a.Of[0]].SwitchID}
	for _, counter := range by.entry.Of(config.ActCounter) {
		s.counter = counter
	}
	return s
}

// firstMatch returns the entry that a packet hits in a table, and false if there is none.
func (conf *settings) firstMatch(table config.ID, s subject) (config.ACLEntry, bool) {
	for _, e := range conf.aclEntries[table] {
		if e.Enabled && conf.matches(e, s) {
			return e, true
		}
	}
	return config.ACLEntry{}, false
}

// matches reports whether every field of the entry matches.
func (conf *settings) matches(e config.ACLEntry, s subject) bool {
	for i := range e.Matches {
		if !conf.match(&e.Matches[i], s) {
			return false
		}
	}
	return true
}

func (conf *settings) match(m *config.ACLMatch, s subject) bool {
	value := m.Value[1]
	switch m.Field {
	case config.FieldInPorts:
		return oneOf(m.Of, s.in, s.inLAG)
	case config.FieldOutPorts:
		return oneOf(m.Of, s.out, s.outLAG)
	case config.FieldRanges:
		for _, id := range m.Of {
			if !inRange(conf.aclRanges[id], s) {
				return false
			}
		}
		return true
	case config.FieldHasTag:
		return (value == 1) == (len(s.h.tags) > 0)
	case config.FieldTags:
		return int(value) == min(len(s.h.tags), 2)
	case config.FieldIPType:
		return matchIPType(config.IPType(value), s.h)
	case config.FieldFragment:
		return matchFragment(config.Fragment(value), s.h)
	case config.FieldTailstamp:
		return s.h.ip != nil && s.h.ip.record
	case config.FieldSrcIP, config.FieldDstIP, config.FieldSrcIPv6, config.FieldDstIPv6:
		return matchAddress(m, s.h)
	}
	is, present := number(m.Field, s)
	return present && is&m.Mask[1] == value&m.Mask[1]
}

// oneOf reports whether a port is among the ids, or in a LAG among them.
func oneOf(ids []config.ID, port, lag config.ID) bool {
	return port != config.None && slices.Contains(ids, port) || lag != config.None && slices.Contains(ids, lag)
}

func inRange(r config.ACLRange, s subject) bool {
	var v uint32
	switch r.Of {
	case config.RangeL4Src, config.RangeL4Dst:
		if s.h.l4 == nil {
			return false
		}
		v = uint32(s.h.l4.src)
		if r.Of == config.RangeL4Dst {
			v = uint32(s.h.l4.dst)
		}
	case config.RangeOuterVLAN:
		v = uint32(s.vid)
	case config.RangeInnerVLAN:
		if len(s.h.tags) < 2 {
			return false
		}
		v = uint32(s.h.tags[1].tci & 0xfff)
	case config.RangeLength:
		v = uint32(s.length + fcs)
	default:
		panic(fmt.Sprintf("reference: ACL range of type %d", r.Of))
	}
	return r.Min <= v && v <= r.Max
}

func matchIPType(t config.IPType, h headers) bool {
	v4, v6 := h.ip != nil && h.ip.version == 4, h.ip != nil && h.ip.version == 6
	switch t {
	case config.IPAny:
		return true
	case config.IP:
		return v4 || v6
	case config.NonIP:
		return !v4 && !v6
	case config.IPv4:
		return v4
	case config.NonIPv4:
		return !v4
	case config.IPv6:
		return v6
	case config.NonIPv6:
		return !v6
	case config.ARP:
		return h.arp
	case config.ARPRequest:
		return h.arpOp == 1
	case config.ARPReply:
		return h.arpOp == 2
	}
	panic(fmt.Sprintf("reference: ACL IP type %d", t))
}

func matchFragment(t config.Fragment, h headers) bool {
	if h.ip == nil {
		return false
	}
	switch t {
	case config.AnyFragment:
		return h.ip.fragment
	case config.NoFragment:
		return !h.ip.fragment
	case config.NoFragmentOrHead:
		return !h.ip.later
	case config.HeadFragment:
		return h.ip.first
	case config.NonHeadFragment:
		return h.ip.later
	}
	panic(fmt.Sprintf("reference: ACL IP fragment type %d", t))
}

func matchAddress(m *config.ACLMatch, h headers) bool {
	version := 4
	if m.Field == config.FieldSrcIPv6 || m.Field == config.FieldDstIPv6 {
		version = 6
	}
	if h.ip == nil || h.ip.version != version {
		return false
	}
	address := h.ip.src
	if m.Field == config.FieldDstIP || m.Field == config.FieldDstIPv6 {
		address = h.ip.dst
	}
	if version == 4 {
		is := uint64(binary.BigEndian.Uint32(address[12:]))
		return is&m.Mask[1] == m.Value[1]&m.Mask[1]
	}
	for i := range 2 {
		if is := binary.BigEndian.Uint64(address[8*i:]); is&m.Mask[i] != m.Value[i]&m.Mask[i] {
			return false
		}
	}
	return true
}

// number returns the value of a numeric field, and false if the packet does not have it.
func number(f config.ACLField, s subject) (uint64, bool) {
	h := s.h
	outer := tag{}
	if len(h.tags) > 0 {
		outer = h.tags[0]
	}
	switch f {
	case config.FieldDstMAC:
		return h.dmac, true
	case config.FieldSrcMAC:
		return h.smac, true
	case config.FieldEtherType:
		return uint64(h.etherType), h.ethernet2
	case config.FieldOuterPriority:
		return uint64(outer.tci >> 13), true
	case config.FieldOuterCFI:
		return uint64(outer.tci >> 12 & 1), true
	case config.FieldOuterVLAN:
		return uint64(s.vid), true // the VLAN to which the frame belongs
	case config.FieldTC:
		return uint64(s.tc), true
	case config.FieldMeta:
		return uint64(s.meta), true
	case config.FieldFlowMonID:
		return s.flowMonID()
	}
	if len(h.tags) >= 2 {
		inner := h.tags[1].tci
		switch f {
		case config.FieldInnerPriority:
			return uint64(inner >> 13), true
		case config.FieldInnerCFI:
			return uint64(inner >> 12 & 1), true
		case config.FieldInnerVLAN:
			return uint64(inner & 0xfff), true
		}
	}
	if h.ip != nil {
		return h.ipNumber(f)
	}
	return 0, false
}

// flowMonID returns the FlowMonID of the AltMark option, and false if there is none.
func (pk *packet) flowMonID() (uint64, bool) {
	if pk.h.ip == nil || pk.h.ip.altMark == 0 {
		return 0, false
	}
	id := uint64(0)
	for _, b := range pk.data[pk.h.ip.altMark-2:][:3] {
		id = id<<8 | uint64(b)
	}
	return id >> 4, true
}

func (h *headers) ipNumber(f config.ACLField) (uint64, bool) {
	ip := h.ip
	switch f {
	case config.FieldIPProtocol:
		return uint64(ip.protocol), true
	case config.FieldIPv6NextHeader:
		return uint64(ip.protocol), ip.version == 6
	case config.FieldDSCP:
		return uint64(ip.tos >> 2), true
	case config.FieldECN:
		return uint64(ip.tos & 3), true
	case config.FieldTOS:
		return uint64(ip.tos), true
	case config.FieldTTL:
		return uint64(ip.ttl), true
	case config.FieldIPFlags:
		return uint64(ip.flags), ip.version == 4
	case config.FieldIPID:
		return uint64(ip.id), ip.version == 4
	case config.FieldFlowLabel:
		return uint64(ip.flowLabel), ip.version == 6
	}
	if h.l4 != nil {
		switch f {
		case config.FieldL4SrcPort:
			return uint64(h.l4.src), true
		case config.FieldL4DstPort:
			return uint64(h.l4.dst), true
		case config.FieldTCPFlags:
			return uint64(h.l4.tcpFlags), h.l4.tcp
		}
	}
	if h.icmp != nil {
		version := map[config.ACLField]int{
			config.FieldICMPType: 4, config.FieldICMPCode: 4,
			config.FieldICMPv6Type: 6, config.FieldICMPv6Code: 6,
		}[f]
		switch f {
		case config.FieldICMPType, config.FieldICMPv6Type:
			return uint64(h.icmp.typ), ip.version == version
		case config.FieldICMPCode, config.FieldICMPv6Code:
			return uint64(h.icmp.code), ip.version == version
		}
	}
	return 0, false
}
