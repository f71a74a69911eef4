package switchpage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tamtam/collector/result"
	"tamtam/mgmt"
	"tamtam/mgmt/web"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// fresh is how long a reading is cached.
const fresh = time.Second

// A reader reads the state of the switch from the databases. It implements the interfaces that the page requires.
type reader struct {
	engine *mgmt.Server
	redis  *swss.Redis
	now    func() time.Time
	turn   chan struct{} // semaphore of the one reader
	loads  loads
	past   history
	last   *reading // nil means that nothing was read
	drops  dropReader
}

// A reading is the content of the databases at one time.
type reading struct {
	at       time.Time
	one      web.Switch
	network  web.Network
	sketches []result.Sketch // those of the history are first
}

func newReader(cfg Config) *reader {
	return &reader{engine: cfg.Engine, redis: cfg.Redis, now: cfg.Now, turn: make(chan struct{}, 1),
		drops: dropReader{turn: make(chan struct{}, 1), wait: cfg.AccountWait}}
}

// read returns the content of the databases, at most one second old.
func (r *reader) read(ctx context.Context) (*reading, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := r.now()
	if r.last != nil && now.Sub(r.last.at) < fresh {
		return r.last, nil
	}
	x := &reading{at: now}
	t := &tables{r.redis.Reading(ctx)}
	counted := t.sample(now)
	x.one = t.one(now)
	x.sketches = t.sketches(&x.one)
	r.loads.add(counted, x.one.Ports)
	x.network = t.network(&x.one)
	if err := t.Err(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &web.Unready{Why: "the databases cannot be read: " + swss.Why(err)}
	}
	x.sketches = append(slices.Clone(r.past.sketches), x.sketches...)
	r.last = x
	return x, nil
}

// Switches implements web.Switches. It returns the switch, with the account of drops for clients that may request it.
func (r *reader) Switches(ctx context.Context) ([]web.Switch, error) {
	x, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	one := x.one
	one.DropAccount = r.drops.read(ctx, r)
	return []web.Switch{one}, nil
}

// Network implements web.Topology. It returns the switch and its LLDP neighbours.
func (r *reader) Network(ctx context.Context) (*web.Network, error) {
	x, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return &x.network, nil
}

// Each implements web.Store. It yields one batch, with the answers of sketches: all of the last epochs, and totals of
// earlier ones.
func (r *reader) Each(ctx context.Context, _, _ int64, yield func(*result.Batch) bool) error {
	x, err := r.read(ctx)
	if err != nil {
		return err
	}
	if len(x.sketches) > 0 {
		yield(&result.Batch{Partition: x.one.Name, First: 1, Position: result.Position{Last: 1}, Sketches: x.sketches})
	}
	return nil
}

// tables reads the parts of the databases that the page shows.
type tables struct{ *swss.Reading }

// one reads the state of the switch, without the account of drops and the load of its ports.
func (t *tables) one(now time.Time) web.Switch {
	s := web.Switch{Read: now, Name: t.name()}
	s.Objects = Objects(t.Reading)
	s.Ports = t.ports()
	s.Marking = t.marking()
	s.Stamping, s.Stamped = t.stamping(), stampedColumns()
	s.Troubles = t.troubles()
	s.Alarms, s.PastAlarms = t.alarms(schema.StateAlarm), t.alarms(schema.StateAlarmHistory)
	return s
}

// alarms returns the alarms of a table, those raised or cleared last first, even if the clock was set.
func (t *tables) alarms(table string) (list []web.SwitchAlarm) {
	at := func(text string) time.Time {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}
		}
		return time.Unix(0, n)
	}
	rows := t.Dump(swss.StateDB, table)
	number := func(key string) int {
		n, _ := strconv.Atoi(rows[key][schema.AlarmNumber])
		return n
	}
	keys := sortedKeys(rows)
	slices.SortStableFunc(keys, func(a, b string) int {
		return cmp.Or(number(b)-number(a), cmp.Compare(rows[b][schema.AlarmCreated], rows[a][schema.AlarmCreated]))
	})
	for _, key := range keys {
		row := rows[key]
		list = append(list, web.SwitchAlarm{Type: row[schema.AlarmType], Resource: row[schema.AlarmResource],
			Severity: row[schema.AlarmSeverity], Text: row[schema.AlarmText], Count: cmp.Or(row[schema.AlarmCount], "1"),
			Raised: at(row[schema.AlarmCreated]), Cleared: at(row[schema.AlarmCleared])})
	}
	return list
}

// troubles returns the alarms of the switch, daemons without beats for which there is no alarm yet, and counters that
// are not polled.
func (t *tables) troubles() (list []string) {
	alarms := t.Dump(swss.StateDB, schema.StateAlarm)
	for _, id := range sortedKeys(alarms) {
		list = append(list, "alarm "+id+": "+cmp.Or(alarms[id][schema.AlarmText], "it gives no reason"))
	}
	for _, daemon := range []string{"tammgrd", "orchagent", "syncd"} {
		if _, _, heard := t.received(daemon); heard || alarms[daemon+"-silent"] != nil || t.Err() != nil {
			continue
		}
		list = append(list, fmt.Sprintf("%s has not reported for %v: its data may be older", daemon,
			schema.HealthTTL))
	}
	if _, why := t.polled(); why != "" {
		list = append(list, why)
	}
	return list
}

// received returns a daemon's row, and the time since its last beat. It returns false if the row has expired.
func (t *tables) received(daemon string) (row swss.FieldValues, silent time.Duration, ok bool) {
	row, left := t.RowFor(swss.StateDB, schema.StateHealth, daemon)
	// If the time to live is longer, the clock of Redis' host was set back after the row was written.
	ok = t.Err() == nil && len(row) > 0 && left <= schema.HealthTTL
	return row, schema.HealthTTL - max(left, 0), ok
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
