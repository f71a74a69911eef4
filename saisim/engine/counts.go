package engine

import (
	"cmp"
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tailstamp"
)

// A Counter names one of the chip's counters. Of is the object that it belongs to. For a router interface, Of is its
// port, LAG or VLAN.
type Counter struct {
	Kind  string // port, queue, priority-group, acl, router-interface, policer, mss-clamp, altmark or record
	Of    config.ID
	Port  PortID
	Queue uint8
	Index uint32 // index of a flow of alternate marking, or the outer VLAN of a sub-port
	Label string // label of a session of table recording
	Name  string
}

func (c Counter) compare(d Counter) int {
	return cmp.Or(cmp.Compare(c.Kind, d.Kind), cmp.Compare(c.Port, d.Port), cmp.Compare(c.Queue, d.Queue),
		cmp.Compare(c.Of, d.Of), cmp.Compare(c.Index, d.Index), cmp.Compare(c.Label, d.Label), cmp.Compare(c.Name, d.Name))
}

// A CountChange is the change of a counter. By is negative if other packets count less, because the traced packet
// displaced them.
type CountChange struct {
	Counter
	By int64
}

// changes returns the counters that differ, sorted.
func changes(before, after map[Counter]uint64) (all []CountChange) {
	for x, n := range after {
		if d := int64(n - before[x]); d != 0 {
			all = append(all, CountChange{x, d})
		}
	}
	slices.SortFunc(all, func(a, b CountChange) int { return a.compare(b.Counter) })
	return all
}

// countsOf returns all counters that are not 0, except watermarks.
func countsOf(c *Engine) map[Counter]uint64 {
	all := map[Counter]uint64{}
	add := func(x Counter, name string, n uint64) {
		if n != 0 {
			x.Name = name
			all[x] += n
		}
	}
	for _, p := range c.ports {
		p.addCounts(add)
		for i := range config.PriorityGroups {
			g, x := c.GroupState(p.id, i), Counter{Kind: "priority-group", Of: p.name, Port: p.id, Queue: uint8(i)}
			add(x, "packets", g.Packets)
			add(x, "bytes", g.Bytes)
			add(x, "dropped", g.Dropped)
		}
	}
	for id, x := range c.ids {
		switch x := x.(type) {
		case *aclCounter:
			x.addCounts(Counter{Kind: "acl", Of: id}, add)
		case *rif:
			x.addCounts(Counter{Kind: "router-interface", Of: x.place(), Index: uint32(x.outer)}, add)
		case *trapCounter:
			add(Counter{Kind: "trap-counter", Of: id}, "packets", x.Packets)
			add(Counter{Kind: "trap-counter", Of: id}, "bytes", x.Bytes)
		case *policer:
			for colour, n := range x.counts {
				name := [config.NumColours]string{"green", "yellow", "red"}[colour]
				add(Counter{Kind: "policer", Of: id}, name+"-packets", n.Packets)
				add(Counter{Kind: "policer", Of: id}, name+"-bytes", n.Bytes)
			}
		case *mssClamp:
			for i, name := range synNames() {
				add(Counter{Kind: "mss-clamp", Of: id}, name, x.counts[i])
			}
		}
	}
	for i := range c.marking.flows {
		for colour := range 2 {
			m := &c.marking.flows[i].of[colour]
			x := Counter{Kind: "altmark", Index: uint32(i), Queue: uint8(colour)}
			add(x, "captures", m.captures)
			add(x, "outside", m.outside)
			add(x, "foreign", m.foreign)
			add(x, "summed-up", c.marking.arrivals[i][colour].Packets)
		}
	}
	for _, p := range c.recording.plans {
		for _, s := range p.sessions {
			x := Counter{Kind: "record", Label: s.label}
			add(x, "matched", s.counts.Matched)
			add(x, "unsampled", s.counts.Unsampled)
			add(x, "made", s.counts.Made)
			add(x, "lost", s.counts.Lost)
		}
	}
	return all
}

// synNames returns the names of a clamp's counters.
func synNames() [tailstamp.NumSYNCounts]string {
	return [tailstamp.NumSYNCounts]string{
		tailstamp.SYNSeen: "syn-seen", tailstamp.SYNClamped: "syn-clamped", tailstamp.SYNSmall: "syn-small",
		tailstamp.SYNWithout: "syn-without-mss", tailstamp.SYNMalformed: "syn-malformed", tailstamp.SYNCut: "syn-cut",
		tailstamp.SYNNoRoom: "syn-no-room",
	}
}

func (p *port) addCounts(add func(Counter, string, uint64)) {
	x, t := Counter{Kind: "port", Of: p.name, Port: p.id}, p.counters()
	add(x, "received", t.Received)
	add(x, "received-bytes", t.ReceivedBytes)
	add(x, "entered", t.Entered)
	add(x, "sent", t.Sent)
	add(x, "sent-bytes", t.SentBytes)
	add(x, "policed-copies", t.PolicedCopies)
	for why, n := range t.Dropped {
		add(x, "dropped-"+drop.Reason(why).String(), n)
	}
	for _, d := range []struct {
		prefix string
		of     *Direction
	}{{"in-", &p.stats.in}, {"out-", &p.stats.out}} {
		add(x, d.prefix+"unicast", d.of.Unicast)
		add(x, d.prefix+"multicast", d.of.Multicast)
		add(x, d.prefix+"broadcast", d.of.Broadcast)
	}
	for i := range p.queues.Queues() {
		q := p.queues.Queue(i)
		x := Counter{Kind: "queue", Of: p.name, Port: p.id, Queue: uint8(i)}
		add(x, "enqueued", q.Enqueued)
		add(x, "enqueued-bytes", q.EnqueuedBytes)
		add(x, "dequeued", q.Counts.Dequeued)
		add(x, "dropped-buffer", q.DroppedFull)
		add(x, "dropped-queue-limit", q.DroppedTail)
		add(x, "dropped-wred", q.DroppedWRED)
		add(x, "marked", q.Marked)
		add(x, "trimmed", q.Trimmed)
		add(x, "trim-sent", q.TrimSent)
		add(x, "trim-dropped", q.TrimDropped)
	}
}

func (x *aclCounter) addCounts(of Counter, add func(Counter, string, uint64)) {
	add(of, "packets", x.packets)
	add(of, "bytes", x.bytes)
	for r, name := range [...]string{
		stampDone: "stamped", stampNotTCPUDP: "stamp-not-tcp-udp", stampNotEthernet2: "stamp-not-ethernet2",
		stampCut: "stamp-cut", stampMTU: "stamp-mtu",
	} {
		add(of, name, x.stamps[r])
	}
}

func (r *rif) addCounts(of Counter, add func(Counter, string, uint64)) {
	if of.Of == config.None {
		return // a loopback interface is not counted
	}
	for i, n := range r.counts {
		name := [...]string{rifIn: "in", rifOut: "out", rifInError: "in-error", rifOutError: "out-error"}[i&^1]
		add(of, name+[2]string{"-bytes", "-packets"}[i&1], n)
	}
}
