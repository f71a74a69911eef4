package ingest

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"tamtam/collector"
	"tamtam/collectord/event"
	"tamtam/saisim/drop"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
	"tamtam/tam/sflow"
)

// MaxExporters is how many exporters, or agents, are told apart: their addresses come from outside.
const MaxExporters = 1 << 12

// Reports makes events of reports of drops. It is for one goroutine, but for Counts.
type Reports struct {
	drops *Sender
	names map[netip.Addr]string

	exporters map[netip.AddrPort]*exporter
	agents    map[agent]*agentState
	twice     twice

	counts struct{ datagrams, twice, bad, beyond, others, undecoded atomic.Int64 }
}

// ReportCounts are of what came. What was lost is in the Stats of the sender.
type ReportCounts struct {
	Datagrams int64
	Twice     int64 // they came before, and are not read again
	Bad       int64 // not as RFC 7011 or sFlow version 5 have them; what stands before the fault was read
	Beyond    int64 // of exporters or agents beyond the first MaxExporters
	Others    int64 // records and samples that are no drops
	Undecoded int64 // records and sets of IPFIX whose template was not known
}

type exporter struct {
	decoder *ipfix.Decoder
	before  ipfix.Counts
	doubts  map[uint32]*doubt // of observation domains
}

type agent struct {
	address netip.Addr
	sub     uint32
}

type agentState struct {
	next   uint32 // number that is due
	uptime uint32
	drops  map[sflow.Source]uint32 // the Drops of its last notification
}

// NewReports returns a reader of reports, by the names that switches have by their addresses.
func NewReports(drops *Sender, names map[netip.Addr]string) *Reports {
	return &Reports{drops: drops, names: names, exporters: map[netip.AddrPort]*exporter{}, agents: map[agent]*agentState{}}
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

// IPFIX takes a message that came at a time. Each report has the time of its switch, and no switch's clock closes
// windows before their time: what a clock says that is further ahead than reports may be in disorder was when it came,
// and that is told as [event.Drop.Unsynchronised], as are reports by a clock that was set back.
// Errors are those of the sender; what is wrong with the message is counted.
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
			r.counts.beyond.Add(1)
			r.drops.Lose(1, at)
			return nil
		}
		e = &exporter{decoder: ipfix.NewDecoder(0), doubts: map[uint32]*doubt{}}
		r.exporters[from] = e
	}
	var reports []report
	latest := at.Add(r.drops.disorder())
	err := e.decoder.Message(message, func(d *ipfix.DataRecord) {
		if x, ok := dropOf(d); ok {
			x.Switch = r.name(from.Addr())
			if x.at.After(latest) {
				x.at, x.Unsynchronised = at, true
			}
			reports = append(reports, x)
		} else {
			r.counts.others.Add(1)
		}
	})
	if err != nil {
		r.counts.bad.Add(1)
	}
	now := e.decoder.Counts()
	missing := now.Lost - e.before.Lost
	unread := now.Undecoded - e.before.Undecoded + now.WithoutTemplate - e.before.WithoutTemplate
	r.counts.undecoded.Add(int64(unread))
	broken := missing+unread > 0 || err != nil
	until := at
	if domain, exported, ok := ipfix.Domain(message); ok {
		if until = exported.Add(time.Second); until.After(latest) {
			until = latest.Add(1) // no report is later
		}
		if failed := r.doubt(ctx, e, domain, heard{at, until, broken}, reports); failed != nil {
			return failed
		}
	}
	if broken {
		r.drops.Lose(int64(max(missing+unread, 1)), until)
	}
	e.before = now
	for i := range reports {
		if err := r.drops.Heard(ctx, reports[i].at.UnixNano(), at.UnixNano(), &reports[i].Drop); err != nil {
			return err
		}
	}
	return nil
}

// A report is what a record of IPFIX says of drops.
type report struct {
	event.Drop
	at      time.Time
	flow    collector.Flow
	out     string // port
	flags   uint64
	reasons bool // it has one
}

// dropOf reads a record of a drop; false: it is of something else, or of nothing that was dropped.
func dropOf(d *ipfix.DataRecord) (report, bool) {
	r := report{Drop: event.Drop{Queue: -1, Source: "ipfix"}}
	for i := range d.Fields {
		if e := d.Fields[i].Element; e != nil && !r.field(e.Name, d.Values[i]) {
			r.flowField(e.Name, d.Values[i])
		}
	}
	switch {
	case !r.reasons, r.Packets == 0, r.flags&dropreport.FlagPunted != 0:
		return report{}, false
	case r.flags&(dropreport.FlagMirror|dropreport.FlagCPU) != 0:
		r.Reason = "of a copy: " + r.Reason
	}
	if r.Port == "" {
		r.Port = r.out
	}
	if r.flow.Source.IsValid() && r.flow.Destination.IsValid() {
		r.Flow = r.flow.String()
	}
	if r.at.IsZero() || r.at.Unix() <= 0 { // the switch had no time
		r.at = d.Exported
	}
	return r, true
}

// field takes a field that is about the drop; false: it is not.
func (r *report) field(name string, value []byte) bool {
	n, _ := ipfix.Unsigned(value)
	switch name {
	case "observationTimeNanoseconds":
		r.at, _ = ipfix.FromNTP(n)
	case "droppedPacketDeltaCount":
		r.Packets = int64(min(n, 1<<62))
	case "tamtamDropReason":
		r.Reason, r.reasons = reasonOf(n), true
	case "tamtamDropFlags":
		r.flags = n
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

// flowField takes a field that is about the flow.
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

// portOf names a port by the number of its interface, which is one more than that of the port.
func portOf(ifIndex uint64) string {
	if ifIndex == 0 || ifIndex > 1<<16 {
		return ""
	}
	return "Ethernet" + strconv.FormatUint(ifIndex-1, 10)
}

// SFlow takes a datagram that came at a time: its samples have none. Errors are those of the sender.
func (r *Reports) SFlow(ctx context.Context, from netip.AddrPort, datagram []byte, at time.Time) error {
	r.counts.datagrams.Add(1)
	if r.twice.came(from, 0, datagram) {
		r.counts.twice.Add(1)
		return nil
	}
	d, err := sflow.Decode(datagram)
	if err != nil {
		r.counts.bad.Add(1)
		r.drops.Lose(1, at)
		return nil
	}
	key := agent{d.Agent, d.SubAgent}
	a := r.agents[key]
	if a == nil {
		if len(r.agents) == MaxExporters {
			r.counts.beyond.Add(1)
			r.drops.Lose(1, at)
			return nil
		}
		a = &agentState{next: d.Sequence, drops: map[sflow.Source]uint32{}}
		r.agents[key] = a
		before := at.UnixNano() - 1 // its datagrams before this one may have been lost on the way
		if err := r.drops.Unheard(ctx, before, before); err != nil {
			return err
		}
	}
	r.drops.Lose(a.number(d), at)
	for _, x := range d.Samples {
		n, ok := x.(*sflow.Discarded)
		if !ok {
			r.counts.others.Add(1)
			continue
		}
		r.drops.Lose(a.unsent(n), at)
		drop := discarded(n)
		drop.Switch = r.name(d.Agent)
		if err := r.drops.Drop(ctx, at.UnixNano(), &drop); err != nil {
			return err
		}
	}
	return nil
}

// What begins anew is so many numbers behind at least, so many milliseconds of an agent's uptime, or behind in so many
// numbers in a row.
const (
	anew      = 1 << 10
	anewAfter = 10_000
	anewInRow = 8
)

// number is how many datagrams are missing before this one. One that comes late was counted as missing, and stays so.
// Of an agent that began anew and whose first is not there, one is missing at least.
func (a *agentState) number(d *sflow.Datagram) int64 {
	gap := int32(d.Sequence - a.next)
	switch {
	case d.Uptime < a.uptime && d.Sequence <= 1:
		gap = 0
		clear(a.drops)
	case gap < -anew, gap < 0 && d.Uptime < a.uptime && a.uptime-d.Uptime > anewAfter:
		gap = 1
		clear(a.drops)
	case gap < 0:
		return 0
	}
	a.next, a.uptime = d.Sequence+1, d.Uptime
	return int64(gap)
}

// unsent is how many notifications the agent itself has left out since the last one of the same source.
func (a *agentState) unsent(n *sflow.Discarded) int64 {
	before, ok := a.drops[n.Source]
	if ok || len(a.drops) < MaxExporters {
		a.drops[n.Source] = n.Drops
	}
	if more := int32(n.Drops - before); ok && more > 0 {
		return int64(more)
	}
	return 0
}

func discarded(n *sflow.Discarded) event.Drop {
	out := event.Drop{Queue: -1, Source: "sflow", Packets: 1, Reason: n.Reason.String()}
	switch {
	case n.Input != 0:
		out.Port = fmt.Sprintf("ifIndex %d", n.Input)
	case n.Output != 0:
		out.Port = fmt.Sprintf("ifIndex %d", n.Output)
	}
	if n.Queue != nil {
		out.Queue = int(n.Queue.Number)
	}
	if h := n.Header; h != nil && h.Protocol == sflow.EthernetHeader {
		if flow, ok := collector.ParseFlow(h.Bytes); ok {
			out.Flow = flow.String()
		}
	}
	return out
}
