package reference_test

// buffersSeed is the first case in which the differential test must catch bufferMutants.
const buffersSeed = "60000"

// bufferMutants are mutants of ingress accounts and of flow control.
var bufferMutants = []mutant{
	{"packets use no reserved cells", "tm/group.go", "own := min(cells, g.unused())", "own := uint64(0)"},
	{"reserved cells are within the limit", "tm/group.go", "max(g.base(), g.Reserved)-g.Reserved+cells",
		"g.base()+cells"},
	{"groups share headroom without end", "tm/group.go",
		"(g.Own || rest <= p.Headroom-min(p.Headroom, p.inHeadroom))", "true"},
	{"a group has all headroom of its pool", "tm/group.go", "rest <= g.Headroom-min(g.Headroom, g.headroom) &&",
		"g.Headroom > 0 &&"},
	{"used cells stay reserved", "tm/group.go", "\tp.reserved -= own\n", ""},
	{"headroom is freed last", "tm/group.go", "min(g.headroom, cells)", "min(g.headroom, cells-min(cells, g.base()))"},
	{"a group resumes with packets in the headroom", "tm/group.go", "g.headroom == 0 && ", ""},
	{"a group resumes at its limit", "tm/group.go", "most-min(most, g.XonOffset)", "most"},
	{"a group resumes only below its limit", "tm/group.go", "max(g.Xon, most-min(most, g.XonOffset))",
		"most-min(most, g.XonOffset)"},
	{"an empty group pauses", "tm/group.go", "g.Headroom > 0 && g.cells > 0", "g.Headroom > 0"},
	{"headroom of a group is free for others", "tm/group.go", "\t\tp.reserved += sign * g.Headroom\n", ""},
	{"a group without headroom stays paused", "tm/group.go", "g.paused && s.On && s.Headroom > 0", "g.paused && s.On"},
	{"the watermark of shared cells has all cells", "tm/group.go", "max(g.MaxShared, g.Shared())",
		"max(g.MaxShared, g.cells)"},
	{"the charge ends with the first copy", "engine/queue.go", "\t\tcp.pk.held++\n", ""},
	{"mirror copies end the charge", "engine/queue.go", "if cp.pk.held > 0 && cp.mirror == nil {\n\t\tc.uncharge",
		"if cp.pk.held > 0 {\n\t\tc.uncharge"},
	{"packets for the CPU only are not charged", "engine/replicate.go", "(v.kind != noDestination || v.cpu)",
		"v.kind != noDestination"},
	{"plain packets are not charged", "engine/shortcuts.go", "closing{cutReplication, c.queues.accounts.on > 0},",
		"closing{cutReplication, false},"},
	{"watermarks miss changes of settings", "engine/advance.go", "\t\tc.queues.observe()\n", ""},
	{"a pause begins a cycle late", "engine/pfc.go", "x.until[i] = f.at + ", "x.until[i] = c.now + "},
	{"a port obeys all priorities", "engine/pfc.go", "if p.flow.RX>>i&1 != 0 {", "if true {"},
	{"the last priority of a queue decides", "engine/pfc.go", "until[q] = max(until[q], p.flow.until[i])",
		"until[q] = p.flow.until[i]"},
	{"a port pauses all priorities of a group", "engine/pfc.go", "vector |= p.flow.TX & (1 << i)", "vector |= 1 << i"},
	{"a waiting port does not see a frame of flow control", "engine/pfc.go", "if c.waiting.has(p.id) && p.txFree",
		"if false && p.txFree"},
	{"a pause is not refreshed", "engine/pfc.go", "p.flow.due[i] <= c.now {", "false {"},
	{"a pause lasts a cycle too long", "tm/shaper.go", "q.paused-min(q.paused, now))", "q.paused+1-min(q.paused, now))"},
	{"a frame of flow control goes on", "engine/mac.go", "&& c.receivePause(p, at, f, n) {", "&& false {"},
}
