package switchpage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tamtam/collector/result"
	"tamtam/mgmt/web"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Bounds of the history. It starts with the page, since the databases contain only the present values.
const (
	observeEvery = 5 * time.Second
	historyLasts = time.Hour
	mostObserved = 100_000 // number of answers of sketches
)

// A history holds what the databases contained since the page was started.
type history struct {
	by       string // the syncd that polled the last counters; "" if they are unknown
	run      int    // number of runs of syncd so far
	ports    []result.PortReadings
	sketches []result.Sketch // answers about all packets of an epoch, in order of time
}

// add adds readings of the counters of all ports.
func (h *history) add(s sample, ports []web.Port) {
	from := s.at.Add(-historyLasts).UnixNano()
	for i := range h.ports {
		p := &h.ports[i]
		k := slices.IndexFunc(p.Readings, func(r result.Reading) bool { return r.Time >= from })
		if k < 0 {
			k = len(p.Readings)
		}
		p.Readings = p.Readings[k:]
	}
	h.ports = slices.DeleteFunc(h.ports, func(p result.PortReadings) bool { return len(p.Readings) == 0 })
	if s.by == "" { // the counters may be of any time
		return
	}
	if s.by != h.by {
		h.by, h.run = s.by, h.run+1
	}
	for i := range ports {
		p := &ports[i]
		k := slices.IndexFunc(h.ports, func(x result.PortReadings) bool { return x.Port == p.Name })
		if k < 0 {
			k = len(h.ports)
			h.ports = append(h.ports, result.PortReadings{Port: p.Name})
		}
		x := &h.ports[k]
		x.Mbps = p.Mbps
		x.Readings = append(x.Readings, result.Reading{Time: s.at.UnixNano(), Age: int64(s.old), Run: h.run, Queued: -1,
			In: traffics(p, "in"), Out: traffics(p, "out")})
	}
}

// traffics returns what a port has counted in a direction.
func traffics(p *web.Port, way string) result.Traffics {
	packets, counted := p.Counters[way]
	bytes, measured := p.Counters[way+" bytes"]
	return result.Traffics{Known: counted && measured, Packets: packets, Bytes: bytes}
}

// addSketches adds the answers of the last epochs that are not there yet.
func (h *history) addSketches(list []result.Sketch, now time.Time) {
	from := now.Add(-historyLasts).UnixNano()
	h.sketches = slices.DeleteFunc(h.sketches, func(k result.Sketch) bool { return k.Time < from })
	for _, k := range list {
		known := slices.ContainsFunc(h.sketches, func(x result.Sketch) bool {
			return x.Time == k.Time && x.Task == k.Task && x.Key == k.Key
		})
		if !known && len(h.sketches) < mostObserved {
			h.sketches = append(h.sketches, k)
		}
	}
	slices.SortStableFunc(h.sketches, func(a, b result.Sketch) int { return cmp.Compare(a.Time, b.Time) })
}

// observe adds the present counters and answers of sketches to the history.
func (r *reader) observe(ctx context.Context) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return
	}
	now := r.now()
	t := &tables{r.redis.Reading(ctx)}
	counted, ports := t.sample(now), t.ports()
	totals := t.totals()
	if t.Err() == nil {
		r.past.add(counted, ports)
		r.past.addSketches(totals, now)
	}
}

// observing observes until ctx ends.
func (r *reader) observing(ctx context.Context) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for {
		r.observe(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// totals returns what the tasks' last epochs contain about all packets.
func (t *tables) totals() (list []result.Sketch) {
	rows := t.Dump(swss.CountersDB, schema.CountersFlyMonResult)
	for _, task := range sortedKeys(rows) {
		if epoch, err := schema.ParseFlyMonResult(task, rows[task]); err == nil { // the page reports errors
			list = append(list, Sketches(t.name(), task, epoch.Start, epoch.End, epoch.Metrics, nil, nil)...)
		}
	}
	return list
}

// name returns the name of the switch.
func (t *tables) name() string {
	meta, _ := schema.ParseDeviceMetadata(schema.MetadataKey,
		t.Dump(swss.ConfigDB, schema.CfgDeviceMetadata)[schema.MetadataKey])
	return cmp.Or(meta.Hostname, "switch") // "" is a name that is missing or not valid
}

// Counters implements web.Counters.
func (r *reader) Counters(ctx context.Context, _, _ int64) ([]result.PortReadings, error) {
	x, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	list := slices.Clone(r.past.ports)
	for i := range list {
		list[i].Switch, list[i].Readings = x.one.Name, slices.Clip(list[i].Readings) // later readings are appended elsewhere
	}
	return list, nil
}
