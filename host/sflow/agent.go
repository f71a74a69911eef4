// Package sflow is the switch's sFlow agent. Packets that the chip has sampled or dropped and counters of ports go in,
// with time, and datagrams come out ([Agent]). The [Daemon] around it reads its configuration and the counters from the
// databases.
//
// Memory use does not depend on the traffic: a datagram is sent when it is full, or a second after its first sample.
// Datagrams that could not be sent to a collector are counted and dropped. Notifications of drops are rate-limited;
// suppressed ones are counted, and the next notification of the same port contains their number.
//
// What belongs here: the contents of datagrams, and their collectors. The wire format is in tam/sflow; sockets are the
// caller's.
package sflow

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"time"

	"tamtam/host/cpuport"
	"tamtam/swss/schema"
	wire "tamtam/tam/sflow"
)

// mostBytes is the maximum length of a datagram: it fits an Ethernet frame with IPv6.
const mostBytes = 1400

// flushAfter is the maximum time for which a sample is buffered.
const flushAfter = time.Second

// An Agent makes datagrams. It is stepped: the caller passes the input and the time.
type Agent struct {
	send   func(datagram []byte)
	packer wire.Packer
	began  time.Time // start of the uptime
	waits  time.Time // time since which samples wait
	limit  float64   // notifications of drops per second
	tokens float64
	filled time.Time // time up to which tokens were added

	flows, drops, counters map[wire.Source]*source
	rules                  map[string]uint32 // indexes of the rules' sources, by label
	counts                 Counts
}

// A source is the state of an interface or of an ACL rule.
type source struct {
	sequence   uint32
	samples    uint64    // number of samples of a rule
	pool, lost [2]uint64 // counts by direction, ingress and egress; a rule uses only the first
	suppressed uint64    // number of notifications that were not sent
}

// Counts are the counters of an agent since its start.
type Counts struct {
	Datagrams, FlowSamples, CounterSamples, Discards uint64
	// Suppressed counts drops without a notification, as there were too many.
	Suppressed uint64
	// TooLong counts samples that fit into no datagram, Unknown those of ports and rules without a number.
	TooLong, Unknown uint64
}

// NewAgent returns an agent that starts now. Each datagram is valid only during the call of send.
func NewAgent(now time.Time, send func([]byte)) *Agent {
	return &Agent{
		send: send, packer: wire.Packer{Most: mostBytes}, began: now, filled: now,
		flows: map[wire.Source]*source{}, drops: map[wire.Source]*source{}, counters: map[wire.Source]*source{},
	}
}

// Configure sets the address of the agent, and the limit of drop notifications per second; 0 means none.
func (a *Agent) Configure(address netip.Addr, drops uint16, now time.Time) {
	if address != a.packer.Agent {
		a.flush(now)
		a.packer.Agent = address
	}
	if float64(drops) != a.limit {
		a.limit, a.tokens = float64(drops), float64(drops)
	}
}

// Counts returns the counters.
func (a *Agent) Counts() Counts { return a.counts }

func (a *Agent) uptime(now time.Time) uint32 { return uint32(now.Sub(a.began).Milliseconds()) }

func (a *Agent) add(s wire.Sample, now time.Time) bool {
	if !a.packer.Waiting() {
		a.waits = now
	}
	was := a.packer.Sequence()
	if err := a.packer.Add(s, a.uptime(now), a.out); err != nil {
		a.counts.TooLong++
		return false
	}
	if a.packer.Sequence() != was {
		a.waits = now
	}
	return true
}

func (a *Agent) out(b []byte) {
	a.counts.Datagrams++
	a.send(b)
}

func (a *Agent) flush(now time.Time) { a.packer.Flush(a.uptime(now), a.out) }

// Next returns the time at which Advance has work, zero if nothing waits.
func (a *Agent) Next() time.Time {
	if !a.packer.Waiting() {
		return time.Time{}
	}
	return a.waits.Add(flushAfter)
}

// Advance sends what has waited long enough.
func (a *Agent) Advance(now time.Time) {
	if a.packer.Waiting() && now.Sub(a.waits) >= flushAfter {
		a.flush(now)
	}
}

// IfIndex returns the number of a port in sFlow, as in SNMP: N+1 for EthernetN, 0 if it has none.
func IfIndex(port string) uint32 {
	if n, ok := schema.PortNumber(port); ok {
		return n + 1
	}
	return 0
}

// Rules sets the ACL rules that sample: the index of each rule's source by the label of the rule's counter. The state
// of removed rules is dropped.
func (a *Agent) Rules(rules map[string]uint32) {
	a.rules = rules
	left := map[uint32]bool{}
	for _, index := range rules {
		left[index] = true
	}
	maps.DeleteFunc(a.flows, func(s wire.Source, _ *source) bool {
		return s.Class == wire.LogicalEntity && !left[s.Index]
	})
}

func sourceOf(m map[wire.Source]*source, of wire.Source) *source {
	s := m[of]
	if s == nil {
		s = &source{}
		m[of] = s
	}
	return s
}

// Packet processes a packet that was sampled or dropped.
func (a *Agent) Packet(p *cpuport.Packet, now time.Time) {
	switch {
	case p.Sample.Rate > 0:
		a.sampled(p, now)
	case p.Sample.Why != "":
		a.dropped(p, now)
	}
}

// chooser returns the source that has chosen a sample, and the direction; the index is 0 if it has none.
func (a *Agent) chooser(p *cpuport.Packet) (at wire.Source, direction int) {
	switch {
	case p.Sample.Rule != "":
		return wire.Source{Class: wire.LogicalEntity, Index: a.rules[p.Sample.Rule]}, 0
	case p.Sample.Egress:
		return wire.Source{Index: IfIndex(p.Sample.Out)}, 1
	}
	return wire.Source{Index: IfIndex(p.Port)}, 0
}

func (a *Agent) sampled(p *cpuport.Packet, now time.Time) {
	x := &p.Sample
	at, direction := a.chooser(p)
	if at.Index == 0 {
		a.counts.Unknown++
		return
	}
	s := sourceOf(a.flows, at)
	if x.Pool < s.pool[direction] { // the chip has a new entry for the rule: with the pool, the sequence restarts
		*s = source{samples: s.samples}
	}
	s.pool[direction], s.lost[direction] = x.Pool, x.Lost
	f := &wire.FlowSample{
		Sequence: s.sequence + 1, Source: at, Rate: x.Rate,
		Pool: uint32(s.pool[0] + s.pool[1]), Drops: uint32(s.lost[0] + s.lost[1]),
		Input: wire.Interface{Value: IfIndex(p.Port)}, Output: outputOf(x), Packet: packetOf(p),
	}
	if (p.VLAN != 0 || x.OutVLAN != 0) && x.Copies == 1 { // 0 means a router's port without VLANs
		priority := uint32(0)
		if d := p.Data; len(d) >= 16 && binary.BigEndian.Uint16(d[12:]) == 0x8100 {
			priority = uint32(d[14] >> 5)
		}
		f.Switch = &wire.Switch{
			InVLAN: uint32(p.VLAN), InPriority: priority, OutVLAN: uint32(x.OutVLAN), OutPriority: priority,
		}
	}
	if x.NextHop.IsValid() { // the source is not looked up: its prefix length is unknown, which is 0
		f.Router = &wire.Router{NextHop: x.NextHop, DestMask: uint32(x.Prefix)}
	}
	if a.add(f, now) {
		s.sequence++
		s.samples++
		a.counts.FlowSamples++
	}
}

func outputOf(x *cpuport.Sample) wire.Interface {
	switch {
	case x.Why != "":
		return wire.Interface{Format: wire.Discard, Value: uint32(ReasonOf(x.Why))}
	case x.Copies == 0:
		return wire.Internal()
	case x.Copies > 1:
		return wire.Interface{Format: wire.Multiple, Value: uint32(x.Copies)}
	}
	return wire.Interface{Value: IfIndex(x.Out)}
}

// fcs is the length of a frame check sequence, which frames have only on the wire.
const fcs = 4

func packetOf(p *cpuport.Packet) wire.Packet {
	return wire.Packet{Header: &wire.Header{
		Protocol: wire.EthernetHeader, Length: uint32(p.Len + fcs), Stripped: fcs,
		Bytes: p.Data[:min(len(p.Data), wire.MaxHeader)],
	}}
}

// dropped adds a notification of a drop, if the limit allows it.
func (a *Agent) dropped(p *cpuport.Packet, now time.Time) {
	if a.limit == 0 {
		return
	}
	x, in := &p.Sample, IfIndex(p.Port)
	at := in
	if at == 0 {
		at = IfIndex(x.Out)
	}
	s := sourceOf(a.drops, wire.Source{Index: at})
	s.lost[0] = x.Lost
	a.tokens = min(a.limit, a.tokens+float64(a.limit*max(now.Sub(a.filled), 0).Seconds()))
	if a.filled = now; a.tokens < 1 {
		s.suppressed++
		a.counts.Suppressed++
		return
	}
	a.tokens--
	d := &wire.Discarded{
		Sequence: s.sequence + 1, Source: wire.Source{Index: at}, Drops: uint32(s.suppressed + s.lost[0]),
		Input: in, Reason: ReasonOf(x.Why), Packet: packetOf(p),
	}
	d.Trap = &wire.Trap{Group: "tamtam", Name: x.Why}
	if x.Queued {
		d.Output, d.Queue = IfIndex(x.Out), &wire.Queue{Number: uint32(x.Queue), Depth: &x.Depth}
	} else if x.Out != p.Port {
		d.Output = IfIndex(x.Out)
	}
	if a.add(d, now) {
		s.sequence++
		a.counts.Discards++
	}
}

// Counters adds a sample of the counters of a port.
func (a *Agent) Counters(port string, g *wire.Generic, e *wire.Ethernet, now time.Time) {
	at := IfIndex(port)
	if at == 0 {
		return
	}
	g.Index = at
	s := sourceOf(a.counters, wire.Source{Index: at})
	if a.add(&wire.CounterSample{Sequence: s.sequence + 1, Source: wire.Source{Index: at}, Generic: g, Ethernet: e}, now) {
		s.sequence++
		a.counts.CounterSamples++
	}
}
