package fromlab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/collector/journey"
	"tamtam/collectord/event"
	"tamtam/collectord/result"
	"tamtam/device"
	"tamtam/saisim/drop"
	"tamtam/tam/flymon"
	"tamtam/tam/ipfix"
	"tamtam/tam/record"
)

// window is the length of those of stamps and drops.
const window = int64(10_000_000)

func windowOf(t int64) result.Window {
	return result.Window{Start: t / window * window, Length: window}
}

// captures are those of what hosts received.
func (x *reading) captures() (list []string) {
	for _, h := range x.lab.Topology().Hosts {
		if h.Capture {
			list = append(list, filepath.Join(x.dir, h.Name+".received.pcap"))
		}
	}
	return list
}

type hopKey struct {
	window int64
	flow   string
	path   string
	index  int
}

// stamps reads the tail-stamps of frames that came to hosts.
func (x *reading) stamps(ctx context.Context) error {
	hops := map[hopKey]*result.Hop{}
	var order []*result.Hop
	each := func(f collector.StampedFrame) error {
		w := windowOf(f.Time.UnixNano())
		path := pathOf(f)
		var before event.Hop
		for i, r := range f.Records {
			hop := event.HopOf(r)
			key := hopKey{w.Start, f.Flow.String(), path, i}
			h := hops[key]
			if h == nil {
				h = &result.Hop{Window: w, Flow: key.flow, Path: path, Index: i, Switch: hop.Switch, In: hop.In, Out: hop.Out}
				hops[key] = h
				order = append(order, h)
			}
			count(h, hop, before, i)
			before = hop
		}
		return nil
	}
	for _, name := range x.captures() {
		opts := collector.DecodeOptions{Each: each}
		if err := collector.DecodeTailStamp(ctx, io.Discard, name, opts); err != nil {
			return err
		}
	}
	for _, h := range order {
		x.batch.Hops = append(x.batch.Hops, *h)
	}
	return nil
}

// pathOf names the switches and ports of a way.
func pathOf(f collector.StampedFrame) string {
	var b strings.Builder
	for _, r := range f.Records {
		h := event.HopOf(r)
		fmt.Fprintf(&b, "%d:%d-%d ", h.Switch, h.In, h.Out)
	}
	return strings.TrimSpace(b.String())
}

// count adds one frame's stamp to its hop.
func count(h *result.Hop, hop, before event.Hop, i int) {
	h.Packets++
	if hop.Flags&event.Unsynchronised != 0 {
		h.Flags |= result.Unsynchronised
	}
	if hop.Flags&(event.NoArrival|event.NoDeparture) != 0 {
		h.Unknown++
	} else {
		one(&h.Resident, hop.Departure-hop.Arrival)
	}
	if i > 0 && hop.Flags&event.NoArrival == 0 && before.Flags&event.NoDeparture == 0 {
		one(&h.Link, hop.Arrival-before.Departure)
	}
}

// one adds a value to a distribution.
func one(d *result.Distribution, v int64) {
	d.Add(result.Distribution{Count: 1, Sum: v, Min: v, Max: v, First: result.Bucket(v), Buckets: []uint32{1}})
}

// reports reads the reports of drops that came to hosts as IPFIX.
func (x *reading) reports(ctx context.Context) error {
	type from struct {
		host string
		addr netip.AddrPort
	}
	decoders := map[from]*ipfix.Decoder{}
	for _, name := range x.captures() {
		err := eachFrame(ctx, name, func(p capture.Packet) {
			u, ok := collector.ParseUDP(p.Data)
			if !ok || u.To.Port() != 4739 {
				return
			}
			key := from{name, u.From}
			if decoders[key] == nil {
				decoders[key] = ipfix.NewDecoder(0)
			}
			_ = decoders[key].Message(u.Payload, func(r *ipfix.DataRecord) { x.drop(p.Time.UnixNano(), r) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func eachFrame(ctx context.Context, name string, f func(capture.Packet)) error {
	in, err := capture.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	for {
		p, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		f(p)
	}
}

// drop takes a record of IPFIX that says of a drop.
func (x *reading) drop(time int64, r *ipfix.DataRecord) {
	values := map[string]any{}
	for i := range r.Fields {
		values[r.Fields[i].Name()] = r.Fields[i].Value(r.Values[i])
	}
	why, ok := values["tamtamDropReason"].(uint64)
	if !ok || why >= uint64(drop.NumReasons) || r.Scope > 0 {
		return
	}
	d := result.Drop{Window: windowOf(time), Switch: x.ids[r.Domain], Queue: -1, Reason: drop.Reason(why).String(),
		Flow: flowOf(values), Packets: 1, First: time, Last: time, Source: "ipfix"}
	if d.Switch == "" {
		d.Switch = "device " + strconv.FormatUint(uint64(r.Domain), 10)
	}
	if n, ok := values["ingressInterface"].(uint64); ok && n > 0 {
		d.Port = "Ethernet" + strconv.FormatUint(n-1, 10) // docs/drop-monitor.md
	}
	if n, ok := values["packetDeltaCount"].(uint64); ok {
		d.Packets = int64(n)
	}
	if q, ok := values["tamtamQueue"].(uint64); ok {
		d.Queue = int(q)
	}
	x.batch.Drops = append(x.batch.Drops, d)
}

// flowOf is the flow of a record, as [collector.Flow] prints it; "": it says of none.
func flowOf(values map[string]any) string {
	text := func(name string) string {
		if v, ok := values[name]; ok && v != nil {
			return fmt.Sprint(v)
		}
		return ""
	}
	from, to := text("sourceIPv4Address"), text("destinationIPv4Address")
	if from == "" {
		from, to = text("sourceIPv6Address"), text("destinationIPv6Address")
	}
	if from == "" || to == "" {
		return ""
	}
	protocol, _ := values["protocolIdentifier"].(uint64)
	f := collector.Flow{Protocol: uint8(protocol)}
	if sport, dport := text("sourceTransportPort"), text("destinationTransportPort"); sport != "" && dport != "" {
		a, errA := netip.ParseAddr(from)
		b, errB := netip.ParseAddr(to)
		p, errP := strconv.ParseUint(sport, 10, 16)
		q, errQ := strconv.ParseUint(dport, 10, 16)
		if errors.Join(errA, errB, errP, errQ) == nil {
			f.Source, f.Destination = a, b
			f.SourcePort, f.DestPort = uint16(p), uint16(q)
			return f.String()
		}
	}
	return fmt.Sprintf("protocol %d %s > %s", protocol, from, to)
}

// records joins the records of packets.
func (x *reading) records(ctx context.Context) error {
	var plans []*record.Plan
	for _, name := range device.SortedKeys(x.result.Plans) {
		var p record.Plan
		if err := json.NewDecoder(bytes.NewReader(x.result.Plans[name])).Decode(&p); err != nil {
			return fmt.Errorf("plan %s: %w", name, err)
		}
		plans = append(plans, &p)
	}
	j, err := collector.NewJourneys(plans, x.ids, "", 0)
	if err != nil {
		return err
	}
	for _, name := range x.captures() {
		if err := j.Read(ctx, name); err != nil {
			return err
		}
	}
	for i, way := range j.Join(x.wiring(), journey.Options{}) {
		row, of := x.journey(i, way)
		x.batch.Journeys = append(x.batch.Journeys, row)
		x.batch.Drops = append(x.batch.Drops, of...)
	}
	return nil
}

func (x *reading) wiring() journey.Wiring {
	w := journey.Wiring{Ports: map[journey.Port]journey.Port{}, Hosts: map[journey.Port]string{}}
	for _, l := range x.run.network.Links {
		a, b := journey.Port{Switch: l.A.Node, Port: l.A.Port}, journey.Port{Switch: l.B.Node, Port: l.B.Port}
		switch {
		case a.Port != "" && b.Port != "":
			w.Ports[a], w.Ports[b] = b, a
		case a.Port != "":
			w.Hosts[a] = b.Switch
		case b.Port != "":
			w.Hosts[b] = a.Switch
		}
	}
	return w
}

// journey is a packet's way as a row, and its drops as rows, which say which rule decided. An exit that may lead to one
// of several visits is ambiguous: the row ends there.
func (x *reading) journey(i int, way journey.Journey) (result.Journey, []result.Drop) {
	j := result.Journey{Flow: way.Flow, Key: "p" + strconv.Itoa(i)}
	var of []result.Drop
	index := map[*journey.Visit]int{}
	for n, v := range way.Visits {
		if n == 0 {
			j.Time = int64(v.Arrived)
		}
		parent, known := index[v]
		if !known {
			parent = -1
		}
		if v.Doubt {
			j.Flags |= result.Unsynchronised
		}
		for _, e := range v.Exits {
			h, d := hopOf(v, e, parent, way.Flow)
			of = append(of, d...)
			j.Hops = append(j.Hops, h)
			if e.Next != nil {
				index[e.Next] = len(j.Hops) - 1
			}
			end(&j, e)
		}
	}
	return j, of
}

// end is how a row ends, by one of its exits.
func end(j *result.Journey, e *journey.Exit) {
	if e.End != "" {
		j.End = e.End
	}
	if len(e.Candidates) > 0 {
		j.Ambiguous, j.Candidate, j.Of = true, 1, max(e.Alike, len(e.Candidates))
		j.End = fmt.Sprintf("one of %d visits that are alike", j.Of)
	}
}

// hopOf is an exit of a visit as a hop, and as a drop if the packet ended so.
func hopOf(v *journey.Visit, e *journey.Exit, parent int, flow string) (h result.JourneyHop, of []result.Drop) {
	h = result.JourneyHop{Parent: parent, Switch: v.Switch, In: orCPU(v.In), Out: e.Out, Arrival: int64(v.Arrived),
		Departure: int64(e.Left), Queue: -1, Depth: -1, Tables: strings.ReplaceAll(e.Path, " > ", ", ")}
	queue(&h, e.Notes)
	if why, ok := strings.CutPrefix(e.End, "dropped: "); ok {
		h.Dropped, h.Departure = why, 0
		at := int64(e.Left)
		of = []result.Drop{{Window: windowOf(at), Switch: v.Switch, Port: h.In, Queue: -1, Reason: why,
			Rule: rule(e.Notes), Flow: flow, Packets: 1, First: at, Last: at, Source: "record"}}
	}
	return h, of
}

func orCPU(port string) string {
	if port == "" {
		return "CPU"
	}
	return port
}

// queue reads where a packet waited from what a record says of identities, as "queue 0", "1234 bytes in it".
func queue(h *result.JourneyHop, notes []string) {
	for _, n := range notes {
		var q int
		var depth int64
		if _, err := fmt.Sscanf(n, "queue %d, %d bytes in it", &q, &depth); err == nil {
			h.Queue, h.Depth = q, depth
		}
	}
}

// rule is the rule of an access list among identities; "": none.
func rule(notes []string) string {
	for _, n := range notes {
		if r, ok := strings.CutPrefix(n, "acl rule "); ok {
			return r
		}
	}
	return ""
}

// sketch is an estimate as a row.
func sketch(name, task, key string, when int64, flags string, e flymon.Estimate) result.Sketch {
	lower, upper := e.Bounds()
	s := result.Sketch{Time: when, Switch: name, Task: task, Key: key, Estimate: e.Value, Low: e.Lower, High: e.Upper,
		Bounded: lower || upper, Flags: flags}
	if s.Bounded && !lower {
		s.Low = math.Inf(-1)
	}
	if s.Bounded && !upper {
		s.High = math.Inf(1)
	}
	if e.Saturated {
		s.Flags = strings.TrimPrefix(s.Flags+", saturated", ", ")
	}
	if e.Exact != nil {
		s.Truth, s.Known = *e.Exact, true
	}
	return s
}
