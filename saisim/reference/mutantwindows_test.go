package reference_test

// windowMutants are mutants of the path in windows, and of the shortcuts of most packets, station by station.
var windowMutants = []mutant{
	// Receiving and admission.
	{
		"a frame does not wait for the one before it on its wire", "engine/mac.go",
		"if sfd.before(p.rxFree) {",
		"if false {",
	},
	{
		"frames come without a gap between them", "engine/mac.go",
		"p.rate.after(end, p.rate.between)",
		"p.rate.after(end, p.rate.preamble)",
	},
	{
		"short frames that came to groups count as to one host", "engine/mac.go",
		"n <= 64 && pk.data[0]&1 == 0",
		"n <= 64",
	},
	{
		"a frame as long as the MTU is too long", "engine/mac.go",
		"uint32(pk.length)+fcsLen > p.mtu",
		"uint32(pk.length)+fcsLen >= p.mtu",
	},
	{"refused frames have no bytes", "engine/mac.go", "\tp.totals.ReceivedBytes += uint64(pk.length + fcsLen)\n", ""},
	{"a tag that is cut off is no tag", "engine/mac.go", "len(data) >= ethernetHeader && binary", "true || binary"},
	// The short parse.
	{
		"first fragments take the short parse", "engine/parse.go",
		"binary.BigEndian.Uint16(b[6:])&0x3fff == 0",
		"binary.BigEndian.Uint16(b[6:])&0x1fff == 0",
	},
	{
		"packets that are cut take the short parse", "engine/parse.go",
		"total >= 20+20 && total <= len(b) &&",
		"total >= 20+20 &&",
	},
	{
		"TCP flags are those of the urgent pointer, on the short parse", "engine/parse.go",
		"h.tcpFlags = b[33]",
		"h.tcpFlags = b[38]",
	},
	{
		"the short parse has the DSCP without ECN", "engine/parse.go",
		"h.tos, h.ttl, h.proto = b[1], b[8], proto",
		"h.tos, h.ttl, h.proto = b[1]&^3, b[8], proto",
	},
	// The ingress pipe, and its shortcuts.
	{"a packet begins with what one before it was", "engine/core.go", "\tpk.flight = flight{}\n", ""},
	{
		"the short way leaves no trails", "engine/shortcuts.go",
		"closing{cutIngress | cutAdmission | cutPassage, c.tracking},",
		"closing{cutPassage, c.tracking},",
	},
	{
		"an address that has moved takes the short way", "engine/shortcuts.go",
		"from == nil || from.to != in.source ||",
		"from == nil ||",
	},
	{
		"the short way leads back", "engine/shortcuts.go",
		"out := to.to; out != in.source && out.admin",
		"out := to.to; out.admin",
	},
	{
		"the short way has traffic class 0", "engine/shortcuts.go",
		"p.number, p.class.defaultTC, p.in.priority",
		"p.number, 0, p.in.priority",
	},
	{
		"the short way is a cycle longer", "engine/shortcuts.go",
		"pk.plain, pk.to, pk.why = true, out, drop.NoDestination\n\tc.pipe.Push(timed{at + c.ingressCycles,",
		"pk.plain, pk.to, pk.why = true, out, drop.NoDestination\n\tc.pipe.Push(timed{at + c.ingressCycles + 1,",
	},
	{
		"packets are usual before ACL has seen them", "engine/shortcuts.go",
		"if r != nil || !p.unlisted() {",
		"if r != nil {",
	},
	{
		"an entry that drops does not, on the short way", "engine/shortcuts.go",
		"return p.act == 0 && !p.aclDrop &&",
		"return",
	},
	{
		"a port keeps no packets off the short way", "engine/ingress.go",
		"(c.off|p.off)&cutAdmission == 0",
		"c.off&cutAdmission == 0",
	},
	{
		"what a program has rewritten is not carried", "engine/shortcuts.go",
		"(program.Writes(true)|program.Writes(false))&headerWords",
		"program.Writes(true)&headerWords",
	},
	{
		"the only entry of a table does no more than stamp", "engine/acl.go",
		"e == nil || e.does&^(doesStamp|doesMark) == 0 {",
		"true {",
	},
	{
		"the only entry of a table does not drop", "engine/acl.go",
		"pk.aclDrop, pk.noLearn, pk.stamp = e.act&actDrop != 0, e",
		"pk.aclDrop, pk.noLearn, pk.stamp = false, e",
	},
	{
		"the only entry of a table does not mark", "engine/acl.go",
		"\tif e.does&doesMark != 0 {\n\t\tc.mark(pk, e.mark, t)",
		"\tif false {\n\t\tc.mark(pk, e.mark, t)",
	},
	{
		"the only entry of a table counts without the FCS", "engine/acl.go",
		"e.counter.hit(pk.length + fcsLen)",
		"e.counter.hit(pk.length)",
	},
	{
		"all that goes to one bridge port is plain, if the CPU has a copy, too", "engine/shortcuts.go",
		"v.kind == toPort) && !v.cpu &&",
		"v.kind == toPort) &&",
	},
	{
		"plain packets are not mirrored", "engine/shortcuts.go",
		"!v.cpu && !p.accompanied() &&",
		"!v.cpu &&",
	},
	{
		"plain packets run no egress program", "engine/shortcuts.go",
		"p.run == nil && p.graph == nil &&",
		"p.graph == nil &&",
	},
	{
		"plain packets have no trail", "engine/shortcuts.go",
		"p.run == nil && p.graph == nil &&",
		"p.run == nil &&",
	},
	{
		"frames that go nowhere end twice where paths are counted", "engine/ingress.go",
		"\tc.recording.countPath(pk, &was)\n\tc.fates",
		"\tc.recording.countPath(pk, &was)\n\tc.recording.countPath(pk, &was)\n\tc.fates",
	},
	{
		"tagged frames are in the VLAN of those without a tag", "engine/ingress.go",
		"v != nil && h.flags&flagTagged == 0 {",
		"v != nil {",
	},
	{"untagged frames are not routed", "engine/ingress.go", "pk.vid, pk.router = in.pvid, v.rif", "pk.vid = in.pvid"},
	{
		"with a program addresses age only between vectors", "engine/ingress.go",
		"\t\tc.bridge.sweepBefore(x.at)\n\t\tif x.p == nil",
		"\t\tif x.p == nil",
	},
	{
		"packets of a vector are seen when the last came", "engine/ingress.go",
		"\t\tc.now = x.at\n\t\tc.bridge.sweepBefore(x.at)\n",
		"\t\tc.bridge.sweepBefore(x.at)\n",
	},
	{
		"packets of a vector leave the pipe together", "engine/ingress.go",
		"\t\tc.now = x.at\n\t\tpk := x.pk\n\t\tif on>>i&1 != 0 {\n\t\t\tc.programs.steer",
		"\t\tpk := x.pk\n\t\tif on>>i&1 != 0 {\n\t\t\tc.programs.steer",
	},
	// Windows and the wheel.
	{
		"the short way leaves a program out", "engine/shortcuts.go",
		"closing{cutIngress, program != nil && !passive},",
		"",
	},
	{
		"schedulers wait while packets come", "engine/advance.go",
		"if c.agenda.has(c.now, at) {",
		"if false {",
	},
	{
		"the egress pipe takes several ports at once", "engine/advance.go",
		"event{max(c.now, c.queues.egressFree), eventKey",
		"event{c.now, eventKey",
	},
	{
		"frames that leave a window's ingress pipe last are forgotten", "engine/advance.go",
		"\tc.ingress.run(c.together[:n])\n\tc.ingress.programs",
		"\tc.ingress.run(c.together[:max(n-1, 0)])\n\tc.ingress.programs",
	},
	{
		"a window leaves time where its ingress was", "engine/advance.go",
		"c.now, c.during = now, whenManaged",
		"c.during = whenManaged",
	},
	{
		"the wheel holds a cycle too many", "engine/wheel.go",
		"cp.at-w.at < wheelSpan { // the only",
		"cp.at-w.at <= wheelSpan { // the only",
	},
	{
		"the wheel takes in what is a cycle too far", "engine/wheel.go",
		"w.far[0].at-w.at < wheelSpan",
		"w.far[0].at-w.at <= wheelSpan",
	},
	{"ports of a cycle come as they have come", "engine/wheel.go", "last.lane <= cp.lane {", "true {"},
	{"the wheel gives what is due a cycle later", "engine/wheel.go", "u &= 2<<n - 1", "u &= 4<<n - 1"},
	// Copies.
	{"the only copy has no tag changed", "engine/shortcuts.go", "1, 1, to.tagging(p)", "1, 1, tagAction{}"},
	{"priority tags are tags", "engine/replicate.go", "\t\twant = 0\n", ""},
	{"frames for the CPU come before those that left earlier", "engine/replicate.go", "\tc.wires.run(now)\n", ""},
	{
		"time goes back after a frame for the CPU", "engine/replicate.go",
		"\tc.now = now\n\tif pk.graph",
		"\tif pk.graph",
	},
	{
		"copies are not in the books", "engine/replicate.go",
		"c.frameCounts.Copies += uint64(n - 1)",
		"c.frameCounts.Copies += uint64(n) / 2",
	},
	{
		"the ledger has pairs of copies only", "engine/replicate.go",
		"c.ledger != nil && n > 1 {",
		"c.ledger != nil && n > 2 {",
	},
	{"the ledger does not hear of drops", "engine/fates.go", "\t\tc.ledger.Dropped(pk.id, why)\n", ""},
	// Queues, the traffic manager and the egress pipe.
	{
		"packets go straight on to a MAC that is not free", "engine/shortcuts.go",
		"c.egressFree <= c.now && p.txFree.cycle <= c.now+c.egressCycles &&",
		"c.egressFree <= c.now &&",
	},
	{
		"a record takes no time on the wire, on the short way", "engine/shortcuts.go",
		"\t\t\tlength = stampedLen(length)\n",
		"",
	},
	{"what is edited leaves as it came", "engine/shortcuts.go", "if pk.edited || cp.session", "if cp.session"},
	{
		"what has another tag leaves as it came", "engine/shortcuts.go",
		"(!pk.edited || pk.untaggedIPv4) && cp.tag.op == tagKeep",
		"(!pk.edited || pk.untaggedIPv4)",
	},
	{
		"a packet passes while the egress pipe is busy", "engine/queue.go",
		"p.queues.Len() == 0 && c.egressFree <= c.now && p.tx",
		"p.queues.Len() == 0 && p.tx",
	},
	{
		"queues are empty for what is queued", "engine/queue.go",
		"\tcp.depth = uint32(min(p.queues.Queue(int(cp.queue)).Bytes(), 1<<32-1))\n",
		"",
	},
	{
		"a MAC sends two frames at once", "engine/queue.go",
		"\tif pre.before(p.txFree) {\n\t\tpre",
		"\tif false {\n\t\tpre",
	},
	{
		"short frames are not padded on the wire", "engine/queue.go",
		"p.txRate.frames(WireLen(length))",
		"p.txRate.frames(uint32(length) + fcsLen)",
	},
	{"the turn passes to a port again and again", "engine/queue.go", "\tc.served = p.id\n", ""},
	{"what passes a queue takes one cell", "tm/port.go", "uint64(n) <= b.CellBytes && pool", "pool"},
	{"what passes a queue needs no room", "tm/port.go", "pool.free() >= 1\n", "pool.free() >= 0\n"},
	{"what passes a queue leaves no high watermark", "tm/port.go", "if q.MaxBytes < uint64(n) {", "if false {"},
	{"what passes a queue takes no turn", "tm/port.go", "\tp.turn = i\n\tp.pass()\n}", "\tp.pass()\n}"},
	// The egress MACs, and what ports count.
	{
		"short frames that leave for groups count as for one host", "engine/transmit.go",
		"n <= 64 && data[0]&1 == 0",
		"n <= 64",
	},
	{"stamps are not counted", "engine/transmit.go", "\t\tcp.session.count(cp.result)\n", ""},
	{
		"what cannot be stamped is, on the short way", "engine/shortcuts.go",
		"stamped = cp.result == stampDone\n",
		"stamped = true\n",
	},
	{
		"a stamped frame is as long as before", "engine/shortcuts.go",
		"return data, len(data), true",
		"return data, pk.length, true",
	},
	{"frames that leave are not in the books", "engine/transmit.go", "\tc.frameCounts.Sent++\n", ""},
	{"all of a window leaves at its end", "engine/transmit.go", "\t\t\tc.now = cp.at\n", ""},
	{
		"frames that leave forget where they came in", "engine/transmit.go",
		"o.In, o.At, o.Data, o.Len, o.Stamped, o.ID = p.id, pk.in,",
		"o.In, o.At, o.Data, o.Len, o.Stamped, o.ID = p.id, p.id,",
	},
	{"short frames have no size", "engine/tally.go", "\td.Sizes[0]++\n", ""},
	{
		"spans of the last frame are without the gap", "engine/clock.go",
		"r.span(n), r.span(n+gap), n",
		"r.span(n), r.span(n), n",
	},
	{
		"the span of the last frame is that of the next", "engine/clock.go",
		"if n != r.frameBytes {",
		"if n > r.frameBytes {",
	},
	{
		"a fraction of a whole cycle stays one", "engine/clock.go",
		"if a.frac += s.rest; a.frac >= r.den {",
		"if a.frac += s.rest; a.frac > r.den {",
	},
}
