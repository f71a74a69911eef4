package reference_test

// addedSeed is the first case in which the differential test must catch addedMutants.
const addedSeed = "20000"

// addedMutants are mutants of features that only the cases of isAdded have.
var addedMutants = []mutant{
	{"a queue that is held keeps its credit", "tm/shaper.go", "\tq.credit = 0\n", ""},
	{"a queue that is held keeps its turn", "tm/shaper.go", "p.turn == i && p.strict>>i&1 == 0", "false"},
	{"a bucket holds a token too many", "tm/shaper.go", "b.Burst*b.hz-b.has)", "(b.Burst+1)*b.hz-b.has)"},
	{"shapers meter bytes without FCS", "tm/shaper.go", "parts *= frameBytes(n)", "parts *= n"},
	{"a bucket that shrinks keeps its tokens", "tm/shaper.go", "\tb.has = min(b.has, s.Burst*hz)\n", ""},
	{"a shaper that lets a frame through earlier is not seen", "engine/shape.go",
		"c.wake(p, max(c.mayLeave(p), c.now+1))", "c.wake(p, max(c.mayLeave(p), c.now+2))"},
	{"a frame waits for those that are held", "engine/shape.go", "c.mayLeave(p) < p.wakes", "false"},
	{"a directed broadcast is looked up in the FDB", "engine/router.go", "if hop.mac == broadcast {", "if false {"},
	{"a DSCP has the colour of half of it", "engine/class.go", "m.dscp[h.tos>>2]", "m.dscp[h.tos>>3]"},
	{"packets of all colours are green in queues", "tm/port.go", "w := &q.WRED[colour]", "w := &q.WRED[Green]"},
	{"counters of traps count bytes without FCS", "engine/trap.go", "n.Bytes += bytes", "n.Bytes += bytes - 4"},
	{"LAGs and groups hash all fields", "engine/hash.go", "h, start := h.without(by.Without),", "h, start := h,"},
	{"a hash forgets the ingress port", "engine/hash.go", "if by.InPort {", "if false {"},
	{"usual packets ignore the ingress port", "engine/hash.go", "by.Without == 0 && !by.InPort &&", "by.Without == 0 &&"},
	{"the upper half of a CRC-32 is the lower", "engine/hash.go", "crc32Hash(words) >> 16", "crc32Hash(words) & 0xffff"},
	{"a CRC begins with zeros", "engine/hash.go", "crc := uint16(0xffff)", "crc := uint16(0)"},
	{"linear hashes of fragments have ports", "engine/hash.go", "words = k[:5]", "words = k[:6]"},
	{"a linear hash forgets the protocol", "engine/hash.go", "start ^ uint64(h.proto), h.src[0]", "start, h.src[0]"},
	{"usual packets hash all fields", "engine/shortcuts.go", "closing{cutRouting, !isUsual(&c.router.ecmpHash)},",
		"closing{cutRouting, false},"},
}
