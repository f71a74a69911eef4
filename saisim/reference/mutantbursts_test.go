package reference_test

// burstSeed is the first case in which the differential test must catch burstMutants.
const burstSeed = "1007740000"

// burstMutants are mutants of bursts of queues.
var burstMutants = []mutant{
	{"a burst begins above its threshold", "engine/burst.go", "case !b.open && depth >= b.limits.High:",
		"case !b.open && depth > b.limits.High:"},
	{"a burst ends at its lower threshold", "engine/burst.go", ".Bytes() < b.limits.Low {", ".Bytes() <= b.limits.Low {"},
	{"the last of several peaks counts", "engine/burst.go", "if depth > b.now.Peak {", "if depth >= b.now.Peak {"},
	{"a burst forgets packets that stood", "engine/burst.go",
		"\tq.Each(func(cp *copyOf) { o.add(&c.bursts.headers, cp) })\n", ""},
	{"a flow takes over an entry without its bytes", "engine/burst.go", "{k, f.bytes + n, f.bytes}", "{k, n, f.bytes}"},
	{"an entry forgets its error", "engine/burst.go", "{k, f.bytes + n, f.bytes}", "{k, f.bytes + n, 0}"},
	{"the last of several smallest entries is taken over", "engine/burst.go", "if f.bytes < o.flows[least].bytes {",
		"if f.bytes <= o.flows[least].bytes {"},
	{"a changed threshold leaves a burst open", "engine/burst.go", "if b != nil && b.open {\n\t\tb.now.Cut",
		"if false {\n\t\tb.now.Cut"},
	{"a burst is cut without saying so", "engine/burst.go", "\t\tb.now.Cut = true\n", ""},
	{"a full queue begins no burst when it gets a threshold", "engine/burst.go",
		"if p.queues.Queue(i).Bytes() >= to.High {", "if false {"},
	{"drops before a burst count", "engine/burst.go", "q.DroppedWRED - b.drops[0]", "q.DroppedWRED"},
	{"dropped bytes before a burst count", "engine/burst.go", "q.DroppedBytes - b.drops[1]", "q.DroppedBytes"},
	{"flows have no ports", "engine/burst.go", "if h.flags&flagL4 != 0 {", "if false {"},
	{"flows of IPv6 are of IPv4", "engine/burst.go", "if h.flags&flagIPv4 != 0 {", "if true {"},
	{"frames that are not IP are one flow", "engine/burst.go",
		"k.src[1], k.dst[1], k.etherType = h.smac, h.dmac, h.etherType", "k.etherType = h.etherType"},
	{"each burst of a queue is its first", "engine/burst.go", "\tp.burstsBegun[i]++\n", "\tp.burstsBegun[i] = 1\n"},
	{"flows are in no order", "engine/burst.go", "return cmp.Compare(y.bytes, x.bytes) })", "return 0 })"},
	{"a full table states no error", "engine/burst.go", "\tif o.evicted {", "\tif false {"},
	{"the chip loses a burst too early", "engine/burst.go", "min(l.ended, MaxBursts))", "min(l.ended, MaxBursts-1))"},
	{"a burst does not see packets leave", "engine/contents.go", "\t\tc.shrunk(p, int(cp.queue))\n", ""},
	{"a burst does not see marked packets", "engine/queue.go",
		"\t\tcp.ce = true\n\t\tif p.contents != nil {\n\t\t\tc.holds(p, cp)\n\t\t}\n", "\t\tcp.ce = true\n"},
	{"frames skip a queue with thresholds", "engine/shape.go", "p.shaped || p.contents.follows()", "p.shaped"},
	{"a removed port keeps its bursts open", "engine/port.go",
		"\t\tc.queues.limitBurst(p, i, tm.BurstLimits{})\n", "\t\t_ = i\n"},
}
