package reference

import (
	"encoding/binary"
	"math/big"
	"net/netip"
	"slices"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/tam/dropreport"
)

// These constants are the parts of a cycle's work. Drops of one cycle are reported in this order.
const (
	atEgressMAC = iota
	atQueues
	atIngressMAC
	atEntry
	atControl
)

// reporting is the state of the drop reports.
type reporting struct {
	pending []pendingDrop // in the order in which they will be reported
	streams map[streamName]*stream
	sends   map[sendName]*send
	events  map[config.ID]*eventState
	part    int       // part of the cycle's work
	own     bool      // true while the dropped frame is a report itself
	before  *settings // settings before a removal of ports, while it is in progress; nil otherwise
}

// A pendingDrop waits to be reported.
type pendingDrop struct {
	saisim.Drop
	part    int
	pk      *packet
	events  []config.ID
	in, out uint32
	fillers []filler
}

// A filler is an interface, with its bytes in a queue.
type filler struct {
	port  uint32
	bytes int
}

type streamName struct {
	src, dst netip.AddrPort
	domain   uint32
}

type stream struct {
	sequence uint32
	counts   [dropreport.NumWords]uint64
}

// A sendName identifies an event's reports to a collector in a stream. It contains all that the templates depend on.
type sendName struct {
	event, collector config.ID
	stream           streamName
	layout           config.ReportLayout
	enterprise       uint32
}

type send struct {
	began    bool
	at       saisim.Cycle
	messages int
	known    map[uint16]bool
}

// An eventState is the state of an event.
type eventState struct {
	seen    uint64
	counts  [dropreport.NumWords]uint64
	limiter *policer
	flows   []*dropFlow // sorted by the end of their intervals
	aging   saisim.Cycle
}

func newReporting() reporting {
	return reporting{
		streams: map[streamName]*stream{}, sends: map[sendName]*send{}, events: map[config.ID]*eventState{}, part: atControl,
	}
}

// reportWait returns the cycles between a drop and its report. The report comes after everything else that happens in
// the drop's cycle.
func (c *Chip) reportWait() saisim.Cycle {
	p := &c.prof
	return 1024 + saisim.Cycle(p.Parser+p.IngressStages*p.StageCycles+p.TrafficManager)
}

// cyclesOf returns the first cycle that is not before a time since the start.
func (c *Chip) cyclesOf(d time.Duration) saisim.Cycle {
	n := new(big.Int).Mul(big.NewInt(int64(d)), new(big.Int).SetUint64(c.prof.ClockHz))
	n.Add(n, big.NewInt(999_999_999))
	return saisim.Cycle(n.Div(n, big.NewInt(1_000_000_000)).Uint64())
}

// setReporting applies the rows of a configuration. State without a row is dropped.
func (c *Chip) setReporting(conf *settings) {
	had := c.reporting.events
	c.reporting.events = map[config.ID]*eventState{}
	all := slices.Concat(conf.TAMEvents, conf.reportingIFA())
	for _, e := range all {
		x := had[e.ID]
		if x == nil {
			x = &eventState{}
		}
		c.reporting.events[e.ID] = x
		x.limit(c, e)
		if e.Aging > 0 {
			x.aging = c.cyclesOf(e.Aging)
		}
	}
	streams, sends := map[streamName]*stream{}, map[sendName]*send{}
	for _, e := range all {
		for _, to := range conf.collectorsOf(e) {
			name := conf.sendName(e, to)
			if streams[name.stream] = c.reporting.streams[name.stream]; streams[name.stream] == nil {
				streams[name.stream] = &stream{}
				c.reporting.streams[name.stream] = streams[name.stream]
			}
			if sends[name] = c.reporting.sends[name]; sends[name] == nil {
				sends[name] = &send{known: map[uint16]bool{}}
			}
		}
	}
	c.reporting.streams, c.reporting.sends = streams, sends
}

// limit applies the rate limit of an event's reports, if it has one. Tokens are kept up to the new burst.
func (x *eventState) limit(c *Chip, e config.TAMEvent) {
	if e.Rate == 0 {
		x.limiter = nil
		return
	}
	if x.limiter == nil {
		x.limiter = &policer{committed: whole(e.Burst), other: whole(0), since: c.now}
	} else {
		x.limiter.refill(c.now, c.prof.ClockHz)
	}
	x.limiter.Policer = config.Policer{Mode: config.StormControl, CIR: e.Rate, CBS: e.Burst}
	x.limiter.committed = lesser(x.limiter.committed, whole(e.Burst))
}

func (conf *settings) collectorsOf(e config.TAMEvent) (list []config.TAMCollector) {
	for _, id := range e.Collectors {
		for _, t := range conf.TAMCollectors {
			if t.ID == id {
				list = append(list, t)
			}
		}
	}
	return list
}

// domainOf returns the domain of the first TAM object that lists the event, or 0 without one. For an object of IFA, it
// returns its device.
func (conf *settings) domainOf(e config.ID) uint32 {
	if r, of := conf.tamInts[e]; of {
		return r.SwitchID
	}
	for _, t := range conf.TAMs { // sorted by ID
		if slices.Contains(t.Events, e) {
			return t.Domain
		}
	}
	return 0
}

func (conf *settings) sendName(e config.TAMEvent, to config.TAMCollector) sendName {
	return sendName{e.ID, to.ID, streamName{netip.AddrPortFrom(to.Src, to.SrcPort), netip.AddrPortFrom(to.Dst, to.DstPort),
		conf.domainOf(e.ID)}, e.Layout, e.Enterprise}
}

// eventsOf returns the existing events that the given TAM objects list.
func (conf *settings) eventsOf(tams []config.ID) (events []config.ID) {
	for _, t := range conf.TAMs {
		if !slices.Contains(tams, t.ID) {
			continue
		}
		for _, id := range t.Events {
			if slices.ContainsFunc(conf.TAMEvents, func(e config.TAMEvent) bool { return e.ID == id }) {
				events = append(events, id)
			}
		}
	}
	return events
}

// noteDrop queues a drop for reporting, with the configuration that applied to it.
func (c *Chip) noteDrop(d dropping) {
	pk := d.pk
	conf, part := c.conf, c.reporting.part
	if part == atEntry && pk.conf != nil {
		conf = pk.conf
	}
	if c.reporting.before != nil {
		conf = c.reporting.before
	}
	events := slices.Concat(conf.eventsOf(conf.Switch.TAMs), conf.eventsOf(conf.portByID[pk.in].TAMs), pk.events)
	if d.Punted && d.Why != drop.TTL && d.Why != drop.NoNeighbor && d.Why != drop.L3MTU {
		return
	}
	if len(events) == 0 {
		return
	}
	x := pendingDrop{Drop: d.Drop, part: part, pk: pk, events: events}
	x.in = conf.interfaceOf(d.In)
	if s := x.stage(); s != dropreport.StageIngress && d.Why != drop.PortRemoved {
		x.out = conf.interfaceOf(d.Port)
	}
	if x.stage() == dropreport.StageMMU {
		x.fillers = c.fillersOf(conf, d.Port, d.Queue)
	}
	at := len(c.reporting.pending)
	for at > 0 && c.reporting.pending[at-1].behind(x) {
		at--
	}
	c.reporting.pending = slices.Insert(c.reporting.pending, at, x)
}

func (x pendingDrop) behind(y pendingDrop) bool {
	return x.At > y.At || x.At == y.At && x.part > y.part
}

// stage returns the stage at which the packet was dropped.
func (x pendingDrop) stage() dropreport.Stage {
	switch {
	case x.Punted:
		return dropreport.StageIngress
	case x.Why == drop.Buffer, x.Why == drop.QueueLimit, x.Why == drop.WRED, x.Why == drop.TrimQueue:
		return dropreport.StageMMU
	case x.Why == drop.EgressDown, x.Why == drop.EgressMTU, x.Why == drop.EgressACL, x.Why == drop.EgressProgram,
		x.Why == drop.PortRemoved && x.Queued:
		return dropreport.StageEgress
	}
	return dropreport.StageIngress
}

// flags returns the flags of the drop, except the clock's flags.
func (x pendingDrop) flags() (f uint8) {
	if x.Punted {
		f |= dropreport.FlagPunted
	}
	if x.Mirror {
		f |= dropreport.FlagMirror
	}
	if x.Why == drop.Policer {
		f |= dropreport.FlagCPU
	}
	return f
}

// interfaceOf returns the number of a port's interface. It is zero if there is no such port, or if the port has no
// number.
func (conf *settings) interfaceOf(id saisim.PortID) uint32 {
	p, ok := conf.portByID[id]
	if !ok || p.Number == 65535 {
		return 0
	}
	return uint32(p.Number) + 1
}

// fillersOf returns the three interfaces with the most bytes in a queue.
func (c *Chip) fillersOf(conf *settings, id saisim.PortID, queue uint8) []filler {
	sum := map[uint32]int{}
	for _, o := range c.portAt(id).queues[queue].items {
		i := conf.interfaceOf(o.in)
		if i == 0 {
			i = dropreport.AnyInterface
		}
		sum[i] += o.bufferBytes()
	}
	var all []filler
	for i, n := range sum {
		all = append(all, filler{i, n})
	}
	slices.SortFunc(all, func(a, b filler) int {
		if a.bytes != b.bytes {
			return b.bytes - a.bytes
		}
		return int(int64(a.port) - int64(b.port))
	})
	return all[:min(len(all), dropreport.Fillers)]
}

// makeReports reports the drops that have waited long enough, and then the flow intervals that have ended.
func (c *Chip) makeReports() {
	for len(c.reporting.pending) > 0 && c.reporting.pending[0].At+c.reportWait() <= c.now {
		x := c.reporting.pending[0]
		c.reporting.pending = c.reporting.pending[1:]
		for _, e := range c.conf.eventsByIndex {
			if slices.Contains(x.events, e.ID) {
				c.reportDrop(e, x)
			}
		}
	}
	for _, e := range c.conf.eventsByIndex {
		for s := c.reporting.events[e.ID]; len(s.flows) > 0 && s.flows[0].until <= c.now; {
			c.intervalEnds(e, s)
		}
	}
}

// nextReport returns the next cycle with something to report.
func (c *Chip) nextReport() saisim.Cycle {
	next := ^saisim.Cycle(0)
	if len(c.reporting.pending) > 0 {
		next = c.reporting.pending[0].At + c.reportWait()
	}
	for _, s := range c.reporting.events {
		if len(s.flows) > 0 {
			next = min(next, max(s.flows[0].until, c.now+1))
		}
	}
	return next
}

// reportDrop reports a drop that an event has selected.
func (c *Chip) reportDrop(e config.TAMEvent, x pendingDrop) {
	s := c.reporting.events[e.ID]
	word := dropreport.WordDrops
	if x.Punted {
		word = dropreport.WordPunted
	}
	s.counts[word]++
	s.seen++
	if e.Sample > 0 && (s.seen-1)%uint64(e.Sample) > 0 {
		s.counts[dropreport.WordSampledOut]++
		return
	}
	r := c.recordOf(x)
	if e.Aging == 0 {
		r.event, r.delta = dropreport.EventPacket, 1
		r.flow.noIP = nil
		c.sendReport(e, s, &r)
		return
	}
	c.flowDrop(e, s, &r)
}

// mayReport reports whether the rate limit allows a report.
func (c *Chip) mayReport(s *eventState) bool {
	if s.limiter != nil {
		s.limiter.refill(c.now, c.prof.ClockHz)
		if s.limiter.colourOf(whole(1)) != config.Green {
			s.counts[dropreport.WordRateLimited]++
			return false
		}
	}
	s.counts[dropreport.WordReports]++
	return true
}

// sendReport sends a record to the collectors of an event, if the rate limit allows it, and reports whether it did.
func (c *Chip) sendReport(e config.TAMEvent, s *eventState, r *dropRecord) bool {
	if !c.mayReport(s) {
		return false
	}
	c.sendRecord(e, r)
	return true
}

// sendRecord sends a record to all reachable collectors of an event, and returns how many there are.
func (c *Chip) sendRecord(e config.TAMEvent, r *dropRecord) (sent int) {
	for _, to := range c.conf.collectorsOf(e) {
		name := c.conf.sendName(e, to)
		st := c.reporting.streams[name.stream]
		if !to.Local && (to.To == config.None || to.DMAC == config.MAC{}) {
			st.counts[dropreport.WordNotSendable]++
			continue
		}
		m := messenger{chip: c, e: e, to: to, stream: st, send: c.reporting.sends[name], domain: name.stream.domain}
		m.record(r)
		sent++
	}
	return sent
}

// leaveReport sends a frame with a report, at the port or to the CPU.
func (c *Chip) leaveReport(m *messenger, frame []byte) {
	pk := newPacket(saisim.Frame{Data: frame})
	pk.in, pk.rx, pk.number, pk.conf = saisim.CPUPort, c.now, 65535, c.conf
	pk.h = parse(pk.data, pk.length)
	c.frameCounts.Copies++
	o := &outgoing{packet: pk, raw: true, report: m.stream}
	if m.to.Local {
		if p := c.policers[m.to.Policer]; p != nil && c.meters(p, len(frame)+fcs) {
			c.lose(nil, o, drop.Policer)
			return
		}
		c.frameCounts.ToCPU++
		c.Output(saisim.Out{Port: saisim.CPUPort, In: saisim.CPUPort, At: c.now, Data: frame, Len: len(frame),
			Trap: config.TrapTAM, Queue: m.to.Queue})
		return
	}
	to, ok := m.to.To, true
	if _, lag := c.conf.lags[to]; lag {
		to, ok = c.conf.chooseMember(to, pk)
	}
	if !ok {
		c.lose(nil, o, drop.NoLAGMember)
		return
	}
	p := c.portWith(to)
	o.reportClass = p.QoS.DefaultTC
	if p.QoS.DSCP != nil {
		o.reportClass = p.QoS.DSCP[m.dscp()]
	}
	c.enqueue(p, o)
}

// dscp returns the DSCP of reports: the collector's, or the event's if that is zero.
func (m *messenger) dscp() uint8 {
	if m.to.DSCP != 0 {
		return m.to.DSCP
	}
	return m.e.DSCP
}

// ReportCounts returns the counters of the reports from one address and port to another.
func (c *Chip) ReportCounts(src, dst netip.AddrPort) (n [dropreport.NumWords]uint64) {
	add := func(counts [dropreport.NumWords]uint64) {
		for i, v := range counts {
			n[i] += v
		}
	}
	for name, s := range c.reporting.streams {
		if name.src == src && name.dst == dst {
			add(s.counts)
		}
	}
	for _, e := range slices.Concat(c.conf.TAMEvents, c.conf.reportingIFA()) {
		for _, to := range c.conf.collectorsOf(e) {
			if netip.AddrPortFrom(to.Src, to.SrcPort) == src && netip.AddrPortFrom(to.Dst, to.DstPort) == dst {
				add(c.reporting.events[e.ID].counts)
				break
			}
		}
	}
	return n
}

func put16(b []byte, v ...uint16) []byte {
	for _, x := range v {
		b = binary.BigEndian.AppendUint16(b, x)
	}
	return b
}
