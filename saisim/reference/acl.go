package reference

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/config"
)

// Effects of packet actions.
type effects struct {
	drop   bool // not forwarded
	copy   bool // a copy to the CPU
	cancel bool // no copy to the CPU
}

func (e effects) or(f effects) effects {
	return effects{e.drop || f.drop, e.copy || f.copy, e.cancel || f.cancel}
}

func packetAction(a sai.Enum) effects {
	switch a {
	case sai.PacketActionDrop:
		return effects{drop: true}
	case sai.PacketActionCopy, sai.PacketActionLog:
		return effects{copy: true}
	case sai.PacketActionCopyCancel, sai.PacketActionTransit:
		return effects{cancel: true}
	case sai.PacketActionTrap:
		return effects{drop: true, copy: true}
	case sai.PacketActionDeny:
		return effects{drop: true, cancel: true}
	}
	return effects{}
}

// A subject is a packet as ACL tables look at it.
type subject struct {
	*packet
	in, out       config.ID // ports; null: the CPU or not known yet
	inLAG, outLAG config.ID
	bytes         int    // what counters count, FCS included
	meta          uint32 // user metadata
}

// A hit is an entry that a packet has hit in a table.
type hit struct {
	entry    saisim.ACLEntryRow
	priority uint32 // of the table in its group
}

// before reports whether the actions of h are taken, rather than those of g.
func (h hit) before(g hit) bool {
	if h.priority != g.priority {
		return h.priority > g.priority
	}
	if h.entry.Priority != g.entry.Priority {
		return h.entry.Priority > g.entry.Priority
	}
	return strings.Compare(h.entry.Content, g.entry.Content) < 0
}

// lookup looks a packet up in the tables that its bind points lead to, and counts.
// A table that several lead to is looked in for the first of them.
func (c *Chip) lookup(conf *settings, points []config.ID, s subject) (hits []hit) {
	taken := map[config.ID]bool{}
	for _, point := range points {
		group, ok := conf.aclGroups[point]
		if !ok { // a table, or nothing
			group = saisim.ACLGroupRow{Members: []saisim.ACLMemberRow{{Table: point}}}
		}
		var members []saisim.ACLMemberRow
		for _, m := range group.Members {
			if !taken[m.Table] {
				taken[m.Table] = true
				members = append(members, m)
			}
		}
		for _, m := range members {
			if e, ok := conf.firstMatch(m.Table, s); ok {
				hits = append(hits, hit{e, m.Priority})
				if group.Sequential {
					break
				}
			}
		}
	}
	for _, h := range hits {
		for _, a := range h.entry.Actions {
			if a.ID == sai.ACLEntryAttrActionCounter {
				c.count(conf, config.ID(a.Value.(sai.Action).Param.(sai.OID)), s.bytes)
			}
		}
	}
	return hits
}

// anyTable says whether bind points lead to a table.
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

// action returns the parameter of the hit that decides an action, and that hit.
func action(hits []hit, id sai.AttrID) (param sai.Value, by hit) {
	for _, h := range hits {
		for _, a := range h.entry.Actions {
			if a.ID == id && (param == nil || h.before(by)) {
				param, by = a.Value.(sai.Action).Param, h
			}
		}
	}
	return param, by
}

// effectsOf combines the packet actions of all hits.
func effectsOf(hits []hit) (e effects) {
	for _, h := range hits {
		for _, a := range h.entry.Actions {
			if a.ID == sai.ACLEntryAttrActionPacketAction {
				e = e.or(packetAction(a.Value.(sai.Action).Param.(sai.Enum)))
			}
		}
	}
	return e
}

// stamping returns the tail-stamping that the hits ask for: the object and
// INT_INSERT in one entry.
func stamping(conf *settings, hits []hit) *stamp {
	var asking []hit
	for _, h := range hits {
		insert, _ := action([]hit{h}, sai.ACLEntryAttrActionIntInsert)
		object, _ := action([]hit{h}, sai.ACLEntryAttrActionTAMIntObject)
		if insert == sai.Bool(true) && object != nil && object != sai.NullOID {
			asking = append(asking, h)
		}
	}
	object, by := action(asking, sai.ACLEntryAttrActionTAMIntObject)
	if object == nil {
		return nil
	}
	s := &stamp{switchID: conf.tamInts[config.ID(object.(sai.OID))].SwitchID}
	if counter, _ := action([]hit{by}, sai.ACLEntryAttrActionCounter); counter != nil {
		s.counter = config.ID(counter.(sai.OID))
	}
	return s
}

// firstMatch returns the entry that a packet hits in a table.
func (conf *settings) firstMatch(table config.ID, s subject) (saisim.ACLEntryRow, bool) {
	for _, e := range conf.aclTables[table].Entries {
		if e.Enabled && conf.matches(e, s) {
			return e, true
		}
	}
	return saisim.ACLEntryRow{}, false
}

// matches reports whether every field of the entry matches.
func (conf *settings) matches(e saisim.ACLEntryRow, s subject) bool {
	for _, a := range e.Fields {
		if !conf.match(a.ID, a.Value.(sai.Field), s) {
			return false
		}
	}
	return true
}

func (conf *settings) match(id sai.AttrID, f sai.Field, s subject) bool {
	switch id {
	case sai.ACLEntryAttrFieldInPort, sai.ACLEntryAttrFieldInPorts, sai.ACLEntryAttrFieldSrcPort:
		return oneOf(f.Data, s.in, s.inLAG)
	case sai.ACLEntryAttrFieldOutPort, sai.ACLEntryAttrFieldOutPorts:
		return oneOf(f.Data, s.out, s.outLAG)
	case sai.ACLEntryAttrFieldACLRangeType:
		for _, oid := range f.Data.(sai.OIDs) {
			if !inRange(conf.aclRanges[config.ID(oid)], s) {
				return false
			}
		}
		return true
	case sai.ACLEntryAttrFieldHasVLANTag:
		return bool(f.Data.(sai.Bool)) == (len(s.h.tags) > 0)
	case sai.ACLEntryAttrFieldPacketVLAN:
		switch f.Data {
		case sai.PacketVLANUntag:
			return len(s.h.tags) == 0
		case sai.PacketVLANSingleOuterTag:
			return len(s.h.tags) == 1
		case sai.PacketVLANDoubleTag:
			return len(s.h.tags) >= 2
		}
	case sai.ACLEntryAttrFieldACLIPType:
		return matchIPType(f.Data.(sai.Enum), s.h)
	case sai.ACLEntryAttrFieldACLIPFrag:
		return matchFragment(f.Data.(sai.Enum), s.h)
	case sai.ACLEntryAttrFieldTAMIntType:
		return s.h.ip != nil && s.h.ip.record
	case sai.ACLEntryAttrFieldSrcIP, sai.ACLEntryAttrFieldDstIP, sai.ACLEntryAttrFieldSrcIPv6,
		sai.ACLEntryAttrFieldDstIPv6:
		return matchAddress(id, f, s.h)
	}
	value, present := number(id, s)
	data, mask := scalar(f.Data), scalar(f.Mask)
	return present && value&mask == data&mask
}

// oneOf reports whether a port is among those named, or in the LAG named.
func oneOf(v sai.Value, port, lag config.ID) bool {
	oids, list := v.(sai.OIDs)
	if !list {
		oids = sai.OIDs{v.(sai.OID)}
	}
	return port != config.None && slices.Contains(oids, sai.OID(port)) || lag != config.None &&
		slices.Contains(oids, sai.OID(lag))
}

func inRange(r saisim.ACLRangeRow, s subject) bool {
	var v uint32
	switch r.Type {
	case sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeTypeL4DstPortRange:
		if s.h.l4 == nil {
			return false
		}
		v = uint32(s.h.l4.src)
		if r.Type == sai.ACLRangeTypeL4DstPortRange {
			v = uint32(s.h.l4.dst)
		}
	case sai.ACLRangeTypeOuterVLAN:
		v = uint32(s.vid)
	case sai.ACLRangeTypeInnerVLAN:
		if len(s.h.tags) < 2 {
			return false
		}
		v = uint32(s.h.tags[1].tci & 0xfff)
	case sai.ACLRangeTypePacketLength:
		v = uint32(s.length + fcs)
	default:
		panic(fmt.Sprintf("reference: ACL range of type %d", r.Type))
	}
	return r.Min <= v && v <= r.Max
}

func matchIPType(t sai.Enum, h headers) bool {
	v4, v6 := h.ip != nil && h.ip.version == 4, h.ip != nil && h.ip.version == 6
	switch t {
	case sai.ACLIPTypeAny:
		return true
	case sai.ACLIPTypeIP:
		return v4 || v6
	case sai.ACLIPTypeNonIP:
		return !v4 && !v6
	case sai.ACLIPTypeIPv4Any:
		return v4
	case sai.ACLIPTypeNonIPv4:
		return !v4
	case sai.ACLIPTypeIPv6Any:
		return v6
	case sai.ACLIPTypeNonIPv6:
		return !v6
	case sai.ACLIPTypeArp:
		return h.arp
	case sai.ACLIPTypeArpRequest:
		return h.arpOp == 1
	case sai.ACLIPTypeArpReply:
		return h.arpOp == 2
	}
	panic(fmt.Sprintf("reference: ACL IP type %d", t))
}

func matchFragment(t sai.Enum, h headers) bool {
	if h.ip == nil {
		return false
	}
	switch t {
	case sai.ACLIPFragAny:
		return h.ip.fragment
	case sai.ACLIPFragNonFrag:
		return !h.ip.fragment
	case sai.ACLIPFragNonFragOrHead:
		return !h.ip.later
	case sai.ACLIPFragHead:
		return h.ip.first
	case sai.ACLIPFragNonHead:
		return h.ip.later
	}
	panic(fmt.Sprintf("reference: ACL IP fragment type %d", t))
}

func matchAddress(id sai.AttrID, f sai.Field, h headers) bool {
	version := 4
	if id == sai.ACLEntryAttrFieldSrcIPv6 || id == sai.ACLEntryAttrFieldDstIPv6 {
		version = 6
	}
	if h.ip == nil || h.ip.version != version {
		return false
	}
	address := h.ip.src
	if id == sai.ACLEntryAttrFieldDstIP || id == sai.ACLEntryAttrFieldDstIPv6 {
		address = h.ip.dst
	}
	data, mask := f.Data.(sai.IP).AsSlice(), f.Mask.(sai.IP).AsSlice()
	is := slices.Clone(address[16-len(data):])
	for i := range data {
		is[i] &= mask[i]
		data[i] &= mask[i]
	}
	return bytes.Equal(is, data)
}

func scalar(v sai.Value) uint64 {
	switch v := v.(type) {
	case sai.Uint:
		return uint64(v)
	case sai.MAC:
		return mac(v[:])
	}
	panic(fmt.Sprintf("reference: ACL field with %T", v))
}

// number returns the value of a field that is a number, false if the packet does
// not have it.
func number(id sai.AttrID, s subject) (uint64, bool) {
	h := s.h
	outer := tag{}
	if len(h.tags) > 0 {
		outer = h.tags[0]
	}
	switch id {
	case sai.ACLEntryAttrFieldDstMAC:
		return h.dmac, true
	case sai.ACLEntryAttrFieldSrcMAC:
		return h.smac, true
	case sai.ACLEntryAttrFieldEtherType:
		return uint64(h.etherType), h.ethernet2
	case sai.ACLEntryAttrFieldOuterVLANPri:
		return uint64(outer.tci >> 13), true
	case sai.ACLEntryAttrFieldOuterVLANCfi:
		return uint64(outer.tci >> 12 & 1), true
	case sai.ACLEntryAttrFieldOuterVLANID:
		return uint64(s.vid), true // of the VLAN that the frame is in
	case sai.ACLEntryAttrFieldTC:
		return uint64(s.tc), true
	case sai.ACLEntryAttrFieldACLUserMeta:
		return uint64(s.meta), true
	}
	if len(h.tags) >= 2 {
		inner := h.tags[1].tci
		switch id {
		case sai.ACLEntryAttrFieldInnerVLANPri:
			return uint64(inner >> 13), true
		case sai.ACLEntryAttrFieldInnerVLANCfi:
			return uint64(inner >> 12 & 1), true
		case sai.ACLEntryAttrFieldInnerVLANID:
			return uint64(inner & 0xfff), true
		}
	}
	if h.ip != nil {
		return h.ipNumber(id)
	}
	return 0, false
}

func (h *headers) ipNumber(id sai.AttrID) (uint64, bool) {
	ip := h.ip
	switch id {
	case sai.ACLEntryAttrFieldIPProtocol:
		return uint64(ip.protocol), true
	case sai.ACLEntryAttrFieldIPv6NextHeader:
		return uint64(ip.protocol), ip.version == 6
	case sai.ACLEntryAttrFieldDSCP:
		return uint64(ip.tos >> 2), true
	case sai.ACLEntryAttrFieldECN:
		return uint64(ip.tos & 3), true
	case sai.ACLEntryAttrFieldTOS:
		return uint64(ip.tos), true
	case sai.ACLEntryAttrFieldTTL:
		return uint64(ip.ttl), true
	case sai.ACLEntryAttrFieldIPFlags:
		return uint64(ip.flags), ip.version == 4
	case sai.ACLEntryAttrFieldIPIdentification:
		return uint64(ip.id), ip.version == 4
	case sai.ACLEntryAttrFieldIPv6FlowLabel:
		return uint64(ip.flowLabel), ip.version == 6
	}
	if h.l4 != nil {
		switch id {
		case sai.ACLEntryAttrFieldL4SrcPort:
			return uint64(h.l4.src), true
		case sai.ACLEntryAttrFieldL4DstPort:
			return uint64(h.l4.dst), true
		case sai.ACLEntryAttrFieldTCPFlags:
			return uint64(h.l4.tcpFlags), h.l4.tcp
		}
	}
	if h.icmp != nil {
		version := map[sai.AttrID]int{
			sai.ACLEntryAttrFieldICMPType: 4, sai.ACLEntryAttrFieldICMPCode: 4,
			sai.ACLEntryAttrFieldICMPv6Type: 6, sai.ACLEntryAttrFieldICMPv6Code: 6,
		}[id]
		switch id {
		case sai.ACLEntryAttrFieldICMPType, sai.ACLEntryAttrFieldICMPv6Type:
			return uint64(h.icmp.typ), ip.version == version
		case sai.ACLEntryAttrFieldICMPCode, sai.ACLEntryAttrFieldICMPv6Code:
			return uint64(h.icmp.code), ip.version == version
		}
	}
	return 0, false
}
