package rows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/collector/result"
	"tamtam/device"
	"tamtam/device/switchpage"
	"tamtam/lab"
	"tamtam/lab/study/marking"
	"tamtam/mgmt/web"
)

// A Run is a finished lab run, as the page shows it. It implements [web.Topology], [web.Switches] and
// [web.Counters].
type Run struct {
	Rows *result.Memory

	network   web.Network
	switches  []web.Switch
	end       time.Time
	restarted map[string]lab.Time // switches whose chips restarted, with the last time
	counters  []result.PortReadings
	missing   []string // known gaps in the results of sketches
}

// Network implements web.Topology.
func (r *Run) Network(context.Context) (*web.Network, error) { return &r.network, nil }

// Switches implements web.Switches.
func (r *Run) Switches(context.Context) ([]web.Switch, error) { return r.switches, nil }

// Counters implements web.Counters.
func (r *Run) Counters(context.Context, int64, int64) ([]result.PortReadings, error) {
	return r.counters, nil
}

// Troubles lists the switches whose counters do not cover the whole run, and data that did not fit.
func (r *Run) Troubles() (list []string) {
	for _, name := range device.SortedKeys(r.restarted) {
		list = append(list, fmt.Sprintf("the chip of %s started again at %v: its counters cover only the time after that, "+
			"and how much its ports sent in the whole run is unknown", name, r.restarted[name]))
	}
	return append(list, r.missing...)
}

// restartedChips returns the switches whose chips restarted within a run, with the last time.
func restartedChips(t *lab.Topology, duration lab.Time) map[string]lab.Time {
	anew := map[string]lab.Time{}
	for _, e := range t.Events {
		if e.Do == "restart" && e.What == "syncd" && e.At <= duration {
			anew[e.Switch] = max(anew[e.Switch], e.At)
		}
	}
	return anew
}

// End returns when the run ended, by its own time.
func (r *Run) End() time.Time { return r.end }

// A reading is the state while rows are made.
type reading struct {
	run    *Run
	lab    *lab.Lab
	result *lab.Result
	dir    string
	ids    map[uint32]string // switches by the ids in stamps and records
	batch  *result.Batch
	end    int64
}

// Read returns the Run of a finished lab, whose captures are in dir. It does not close the lab.
func Read(ctx context.Context, l *lab.Lab, r *lab.Result, dir string) (*Run, error) {
	end := lab.Epoch().Add(time.Duration(r.Duration / lab.Nanosecond))
	x := &reading{
		run: &Run{Rows: result.NewMemory(0), end: end, restarted: restartedChips(l.Topology(), r.Duration)},
		lab: l, result: r, dir: dir, ids: map[uint32]string{},
		end: end.UnixNano(), batch: &result.Batch{Partition: "lab", First: 1, Position: result.Position{Last: 1}},
	}
	x.batch.Closed = x.end
	for _, step := range []func(context.Context) error{
		x.topology, x.standing, x.counters, x.collected, x.marking, x.sketches,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if x.batch.Rows() == 0 {
		return x.run, nil
	}
	_, err := x.run.Rows.Put(ctx, x.batch)
	return x.run, err
}

// topology reads the network, with the counters of its links.
func (x *reading) topology(context.Context) error {
	t := x.lab.Topology()
	n := &x.run.network
	n.Source = "the lab's file, experiment " + t.Experiment
	for i := range t.Switches {
		id, err := t.SwitchID(&t.Switches[i])
		if err != nil {
			return fmt.Errorf("switch %s: %w", t.Switches[i].Name, err)
		}
		x.ids[id] = t.Switches[i].Name
		n.Nodes = append(n.Nodes, web.Node{Name: t.Switches[i].Name, ID: id})
	}
	for _, h := range t.Hosts {
		n.Nodes = append(n.Nodes, web.Node{Name: h.Name, Host: true})
	}
	for _, l := range t.Links {
		k := web.Link{Name: cmp.Or(l.Name, l.A+"-"+l.B), A: endOf(l.A), B: endOf(l.B), Mbps: x.rate(l),
			Oper: x.linkOper(l)}
		if w, ok := x.result.Links[k.Name]; ok {
			k.AB, k.BA = x.traffic(k.A, k.B, w.AB, k.Mbps), x.traffic(k.B, k.A, w.BA, k.Mbps)
		}
		n.Links = append(n.Links, k)
	}
	return nil
}

// endOf parses SWITCH:PORT, or HOST.
func endOf(text string) web.End {
	node, port, ok := strings.Cut(text, ":")
	if !ok {
		return web.End{Node: text}
	}
	return web.End{Node: node, Port: port, Number: web.PortNumber(port)}
}

// rate returns the rate of a link in Mbit/s: its own, or that of its ports.
func (x *reading) rate(l lab.Link) int64 {
	if l.Rate > 0 {
		return int64(l.Rate / 1_000_000)
	}
	for _, text := range []string{l.A, l.B} {
		if e := endOf(text); e.Port != "" {
			sim := x.lab.Tap(e.Node).Sim()
			if id, ok := sim.Chip.PortByName(e.Port); ok {
				for _, p := range sim.Chip.Tables().Ports {
					if p.Port == id {
						return int64(p.Mbps)
					}
				}
			}
		}
	}
	return 0
}

// overhead is the number of bytes of a frame on the wire that counters do not include: preamble and minimum gap.
const overhead = 8 + 12

// traffic returns the traffic of one direction of a link. The load is the average over the whole run. The bytes that a
// host sent are known if the switch at the other end received all of its frames.
func (x *reading) traffic(from, to web.End, w lab.WireCounts, mbps int64) web.Traffic {
	t := web.Traffic{LostKnown: true, Lost: int64(w.Lost + w.Burst + w.Down + w.Corrupt)}
	var bytes, frames uint64
	if p, ok := x.port(from); ok {
		bytes, frames = p.SentBytes, p.Sent
	} else if p, ok := x.port(to); ok && p.Received == w.Sent && t.Lost == 0 && w.Duplicated == 0 {
		bytes, frames = p.ReceivedBytes, p.Received
	} else {
		return t
	}
	if mbps <= 0 {
		return t
	}
	bits := 8 * float64(bytes+overhead*frames)
	t.Counted, t.Frames = true, int64(w.Sent)
	t.Load = bits / (float64(mbps) * 1e6 * (float64(x.result.Duration) / float64(lab.Second)))
	return t
}

// port returns the counters of a switch's port; ok is false for another end, and if a restart has reset them.
func (x *reading) port(e web.End) (p device.PortReport, ok bool) {
	if _, anew := x.run.restarted[e.Node]; anew {
		return p, false
	}
	if node, is := x.result.Switches[e.Node]; is {
		p, ok = node.Ports[e.Port]
	}
	return p, ok
}

// standing reads the state of each switch's configuration, and its ports.
func (x *reading) standing(ctx context.Context) error {
	t := x.lab.Topology()
	for i := range t.Switches {
		name := t.Switches[i].Name
		reading := x.lab.Tap(name).Sim().Redis.Reading(ctx)
		objects := switchpage.Objects(reading)
		if err := reading.Err(); err != nil {
			return fmt.Errorf("switch %s: %w", name, err)
		}
		s := web.Switch{Name: name, Read: x.run.end, Objects: objects}
		for _, port := range x.result.Switches[name].PortNames() {
			p := x.result.Switches[name].Ports[port]
			dropped := uint64(0)
			for _, n := range p.Dropped {
				dropped += n
			}
			s.Ports = append(s.Ports, web.Port{Name: port, Mbps: x.portRate(name, port), Oper: x.oper(name, port),
				Counters: map[string]uint64{"in": p.Received, "out": p.Sent, "in bytes": p.ReceivedBytes,
					"out bytes": p.SentBytes, "dropped": dropped}})
		}
		x.run.switches = append(x.run.switches, s)
	}
	return nil
}

// counters reads the recorded counters of ports. They are zero at the start of the run, and when a chip restarts.
func (x *reading) counters(context.Context) error {
	for _, where := range device.SortedKeys(x.result.Counters) {
		c, e := x.result.Counters[where], endOf(where)
		var restarts []lab.Time
		for _, v := range x.lab.Topology().Events {
			if v.Do == "restart" && v.What == "syncd" && v.Switch == e.Node {
				restarts = append(restarts, v.At)
			}
		}
		p := result.PortReadings{Switch: e.Node, Port: e.Port, Mbps: x.portRate(e.Node, e.Port),
			Readings: []result.Reading{{Time: at(0), In: result.Traffics{Known: true}, Out: result.Traffics{Known: true}}}}
		for i, n := range c.Values {
			when, run := lab.Time(i+1)*c.Every, 0
			for _, restart := range restarts {
				if restart <= when {
					run++
				}
			}
			p.Readings = append(p.Readings, result.Reading{Time: at(when), Run: run, Queued: int64(n.Queued),
				In:  result.Traffics{Known: true, Packets: n.Received, Bytes: n.ReceivedBytes},
				Out: result.Traffics{Known: true, Packets: n.Sent, Bytes: n.SentBytes}})
		}
		x.run.counters = append(x.run.counters, p)
	}
	return nil
}

func (x *reading) portRate(name, port string) int64 {
	return x.rate(lab.Link{A: name + ":" + port})
}

func (x *reading) oper(name, port string) string {
	chip := x.lab.Tap(name).Sim().Chip
	id, ok := chip.PortByName(port)
	for _, p := range chip.Tables().Ports {
		if ok && p.Port == id {
			if p.Admin && p.Link {
				return "up"
			}
			return "down"
		}
	}
	return ""
}

// linkOper returns the operational state of a link, from the ports at its ends.
func (x *reading) linkOper(l lab.Link) string {
	var ends []string
	for _, e := range []web.End{endOf(l.A), endOf(l.B)} {
		if e.Port != "" {
			ends = append(ends, x.oper(e.Node, e.Port))
		}
	}
	return operOf(ends)
}

// operOf returns down if one end is down, up if all are up, and "" otherwise, which means unknown.
func operOf(ends []string) string {
	for _, state := range []string{"down", "", "up"} {
		if slices.Contains(ends, state) {
			return state
		}
	}
	return ""
}

// marking adds the rows that the study of alternate marking joined.
func (x *reading) marking(context.Context) error {
	report, ok := x.result.Reports["altmark"].(marking.Report)
	if !ok {
		return nil
	}
	for _, name := range device.SortedKeys(report) {
		for i, s := range report[name].Segments {
			cluster := ""
			if len(report[name].Segments) > 1 && i < len(report[name].Segments)-1 {
				cluster = strconv.Itoa(i + 1)
			}
			length := periodOf(s.Periods)
			for _, p := range s.Periods {
				x.batch.Losses = append(x.batch.Losses, x.loss(name, cluster, s, p, length))
			}
		}
	}
	return nil
}

// periodOf returns the length of periods in nanoseconds, rounded, from the times between their starts. It returns 0 if
// there is only one.
func periodOf(list []marking.Period) int64 {
	var length lab.Time
	for i := 1; i < len(list); i++ {
		if n := list[i].Period - list[i-1].Period; list[i].Period > list[i-1].Period {
			length = (list[i].Start - list[i-1].Start) / lab.Time(n)
		}
	}
	return int64((length + lab.Nanosecond/2) / lab.Nanosecond)
}

func (x *reading) loss(name, cluster string, s *marking.Segment, p marking.Period, length int64) result.Loss {
	l := result.Loss{Flow: name, Cluster: cluster, From: s.From, To: s.To, Period: p.Period, Status: p.Status,
		Detail: strings.Join(p.Reasons, "; "), Window: result.Window{Start: at(p.Start), Length: length}}
	if p.Sent != nil && p.Received != nil && p.Lost != nil {
		l.Known, l.Sent, l.Received, l.Lost = true, int64(*p.Sent), int64(*p.Received), *p.Lost
	}
	if p.Delay != nil {
		d := int64(*p.Delay)
		l.Delay = result.Distribution{Count: 1, Sum: d, Min: d, Max: d, First: result.Bucket(d), Buckets: []uint32{1}}
	}
	if l.Mean.Unknown = p.MeanUnknown; p.MeanDelay != nil {
		l.Mean.Known, l.Mean.Delay = true, int64(*p.MeanDelay)
		if p.DelaySum != nil {
			l.Mean.Sum = p.DelaySum.String()
		}
	}
	return l
}

// at converts a time of the run to nanoseconds since 1970.
func at(t lab.Time) int64 { return lab.Epoch().UnixNano() + int64(t/lab.Nanosecond) }

// sketches adds the estimates that switches publish, with the exact counts of the chips.
func (x *reading) sketches(context.Context) error {
	for _, name := range device.SortedKeys(x.result.Switches) {
		r := x.result.Switches[name].Report
		for _, task := range device.SortedKeys(r.FlyMon) {
			t := r.FlyMon[task]
			when, epoch := x.end, device.EpochReport{}
			if t.Epoch != nil {
				when, epoch = t.Epoch.EndNS, *t.Epoch
			}
			if n := epoch.FlowsCut; n > 0 {
				x.run.missing = append(x.run.missing,
					fmt.Sprintf("sketch task %s of %s: %d flows, the smallest, are missing for room", task, name, n))
			}
			if n := epoch.ChangesCut; n > 0 {
				x.run.missing = append(x.run.missing,
					fmt.Sprintf("sketch task %s of %s: %d changes, the smallest, are missing for room", task, name, n))
			}
			x.batch.Sketches = append(x.batch.Sketches,
				switchpage.Sketches(name, task, epoch.StartNS, when, epoch.Metrics, t.Flows, t.Changes)...)
		}
	}
	slices.SortStableFunc(x.batch.Sketches, func(a, b result.Sketch) int { return cmp.Compare(a.Time, b.Time) })
	return nil
}
