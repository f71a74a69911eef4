package engine

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/tm"
)

// Sizes of the records of bursts.
const (
	// MaxBursts is the number of ended bursts that the chip keeps, of all queues together.
	MaxBursts = 256
	// BurstFlows is the number of flows in the table of a burst.
	BurstFlows = 16
)

// BurstLimits defines the bursts of a queue.
type BurstLimits = tm.BurstLimits

// A Burst is a time in which a queue held much. A queue with limits is in a burst from the cycle in which it holds High
// bytes or more, until the cycle in which it holds fewer than Low. Its depth in a cycle takes all values that it has
// after the packets that enter and leave it in that cycle, in the order of the cycle's work, as for its watermark. A
// change of the limits, and the removal of the port, cut an open burst. With the new limits, another one may begin at
// once.
type Burst struct {
	Port   PortID
	Number uint16 // N of EthernetN
	Queue  uint8
	Open   bool // true if it has not ended; End is then the cycle of the reading
	Cut    bool // true if a change of configuration ended it
	// Index is the number of the queue's burst, from 1 on. A queue of a new port begins again.
	Index  uint64
	Limits BurstLimits

	Begin, PeakAt, End Cycle
	Peak               uint64 // largest number of bytes in the queue; PeakAt is the first cycle with that depth

	// Packets and bytes that were in the queue during the burst: Standing bytes when it began, with the packet that
	// began it, and those that came later.
	Packets, Bytes, Standing uint64
	Dropped, DroppedBytes    uint64 // packets that the queue did not admit during the burst

	// Flows are the flows of these packets, with the most bytes first. Other flows have at most Rest bytes each; zero
	// means that there are none.
	Flows []BurstFlow
	Rest  uint64
}

// A BurstFlow is a flow in a burst. It has at most Bytes, and at least Bytes - Over.
type BurstFlow struct {
	FlowID
	Bytes, Over uint64
}

// A FlowID names a flow by the headers of its packets as they are in the queue. Addresses are invalid for a frame that
// is not IP, which has MAC addresses and EtherType instead. Fragments after the first have no ports.
type FlowID struct {
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	Protocol         uint8
	SMAC, DMAC       config.MAC
	EtherType        uint16
}

// A burstKey is a FlowID in compact form. version is 4, 6, or 0 for MAC addresses.
type burstKey struct {
	src, dst         [2]uint64
	l4src, l4dst     uint16
	etherType        uint16
	protocol, family uint8
}

// An openBurst is a burst with its table of flows. The table is that of Space-Saving (Metwally et al., ICDT 2005) for
// bytes: a flow that is not in a full table takes the entry with the fewest bytes, the first of several, and adds to
// them. So an entry has too many bytes by at most those that it took over, and a flow outside of the table has at most
// the fewest bytes.
type openBurst struct {
	Burst
	flows   [BurstFlows]burstFlow
	n       int
	evicted bool // true if a flow has lost its entry
}

type burstFlow struct {
	key         burstKey
	bytes, over uint64
}

// A queueBurst holds the bursts of a queue with limits.
type queueBurst struct {
	limits tm.BurstLimits
	open   bool
	drops  [2]uint64 // packets and bytes that the queue had dropped when the open burst began
	now    openBurst // valid if open is true
}

// A burstLog holds the bursts that have ended, in the order of their ends. The number of a burst is its position since
// the start of the chip.
type burstLog struct {
	ended   uint64
	of      [MaxBursts]openBurst
	headers headers // of the packet at hand
}

// limitBurst sets the limits of a queue.
func (c *queues) limitBurst(p *port, i int, to tm.BurstLimits) {
	var b *queueBurst
	if p.contents.follows() {
		b = p.contents.bursts[i]
	}
	if b == nil && to.High == 0 || b != nil && b.limits == to {
		return
	}
	if c.bursts == nil {
		c.bursts = new(burstLog)
	}
	if b != nil && b.open {
		b.now.Cut = true
		c.endBurst(p, i, b)
	}
	if to.High == 0 {
		c.forgetBurst(p, i)
		return
	}
	if b == nil {
		b = new(queueBurst)
		x := p.followContents()
		if x.bursts == nil {
			x.bursts = make([]*queueBurst, p.queues.Queues())
		}
		x.bursts[i] = b
	}
	b.limits = to
	if p.queues.Queue(i).Bytes() >= to.High {
		c.beginBurst(p, i, b)
	}
}

// forgetBurst ends the following of a queue.
func (c *queues) forgetBurst(p *port, i int) {
	all := p.contents.bursts
	all[i] = nil
	for _, b := range all {
		if b != nil {
			return
		}
	}
	p.contents.bursts = nil
	p.settleContents()
}

// grown notes a copy that has entered a queue with limits.
func (c *queues) grown(p *port, cp *copyOf) {
	i := int(cp.queue)
	b, depth := p.contents.bursts[i], p.queues.Queue(i).Bytes()
	switch {
	case !b.open && depth >= b.limits.High:
		c.beginBurst(p, i, b)
	case b.open:
		b.now.add(&c.bursts.headers, cp)
		if depth > b.now.Peak {
			b.now.Peak, b.now.PeakAt = depth, c.now
		}
	}
}

// shrunk notes that a packet has left a queue with limits.
func (c *queues) shrunk(p *port, i int) {
	if b := p.contents.bursts[i]; b.open && p.queues.Queue(i).Bytes() < b.limits.Low {
		c.endBurst(p, i, b)
	}
}

func (c *queues) beginBurst(p *port, i int, b *queueBurst) {
	q := p.queues.Queue(i)
	p.burstsBegun[i]++
	b.open, b.drops = true, [2]uint64{q.DroppedFull + q.DroppedTail + q.DroppedWRED, q.DroppedBytes}
	o := &b.now
	o.n, o.evicted = 0, false
	o.Burst = Burst{
		Port: p.id, Number: p.number, Queue: uint8(i), Open: true, Index: p.burstsBegun[i], Limits: b.limits,
		Begin: c.now, PeakAt: c.now, Peak: q.Bytes(), Standing: q.Bytes(),
	}
	q.Each(func(cp *copyOf) { o.add(&c.bursts.headers, cp) })
}

// endBurst ends the open burst of a queue and adds it to the log.
func (c *queues) endBurst(p *port, i int, b *queueBurst) {
	c.closeAt(p, i, b)
	b.open, b.now.Open = false, false
	c.bursts.of[c.bursts.ended%MaxBursts] = b.now
	c.bursts.ended++
}

// closeAt sets what is counted until now.
func (c *queues) closeAt(p *port, i int, b *queueBurst) {
	q := p.queues.Queue(i)
	b.now.End = c.now
	b.now.Dropped = q.DroppedFull + q.DroppedTail + q.DroppedWRED - b.drops[0]
	b.now.DroppedBytes = q.DroppedBytes - b.drops[1]
}

// add counts a copy that is in the queue.
func (o *openBurst) add(h *headers, cp *copyOf) {
	n := uint64(cp.buffered())
	o.Packets++
	o.Bytes += n
	k := keyOfBurst(h, cp.pk)
	least := 0
	for i := range o.flows[:o.n] {
		f := &o.flows[i]
		if f.key == k {
			f.bytes += n
			return
		}
		if f.bytes < o.flows[least].bytes {
			least = i
		}
	}
	if o.n < BurstFlows {
		o.flows[o.n] = burstFlow{key: k, bytes: n}
		o.n++
		return
	}
	f := &o.flows[least]
	o.evicted = true
	*f = burstFlow{k, f.bytes + n, f.bytes}
}

// keyOfBurst returns the flow of a packet, by its headers in the queue.
func keyOfBurst(h *headers, pk *packet) (k burstKey) {
	*h = headers{}
	h.parse(pk.data, pk.length)
	if h.flags&flagIP == 0 {
		k.src[1], k.dst[1], k.etherType = h.smac, h.dmac, h.etherType
		return k
	}
	k.src, k.dst, k.protocol, k.family = h.src, h.dst, h.proto, 6
	if h.flags&flagIPv4 != 0 {
		k.family = 4
	}
	if h.flags&flagL4 != 0 {
		k.l4src, k.l4dst = h.l4src, h.l4dst
	}
	return k
}

func (k *burstKey) id() (id FlowID) {
	if k.family == 0 {
		return FlowID{SMAC: macOf(k.src[1]), DMAC: macOf(k.dst[1]), EtherType: k.etherType}
	}
	id = FlowID{Src: ipOfWords(k.src), Dst: ipOfWords(k.dst), SrcPort: k.l4src, DstPort: k.l4dst, Protocol: k.protocol}
	if k.family == 4 {
		id.Src, id.Dst = ipv4OfWord(k.src[1]), ipv4OfWord(k.dst[1])
	}
	return id
}

func ipv4OfWord(w uint64) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(w))))
}

// A BurstReading holds bursts that have ended, in the order of their ends, and those that are open, in the order of
// ports and queues.
type BurstReading struct {
	Ended uint64  // number of bursts that have ended since the start
	First uint64  // position of the first burst in List, from 0 on
	List  []Burst // at most as many as requested
	Open  []Burst
}

// Bursts returns the bursts that have ended, from a position on, at most a number of them, and all open ones. Of the
// ended bursts, the chip keeps the last [MaxBursts]. So First is larger than from if earlier ones are lost.
func (c *Engine) Bursts(from uint64, most int) (r BurstReading) {
	if l := c.queues.bursts; l != nil {
		r.Ended = l.ended
		r.First = max(from, l.ended-min(l.ended, MaxBursts))
		for i := r.First; i < l.ended && len(r.List) < most; i++ {
			r.List = append(r.List, l.of[i%MaxBursts].record())
		}
	}
	for _, p := range c.ports {
		if !p.contents.follows() {
			continue
		}
		for i, b := range p.contents.bursts {
			if b != nil && b.open {
				c.queues.closeAt(p, i, b)
				r.Open = append(r.Open, b.now.record())
			}
		}
	}
	return r
}

// record returns the burst with its flows.
func (o *openBurst) record() Burst {
	b := o.Burst
	flows := slices.Clone(o.flows[:o.n])
	slices.SortStableFunc(flows, func(x, y burstFlow) int { return cmp.Compare(y.bytes, x.bytes) })
	for i := range flows {
		b.Flows = append(b.Flows, BurstFlow{flows[i].key.id(), flows[i].bytes, flows[i].over})
	}
	if o.evicted {
		b.Rest = flows[len(flows)-1].bytes
	}
	return b
}
