package reference_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A mutant is a wrong fast engine, with one piece of its source replaced. The piece must occur exactly once. If the
// engine no longer contains it, choose another piece.
type mutant struct {
	wrong    string // description of the defect
	file     string // path below saisim
	old, new string
}

var mutants = []mutant{
	{"the gap on the wire is a byte short", "engine/clock.go", "gap         = 12", "gap         = 11"},
	{"a sequential ACL group goes on after a hit", "engine/acl.go", "ended = l.group", "ended = 0"},
	{"saturating addition wraps", "pipe/alu.go", "if s := (a + b) & u.mask; s >= a {", "if s := (a + b) & u.mask; true {"},
	{"an egress mirror copy loses its congestion mark", "engine/queue.go", "cp.ce = cp.ce || v == tm.Marked",
		"cp.ce = v == tm.Marked"},
	{"the ingress pipe takes a frame a cycle late", "engine/mac.go", "c.entered = at + 1\n", "c.entered = at + 2\n"},
	{"the egress pipe takes a frame every other cycle", "engine/queue.go", "c.egressFree = c.now + 1",
		"c.egressFree = c.now + 2"},
	{"the lower priority of ACL entries wins", "engine/tuple.go", "return e.priority > f.priority",
		"return e.priority < f.priority"},
	{"a tuple of equal priority is not looked in", "engine/tuple.go", "best.priority > t.top", "best.priority >= t.top"},
	{"a sieve of equal priority is not looked behind", "engine/tuple.go", "best.priority > v.top",
		"best.priority >= v.top"},
	{"a sieve forgets what it has when it is full", "engine/tuple.go", "		s.renew()\n",
		"		s.filter = newFilter(s.noted)\n"},
	{"a tuple that leaves takes its sieve along", "engine/tuple.go", "len(v.tuples) == 0 {", "len(v.tuples) >= 0 {"},
	{"ports do not narrow an entry", "engine/tuple.go", "e.narrow = e.in != nil || e.out", "e.narrow = e.out"},
	{"a range does not include its end", "engine/acl.go", "v >= x.min && v <= x.max", "v >= x.min && v < x.max"},
	{"don't fragment is taken for more fragments", "engine/parse.go", "frag&0x2000 != 0", "frag&0x4000 != 0"},
	{"an authentication header is a word short", "engine/parse.go", "(int(b[1]) + 2) * 4", "(int(b[1]) + 1) * 4"},
	{"addresses age too late", "engine/compile.go", "c.bridge.fdb.age = Cycle(age)", "c.bridge.fdb.age = 2 * Cycle(age)"},
	{"a moved address is not seen", "engine/bridge.go", "e.to, e.seen = pk.source, c.now", "e.to = pk.source"},
	{"what the CPU sends in a VLAN waits a cycle too long", "engine/cpu.go", "c.macs.enters(c.now + 1)",
		"c.macs.enters(c.now + 2)"},
	{"what the CPU sends in a VLAN keeps what the FDB says", "engine/ingress.go", "pk.act, pk.fixed = 0, 0", "pk.act = 0"},
	{"a punted frame has the VLAN that it was routed to", "engine/packet.go",
		"case pk.router.vlan != nil:\n\t\treturn pk.router.vlan.id", "case true:\n\t\treturn pk.vid"},
	{"a flood goes back where it came from", "engine/replicate.go", "bp != pk.source && bp.admin", "bp.admin"},
	{"a LAG member that may not send sends", "engine/compile.go", "m.port.up && !m.egressDisabled", "m.port.up"},
	{"a hop limit of 1 is routed", "engine/router.go", "case h.ttl <= 1:", "case h.ttl < 1:"},
	{"a next hop gets a share too many", "engine/model.go", "x < g.members[mid].upTo", "x <= g.members[mid].upTo"},
	{"groups and LAGs hash alike", "engine/hash.go", "saltECMP = 1 << 16", "saltECMP = 0"},
	{"the outer IPv4 header may be fragmented", "engine/encap.go", "dontFragment = 47, 0x40", "dontFragment = 47, 0"},
	{"a record need not fit the wire", "engine/port.go", "p.stampMTU = min(r.MTU, r.StampMTU)", "p.stampMTU = r.MTU"},
	{"a record fits a byte less", "engine/stamp.go", "stampedLen(length))+fcsLen > mtu",
		"stampedLen(length))+fcsLen >= mtu"},
	{"a control batch waits for the cycle's frames", "engine/advance.go", "c.driver.advance(at - 1)",
		"c.driver.advance(at)"},
	{"a tag gets no priority", "engine/replicate.go", "uint16(pk.pushPriority)<<13 | want", "want"},
	{"random numbers repeat", "tm/buffer.go", "*x ^= *x << 25", "*x ^= *x << 24"},
	{"a step of the clock forgets the fraction", "engine/tod.go", "s.rest += uint64(part) * t.hz",
		"s.rest = uint64(part) * t.hz"},
	{"an index beyond the register is its last word", "pipe/alu.go", "case i >= k.depth:", "case i > k.depth:"},
	{"muxed marking has pulses in the last slot", "engine/altmark.go", "if may = q&3 == 2; may {",
		"if may = q&3 == 3; may {"},
	{"pulses are looked for in the wrong slots", "engine/altmark.go", "pulse = (slot == 1 || slot == 2) && m != timeBit",
		"pulse = (slot == 2 || slot == 3) && m != timeBit"},
	{"time that goes back is no gap", "engine/altmark.go", "gap = since < 0 || since > p.gap", "gap = since > p.gap"},
	{"steps come in half an interval", "engine/marking.go",
		"return time.Duration(x >> sh), time.Duration((x + 1<<sh - 1) >> sh)",
		"return time.Duration(x >> sh), time.Duration((x + 1<<sh - 1) >> sh * 2 / 3)"},
	{"the guard is not kept", "engine/altmark.go", "p.s.Interval.Within(t.at, p.guard, p.early)",
		"p.s.Interval.Within(t.at, 0, p.early)"},
	{"the guard at the end is that of the beginning", "engine/altmark.go", "p.s.Interval.Within(t.at, p.guard, p.early)",
		"p.s.Interval.Within(t.at, p.guard, p.guard)"},
	{"a terminator clears the first mark only", "engine/altmark.go", "pk.edit.write(p.s.Mark2, 0)", ""},
	{"a pulse has no FCS", "engine/altmark.go", "pulseBytes += uint64(pk.length + fcsLen)",
		"pulseBytes += uint64(pk.length)"},
	{"a new flow begins where an old one ended", "engine/marking.go",
		"*f = markFlow{generation: m.generations, outer: new(altmark.OuterCounts)}", "f.generation = m.generations"},
	{"a FlowMonID is read a bit too high", "engine/acl.go", "option[0])<<12", "option[0])<<13"},
	{"the time lookup forgets the FlowMonID", "engine/acl.go", "k[9]&(1<<32-1) | uint64", "uint64"},
	{"L is where D is", "engine/parse.go", "optionLoss    = 1 << 3", "optionLoss    = 1 << 2"},
	{"a late pulse has the time at which it was given", "engine/altmark.go",
		"x.at, x.unsync, pulse = own.at, own.unsync, true", "pulse = true"},
	{"an initiator makes pulses of late packets", "engine/altmark.go", "p.s.Method != altmark.Step && !pk.late {",
		"p.s.Method != altmark.Step {"},
	{"a late packet may be of no period before its own", "engine/altmark.go", "p.s.Interval.Period(t.Add(-p.guard)), k)",
		"p.s.Interval.Period(t), k)"},
	{"a late packet that slots take for a pulse is one", "engine/altmark.go",
		"pulse && p.s.Interval.Quarter(own.at) <= counts<<2", "pulse && false"},
	{"a late packet is summed up by the time at which it was given", "engine/altmark.go",
		"		t = c.markReadingAt(pk.rx - pk.lateBy)\n", "		t = c.markReadingAt(pk.rx)\n"},
	{"without slots a pulse is summed up by its mark", "engine/altmark.go", "		colour = c.flows[index].colour\n", ""},
	{"what waits behind a late frame is in time", "engine/mac.go", "if f.Late > 0 || p.behind {", "if f.Late > 0 {"},
	{"entries do not see the time of a packet's arrival", "engine/altmark.go", "return c.markReadingAt(pk.rx)",
		"return c.markReadingAt(c.now)"},
	{"a second of the clock begins at a full nanosecond", "engine/tod.go", "rest := r.rest + uint64(n)*r.speed",
		"rest := r.rest/r.hz*r.hz + uint64(n)*r.speed"},
	{"a reading by the inverse is a nanosecond short", "engine/tod.go", "if rest-ns*r.hz >= r.hz {",
		"if rest-ns*r.hz > r.hz {"},
	{"a changed clock is read as before", "engine/tod.go", "if r.of != t || n >= r.span {", "if n >= r.span {"},
	{"metadata takes no time at the recirculation port", "engine/flymon.go", "WireLen(length+recircMetadata)",
		"WireLen(length)"},
	{"the recirculation port's buffer is a frame larger", "engine/flymon.go", "recircBuffer   = 32768",
		"recircBuffer   = 33000"},
	{"copies are numbered only while there are tasks", "engine/flymon.go", "	c.copies++\n	if !c.on {\n		return 0\n	}\n",
		"	if !c.on {\n		return 0\n	}\n	c.copies++\n"},
	{"packets without ports have port 0", "engine/flymon.go", "p.Ports = h.flags&flagL4 != 0", "p.Ports = true"},
	{"sampling takes the last of so many packets", "engine/record.go", "(n.Matched-1)%s.sample != 0",
		"n.Matched%s.sample != 0"},
	{"a plan of another program records", "engine/record.go",
		"(n.Matched-1)%s.sample != 0 || pk.graph.graph.Version != s.plan.row.Graph", "(n.Matched-1)%s.sample != 0"},
	{"a record is by a session that has another label now", "engine/mirror.go",
		"m == nil || m.label != x.session.label || m.encap.udp", "m == nil || m.encap.udp"},
	{"tables of the program set the bits of those beside them", "engine/record.go",
		"words[m.table>>6]>>(m.table&63)&1 != 0", "words[m.table>>6]>>(m.table&62)&1 != 0"},
	{"an action sets the bit of the one behind it", "engine/graph.go", "slices.Index(g.actions[i], a) + 1",
		"slices.Index(g.actions[i], a) + 2"},
	{"a table that missed sets the bit of its default's action", "engine/graph.go", "t := tap{hit: m.Hit, bit",
		"t := tap{hit: m.Hit && m.Of == nil, bit"},
	{"entries without an action set no bit", "engine/graph.go", "// 0 is no action\n",
		"// 0 is no action\n\t\tif n == 0 {\n\t\t\tcontinue\n\t\t}\n"},
	{"a table that did not hit sets the bit of no action", "engine/record.go", "set = set && m.of", "set = m.of"},
	{"actions of the ingress pipe are those of the packet before", "engine/ingress.go",
		"\t\t\t\tpk.run.acted = c.programs.phv.Acted[i]\n", ""},
	{"actions of the egress pipe are those of none", "engine/record.go", "copy(x.acted[first:],",
		"copy(x.acted[first:first],"},
	{"actions of the two pipes are exchanged", "engine/record.go",
		"copy(x.acted[first:], c.programs.phv.Acted[alone][first:])",
		"copy(x.acted[:first], c.programs.phv.Acted[alone][:first])"},
	{"a copy's actions are those of all that went before it", "pipe/run.go", "p.Acted[lane][t.tap] =",
		"p.Acted[lane][t.tap] |="},
	{"the reference sets the bit of an action whatever the action is", "reference/record.go",
		"(m.Of == nil || slices.Contains(m.Of, s.Action)) {", "(m.Of == nil || s.Hit) {"},
	{"a lost record is not counted", "engine/record.go", "e.record.counts.Lost++", "e.record.counts.Lost += 0"},
	{"a record wants the clock not synchronised at both times", "engine/tod.go", "s.set = a || b", "s.set = a && b"},
	{"what the ingress pipe drops has no reason", "engine/packet.go", "trap: pk.trapOf(why), why: why,",
		"trap: pk.trapOf(why),"},
	{"a copy dropped in a queue was at no port", "engine/packet.go", "out: p.number, lane", "out: 65535, lane"},
	{"hits of the ingress pipe are forgotten", "engine/packet.go", "p.ran, p.hit = pk.run.ran, pk.run.hit",
		"p.ran = pk.run.ran"},
	{"a neighbour is never found, on trails", "engine/router.go", "pk.fixed |= describe.NextHop.Hit()", "pk.fixed |= 0"},
	{"tokens that find no room in the first bucket are lost", "engine/policer.go", "		p.p.add(over) // has",
		"		p.p.add(over & 0) // of"},
	{"a bucket keeps its last token", "engine/policer.go", "case p.c.has >= parts:", "case p.c.has > parts:"},
	{"yellow frames take committed tokens", "engine/policer.go", "			p.p.has -= parts\n			return config.Yellow\n		default",
		"			p.c.has -= parts\n			return config.Yellow\n		default"},
	{"a smaller bucket keeps what it had", "engine/policer.go", "= min(b.has, size), size, rate", "= b.has, size, rate"},
	{"a new rate holds for the time before it", "engine/policer.go", "	p.advance(now)\n	p.Policer = r\n",
		"	p.at, p.Policer = now, r\n"},
	{"a policer meters bytes without FCS", "engine/replicate.go", "passes(c.now, uint64(cp.pk.length+fcsLen))",
		"passes(c.now, uint64(cp.pk.length))"},
	{"a policed copy is a lost frame", "engine/fates.go", "if p != nil && !alone {", "if p != nil && alone {"},
	{"a policed copy has no reason, in records", "engine/fates.go", "atCPU(record.NoQueue, drop.Policer)",
		"atCPU(record.NoQueue, 0)"},
	{"traps without a rule are not policed", "engine/trap.go", "	return c.others\n", "	return toCPU{}\n"},
	{"a clamp forgets the tags", "engine/clamp.go", "int(h.l3) - headers", "14 - headers"},
	{"a clamp raises the MSS", "engine/clamp.go", "case int(o.mss) <= room:", "case int(o.mss) == room:"},
	{"the last clamp counts, not the one with the least room", "engine/clamp.go", "e.value == 0 || room < int(e.value)",
		"true"},
	{"an MSS in two words is summed as if in one", "engine/rewrite.go", "(m.at-m.tcp)&1 != 0", "false"},
	{"an MSS given twice is lowered", "engine/clamp.go", "ip[at+1] != 4 || o.became != tailstamp.SYNWithout",
		"ip[at+1] != 4"},
	{"an authentication header in front of TCP is a word short", "engine/parse.go", "(int(ip[at+1]) + 2) * 4",
		"(int(ip[at+1]) + 1) * 4"},
	{"segments with SYN take the short way past clamps", "engine/shortcuts.go", " || c.clamps.wants(data)", ""},
	{"a clamp forgets what the wire takes", "engine/clamp.go", "int(p.stampMTU)", "int(p.mtu)"},
	{"a sample does not say by which prefix it is routed", "engine/sample.go", "pk.edit.hop.ip, pk.edit.prefix",
		"pk.edit.hop.ip, 0"},
	{"an entry that changes samples from the beginning", "engine/tuple.go", "e.sampling.own = old.sampling.own",
		"e.sampling.own = &sampling{stream: entryStream | uint64(e.id)}"},
	{"what an egress entry drops and samples is no sample", "engine/egress.go",
		"			c.sampledDrop(due, p, cp, drop.EgressACL)\n", ""},
	{"what an entry samples takes the short way", "engine/shortcuts.go", "p.record != nil || p.sampled() }",
		"p.record != nil }"},
	{"a skipped FDB is looked up all the same", "engine/bridge.go", "if c.skips&describe.FDB.Ran() == 0 {", "if true {"},
}

const (
	mutantCases = "2400" // number of cases in which the differential test must catch a mutant
	mutantSeed  = "1000" // the first of them
	routedSeed  = "3003" // the first of them for mutants of routing: a case in which most packets are routed
	passiveSeed = "1006" // the first of them for mutants of passive programs, of which every ninth case has some
)

// lists are all mutants, with the seed of the first case in which the differential test must catch them.
var lists = []struct {
	from string
	of   []mutant
}{
	{mutantSeed, slices.Concat(mutants, windowMutants)},
	{routedSeed, routedMutants},
	{passiveSeed, passiveMutants},
	{addedSeed, addedMutants},
	{shortSeed, shortMutants},
	{streamSeed, streamMutants},
	{accountSeed, accountMutants},
	{vrfSeed, vrfMutants},
	{buffersSeed, bufferMutants},
	{subPortSeed, subPortMutants},
	{trimSeed, trimMutants},
	{burstSeed, burstMutants},
}

// A trial is a mutant with the source that it changes, its number from 1 on, and the seed of its first case.
type trial struct {
	mutant
	path, source, from string
	number             int
}

// trials returns all mutants.
func trials(t *testing.T) (all []trial) {
	for _, list := range lists {
		for _, m := range list.of {
			path, err := filepath.Abs(filepath.Join("..", m.file))
			if err != nil {
				t.Fatal(err)
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(source, []byte(m.old)); n != 1 {
				t.Errorf("%s: %q is %d times in %s, want once: choose another mutant", m.wrong, m.old, n, m.file)
			}
			all = append(all, trial{m, path, string(source), list.from, len(all) + 1})
		}
	}
	return all
}

// A wrong engine is caught. Only TAMTAM_MUTANTS=all tries the mutants ("make mutants"). Without it, the test checks
// that every mutant still finds the code that it changes.
func TestMutantsAreCaught(t *testing.T) {
	all := trials(t)
	if os.Getenv("TAMTAM_MUTANTS") != "all" || t.Failed() {
		return
	}
	w := weaver{}
	for _, m := range all {
		w.add(m)
	}
	together := w.build(t)
	if out, err := agree(together, 0, mutantSeed, "30"); err != nil {
		t.Fatalf("without a mutant: %v\n%s", err, out)
	}
	for _, m := range all {
		t.Run(m.wrong, func(t *testing.T) {
			binary := together
			if !w.woven[m.number] {
				binary = build(t, map[string]string{m.path: strings.Replace(m.source, m.old, m.new, 1)})
			}
			out, err := agree(binary, m.number, m.from, mutantCases)
			if err == nil || !bytes.Contains(out, []byte("--- FAIL: TestEnginesAgree")) {
				t.Errorf("not caught: %v\n%s", err, out)
			}
		})
	}
}

// agree runs the differential test of a binary with a mutant, on some cases from a seed on.
func agree(binary string, number int, from, cases string) ([]byte, error) {
	cmd := exec.Command(binary, "-test.timeout", "30m", "-test.failfast", "-test.run", "^TestEnginesAgree$")
	cmd.Env = append(os.Environ(), "TAMTAM_SEED="+from, "TAMTAM_CASES="+cases,
		fmt.Sprint(mutantVariable, "=", number))
	return cmd.CombinedOutput()
}
