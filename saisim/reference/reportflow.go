package reference

import (
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/tam/dropreport"
)

// A dropFlow is a flow of drops, for an event with a threshold.
type dropFlow struct {
	dropRecord
	until   saisim.Cycle // end of the current interval
	used    uint64       // number of its last drop
	pending uint64       // packets that are not in any report yet
	more    bool         // true if the interval had further drops
}

// flowDrop handles a drop of an event with a threshold.
func (c *Chip) flowDrop(e config.TAMEvent, s *eventState, r *dropRecord) {
	for _, f := range s.flows {
		if f.flow.equal(r.flow) {
			f.at, f.last, f.timing = r.at, r.at, f.timing|r.timing
			f.total++
			f.pending++
			f.more, f.used = true, s.seen
			return
		}
	}
	if len(s.flows) == config.DropFlows {
		oldest := slices.MinFunc(s.flows, func(a, b *dropFlow) int { return int(int64(a.used) - int64(b.used)) })
		s.counts[dropreport.WordFlowsEvicted]++
		c.flowReport(e, s, oldest, dropreport.EventEvicted)
		s.flows = slices.DeleteFunc(s.flows, func(f *dropFlow) bool { return f == oldest })
	}
	f := &dropFlow{dropRecord: *r, used: s.seen, pending: 1}
	f.first, f.last, f.total = r.at, r.at, 1
	s.counts[dropreport.WordFlowsBegun]++
	s.begin(f, c.now)
	c.flowReport(e, s, f, dropreport.EventBegun)
	f.framed, f.frame, f.queued = false, nil, false
}

// begin begins an interval. No interval ends before one that began earlier.
func (s *eventState) begin(f *dropFlow, now saisim.Cycle) {
	f.until = now + s.aging
	if n := len(s.flows); n > 0 {
		f.until = max(f.until, s.flows[n-1].until)
	}
	s.flows = append(s.flows, f)
}

// intervalEnds ends the interval of the event's first flow.
func (c *Chip) intervalEnds(e config.TAMEvent, s *eventState) {
	f := s.flows[0]
	s.flows = s.flows[1:]
	if !f.more {
		s.counts[dropreport.WordFlowsEnded]++
		c.flowReport(e, s, f, dropreport.EventEnded)
		return
	}
	f.more = false
	c.flowReport(e, s, f, dropreport.EventGoesOn)
	s.begin(f, f.until)
}

func (c *Chip) flowReport(e config.TAMEvent, s *eventState, f *dropFlow, why dropreport.Event) {
	r := f.dropRecord
	r.event, r.delta, r.withTimes = why, f.pending, true
	if c.sendReport(e, s, &r) {
		f.pending = 0
	}
}
