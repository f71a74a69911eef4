package reference_test

// passiveMutants are mutants of the shortcut for passive programs, and of what runs packets together.
var passiveMutants = []mutant{
	{
		"a passive program waits for the next window, even if it ends there", "engine/advance.go",
		"\tc.ingress.programs.catchUp()\n",
		"",
	},
	{
		"a full vector of a passive program is forgotten", "engine/passive.go",
		"\t\tc.catchUp()\n\t}\n\tc.passive.n++",
		"\t\tc.passive.n = 0\n\t}\n\tc.passive.n++",
	},
	{
		"a passive program does not see the last packet", "engine/passive.go",
		"pipe.Lanes - c.passive.n)\n",
		"pipe.Lanes - max(1, c.passive.n-1))\n",
	},
	{
		"packets without a destination reach the last stage of a passive program", "engine/passive.go",
		"prog.Run(v, on&^c.passive.nowhere, last",
		"prog.Run(v, on, last",
	},
	{
		"the packet before has no destination", "engine/passive.go",
		"c.passive.nowhere |= 1 << (c.passive.n - 1)",
		"c.passive.nowhere |= 1 << max(0, c.passive.n-2)",
	},
	{
		"packets without a destination stay so in the next vector", "engine/passive.go",
		"c.passive.n, c.passive.changed, c.passive.nowhere = 0, 0, 0",
		"c.passive.n, c.passive.changed = 0, 0",
	},
	{
		"a program with tables in the egress pipe is passive", "engine/passive.go",
		"&effects == 0 && c.program.Empty(true) &&",
		"&effects == 0 &&",
	},
	{
		"lookups in tables of a passive program are not noted", "engine/shortcuts.go",
		"c.programs.watches(c.noting || c.found != nil)",
		"c.programs.watches(false)",
	},
	{
		"a passive program leaves no trails", "engine/shortcuts.go",
		"passive := !c.stepping && !c.tracking &&",
		"passive := !c.stepping &&",
	},
	// What runs packets together.
	{
		"a gate with two rows wants both", "pipe/table.go",
		"\t\topen |= row\n",
		"\t\tif open |= row; len(t.gate) > 1 {\n\t\t\topen &= row\n\t\t}\n",
	},
	{
		"a gate with two terms wants one", "pipe/table.go",
		"row &= terms[i].among(p, list)",
		"if row &= terms[i].among(p, list); i > 0 {\n\t\t\t\trow = terms[i].among(p, list)\n\t\t\t}",
	},
	{
		"the second of two hashes of the same inputs is the first", "pipe/run.go",
		"second[l] = sums[l] >> 32 & mask2",
		"second[l] = sums[l] & mask2",
	},
	{
		"a task counts the bytes of all packets", "cmu/run.go",
		"if in+1 == 1<<len(g.packets) {",
		"if true {",
	},
	{
		"packets of a later epoch are tallied in this one", "cmu/run.go",
		" && g.latest-t.start < t.length {",
		" {",
	},
	{
		"a task's last packet is the last of all", "cmu/run.go",
		"g.packets[bits.Len64(uint64(in))-1].Vector[5]",
		"g.packets[len(g.packets)-1].Vector[5]",
	},
	{
		"a unit that only counts saturates a step too late", "cmu/run.go",
		"if *word < below {",
		"if *word <= below {",
	},
	{
		"a result that is read later is not kept", "cmu/unit.go",
		"!t.coins && !t.reads(i) {",
		"!t.coins {",
	},
}
