package reference

import (
	"cmp"
	"net/netip"
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/tm"
)

// A burst is an open burst of a queue, with all copies that were in the queue meanwhile. See [saisim.Burst].
type burst struct {
	saisim.Burst
	came []saisim.BurstFlow // in the order in which they came
}

// limitBursts gives the queues of a port their new limits, after the work of a cycle.
func (c *Chip) limitBursts(p *port, to []tm.Settings) {
	for i, q := range p.queues {
		if q.Burst == to[i].Burst {
			continue
		}
		if q.burst != nil {
			q.burst.Cut = true
			c.endBurst(q)
		}
		q.Burst = to[i].Burst
		c.followBurst(p, i, nil)
	}
}

// followBurst looks at the depth of a queue after a change. came is the copy that has entered the queue, if any.
func (c *Chip) followBurst(p *port, i int, came *outgoing) {
	q := p.queues[i]
	depth := uint64(q.bytes())
	switch {
	case q.Burst.High == 0:
	case q.burst == nil && depth >= q.Burst.High:
		q.bursts++
		q.burst = &burst{Burst: saisim.Burst{
			Port: p.Port.Port, Number: p.Number, Queue: uint8(i), Open: true, Index: q.bursts, Limits: q.Burst,
			Begin: c.now, Standing: depth,
		}}
		for _, o := range q.items {
			q.burst.add(o)
		}
	case q.burst != nil && came != nil:
		q.burst.add(came)
	case q.burst != nil && depth < q.Burst.Low:
		c.endBurst(q)
	}
	if q.burst != nil && depth > q.burst.Peak {
		q.burst.Peak, q.burst.PeakAt = depth, c.now
	}
}

func (c *Chip) endBurst(q *queue) {
	q.burst.Open = false
	c.endedBursts = append(c.endedBursts, q.burst.reading(c.now))
	q.burst = nil
}

func (b *burst) add(o *outgoing) {
	n := uint64(o.bufferBytes())
	b.Packets++
	b.Bytes += n
	b.came = append(b.came, saisim.BurstFlow{FlowID: flowOf(o.packet), Bytes: n})
}

func flowOf(pk *packet) (id saisim.FlowID) {
	h := parse(pk.data, pk.length)
	if h.ip == nil {
		for i := range 6 {
			id.SMAC[i], id.DMAC[i] = byte(h.smac>>(40-8*i)), byte(h.dmac>>(40-8*i))
		}
		id.EtherType = h.etherType
		return id
	}
	id.Src, id.Dst, id.Protocol = netip.AddrFrom16(h.ip.src), netip.AddrFrom16(h.ip.dst), h.ip.protocol
	if h.ip.version == 4 {
		id.Src, id.Dst = netip.AddrFrom4([4]byte(h.ip.src[12:])), netip.AddrFrom4([4]byte(h.ip.dst[12:]))
	}
	if h.l4 != nil {
		id.SrcPort, id.DstPort = h.l4.src, h.l4.dst
	}
	return id
}

// reading returns the burst as it is read in a cycle, with the table of flows that all of its copies make.
func (b *burst) reading(now saisim.Cycle) saisim.Burst {
	r := b.Burst
	r.End = now
	for _, x := range b.came {
		i := slices.IndexFunc(r.Flows, func(f saisim.BurstFlow) bool { return f.FlowID == x.FlowID })
		switch {
		case i >= 0:
			r.Flows[i].Bytes += x.Bytes
		case len(r.Flows) < flowsOfBurst:
			r.Flows = append(r.Flows, x)
		default:
			least := slices.MinFunc(r.Flows, byBytes) // the first of several
			i = slices.Index(r.Flows, least)
			r.Flows[i] = saisim.BurstFlow{FlowID: x.FlowID, Bytes: least.Bytes + x.Bytes, Over: least.Bytes}
			r.Rest = 1
		}
	}
	slices.SortStableFunc(r.Flows, func(x, y saisim.BurstFlow) int { return byBytes(y, x) })
	if r.Rest > 0 {
		r.Rest = r.Flows[len(r.Flows)-1].Bytes
	}
	return r
}

const flowsOfBurst = 16

func byBytes(x, y saisim.BurstFlow) int { return cmp.Compare(x.Bytes, y.Bytes) }

// noLimits returns the settings of a port's queues without limits of bursts.
func (p *port) noLimits() []tm.Settings { return make([]tm.Settings, len(p.queues)) }

// Bursts returns all bursts of queues that have ended, and those that are open.
func (c *Chip) Bursts() (ended, open []saisim.Burst) {
	for _, p := range c.ports {
		for _, q := range p.queues {
			if q.burst != nil {
				open = append(open, q.burst.reading(c.now))
			}
		}
	}
	return slices.Clone(c.endedBursts), open
}

// droppedInBurst counts a copy that a queue did not admit.
func (q *queue) droppedInBurst(o *outgoing) {
	if q.burst != nil {
		q.burst.Dropped++
		q.burst.DroppedBytes += uint64(o.bufferBytes())
	}
}
