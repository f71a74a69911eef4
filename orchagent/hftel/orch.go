// Package hftel makes the rows of high-frequency telemetry in APPL_DB into SAI TAM objects. The ASIC then streams
// statistics of ports, queues, priority groups and buffer pools. A group that streams has a row in
// HIGH_FREQUENCY_TELEMETRY_SESSION_TABLE of STATE_DB, from which readers get the templates and the names of objects, as
// in SONiC.
//
// A group changes without a pause: its next configuration is prepared while the present one streams. Readers get the
// templates before the first record that needs them, and a label never belongs to another object. Only a pool that had
// to be made again, because its type or mode has changed, ends its group, which then begins again.
//
// What belongs here: these objects, and the states of streams. Formats of records do not: the ASIC encodes them.
package hftel

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ports is the view of ports that the orch needs. portsorch implements it.
type Ports interface {
	// Port returns a port's object.
	Port(name string) (oid sai.OID, lag string, ok bool)
	// Changes publishes the names of ports that were created or are about to be removed. The latter are no longer found
	// and must be released immediately.
	Changes() *orch.Topic[[]string]
}

// Pools is the view of buffer pools that the orch needs. qosorch implements it.
type Pools interface {
	// Pool returns a buffer pool's object.
	Pool(name string) (oid sai.OID, ok bool)
	// PoolChanges publishes the names of pools that were created, are another object now, or are about to be removed.
	// Former objects are no longer found and must be released immediately.
	PoolChanges() *orch.Topic[[]string]
}

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
	Pools  Pools
	Switch sai.OID
	Whole  *feature.SwitchTAM
}

// An Orch owns the streams of statistics. All its methods run on the daemon's goroutine.
type Orch struct {
	api      sai.API
	log      *slog.Logger
	ledger   *orch.Ledger
	ports    Ports
	pools    Pools
	sessions *swss.Table
	applied  bool // whether the view of the ASIC is complete
	can      map[sai.ObjectType]map[sai.StatID]time.Duration
	parts    map[partsOf]sai.OIDs // queues or priority groups of ports
	chain    chain
	groups   map[string]*group // by key
	stale    bool              // rows of sessions of a former process may exist
}

// New registers the handlers on the daemon.
func New(cfg Config) *Orch {
	o := &Orch{
		api: cfg.SAI, log: cfg.Daemon.Logger(), ports: cfg.Ports, pools: cfg.Pools,
		sessions: swss.NewTable(cfg.Redis.DB(swss.StateDB), schema.StateHFTSession),
		can:      map[sai.ObjectType]map[sai.StatID]time.Duration{}, parts: map[partsOf]sai.OIDs{},
		chain:  chain{api: cfg.SAI, sw: cfg.Switch, whole: cfg.Whole, telemetry: map[string]*telemetry{}},
		groups: map[string]*group{}, stale: true,
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass,
		orch.LedgerTable{Name: schema.AppHFTProfile}, orch.LedgerTable{Name: schema.AppHFTGroup})
	for _, changes := range []*orch.Topic[[]string]{cfg.Ports.Changes(), cfg.Pools.PoolChanges()} {
		changes.Subscribe(func(ctx context.Context, _ []string) { o.ledger.ReconcileNow(ctx) })
	}
	cfg.Daemon.OnFlush(func() { // sessions are written again
		o.stale = true
		for _, g := range o.groups {
			g.session = schema.HFTSession{}
		}
	})
	return o
}

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Nothing is created earlier, because an
// object that the ASIC does not support would fail the whole view.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	return o.ledger.Reconcile(ctx)
}

// Notify accepts a notification of the ASIC.
func (o *Orch) Notify(ctx context.Context, n sai.Notification) error {
	ready, ok := n.(sai.TelTypeConfigChange)
	if !ok {
		return nil
	}
	for _, g := range o.groups {
		if g.telType == ready.TelType { // also if it did not wait: the ASIC has restarted
			g.waits, g.ready = false, true
			return o.ledger.Reconcile(ctx)
		}
	}
	return nil
}

// Missed notifies the orch that notifications may have been lost. The ASIC makes the templates again that a group waits
// for.
func (o *Orch) Missed(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(o.groups)) {
		if g := o.groups[key]; g.waits {
			if err := g.set(ctx, o.api, sai.TAMTelTypeStateCreateConfig); err != nil {
				return err
			}
		}
	}
	return nil
}

// A column is a statistic of an object in a group's records.
type column struct {
	name string // of the object
	of   sai.OID
	stat sai.StatID
}

// wanted is what the rows of a group and its profile request.
type wanted struct {
	profile string
	group   string // one of schema.HFTGroups
	typ     sai.ObjectType
	enabled bool
	micros  uint32
	columns []column
}

// plan computes the wanted groups, by key, and records the reason for each row without one.
func (o *Orch) plan(ctx context.Context) map[string]*wanted {
	profiles, list := map[string]schema.HFTProfile{}, map[string]*wanted{}
	for _, name := range o.ledger.Keys(schema.AppHFTProfile) {
		row := orch.Row(schema.AppHFTProfile, name)
		p, err := schema.ParseHFTProfile(name, o.ledger.Rows[row])
		if err == nil && !o.applied {
			err = orch.WaitView()
		}
		if o.ledger.Why[row] = err; err == nil {
			delete(o.ledger.Why, row)
			profiles[name] = p
		}
	}
	for _, key := range o.ledger.Keys(schema.AppHFTGroup) {
		row := orch.Row(schema.AppHFTGroup, key)
		g, err := schema.ParseHFTGroup(schema.ConfigKey(key), o.ledger.Rows[row])
		if err != nil {
			o.ledger.Why[row] = err
			continue
		}
		p, there := profiles[g.Profile]
		if !there {
			o.ledger.Why[row] = orch.Wait(schema.CfgHFTProfile, g.Profile, "")
			continue
		}
		w := &wanted{profile: g.Profile, group: g.Type, enabled: p.Enabled, micros: p.Micros}
		if err := o.resolve(ctx, w, &g); err != nil {
			o.ledger.Why[row] = err
			continue
		}
		list[schema.ConfigKey(key)] = w
	}
	return list
}

// resolve finds the objects and statistics of a group.
func (o *Orch) resolve(ctx context.Context, w *wanted, g *schema.HFTGroup) error {
	t, known := sai.LookupObjectType("SAI_OBJECT_TYPE_" + g.Type)
	if !known {
		return fmt.Errorf("SAI has no object type %s", g.Type)
	}
	w.typ = t
	can, err := o.streamed(ctx, t)
	if err != nil {
		return err
	}
	var stats []sai.StatID
	for _, name := range g.Counters {
		full := "SAI_" + g.Type + "_STAT_" + name
		id, named := sai.LookupStat(full)
		least, counted := can[id]
		switch {
		case !named:
			return fmt.Errorf("statistic %s: SAI has no %s", name, full)
		case !counted:
			return fmt.Errorf("statistic %s: the ASIC cannot stream it", name)
		case w.micros > 0 && time.Duration(w.micros)*time.Microsecond < least:
			return fmt.Errorf("poll_interval %d: the least interval of %s is %d microseconds", w.micros, name,
				(least+time.Microsecond-1)/time.Microsecond)
		}
		stats = append(stats, id)
	}
	slices.Sort(stats)
	for _, name := range g.Objects {
		oid, err := o.object(ctx, g.Type, name)
		if err != nil {
			return err
		}
		for _, id := range stats {
			w.columns = append(w.columns, column{name, oid, id})
		}
	}
	return nil
}

// streamed returns the statistics of a type that the ASIC can stream, with their least intervals.
func (o *Orch) streamed(ctx context.Context, t sai.ObjectType) (map[sai.StatID]time.Duration, error) {
	if can := o.can[t]; can != nil {
		return can, nil
	}
	list, err := o.api.StreamCapability(ctx, t)
	if s, known := sai.StatusOf(err); err != nil && known && orch.Unsupported(s) {
		return nil, fmt.Errorf("the ASIC streams no statistics of %s", t)
	}
	if err != nil {
		return nil, fmt.Errorf("ask which statistics of %s can be streamed: %w", t, err)
	}
	can := map[sai.StatID]time.Duration{}
	for _, s := range list {
		can[s.ID] = s.Least
	}
	o.can[t] = can
	return can, nil
}

// object returns the object of a name.
func (o *Orch) object(ctx context.Context, group, name string) (sai.OID, error) {
	if group == schema.HFTBufferPool {
		oid, there := o.pools.Pool(name)
		if !there {
			return 0, orch.Wait("buffer pool", name, "")
		}
		return oid, nil
	}
	port, number, _ := strings.Cut(name, "|")
	oid, _, there := o.ports.Port(port)
	switch {
	case !there:
		return 0, orch.Wait("port", port, "")
	case group == schema.HFTPort:
		return oid, nil
	}
	list, what := sai.PortAttrQoSQueueList, "queues"
	if group == schema.HFTPriorityGroup {
		list, what = sai.PortAttrIngressPriorityGroupList, "priority groups"
	}
	of := partsOf{oid, list}
	parts := o.parts[of]
	if parts == nil {
		got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypePort, oid), []sai.Attr{sai.Want(list, 64)})
		if err != nil {
			return 0, fmt.Errorf("%s of %s: %w", what, port, err)
		}
		parts, _ = got[0].Value.(sai.OIDs)
		o.parts[of] = parts
	}
	var n int
	if _, err := fmt.Sscan(number, &n); err != nil || n >= len(parts) {
		return 0, fmt.Errorf("%s: the port has %d %s", name, len(parts), what)
	}
	return parts[n], nil
}

// A partsOf names the queues, or the priority groups, of a port by the attribute that lists them.
type partsOf struct {
	port sai.OID
	list sai.AttrID
}

// pass brings the ASIC to the target state.
func (o *Orch) pass(ctx context.Context) error {
	for range o.ledger.Passes {
		list := o.plan(ctx)
		if err := o.removeOthers(ctx, list); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(list)) {
			row := orch.Row(schema.AppHFTGroup, strings.Replace(key, "|", ":", 1))
			if o.ledger.Refused(row) {
				continue
			}
			if err := o.bring(ctx, key, list[key]); err != nil {
				o.ledger.Fail(row, "high-frequency telemetry of "+key, err)
			} else if g := o.groups[key]; g.waits {
				o.ledger.Why[row] = orch.Wait("templates", key, "the ASIC makes the templates")
			} else if !list[key].enabled {
				o.ledger.Notes[row] = "nothing is streamed: stream_state of " + list[key].profile + " is disabled"
			}
		}
	}
	return o.dropStale(ctx)
}

// removeOthers ends the groups that no row wants.
func (o *Orch) removeOthers(ctx context.Context, list map[string]*wanted) error {
	for _, key := range slices.Sorted(maps.Keys(o.groups)) {
		if list[key] != nil {
			continue
		}
		g := o.groups[key]
		if err := o.sessions.Del(ctx, key); err != nil {
			return err
		}
		if err := o.end(ctx, g); err != nil {
			o.log.Error("a stream stays in the ASIC", "group", key, "err", err)
			return fmt.Errorf("high-frequency telemetry of %s stays in the ASIC: %w", key, err)
		}
		delete(o.groups, key)
	}
	clear(o.parts) // ports may have gone
	return nil
}

// bring makes a group as it is wanted.
func (o *Orch) bring(ctx context.Context, key string, w *wanted) error {
	g := o.groups[key]
	if g != nil && w.group == schema.HFTBufferPool && replaced(g.columns, w.columns) {
		if err := o.end(ctx, g); err != nil {
			return err
		}
		g = nil
	}
	if g == nil {
		g = &group{profile: w.profile}
		o.groups[key] = g
	}
	if err := o.build(ctx, g, w); err != nil {
		return err
	}
	if g.waits { // it changes once the ASIC has made the templates
		return nil
	}
	if !slices.Equal(g.columns, w.columns) {
		return o.prepare(ctx, g, w.columns)
	}
	return o.follow(ctx, key, g, w)
}

// replaced reports whether a name is that of another object now.
func replaced(was, now []column) bool {
	of := map[string]sai.OID{}
	for _, c := range was {
		of[c.name] = c.of
	}
	return slices.ContainsFunc(now, func(c column) bool { oid, there := of[c.name]; return there && oid != c.of })
}

// dropStale removes the sessions that no group has.
func (o *Orch) dropStale(ctx context.Context) error {
	if !o.stale || !o.applied {
		return nil
	}
	keys, err := o.sessions.Keys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if g := o.groups[key]; g == nil || g.session.Templates == nil {
			if err := o.sessions.Del(ctx, key); err != nil {
				return err
			}
		}
	}
	o.stale = false
	return nil
}
