package reference_test

// routedMutants are mutants of routing: prefixes, next hops and groups, router interfaces, and what leaves.
var routedMutants = []mutant{
	// The shortcut of routed packets.
	{
		"a packet with TTL 1 is routed", "engine/router.go",
		"ip[8] <= 1 || !routable",
		"ip[8] < 1 || !routable",
	},
	{
		"a routed packet's checksum is not checked", "engine/router.go",
		"!routable(binary.BigEndian.Uint32(ip[16:])) || !correct(ip) {",
		"!routable(binary.BigEndian.Uint32(ip[16:])) {",
	},
	{
		"packets from network 127 are routed", "engine/router.go",
		"net-1 < 126 || net > 127 &&",
		"net-1 < 127 || net > 127 &&",
	},
	{"packets to network 0 are routed", "engine/router.go", "net-1 < 126 || net > 127 &&", "net < 127 || net > 127 &&"},
	{"groups are routed", "engine/router.go", "net > 127 && a>>28 != 0xe &&", "net > 127 &&"},
	{"the broadcast address is routed", "engine/router.go", "a>>28 != 0xe && a != 0xffffffff", "a>>28 != 0xe"},
	{
		"routes that drop or copy are usual", "engine/router.go",
		"d == nil || d.act != 0 {\n\t\treturn nil, nil",
		"d == nil {\n\t\treturn nil, nil",
	},
	{
		"a neighbour that is unknown is usual", "engine/router.go",
		"hop == nil || !hop.known || hop.act",
		"hop == nil || hop.act",
	},
	{
		"a neighbour that traps is usual", "engine/router.go",
		"!hop.known || hop.act != 0 {\n\t\treturn nil, nil",
		"!hop.known {\n\t\treturn nil, nil",
	},
	{"a usual packet leaves by its own interface", "engine/router.go", "out == r && !out.loopback || uint32", "uint32"},
	{
		"the hash of a usual packet forgets its ports", "engine/hash.go",
		"endHash(mixHash(x, uint64(binary.BigEndian.Uint32(ip[20:]))))",
		"endHash(x)",
	},
	{
		"a packet a byte longer than the MTU is usual", "engine/router.go",
		"ip[2:])) > out.mtu",
		"ip[2:])) > out.mtu+1",
	},
	{"a closed interface is usual", "engine/router.go", "!out.up4 || out == r", "out == r"},
	{"IPv4 routing that is off is usual", "engine/router.go", "!r.vr.routes4 || !r.up4 || ip[8]", "!r.up4 || ip[8]"},
	{"an interface in that is down is usual", "engine/router.go",
		"!r.vr.routes4 || !r.up4 || ip[8]", "!r.vr.routes4 || ip[8]"},
	{
		"a routed packet with a group's source address is usual", "engine/shortcuts.go",
		"hop == nil || smac>>40&1 != 0 {",
		"hop == nil {",
	},
	{
		"a routed packet does not refresh its address", "engine/shortcuts.go",
		"\t\tfrom.seen = at\n\t\tif c.noting",
		"\t\tif c.noting",
	},
	{
		"a bridge port that left the VLAN is usual behind a router", "engine/shortcuts.go",
		"to.act != 0 || !to.to.member(out.vlan.id) || !to.to.admin",
		"to.act != 0 || !to.to.admin",
	},
	{
		"a bridge port that is down is usual behind a router", "engine/shortcuts.go",
		"!to.to.member(out.vlan.id) || !to.to.admin",
		"!to.to.member(out.vlan.id)",
	},
	{"routed packets are not counted in", "engine/shortcuts.go", "\tr.count(rifIn, pk.length+fcsLen)\n", ""},
	{"routed packets are not counted out", "engine/shortcuts.go", "\tout.count(rifOut, pk.length+fcsLen)\n", ""},
	{
		"a routed packet keeps the VLAN where it came in", "engine/shortcuts.go",
		"pk.source, pk.vid, pk.plain, pk.out, pk.why = nil, 0,",
		"pk.source, pk.vid, pk.plain, pk.out, pk.why = nil, pk.vid,",
	},
	{
		"what is routed to a LAG is for one port", "engine/shortcuts.go",
		"pk.plain, pk.verdict.kind, pk.verdict.lag = false, toLAG,",
		"pk.verdict.kind, pk.verdict.lag = toLAG,",
	},
	{
		"a packet keeps the edit of one before it", "engine/core.go",
		"\t\tpk.edit, pk.transit.marked = edit{}, marked{}\n",
		"",
	},
	{
		"a packet that was put into a header is edited as before", "engine/outer.go",
		"pk.h, pk.untaggedIPv4 = headers{}, false",
		"pk.h = headers{}",
	},
	{"a packet whose header changes in ACL is usual", "engine/shortcuts.go", " && pk.noted&notedOuter == 0 {", " {"},
	{"a routed packet forgets where it came in", "engine/packet.go", "\t\t\tp.router = p.met.router\n", ""},
	{"ports without their DSCP map", "engine/shortcuts.go", "\t\tpk.tc = p.class.dscp[tos>>2]\n", ""},
	{
		"DHCP takes the shortcut", "engine/shortcuts.go",
		"return false\n\t\t}\n\t}\n\tif c.traps.udp &&",
		"return false\n\t\t}\n\t}\n\tif false &&",
	},
	{
		"the LAG of a packet is forgotten before ACL", "engine/shortcuts.go",
		"pk.source, pk.router, pk.lag = p.in.source, p.in.untaggedRIF, p.in.lag",
		"pk.source, pk.router = p.in.source, p.in.untaggedRIF",
	},
	{
		"bridged packets forget the router of their VLAN", "engine/shortcuts.go",
		"if r != nil || !p.unlisted() {",
		"if !p.unlisted() {",
	},
	// What is routed.
	{
		"packets to the switch's address are not routed at interfaces with their own", "engine/ingress.go",
		"pk.h.dmac == pk.router.mac || pk.h.dmac == c.switchMAC && c.switchMAC != 0)",
		"pk.h.dmac == pk.router.mac)",
	},
	{"a TTL of 2 is not routed", "engine/router.go", "case h.ttl <= 1:", "case h.ttl <= 2:"},
	{"a TTL of 0 is routed", "engine/router.go", "case h.ttl <= 1:", "case h.ttl == 1:"},
	{"an entry routes a TTL of 1", "engine/ingress.go", "if h.ttl <= 1 {", "if h.ttl < 1 {"},
	{
		"packets to the switch itself need a TTL", "engine/router.go",
		"case d != nil && d.kind == destCPU && d.act&actDrop == 0:",
		"case d != nil && d.kind == destCPU && d.act&actDrop == 0 && h.ttl > 1:",
	},
	{"link-local addresses are routed", "engine/router.go", "case h.onLink():", "case false:"},
	{"packets with two tags are routed", "engine/router.go", " || h.flags&flagTwoTags != 0 {", " {"},
	{
		"a wrong IPv4 checksum is routed", "engine/router.go",
		"\n\t\tchecksum(pk.data[h.l3:][:int(pk.data[h.l3]&15)*4]) == 0",
		" true",
	},
	{
		"the IPv4 checksum is without options", "engine/router.go",
		"checksum(pk.data[h.l3:][:int(pk.data[h.l3]&15)*4])",
		"checksum(pk.data[h.l3:][:20])",
	},
	{"the router routes IPv4 while it is down for it", "engine/router.go",
		"return v4 && v.routes4 || !v4 && v.routes6", "return v4 || v.routes6"},
	// Prefixes.
	{"there is no default route", "engine/fib.go", "octet; i > 0; i >>= 1", "octet; i > 1; i >>= 1"},
	{"a host route is behind a shorter prefix", "engine/fib.go", "i := 256 | octet;", "i := 128 | octet>>1;"},
	{
		"the last bit of a prefix does not count", "engine/fib.go",
		"1<<n | a.octet(level)>>(8-n)",
		"1<<n | a.octet(level)>>(8-n)&^1",
	},
	{"the last octet of an address does not count", "engine/fib.go", "deep == levels || !n", "deep == levels-1 || !n"},
	{
		"prefixes that end in earlier octets are not found", "engine/fib.go",
		"if len(n.dests) > 0 {\n",
		"if longest = nil; len(n.dests) > 0 {\n",
	},
	{
		"a removed prefix stays", "engine/fib.go",
		"\ti := n.index(bit)\n\tn.dests = slices.Delete(",
		"\tif true {\n\t\treturn\n\t}\n\ti := n.index(bit)\n\tn.dests = slices.Delete(",
	},
	{
		"a default route that drops is a black hole", "engine/router.go",
		"if d.route.Prefix.Bits() == 0 {",
		"if false {",
	},
	{"a route that copies does not", "engine/router.go", "if pk.act |= d.act; d.act", "if d.act"},
	{
		"of several neighbours with one address the last counts", "engine/routerrows.go",
		"return a.rif.order() - b.rif.order()",
		"return b.rif.order() - a.rif.order()",
	},
	{
		"a route to an interface takes any neighbour with its address", "engine/routerrows.go",
		"if adj.rif == x {",
		"if x != nil {",
	},
	{
		"a neighbour replaces the route to its address", "engine/routerrows.go",
		"\tcase d.route != nil:\n",
		"\tcase d.route != nil && len(d.hosts) == 0:\n",
	},
	// Next hops, groups and neighbours.
	{
		"groups choose their first member", "engine/router.go",
		"d.group.choose(hashOf(h, pk.in, &c.ecmpHash, saltECMP))",
		"d.group.choose(0)",
	},
	{
		"entries choose the first member of a group", "engine/ingress.go",
		"e.group.choose(hashOf(h, pk.in, &c.router.ecmpHash, saltECMP))",
		"e.group.choose(0)",
	},
	{
		"the last member of a group is never chosen", "engine/model.go",
		"0, len(g.members)-1",
		"0, max(len(g.members)-2, 0)",
	},
	{"the weights of members do not count", "engine/routerrows.go", "g.total += uint64(m.Weight)", "g.total++"},
	{
		"a changed group keeps its first members", "engine/routerrows.go",
		"g.members, g.total = g.members[:0], 0",
		"g.members, g.total = g.members[:len(g.members)/2], 0",
	},
	{"groups ignore the seed of the hash", "engine/hash.go", "uint64(by.Seed)<<32|salt", "salt"},
	{"a neighbour that is gone is still used", "engine/router.go", "case !hop.known:", "case !hop.known && hop.mac == 0:"},
	{
		"a neighbour that moves is sent to where it was", "engine/routerrows.go",
		"\ta.mac, a.act = mac48(r.MAC[:]), actionsOf(r.Action)\n",
		"\tif a.act = actionsOf(r.Action); a.mac == 0 {\n\t\ta.mac = mac48(r.MAC[:])\n\t}\n",
	},
	{
		"a neighbour that drops does not", "engine/router.go",
		"\tcase hop.act&actDrop != 0:\n\t\treturn drop.Neighbor\n",
		"",
	},
	{"a neighbour that copies does not", "engine/router.go", "\tpk.act |= hop.act\n", ""},
	{
		"an unknown neighbour is trapped whatever the interface is set to", "engine/router.go",
		"if c.traps.states[config.TrapNeighborMiss].set {",
		"if true {",
	},
	// Router interfaces.
	{"an interface that is down for IPv4 sends it", "engine/router.go", "case !r.up(v4):", "case !r.up(v4) && !v4:"},
	{
		"no packet leaves where it arrived", "engine/router.go",
		"case r == pk.router && !r.loopback &&",
		"case r == pk.router &&",
	},
	{"every packet may leave where it arrived", "engine/router.go", "case r == pk.router && !r.loopback &&",
		"case false &&"},
	{"a packet as long as the MTU is too long", "engine/router.go", "case h.ipLen > r.mtu:", "case h.ipLen >= r.mtu:"},
	{"a packet may be a byte longer than the MTU", "engine/router.go", "case h.ipLen > r.mtu:", "case h.ipLen > r.mtu+1:"},
	{
		"a packet too long is an error where it arrived", "engine/router.go",
		"pk.act&actCopy == 0 && why != drop.L3MTU {",
		"pk.act&actCopy == 0 {",
	},
	{
		"a packet too long is no error where it should leave", "engine/router.go",
		"\t\tr.count(rifOutError, pk.length+fcsLen)\n",
		"",
	},
	{"interfaces count received packets without FCS", "engine/router.go", "\tn += fcsLen\n", ""},
	{
		"a sent packet counts where it arrived", "engine/router.go",
		"\t\tr.count(rifOut, pk.length+fcsLen)\n",
		"\t\tif r = pk.router; r != nil {\n\t\t\tr.count(rifOut, pk.length+fcsLen)\n\t\t}\n",
	},
	{
		"a packet that does not leave counts as sent", "engine/router.go",
		"\tif pk.verdict.kind != noDestination {\n\t\tr.count(rifOut",
		"\tif true {\n\t\tr.count(rifOut",
	},
	{
		"a VLAN looks up the address to which a packet came", "engine/router.go",
		"c.bridge.toMAC(pk, r.vlan, hop.mac)",
		"c.bridge.toMAC(pk, r.vlan, h.dmac)",
	},
	{
		"a routed packet does not leave by the bridge port where it arrived", "engine/router.go",
		"pk.source, pk.vid, pk.ipMTU = nil, 0, r.mtu",
		"pk.vid, pk.ipMTU = 0, r.mtu",
	},
	{
		"a routed packet is still in the VLAN where it arrived", "engine/router.go",
		"pk.source, pk.vid, pk.ipMTU = nil, 0, r.mtu",
		"pk.source, pk.ipMTU = nil, r.mtu",
	},
	{
		"routed packets have class 0", "engine/router.go",
		"\tpk.edit.hop = hop\n",
		"\tpk.edit.hop, pk.tc = hop, 0\n",
	},
	{"classes are by the upper bits of the DSCP", "engine/class.go", "q.dscp[h.tos>>2]", "q.dscp[h.tos>>3]"},
	// What leaves.
	{
		"the source address is that of the switch", "engine/router.go",
		"true, true, hop.mac, r.mac",
		"true, true, hop.mac, c.switchMAC",
	},
	{
		"the source address is that of the interface where a packet arrived", "engine/router.go",
		"\tpk.edit.hop = hop\n",
		"\tif pk.edit.hop = hop; pk.router != nil {\n\t\tpk.edit.smac = pk.router.mac\n\t}\n",
	},
	{
		"the source address is that of the neighbour", "engine/rewrite.go",
		"PutUint32(b[8:], uint32(e.smac))",
		"PutUint32(b[8:], uint32(e.dmac))",
	},
	{"the TTL decreases by two", "engine/checksum.go", "\tip[8]--\n", "\tip[8] -= 2\n"},
	{"the hop limit stays", "engine/rewrite.go", "b[l3+7]--", "b[l3+7] += 0"},
	{
		"the checksum is of the TTL as received", "engine/checksum.go",
		"+ 0xffff - 0x100\n",
		"+ 0xffff\n",
	},
	{
		"the checksum is changed by the wrong byte", "engine/checksum.go",
		"+ 0xffff - 0x100\n",
		"+ 0xffff - 1\n",
	},
	{
		"a priority tag stays on what leaves by a port", "engine/replicate.go",
		"if pk.edited && pk.edit.routed && pk.vid == 0 {",
		"if false {",
	},
	{
		"a LAG sends all by its first member", "engine/bridge.go",
		"l.active[hashOf(&pk.h, pk.in, &c.lagHash, saltLAG)%n]",
		"l.active[0]",
	},
}
