package reference_test

// shortSeed is the first case in which the differential test must catch shortMutants.
const shortSeed = "30000"

// shortMutants are mutants of packets that a single ACL table only counts or stamps, and of what passive programs see
// of usual packets.
var shortMutants = []mutant{
	// Which programs are passive.
	{
		"a program that drops is passive", "engine/passive.go",
		"headerWords | aclWords | 1<<pipe.WordControl",
		"headerWords | aclWords",
	},
	{
		"a program that chooses traffic classes is passive", "engine/passive.go",
		"headerWords | aclWords | 1<<pipe.WordControl",
		"headerWords | 1<<pipe.WordPorts | 1<<pipe.WordControl",
	},
	{
		"a program that rewrites headers is passive", "engine/passive.go",
		"headerWords | aclWords | 1<<pipe.WordControl",
		"aclWords | 1<<pipe.WordControl",
	},
	// What passive programs see.
	{
		"passive programs see a usual packet's length as that of another", "engine/passive.go",
		"c.program.Reads(false)&^tupleWords != 0",
		"c.program.Reads(false)&^(tupleWords|1<<pipe.WordFrame) != 0",
	},
	// Which packets stay usual.
	{
		"an entry that drops leaves its packets usual", "engine/shortcuts.go",
		"if e == nil || e.act == 0 && !e.noLearn &&",
		"if e == nil || !e.noLearn &&",
	},
	{
		"an entry without learning leaves its packets usual", "engine/shortcuts.go",
		"if e == nil || e.act == 0 && !e.noLearn &&",
		"if e == nil || e.act == 0 &&",
	},
	{
		"an entry that chooses a class leaves its packets usual", "engine/shortcuts.go",
		"!e.noLearn && e.does&^doesStamp == 0 {",
		"!e.noLearn {",
	},
	{"usual packets are in no range", "engine/shortcuts.go", "closing{cutACL, c.acl.ranges.used != 0},", ""},
	{"usual packets are not marked", "engine/shortcuts.go", "closing{cutACL, c.acl.marking.used > 0},", ""},
	{
		"the second of two tables is not looked in", "engine/shortcuts.go",
		"len(p.tables[stageIngress]) != 1 ||",
		"len(p.tables[stageIngress]) == 0 ||",
	},
	// The key, and what follows from a hit.
	{
		"usual packets have no VLAN in ACL", "engine/acl.go",
		"binary.BigEndian.Uint64(b[6:])&^0xffff | uint64(pk.vid&0xfff)",
		"binary.BigEndian.Uint64(b[6:]) &^ 0xffff",
	},
	{"usual packets have no traffic class in ACL", "engine/acl.go", "\tk[8] = uint64(pk.tc)\n", ""},
	{
		"usual packets have their ports exchanged in ACL", "engine/acl.go",
		"word>>32<<32 |",
		"uint64(bits.RotateLeft32(uint32(word>>32), 16))<<32 |",
	},
	{
		"usual packets have no IP flags in ACL", "engine/acl.go",
		"flags<<40 | word<<32>>24 | uint64(ip[6]>>5)",
		"flags<<40 | word<<32>>24",
	},
	{
		"usual packets have no identification in ACL", "engine/acl.go",
		"word>>32<<32 | uint64(binary.BigEndian.Uint16(ip[4:]))",
		"word >> 32 << 32",
	},
	{
		"usual packets do not count in ACL", "engine/shortcuts.go",
		"\tif e.counter != nil {\n\t\te.counter.hit(pk.length + fcsLen)\n\t}\n\tpk.own",
		"\tpk.own",
	},
	{"an entry does not stamp usual packets", "engine/shortcuts.go", "\tpk.own.session = e.stamp\n", ""},
	{
		"usual packets that wait are not stamped", "engine/packet.go",
		"\t\tp.stamp = p.own.session\n",
		"",
	},
	{
		"usual packets leave no notes of ACL", "engine/shortcuts.go",
		"\t\tpk.looked(l.table, e)\n\t}\n\tif e == nil {",
		"\t}\n\tif e == nil {",
	},
	{
		"notes of usual packets are forgotten", "engine/kept.go",
		"case pk.usual && pk.noted == 0 ||",
		"case pk.usual && !pk.edited ||",
	},
	// What packets routed out of VLANs and into them need besides.
	{
		"an address that has moved takes the shortcut to the router", "engine/shortcuts.go",
		"from == nil || from.to != in.source {",
		"from == nil {",
	},
	{
		"an FDB entry that drops is usual behind a router", "engine/shortcuts.go",
		"to == nil || to.act != 0 || !to.to.member(out.vlan.id)",
		"to == nil || !to.to.member(out.vlan.id)",
	},
	// What stamped packets need besides.
	{
		"a second of the clock has no end for records", "engine/tod.go",
		"r.of == t && x < r.span && y < r.span {",
		"r.of == t && x < r.span {",
	},
	{
		"the other direction keeps its old speed", "engine/port.go",
		"\tp.txRate = p.rate\n",
		"\tif p.txRate.den == 0 {\n\t\tp.txRate = p.rate\n\t}\n",
	},
}
