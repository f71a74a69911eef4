package debugcounter

import (
	"context"
	_ "embed" // the script
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// watch finds persistent drops: drops of a debug counter that come again and again at a port. SONiC does that in a
// plug-in of syncd, by the time of Redis. Here the orch looks, so it is done in simulated time too. What must survive
// a restart is in COUNTERS_DB, under SONiC's names.
type watch struct {
	api      sai.API
	log      *slog.Logger
	ports    Ports
	group    orch.FlexGroup // how often it looks; syncd does not read this group
	on       bool           // DEBUG_DROP_MONITOR
	counters *swss.DB
	standing *swss.Table // rows of StatePersistentDrops
	raised   map[string]swss.FieldValues
	// idle holds, by the row's name, the count with which a look changes nothing: it was seen, and no incident counts.
	idle      map[string]uint64
	ready     bool     // true if all rows are known
	forgotten []string // keys of COUNTERS_DB to be deleted
}

//go:embed persistent.lua
var lookText string

var lookScript = swss.NewScript(lookText)

// maxAlerts is the maximum number of alerts in COUNTERS_DB.
const maxAlerts = 1000

func (w *watch) open(ctx context.Context, cfg Config) (err error) {
	w.api, w.log, w.ports = cfg.SAI, cfg.Daemon.Logger(), cfg.Ports
	w.counters = cfg.Redis.DB(swss.CountersDB)
	w.standing = swss.NewTable(cfg.Redis.DB(swss.StateDB), schema.StatePersistentDrops)
	w.group = orch.FlexGroup{
		Row: schema.FlexPersistentDrops, Name: schema.FlexPersistentDrops,
		Default: schema.DefaultPoll(schema.FlexPersistentDrops),
	}
	w.idle = map[string]uint64{}
	w.raised, err = w.standing.Dump(ctx)
	return err
}

// consume reads DEBUG_DROP_MONITOR. A row that is not valid enables nothing.
func (w *watch) consume(d *orch.Daemon, r *swss.Redis, changed func(context.Context) error) {
	d.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewSubscriber(l, r.DB(swss.ConfigDB), schema.CfgPersistentDrops)
	}, schema.CfgPersistentDrops, orch.Each(func(ctx context.Context, t orch.Task) error {
		ours := t.Key == schema.PersistentDropsKey
		if ours {
			w.on = false
		}
		if t.Op == orch.Del {
			d.Unreport(ctx, schema.CfgPersistentDrops, t.Key)
			return changed(ctx)
		}
		row, err := schema.ParsePersistentDrops(t.Key, t.Fields)
		if err == nil && ours {
			w.on = row.On
		}
		status, reason := d.Verdict(schema.CfgPersistentDrops, err)
		d.Report(ctx, schema.CfgPersistentDrops, t.Key, status, reason)
		return changed(ctx)
	}), orch.Reporting{StateTable: schema.CfgPersistentDrops, None: true})
}

// why returns the reason why an enabled counter is not watched, or "".
func (w *watch) why() string {
	switch {
	case !w.on:
		return "persistent drops raise no alerts: status of " + schema.CfgPersistentDrops + "|" + schema.PersistentDropsKey +
			" is not enabled"
	case w.group.Interval() == 0:
		return "persistent drops raise no alerts: " + schema.CfgFlexCounter + "|" + schema.FlexPersistentDrops +
			" is disabled"
	}
	return ""
}

// watched reports whether a counter is watched.
func (w *watch) watched(c *counter) bool {
	return c != nil && c.watch.On && c.kind.port && w.why() == ""
}

// period returns the time between two looks, or 0 if no counter is watched.
func (w *watch) period(counters map[string]*counter) time.Duration {
	for _, c := range counters {
		if w.watched(c) {
			return w.group.Interval()
		}
	}
	return 0
}

// A place is a debug counter at a port.
type place struct {
	name, port string
	count      uint64
}

// look judges the counts of all watched counters at all ports. What cannot be read is judged at the next look.
func (w *watch) look(ctx context.Context, now time.Time, counters map[string]*counter) error {
	if err := w.settle(ctx, counters); err != nil {
		return err
	}
	want := map[string]swss.FieldValues{}
	var places []place
	var calls []swss.Call
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		c := counters[name]
		if !w.watched(c) || c.stat == "" {
			continue
		}
		for _, port := range w.ports.Names() {
			oid, _, ok := w.ports.Port(port)
			if !ok {
				continue
			}
			got, err := w.api.Stats(ctx, sai.Obj(sai.ObjectTypePort, oid), []sai.StatID{c.id})
			if err != nil {
				w.log.Warn("a debug counter cannot be read", "counter", name, "port", port, "err", err)
				w.keep(name, port, want)
				continue
			}
			stats, incidents := schema.DropStats(name, port)
			if seen, idle := w.idle[stats]; idle && seen == got[0] {
				continue
			}
			places = append(places, place{name, port, got[0]})
			calls = append(calls, swss.Call{
				Keys: []string{stats, incidents, schema.CountersDropAlerts},
				Args: []any{now.Unix(), got[0], c.watch.Drops, c.watch.Incidents, int64(c.watch.Window / time.Second), name, port,
					maxAlerts},
			})
		}
	}
	results, err := w.counters.RunMany(ctx, lookScript, calls)
	for i, p := range places {
		w.judged(now, p, counters[p.name].watch, results[i], want)
	}
	return errors.Join(err, w.raise(ctx, want))
}

// keep keeps the alarm of a counter at a port, if there is one.
func (w *watch) keep(name, port string, want map[string]swss.FieldValues) {
	if key := name + "|" + port; w.raised[key] != nil {
		want[key] = w.raised[key]
	}
}

// judged takes the result of the script for a place: incidents that count, the time of the last alert, and the number
// of alerts. Persistent drops stand until a window without an alert has passed, because as long as there are enough
// incidents there is one in each window.
func (w *watch) judged(
	now time.Time, p place, by schema.DropWatch, result any, want map[string]swss.FieldValues,
) {
	stats, _ := schema.DropStats(p.name, p.port)
	delete(w.idle, stats)
	values, ok := result.([]any)
	if !ok || len(values) != 3 { // Redis did not answer
		w.keep(p.name, p.port, want)
		return
	}
	numbers := [3]int64{}
	for i := range numbers {
		numbers[i], _ = values[i].(int64)
	}
	incidents, last, alerts := numbers[0], time.Unix(numbers[1], 0).UTC(), numbers[2]
	stands := alerts > 0 && now.Sub(last).Abs() <= max(by.Window, 2*w.group.Interval())
	if stands {
		want[p.name+"|"+p.port] = swss.FieldValues{
			schema.FieldAlerts: strconv.FormatInt(alerts, 10), schema.FieldLastAlert: last.Format(time.RFC3339),
		}
	}
	if incidents == 0 && !stands {
		w.idle[stats] = p.count
	}
}

// raise makes the rows of STATE_DB those that are wanted.
func (w *watch) raise(ctx context.Context, want map[string]swss.FieldValues) error {
	var gone []string
	changed := map[string]swss.FieldValues{}
	for key := range w.raised {
		if want[key] == nil {
			gone = append(gone, key)
		}
	}
	for key, row := range want {
		if !maps.Equal(row, w.raised[key]) {
			changed[key] = row
		}
	}
	if err := w.standing.DelMany(ctx, gone); err != nil {
		return err
	}
	if err := w.standing.SetMany(ctx, changed); err != nil {
		return err
	}
	w.raised = want
	return nil
}

// settle drops the alarms of counters that are no longer watched, and of ports that no longer exist. It does nothing
// before all rows are known, so that a restart clears no alarm.
func (w *watch) settle(ctx context.Context, counters map[string]*counter) error {
	if !w.ready {
		return nil
	}
	want := maps.Clone(w.raised)
	maps.DeleteFunc(want, func(key string, _ swss.FieldValues) bool {
		name, port, _ := strings.Cut(key, "|")
		_, _, there := w.ports.Port(port)
		return !there || !w.watched(counters[name])
	})
	return errors.Join(w.raise(ctx, want), w.clear(ctx))
}

// begin starts the watch once all rows are known. It forgets what a former process knew of counters and ports that no
// longer exist.
func (w *watch) begin(ctx context.Context, counters map[string]*counter) error {
	keys, err := w.counters.AllKeys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if parts := strings.Split(key, "|"); len(parts) > 2 && parts[0] == schema.CountersDropStats {
			if _, _, there := w.ports.Port(parts[2]); !there || counters[parts[1]] == nil {
				w.forgotten = append(w.forgotten, key)
			}
		}
	}
	w.ready = true
	return w.settle(ctx, counters)
}

// forget makes the next settle remove what is known of a counter at a port.
func (w *watch) forget(name, port string) {
	stats, incidents := schema.DropStats(name, port)
	w.forgotten = append(w.forgotten, stats, incidents)
	delete(w.idle, stats)
}

// forgetCounter does that at all ports.
func (w *watch) forgetCounter(name string) {
	for _, port := range w.ports.Names() {
		w.forget(name, port)
	}
}

// clear removes what is forgotten.
func (w *watch) clear(ctx context.Context) error {
	if len(w.forgotten) == 0 {
		return nil
	}
	if err := w.counters.Client().Del(ctx, w.forgotten...).Err(); err != nil {
		return err
	}
	w.forgotten = nil
	return nil
}
