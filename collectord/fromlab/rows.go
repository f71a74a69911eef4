package fromlab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tamtam/collector"
	"tamtam/collector/journey"
	"tamtam/collectord/join"
	"tamtam/collectord/local"
	"tamtam/collectord/result"
	"tamtam/device"
	"tamtam/lab"
	"tamtam/tam/record"
)

// window is the length of those of stamps and drops.
const window = 10 * time.Millisecond

func windowOf(t int64) result.Window {
	return result.Window{Start: t / int64(window) * int64(window), Length: int64(window)}
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

// collected takes what the collector makes of the tail-stamps and reports of drops that came to hosts, with the flags
// of what was lost or could not be read.
func (x *reading) collected(ctx context.Context) error {
	paths := x.captures()
	if len(paths) == 0 {
		return nil
	}
	names, err := x.addresses()
	if err != nil {
		return err
	}
	c, err := local.Start(local.Config{
		Names: names, Join: join.Options{Window: window}, StoreRows: math.MaxInt32, Began: lab.Epoch(),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	err = c.ReadCaptures(ctx, "captures of hosts", paths...)
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	latest := map[string][]result.Source{}
	err = c.Store().Each(ctx, 0, math.MaxInt64, func(b *result.Batch) bool {
		x.batch.Hops = append(x.batch.Hops, b.Hops...)
		x.batch.Drops = append(x.batch.Drops, b.Drops...)
		x.batch.Amends = append(x.batch.Amends, b.Amends...)
		latest[b.Partition] = b.Sources
		return true
	})
	for _, partition := range device.SortedKeys(latest) {
		x.batch.Sources = append(x.batch.Sources, latest[partition]...)
	}
	return err
}

// addresses are those of the switches' interfaces, one of which a switch's reports come from.
func (x *reading) addresses() (map[netip.Addr]string, error) {
	names := map[netip.Addr]string{}
	t := x.lab.Topology()
	for i := range t.Switches {
		config, err := t.ConfigOf(&t.Switches[i])
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", t.Switches[i].Name, err)
		}
		for _, rows := range config {
			for key, fields := range rows {
				_, address, _ := strings.Cut(key, "|")
				if p, err := netip.ParsePrefix(address); err == nil {
					names[p.Addr()] = t.Switches[i].Name
				}
				if a, err := netip.ParseAddr(fields["src_ip"]); err == nil {
					names[a] = t.Switches[i].Name
				}
			}
		}
	}
	return names, nil
}

// records joins the records of packets.
func (x *reading) records(ctx context.Context) error {
	var plans []*record.Plan
	for _, name := range device.SortedKeys(x.result.Plans) {
		p, err := record.ReadPlan(x.result.Plans[name])
		if err != nil {
			return fmt.Errorf("plan %s: %w", name, err)
		}
		plans = append(plans, p)
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
		if r, ok := strings.CutPrefix(strings.TrimPrefix(n, "egress "), "rule "); ok {
			return r
		}
	}
	return ""
}
