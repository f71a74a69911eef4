package ingest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"tamtam/collector"
	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/saisim/drop"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
	"tamtam/tam/sflow"
)

// MaxExporters is the maximum number of exporters, or agents, that are tracked separately. Their addresses come from
// outside, so it must be bounded.
const MaxExporters = 1 << 12

// The bytes for templates are 64 MiB for all exporters together. Each exporter may have some, whatever the others have:
// about ten templates of 25 fields.
const (
	exporterBytes = 12 << 10
	sharedBytes   = 64<<20 - MaxExporters*exporterBytes
)

// Reports turns reports of drops into events. It must be used by one goroutine, except Counts.
type Reports struct {
	drops *Sender
	names map[netip.Addr]string

	templates *ipfix.Memory
	exporters map[netip.AddrPort]*exporter
	agents    map[agent]*agentState
	beyond    unnumbered
	twice     twice

	counts struct{ datagrams, twice, bad, beyond, others, undecoded atomic.Int64 }
}

// ReportCounts counts what came. Losses are in the Stats of the sender.
type ReportCounts struct {
	Datagrams int64
	Twice     int64 // repeated datagrams, which are not read again
	Bad       int64 // violations of RFC 7011 or sFlow version 5; the intact part was read
	Beyond    int64 // number of datagrams from exporters or agents beyond the first MaxExporters
	Others    int64 // records and samples other than drops
	Undecoded int64 // records and sets of IPFIX, and samples of sFlow, that could not be read
}

type exporter struct {
	decoder *ipfix.Decoder
	before  ipfix.Counts
	gaps    map[uint32]*gap // gaps by observation domain
}

// An agent is also identified by the source of its datagrams, because several agents may claim the same address, or no
// address.
type agent struct {
	from, address netip.Addr
	sub           uint32
}

type agentState struct {
	numbering
	uptime   uint32
	since    time.Time // time of its first datagram since it started
	notified map[sflow.Source]notified
}

// A notified holds the contents of a source's last notification.
type notified struct {
	drops uint32    // notifications that the agent had left out
	at    time.Time // arrival time
}

// NewReports returns a reader of reports. names holds the names of switches by address.
func NewReports(drops *Sender, names map[netip.Addr]string) *Reports {
	return &Reports{drops: drops, names: names, templates: ipfix.NewMemory(exporterBytes, sharedBytes),
		exporters: map[netip.AddrPort]*exporter{}, agents: map[agent]*agentState{}}
}

// Counts returns the counts so far.
func (r *Reports) Counts() ReportCounts {
	c := &r.counts
	return ReportCounts{Datagrams: c.datagrams.Load(), Twice: c.twice.Load(), Bad: c.bad.Load(),
		Beyond: c.beyond.Load(), Others: c.others.Load(), Undecoded: c.undecoded.Load()}
}

func (r *Reports) name(a netip.Addr) string {
	if name := r.names[a.Unmap()]; name != "" {
		return name
	}
	return a.Unmap().String()
}

// IPFIX processes a message that came at a time. Each report has the time of its switch, but no switch's clock may
// close windows early or hold them. A report is given its arrival time if its own is further ahead than the disorder,
// or further behind than wrongClock. It is then flagged as [event.Drop.Unsynchronised], as are reports by a clock that
// was set back. Errors are those of the sender; defects of the message are counted.
func (r *Reports) IPFIX(ctx context.Context, from netip.AddrPort, message []byte, at time.Time) error {
	r.counts.datagrams.Add(1)
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	if r.twice.came(from, 0, message) {
		r.counts.twice.Add(1)
		return nil
	}
	e := r.exporters[from]
	if e == nil {
		if len(r.exporters) == MaxExporters {
			r.leaveOut(at)
			return nil
		}
		e = &exporter{gaps: map[uint32]*gap{}}
		e.decoder = r.templates.NewDecoder(0, func() { e.gaps = map[uint32]*gap{} })
		r.exporters[from] = e
	}
	earliest, latest := at.Add(-wrongClock), at.Add(r.drops.disorder())
	var reports []report
	lost, late := r.decode(e, message, func(x report) {
		x.Switch = r.name(from.Addr())
		if x.at.After(latest) || x.at.Before(earliest) {
			x.at, x.Since, x.Unsynchronised = at, 0, true
		}
		reports = append(reports, x)
	})
	h, missing := received{at: at, until: at, late: late, broken: lost > 0}, hole{lost: lost, since: at}
	if domain, exported, ok := ipfix.Domain(message); ok {
		h.number = binary.BigEndian.Uint32(message[8:])
		if h.until = exported.Add(time.Second); h.until.After(latest) || h.until.Before(earliest) {
			h.until = latest.Add(1) // no report is later
		}
		missing.uncertain = e.gaps[domain].goesBack(h)
		h.broken = h.broken || missing.uncertain
		var err error
		if missing.since, err = r.gapOf(ctx, e, domain, h, reports); err != nil {
			return err
		}
	}
	r.drops.report(missing, h.until)
	for i := range reports {
		if err := r.drops.Received(ctx, reports[i].at.UnixNano(), at.UnixNano(), &reports[i].Drop); err != nil {
			return err
		}
	}
	return nil
}

// decode calls each for the drops in a message. It returns the number of missing records before the message or in it,
// and whether the message arrived later than its successor. Defects of the message are counted.
func (r *Reports) decode(e *exporter, message []byte, each func(report)) (lost int64, late bool) {
	unread := uint64(0)
	err := e.decoder.Message(message, func(d *ipfix.DataRecord) {
		switch x, ok := dropOf(d); {
		case ok:
			each(x)
		case x.unread:
			unread++
		default:
			r.counts.others.Add(1)
		}
	})
	now := e.decoder.Counts()
	unread += now.Undecoded - e.before.Undecoded + now.WithoutTemplate - e.before.WithoutTemplate
	lost, late = int64(now.Lost-e.before.Lost+unread), now.Late > e.before.Late
	r.counts.undecoded.Add(int64(unread))
	if err != nil {
		r.counts.bad.Add(1)
		lost = max(lost, 1)
	}
	e.before = now
	return lost, late
}

// A report holds the contents of an IPFIX record about drops.
type report struct {
	event.Drop
	at      time.Time
	flow    collector.Flow
	out     string // egress port
	flags   uint64
	reasons bool      // true if the record has a reason
	early   bool      // true if it was dropped before the queues
	started time.Time // time of the first drop of a flow; zero if the report is not about a flow
	// These are true if a value cannot be read (see [ipfix.FieldSpec.Raw]): one that a report requires, the ingress
	// port, or the flow.
	unread, noPort, noFlow bool
}

// dropOf reads a record of a drop. It returns false if the record is about something else, or about no dropped packet,
// or is unread.
func dropOf(d *ipfix.DataRecord) (report, bool) {
	r := report{Drop: event.Drop{Queue: result.UnknownQueue, Source: "ipfix"}}
	r.fields(d)
	r.unread = r.unread && r.reasons && r.flags&dropreport.FlagPunted == 0
	switch {
	case !r.reasons, r.unread, r.Packets == 0, r.flags&dropreport.FlagPunted != 0:
		return r, false
	case r.flags&(dropreport.FlagMirror|dropreport.FlagCPU) != 0:
		r.Reason = "of a copy: " + r.Reason
	}
	if r.Port == "" && !r.noPort {
		r.Port = r.out
	}
	if r.early && r.Queue == result.UnknownQueue {
		r.Queue = result.NoQueue
	}
	if !r.noFlow && r.flow.Source.IsValid() && r.flow.Destination.IsValid() {
		r.Flow = r.flow.String()
	}
	if r.at.IsZero() || r.at.Unix() <= 0 { // the switch had no time
		r.at = d.Exported
	}
	if r.started.Unix() > 0 && r.started.Before(r.at) {
		r.Since = r.started.UnixNano()
	}
	return r, true
}

func (r *report) fields(d *ipfix.DataRecord) {
	for i := range d.Fields {
		switch e := d.Fields[i].Element; {
		case e == nil:
		case d.Fields[i].Raw(d.Values[i]):
			r.raw(e.Name)
		case !r.field(e.Name, d.Values[i]):
			r.flowField(e.Name, d.Values[i])
		}
	}
}

// raw notes a field whose value cannot be read: it is unknown, not zero.
func (r *report) raw(name string) {
	switch name {
	case "tamtamDropReason":
		r.unread, r.reasons = true, true
	case "droppedPacketDeltaCount", "tamtamDropFlags":
		r.unread = true
	case "observationTimeNanoseconds":
		r.Unsynchronised = true
	case "ingressInterface":
		r.noPort = true
	case "protocolIdentifier", "sourceIPv4Address", "sourceIPv6Address", "destinationIPv4Address",
		"destinationIPv6Address", "sourceTransportPort", "destinationTransportPort":
		r.noFlow = true
	}
}

// field reads a field about the drop. It returns false for other fields.
func (r *report) field(name string, value []byte) bool {
	n, _ := ipfix.Unsigned(value)
	switch name {
	case "observationTimeNanoseconds":
		r.at, _ = ipfix.FromNTP(n)
	case "droppedPacketDeltaCount":
		r.Packets = int64(min(n, math.MaxInt64)) // the join rejects this as too many
	case "tamtamDropReason":
		r.Reason, r.reasons = reasonOf(n), true
	case "tamtamDropFlags":
		r.flags = n
	case "flowStartNanoseconds":
		r.started, _ = ipfix.FromNTP(n)
	case "tamtamDropStage":
		r.early = dropreport.Stage(n) == dropreport.StageIngress
	case "ingressInterface":
		r.Port = portOf(n)
	case "egressInterface":
		r.out = portOf(n)
	case "tamtamQueue":
		r.Queue = int(min(n, 1<<16))
	default:
		return false
	}
	return true
}

func (r *report) flowField(name string, value []byte) {
	n, _ := ipfix.Unsigned(value)
	switch name {
	case "protocolIdentifier":
		r.flow.Protocol = uint8(n)
	case "sourceIPv4Address", "sourceIPv6Address":
		r.flow.Source, _ = netip.AddrFromSlice(value)
	case "destinationIPv4Address", "destinationIPv6Address":
		r.flow.Destination, _ = netip.AddrFromSlice(value)
	case "sourceTransportPort":
		r.flow.SourcePort = uint16(n)
	case "destinationTransportPort":
		r.flow.DestPort = uint16(n)
	}
}

func reasonOf(n uint64) string {
	if n >= uint64(drop.NumReasons) {
		return fmt.Sprintf("reason %d", n)
	}
	return drop.Reason(n).String()
}

// portOf returns the name of a port by the number of its interface, which is the port's number plus one.
func portOf(ifIndex uint64) string {
	if ifIndex == 0 || ifIndex > 1<<16 {
		return ""
	}
	return "Ethernet" + strconv.FormatUint(ifIndex-1, 10)
}

// SFlow processes a datagram that came at a time, which is used for its samples. Errors are those of the sender.
func (r *Reports) SFlow(ctx context.Context, from netip.AddrPort, datagram []byte, at time.Time) error {
	r.counts.datagrams.Add(1)
	if r.twice.came(from, 0, datagram) {
		r.counts.twice.Add(1)
		return nil
	}
	d, err := sflow.Decode(datagram)
	if err != nil {
		r.counts.bad.Add(1)
		lost := int64(1) // the bytes after the last sample hold an unknown number of samples
		if d != nil {
			lost = max(lost, int64(d.Unread))
			r.counts.undecoded.Add(int64(d.Unread))
		}
		r.drops.Lose(lost, at)
	}
	if d == nil {
		return nil
	}
	if !d.Agent.IsValid() { // no address in the datagram
		d.Agent = from.Addr()
	}
	key := agent{from.Addr().Unmap(), d.Agent, d.SubAgent}
	a := r.agents[key]
	if a == nil {
		if len(r.agents) == MaxExporters {
			r.leaveOut(at)
			return nil
		}
		a = &agentState{since: at, notified: map[sflow.Source]notified{}}
		r.agents[key] = a
		before := at.UnixNano() - 1 // earlier datagrams of the agent may have been lost in transit
		if err := r.drops.Unheard(ctx, before, before); err != nil {
			return err
		}
	}
	r.drops.report(a.number(d, at), at)
	for _, x := range d.Samples {
		n, ok := x.(*sflow.Discarded)
		if !ok {
			r.counts.others.Add(1)
			continue
		}
		r.drops.report(a.unsent(n, at), at)
		drop := discarded(n)
		drop.Switch = r.name(d.Agent)
		if err := r.drops.Drop(ctx, at.UnixNano(), &drop); err != nil {
			return err
		}
	}
	return nil
}

// leaveOut counts a datagram from beyond the first MaxExporters.
func (r *Reports) leaveOut(at time.Time) {
	r.counts.beyond.Add(1)
	r.drops.report(r.beyond.came(at), at)
}

// maxSources is the number of an agent's sources whose left-out notifications are tracked. The losses of other sources
// are uncertain.
const maxSources = 1 << 10

// restartAfter is the minimum decrease of an agent's uptime, in milliseconds, that shows a restart.
const restartAfter = 10_000

// number returns the hole before a datagram that came at a time.
func (a *agentState) number(d *sflow.Datagram, at time.Time) hole {
	back := d.Uptime < a.uptime && (d.Sequence <= 1 || a.uptime-d.Uptime > restartAfter)
	h := a.came(d.Sequence, at, back)
	if h.restarted {
		clear(a.notified)
		a.since = at
	}
	if a.late == 0 {
		a.uptime = d.Uptime
	}
	return h
}

// unsent returns the hole of notifications that the agent has left out since the last one of the same source. For a new
// source, they may have been left out at any time.
func (a *agentState) unsent(n *sflow.Discarded, at time.Time) hole {
	before, ok := a.notified[n.Source]
	if ok || len(a.notified) < maxSources {
		a.notified[n.Source] = notified{n.Drops, at}
	}
	if !ok {
		return hole{uncertain: n.Drops > 0, since: a.since}
	}
	return hole{lost: int64(int32(n.Drops - before.drops)), since: before.at}
}

func discarded(n *sflow.Discarded) event.Drop {
	out := event.Drop{Queue: result.UnknownQueue, Source: "sflow", Packets: 1, Reason: n.Reason.String()}
	switch {
	case n.Input != 0:
		out.Port = fmt.Sprintf("ifIndex %d", n.Input)
	case n.Output != 0:
		out.Port = fmt.Sprintf("ifIndex %d", n.Output)
	}
	if n.Queue != nil && n.Queue.Number <= math.MaxInt32 {
		out.Queue = int(n.Queue.Number)
	}
	if h := n.Header; h != nil && h.Protocol == sflow.EthernetHeader {
		if flow, ok := collector.ParseFlow(h.Bytes); ok {
			out.Flow = flow.String()
		}
	}
	return out
}
