package fates

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tamtam/swss"
	"tamtam/tam/record"
)

// A modelPacket is a received frame.
type modelPacket struct {
	in        string
	frame     []byte
	dst, src  string
	tagged    bool // the outer tag is a C-tag with a VLAN
	ctag      bool // the outer tag is a C-tag
	tags      int
	stag      bool
	vid       uint16
	etherType uint16
	l3        []byte
	whole     bool // the IP header is complete
	// sized is true if the length in the IP header is plausible. Otherwise the packet is matched up to the end of the
	// frame, and not routed.
	sized      bool
	to, from   netip.Addr
	ttl, proto uint8
	sport      uint16
	dport      uint16
	ports      bool
	icmp       uint8
}

// parse reads the headers. It returns nil if the Ethernet header, including tags, is incomplete.
func (*fateModel) parse(in string, f []byte) *modelPacket {
	if len(f) < 14 {
		return nil
	}
	mac := func(b []byte) string {
		s := make([]string, 6)
		for i := range s {
			s[i] = strconv.FormatUint(uint64(b[i])+256, 16)[1:]
		}
		return strings.Join(s, ":")
	}
	x := &modelPacket{in: in, frame: f, dst: mac(f), src: mac(f[6:])}
	at := 12
	for x.etherType = binary.BigEndian.Uint16(f[at:]); (x.etherType == 0x8100 || x.etherType == 0x88a8) &&
		x.tags < 2; x.tags++ {
		if len(f) < at+6 {
			return nil
		}
		vid := binary.BigEndian.Uint16(f[at+2:]) & 0xfff
		x.stag = x.stag || x.etherType == 0x88a8
		if x.tags == 0 && x.etherType == 0x8100 {
			x.ctag, x.tagged, x.vid = true, vid != 0, vid
		}
		at += 4
		x.etherType = binary.BigEndian.Uint16(f[at:])
	}
	x.l3 = f[at+2:]
	switch x.etherType {
	case 0x0800:
		x.parse4(x.l3)
	case 0x86dd:
		x.parse6(x.l3)
	}
	return x
}

// parse4 reads a header by RFC 791.
func (x *modelPacket) parse4(b []byte) {
	if len(b) < 20 || b[0]>>4 != 4 || b[0]&15 < 5 {
		return
	}
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if x.sized = total >= header && total <= len(b); !x.sized {
		total = len(b)
	}
	if header > len(b) {
		return
	}
	x.whole, x.ttl, x.proto = true, b[8], b[9]
	x.from, x.to = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	if binary.BigEndian.Uint16(b[6:])&0x1fff == 0 {
		x.parse7(b[header:total])
	}
}

// parse6 reads a header by RFC 8200.
func (x *modelPacket) parse6(b []byte) {
	if len(b) < 40 || b[0]>>4 != 6 {
		return
	}
	total := 40 + int(binary.BigEndian.Uint16(b[4:]))
	if x.sized = total <= len(b) && (total > 40 || b[6] == 59); !x.sized {
		total = len(b)
	}
	x.whole, x.ttl, x.proto = true, b[7], b[6]
	x.from, x.to = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	x.parse7(b[40:total])
}

// parse7 finds the ports. They exist if both are present, even if later bytes are missing.
func (x *modelPacket) parse7(b []byte) {
	switch {
	case (x.proto == 17 || x.proto == 6) && len(b) >= 4:
		x.ports, x.sport, x.dport = true, binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	case x.proto == 58 && len(b) >= 4:
		x.icmp = b[0]
	}
}

// modelGroup reports whether a MAC address is a group address.
func modelGroup(mac string) bool {
	n, _ := strconv.ParseUint(mac[:2], 16, 8)
	return n&1 != 0
}

// A modelEnd describes how and where a copy ended, and the tables that it passed. If only the CPU receives the copy,
// why is the reason for which no port sends it.
type modelEnd struct{ what, port, path, why, by string }

// A modelSteps is a path as far as it is known.
type modelSteps []string

func (s modelSteps) and(table string, hit bool) modelSteps {
	if hit {
		return append(slices.Clip(s), table+" hit")
	}
	return append(slices.Clip(s), table+" miss")
}

// fates returns the ends of a frame's copies, for each outcome of the chip's hashes. It learns from the frame.
func (m *fateModel) fates(in string, frame []byte) (all [][]modelEnd) {
	p := m.places[in]
	x := m.parse(in, frame)
	switch {
	case !p.up:
		return [][]modelEnd{{{what: "port-down"}}}
	case x == nil:
		return [][]modelEnd{{{what: "runt"}}}
	case len(frame)+4 > p.mtu:
		return [][]modelEnd{{{what: "oversize"}}}
	}
	a := *m.admit(x)
	var script, of []int // choices of the hashes, and their numbers of alternatives, in order
	for {
		i := 0
		d := &modelDecision{fateModel: m, modelPacket: x, admission: a}
		d.choose = func(n int) int {
			if i == len(script) {
				script, of = append(script, 0), append(of, n)
			}
			i++
			return script[i-1]
		}
		d.decide()
		all = append(all, d.ends())
		for i > 0 && script[i-1]+1 == of[i-1] {
			i--
		}
		if script, of = script[:i], of[:i]; i == 0 {
			break
		}
		script[i-1]++
	}
	return all
}

// An admission is the first stage's result for a frame.
type admission struct {
	place   string // port, or PortChannel of a member
	vlan    uint16 // 0 at a router interface
	rif     *modelInterface
	trapped string // the first trap that applies
	barred  string // the drop reason of the ingress checks; "" if they pass
	drop    bool   // a trap drops it
	copies  bool   // there are copies for the CPU
	path    modelSteps
	by      []string // matched entries, by their names in records
	// learns is true if the source address is looked up, and known if it was found. unlearnable is true if the frame is
	// dropped because of its source address.
	learns, known, unlearnable bool
}

func (m *fateModel) admit(x *modelPacket) *admission {
	a := &admission{place: x.in}
	if lag := m.lagOf[x.in]; lag != "" {
		a.place = lag
	}
	p := m.places[a.place]
	if modelGroup(x.src) {
		a.barred, a.path = "source-address", modelSteps{}.and("chip.port", false)
		return a
	}
	a.vlan, a.rif = p.native, p.rif
	if x.tagged {
		a.vlan = x.vid
	}
	switch v := m.vlans[a.vlan]; {
	case x.tagged && m.tagDrops[x.in], !x.tagged && m.plainDrops[x.in]:
		a.barred = "vlan-tag-filter"
	case a.place != x.in && len(p.members) == 0:
		a.barred = "no-lag-member"
	case p.rif != nil && x.tagged:
		a.barred = "no-vlan"
	case p.rif != nil:
		a.vlan = 0
	case v == nil && a.vlan != 1, len(p.tagging) == 0:
		a.barred = "no-vlan"
	case p.tagging[a.vlan] == "":
		a.barred = "not-vlan-member"
	case v.there:
		a.rif = v
	}
	for _, trap := range m.trapsOf(x, a) {
		action := m.traps[trap]
		a.drop = a.drop || action == "trap" || action == "drop"
		if action == "trap" || action == "copy" {
			a.copies, a.trapped = true, cmp.Or(a.trapped, trap)
		}
	}
	a.path = modelSteps{}.and("chip.port", a.barred == "").and("chip.trap", a.drop || a.copies)
	a.learns = a.barred == "" && a.vlan != 0
	if a.learns {
		k := modelMAC{a.vlan, x.src}
		old, known := m.fdb[k]
		moved := known && old.static && old.place != a.place
		a.known, a.unlearnable = known, moved || !known && m.learnDrops[a.place]
		a.copies = a.copies || moved && m.traps["static_fdb_move"] == "trap"
		if !old.static && !a.unlearnable {
			m.fdb[k] = modelFDB{place: a.place}
		}
	}
	return a
}

// trapsOf returns the traps of the first stage.
func (m *fateModel) trapsOf(x *modelPacket, a *admission) (traps []string) {
	const linkLocal = "01:80:c2:00:00:0"
	if len(x.dst) == 17 && strings.HasPrefix(x.dst, linkLocal) {
		name, ok := map[byte]string{'0': "stp", '2': "lacp", '3': "eapol", 'e': "lldp"}[x.dst[16]]
		if !ok {
			name = "link_local"
		}
		return []string{name}
	}
	if a.place != x.in && len(m.places[a.place].members) == 0 {
		return nil // other addresses belong to the PortChannel, which does not collect
	}
	foreign := a.barred == "vlan-tag-filter" || a.barred != "" && x.tagged
	if x.dst == m.mac && (a.rif == nil || a.barred != "") && !foreign {
		traps = append(traps, "ip2me")
	}
	switch {
	case x.etherType == 0x0806:
		if len(x.l3) >= 8 && binary.BigEndian.Uint16(x.l3[6:]) == 1 {
			traps = append(traps, "arp_req")
		} else {
			traps = append(traps, "arp_resp")
		}
	case x.etherType == 0x86dd && x.whole && x.proto == 58 && x.icmp >= 133 && x.icmp <= 137 && x.ttl == 255:
		traps = append(traps, "neigh_discovery")
	}
	return traps
}

// A modelDecision is a packet's state during one pass through the pipes.
type modelDecision struct {
	*fateModel
	*modelPacket
	admission
	choose func(n int) int
	reason string // why no port sends it
	copied bool   // there is a copy for the CPU
	leaves []modelCopy
	routed bool // into a VLAN, or out of a port
	lost   bool // sent to a PortChannel without a working member
}

// A modelCopy is a forwarded copy, with its destination and its length there.
type modelCopy struct {
	port, path string
	length     int
}

func (d *modelDecision) decide() {
	d.copied = d.copies
	if d.barred == "source-address" || d.barred != "" && !d.drop {
		d.reason, d.copied = d.barred, false
		return
	}
	if d.early != 0 {
		hit := d.ports && d.dport == d.early
		if d.path = d.path.and("ingress.filter", hit); hit {
			d.reason = "program"
			return
		}
	}
	dropped := false
	if tables := d.places[d.place].in; len(tables) > 0 {
		hit := false
		for _, t := range tables {
			if rule := t.match(d.modelPacket); rule != nil {
				hit = true
				d.meets("rule", rule[modelRule])
				dropped = dropped || rule["PACKET_ACTION"] == "DROP"
				d.copied = d.copied || rule["PACKET_ACTION"] == "COPY"
			}
		}
		d.path = d.path.and("chip.acl", hit)
	}
	if d.learns {
		if d.path = d.path.and("chip.learning", d.known); d.known {
			d.meets("source", modelMAC{d.vlan, d.src}.text())
		}
	}
	switch {
	case dropped:
		d.reason = "acl"
	case d.drop:
		d.reason = "trap"
	case d.unlearnable:
		d.reason = "learning"
	default:
		d.forward()
	}
}

// modelRule is the field of a rule that contains its name.
const modelRule = "name"

// meets records a matched entry.
func (d *modelDecision) meets(kind, entry string) { d.by = append(slices.Clip(d.by), kind+" "+entry) }

// modelBy returns entries in an order that does not depend on that of tables.
func modelBy(by []string) string { return strings.Join(slices.Sorted(slices.Values(by)), ", ") }

func (k modelMAC) text() string { return fmt.Sprintf("%s in VLAN %d", k.mac, k.vlan) }

// match returns the rule that decides.
func (a *modelACL) match(x *modelPacket) swss.FieldValues {
	for _, rule := range a.rules {
		ok := true
		for field, v := range rule {
			number := modelNumber(v, -1)
			in := func(a netip.Addr) bool { return a.IsValid() && netip.MustParsePrefix(v).Contains(a) }
			switch field {
			case "SRC_IP", "SRC_IPV6":
				ok = ok && in(x.from)
			case "DST_IP", "DST_IPV6":
				ok = ok && in(x.to)
			case "IP_PROTOCOL", "NEXT_HEADER":
				ok = ok && x.whole && int(x.proto) == number
			case "L4_DST_PORT":
				ok = ok && x.ports && int(x.dport) == number
			}
		}
		if ok {
			return rule
		}
	}
	return nil
}

func (d *modelDecision) forward() {
	toRouter := d.rif != nil && (d.dst == d.rif.mac || d.dst == d.mac)
	d.path = d.path.and("chip.router_mac", toRouter)
	switch {
	case toRouter:
		d.route()
	case d.vlan == 0:
		d.reason = "not-router"
	case modelGroup(d.dst):
		d.flood()
	default:
		d.bridge(d.dst, d.place, len(d.frame))
	}
}

// bridge sends to a unicast address in the packet's VLAN, but not back to its source place.
func (d *modelDecision) bridge(mac, from string, length int) {
	e, known := d.fdb[modelMAC{d.vlan, mac}]
	if d.path = d.path.and("chip.fdb", known); known {
		d.meets("fdb", modelMAC{d.vlan, mac}.text())
	}
	switch {
	case !known && d.missDrops:
		d.reason = "unknown-destination"
	case !known:
		d.flood()
	case d.deadMACs[modelMAC{d.vlan, mac}]:
		d.reason = "fdb"
	case e.place == from:
		d.reason = "same-port"
	case d.places[e.place].tagging[d.vlan] == "":
		d.reason = "no-destination"
	default:
		d.send(e.place, d.vlan)
	}
}

// flood sends to the whole VLAN of the packet except its source place.
func (d *modelDecision) flood() {
	d.reason = "no-destination"
	for _, name := range slices.Sorted(maps.Keys(d.places)) {
		if d.places[name].tagging[d.vlan] != "" && (name != d.place || d.routed) {
			d.send(name, d.vlan)
		}
	}
	d.lost = false // flooding ignores PortChannels without members
}

// ipFit reports whether a router may forward the packet: RFC 1812, 5.2.2, 5.3.5.1 and 5.3.7; RFC 4291, 2.5.2, 2.5.3
// and 2.7.
func (x *modelPacket) ipFit() bool {
	if !x.whole || !x.sized || x.tags > 1 || x.stag {
		return false
	}
	if x.etherType == 0x0800 {
		sum := uint32(0)
		for i := 0; i < int(x.l3[0]&15)*4; i += 2 {
			sum += uint32(binary.BigEndian.Uint16(x.l3[i:]))
		}
		for sum > 0xffff {
			sum = sum>>16 + sum&0xffff
		}
		if sum != 0xffff {
			return false
		}
	}
	for _, a := range []netip.Addr{x.from, x.to} {
		if a.IsMulticast() || a.IsLoopback() || a.IsUnspecified() ||
			a.Is4() && (a.As4()[0] == 0 || a.As4() == [4]byte{255, 255, 255, 255}) {
			return false
		}
	}
	return true
}

func (d *modelDecision) route() {
	v4 := d.etherType == 0x0800
	switch {
	case !v4 && d.etherType != 0x86dd:
		d.trap("ip2me", "trap")
		return
	case v4 && d.down4[d.rif.name], !v4 && d.down6[d.rif.name]:
		d.reason = "router-down"
		return
	case !d.ipFit():
		d.reason = "ip-header"
		return
	}
	var r *modelRoute
	for i, all := 0, slices.Concat(d.rows, d.routes); i < len(all); i++ {
		if s := &all[i]; s.prefix.Contains(d.to) && (r == nil || s.prefix.Bits() > r.prefix.Bits() ||
			s.prefix == r.prefix && (s.cpu || s.link != "")) {
			r = s
		}
	}
	table := "chip.ipv6_route"
	if v4 {
		table = "chip.ipv4_route"
	}
	if d.path = d.path.and(table, r != nil); r != nil {
		prefix := r.prefix
		if _, known := d.hosts[modelHop{r.link, d.to}]; known { // a neighbour in a connected subnet has a host route
			prefix = netip.PrefixFrom(d.to, d.to.BitLen())
		}
		d.meets("route", prefix.String())
	}
	switch {
	case r != nil && r.cpu && d.to == d.decaps && (d.proto == 4 || d.proto == 41):
		d.reason = "decap"
	case r != nil && r.cpu:
		d.trap("ip2me", "trap")
	case !v4 && (d.from.IsLinkLocalUnicast() || d.to.IsLinkLocalUnicast()): // RFC 4291, 2.5.6
		d.reason = "ip-header"
	case d.ttl <= 1:
		d.trap("ttl_error", "ttl")
	case r == nil, r.drop && r.prefix.Bits() == 0:
		d.reason = "no-route"
	case r.drop:
		d.reason = "blackhole"
	case r.nowhere:
		d.reason = "route"
	default:
		h := modelHop{r.link, d.to}
		switch {
		case r.link == "" && len(r.hops) == 0:
			d.path, d.reason = d.path.and("chip.next_hop", false), "no-next-hop"
			return
		case r.link == "":
			h = r.hops[d.choose(len(r.hops))]
		}
		d.nextHop(h)
	}
}

// trap applies a trap to a packet that is not forwarded.
func (d *modelDecision) trap(name, reason string) {
	d.reason = reason
	if d.traps[name] == "trap" {
		d.copied, d.trapped = true, cmp.Or(d.trapped, name)
	}
}

func (d *modelDecision) nextHop(h modelHop) {
	mac, known := d.hosts[h]
	d.path = d.path.and("chip.next_hop", known)
	if known {
		d.meets("next_hop", h.addr.String())
		d.meets("neighbor", mac)
	} else if h.addr != d.to { // the route has a next hop, unlike a connected subnet
		d.meets("next_hop", h.addr.String())
	}
	if !known {
		d.trap("neighbor_miss", "no-neighbor")
		return
	}
	out, vlan := d.places[h.name], uint16(0)
	rif := &modelInterface{}
	if out != nil {
		rif = out.rif
	} else {
		vlan = modelVID(h.name)
		rif = d.vlans[vlan]
	}
	v4 := d.etherType == 0x0800
	total := 40 + int(binary.BigEndian.Uint16(d.l3[4:]))
	if v4 {
		total = int(binary.BigEndian.Uint16(d.l3[2:]))
	}
	switch {
	case d.deadHosts[h]:
		d.reason = "neighbor"
	case v4 && d.down4[h.name], !v4 && d.down6[h.name]:
		d.reason = "router-out-down"
	case rif == d.rif && rif.loopDrops:
		d.reason = "same-interface"
	case total > rif.mtu:
		d.trap("l3_mtu_error", "l3-mtu")
	case vlan == 0:
		d.routed, d.vlan = true, 0
		d.send(h.name, 0)
	default:
		d.routed, d.vlan = true, vlan
		d.bridge(mac, "", len(d.frame))
	}
}

// send makes a copy that leaves at a port or PortChannel.
func (d *modelDecision) send(place string, vlan uint16) {
	p := d.places[place]
	port := place
	if strings.HasPrefix(place, "PortChannel") {
		if len(p.members) == 0 {
			d.lost = true
			return
		}
		port = p.members[d.choose(len(p.members))]
	}
	length := len(d.frame)
	if d.ctag { // the tag is removed, also a priority tag (IEEE 802.1Q, 6.9), and added where the VLAN is tagged
		length -= 4
	}
	if vlan != 0 && p.tagging[vlan] == "tagged" {
		length += 4
	}
	d.leaves = append(d.leaves, modelCopy{port: port, length: max(length, 60)})
}

// ends returns the ends of all copies.
func (d *modelDecision) ends() (list []modelEnd) {
	path := strings.Join(d.path, " > ")
	if len(d.leaves) > 0 && d.in == d.groupFull {
		return append(list, modelEnd{what: "priority-group", path: path, by: modelBy(d.by)})
	}
	if d.copied {
		e := modelEnd{what: record.EndCPU, path: path, by: modelBy(d.by)}
		if n, metered := d.tokens[d.trapped]; metered && n == 0 {
			e.what = "policer"
		} else if metered {
			d.tokens[d.trapped]--
		}
		if len(d.leaves) == 0 && e.what == record.EndCPU {
			e.why = d.reason
		}
		list = append(list, e)
	}
	if len(d.leaves) == 0 && !d.copied {
		if d.lost {
			d.reason = "no-lag-member"
		}
		return append(list, modelEnd{what: d.reason, path: path, by: modelBy(d.by)})
	}
	for _, c := range d.leaves {
		list = append(list, d.egress(c))
	}
	return list
}

// egress returns the end of one copy after the ingress pipe.
func (d *modelDecision) egress(c modelCopy) modelEnd {
	p := d.places[c.port]
	s, by := d.path, slices.Clip(d.by)
	place := d.places[c.port]
	if lag := d.lagOf[c.port]; lag != "" {
		place = d.places[lag]
	}
	what := record.EndSent
	switch {
	case !p.up:
		what = "egress-port-down"
	case d.queueFull[c.port] != "":
		what = d.queueFull[c.port]
	default:
		if d.late != 0 {
			hit := d.ports && d.dport == d.late
			if s = s.and("egress.filter", hit); hit {
				what = "egress-program"
				break
			}
		}
		if s = s.and("chip.mtu", c.length+4 <= p.mtu); c.length+4 > p.mtu {
			what = "egress-mtu"
			break
		}
		if len(place.out) == 0 {
			break
		}
		var rule swss.FieldValues
		hit := false
		for _, t := range place.out {
			if r := t.match(d.modelPacket); r != nil {
				hit = true
				by = append(by, "egress_rule "+r[modelRule])
				if r["PACKET_ACTION"] == "DROP" {
					rule = r
				}
			}
		}
		if s = s.and("chip.egress_acl", hit); rule != nil {
			what = "egress-acl"
		}
	}
	return modelEnd{what: what, port: c.port, path: strings.Join(s, " > "), by: modelBy(by)}
}
