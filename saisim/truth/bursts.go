package truth

import (
	"tamtam/saisim"
)

// Bursts keeps the depth of every queue, change by change, and finds the bursts in it. It uses the moments of copies
// that are as long in the queue as their frame, so not those of mirror sessions.
type Bursts struct {
	queues map[queueName]*depths
}

type queueName struct {
	port  saisim.PortID
	queue uint8
}

// depths is the history of a queue's depth.
type depths struct {
	limits saisim.BurstLimits
	held   []held
	depth  uint64
	found  []Burst // the last one may be open
	steps  []depth
}

// A held is a copy in a queue.
type held struct {
	flow  saisim.FlowID
	bytes uint64
}

// A depth is what a queue holds from a cycle on. A cycle may have several.
type depth struct {
	at    saisim.Cycle
	bytes uint64
}

// A Burst is a burst of a queue with the exact bytes of all of its flows. See [saisim.Burst].
type Burst struct {
	Open, Cut                      bool
	Begin, PeakAt, End             saisim.Cycle
	Peak, Packets, Bytes, Standing uint64
	Flows                          map[saisim.FlowID]uint64
}

// NewBursts returns an oracle without queues. Its See is the function for SetObserver.
func NewBursts() *Bursts { return &Bursts{map[queueName]*depths{}} }

func (b *Bursts) of(port saisim.PortID, queue uint8) *depths {
	n := queueName{port, queue}
	if b.queues[n] == nil {
		b.queues[n] = new(depths)
	}
	return b.queues[n]
}

// Limit sets the limits of a queue at a cycle. An open burst is cut.
func (b *Bursts) Limit(port saisim.PortID, queue uint8, at saisim.Cycle, to saisim.BurstLimits) {
	d := b.of(port, queue)
	if d.limits == to {
		return
	}
	if x := d.open(); x != nil {
		x.Open, x.Cut, x.End = false, true, at
	}
	d.limits = to
	d.look(at, nil)
}

// See notes a moment.
func (b *Bursts) See(m saisim.Moment) {
	switch m.What {
	case saisim.MomentQueued:
		d := b.of(m.Port, m.Queue)
		came := held{flowOf(m.Data, m.Len), uint64(m.Len)}
		d.held = append(d.held, came)
		d.depth += came.bytes
		d.look(m.At, &came)
	case saisim.MomentDequeued:
		d := b.of(m.Port, m.Queue)
		d.depth -= d.held[0].bytes
		d.held = d.held[1:]
		d.look(m.At, nil)
	}
}

// flowOf returns the flow of a frame in a queue.
func flowOf(data []byte, length int) (id saisim.FlowID) {
	var f fields
	f.parse(data, length, 0)
	if !f.ip {
		for i := range 6 {
			id.SMAC[i], id.DMAC[i] = byte(f.smac>>(40-8*i)), byte(f.dmac>>(40-8*i))
		}
		id.EtherType = f.etherType
		return id
	}
	id.Src, id.Dst, id.Protocol = f.src, f.dst, f.proto
	if f.ports {
		id.SrcPort, id.DstPort = f.sport, f.dport
	}
	return id
}

// open returns the open burst, or nil.
func (d *depths) open() *Burst {
	if n := len(d.found); n > 0 && d.found[n-1].Open {
		return &d.found[n-1]
	}
	return nil
}

// look continues the history with the present depth. came is the copy that has entered the queue, if any.
func (d *depths) look(at saisim.Cycle, came *held) {
	d.steps = append(d.steps, depth{at, d.depth})
	x := d.open()
	if d.limits.High > 0 && x == nil && d.depth >= d.limits.High {
		d.found = append(d.found, Burst{Open: true, Begin: at, Standing: d.depth, Flows: map[saisim.FlowID]uint64{}})
		x = d.open()
		for _, h := range d.held {
			x.add(h)
		}
	} else if x != nil && came != nil {
		x.add(*came)
	}
	if x == nil {
		return
	}
	if d.depth > x.Peak {
		x.Peak, x.PeakAt = d.depth, at
	}
	if x.End = at; d.depth < d.limits.Low {
		x.Open = false
	}
}

func (b *Burst) add(h held) {
	b.Packets++
	b.Bytes += h.bytes
	b.Flows[h.flow] += h.bytes
}

// Of returns the bursts of a queue, oldest first. The last one may be open.
func (b *Bursts) Of(port saisim.PortID, queue uint8) []Burst { return b.of(port, queue).found }

// Depth returns the bytes in a queue at the end of a cycle.
func (b *Bursts) Depth(port saisim.PortID, queue uint8, at saisim.Cycle) (bytes uint64) {
	for _, s := range b.of(port, queue).steps {
		if s.at <= at {
			bytes = s.bytes
		}
	}
	return bytes
}
