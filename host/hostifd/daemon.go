package hostifd

import (
	"context"
	"net/netip"
	"time"

	"tamtam/host/beside"
	"tamtam/host/hostrows"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Config configures a [Sync].
type Config struct {
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Host   *Host
	// Fallback is the switch's MAC address if DEVICE_METADATA has none.
	Fallback schema.MAC
}

// A Sync configures Linux by APPL_DB, and writes neighbours back. Its methods run on the daemon's goroutine.
type Sync struct {
	d    *orch.Daemon
	host *Host
	mac  schema.MAC
	rows rows
	// static holds the routes of ROUTE_TABLE that are tammgrd's, by key.
	static map[string]schema.Route
	due    bool
	plan   plan
	neighborhood
	nextHops
	sweep time.Time // time at which earlier neighbours that Linux lacks are removed; zero if that is done
	began bool      // true once the first rows were handed out

	addrs *hostrows.Addresses
	line  Sender // nil while the CPU port is not connected
	lined bool   // true once the CPU port has been connected

	lineAt time.Time           // time of the last call of SetLine
	lost   map[string]Neighbor // neighbours that Linux dropped while syncd restarted, by key
}

// restartTime is the time after syncd's end or start during which neighbours stay though Linux drops them. The devices
// lose their carrier then, Linux flushes neighbours, and FRR adds its own ones again when the carrier is back. Without
// these neighbours, all routes that lead there would leave the chip and return.
const restartTime = 10 * time.Second

// retryAfter is the wait between attempts to configure Linux.
const retryAfter = 2 * time.Second

// New registers the host interfaces on a daemon.
func New(cfg Config) *Sync {
	d, db := cfg.Daemon, cfg.Redis.DB(swss.ApplDB)
	s := &Sync{
		d: d, host: cfg.Host, mac: cfg.Fallback, rows: rows{}, static: map[string]schema.Route{}, due: true,
		lost:         map[string]Neighbor{},
		neighborhood: *newNeighborhood(d, db, cfg.Redis.DB(swss.StateDB), cfg.Host.kernel),
	}
	s.nextHops = newNextHops(func(key string) { s.dirty[key] = true })
	s.neighborhood.routed = func(key string) bool { return s.uses[key] > 0 }
	forward.Consume(d, cfg.Redis.DB(swss.ConfigDB), schema.CfgDeviceMetadata, func(key string, fields swss.FieldValues) {
		// Another field that is not valid does not matter.
		if row, _ := schema.ParseDeviceMetadata(key, fields); key == schema.MetadataKey {
			if s.due, s.mac = true, cfg.Fallback; !row.MAC.IsZero() {
				s.mac = row.MAC
			}
		}
	})
	for _, table := range tables {
		s.rows[table] = map[string]swss.FieldValues{}
		forward.Consume(d, db, table, func(key string, fields swss.FieldValues) { s.store(table, key, fields) })
	}
	forward.Consume(d, db, schema.AppNeigh, func(key string, fields swss.FieldValues) { s.saw(key, fields, !s.began) })
	forward.Consume(d, db, schema.AppRoute, func(key string, fields swss.FieldValues) {
		s.nextHops.store(key, fields)
		s.storeRoute(key, fields)
	})
	hostrows.Trap(d, cfg.Redis, func() bool { return s.lined })
	s.addrs = hostrows.NewAddresses(d, cfg.Redis, s.sendAt, func(on string, _ netip.Addr) {
		s.due = s.host.renew(on) || s.due
	})
	wanted := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, db, schema.AppNeighResolve) }
	d.Consume(wanted, schema.AppNeighResolve, orch.Each(func(_ context.Context, t orch.Task) error {
		s.resolve(t)
		return nil
	}), orch.Reporting{None: true})
	d.AfterRows(func() bool { return s.due || len(s.dirty) > 0 || s.states.dirty }, s.reconcile)
	d.Every(func() time.Duration { return retryAfter }, s.again)
	d.At(s.lostUntil, func(context.Context, time.Time) error {
		for _, n := range s.lost {
			s.learned(n)
		}
		clear(s.lost)
		return nil
	})
	d.At(func() time.Time { return s.sweep }, func(context.Context, time.Time) error {
		s.sweep = time.Time{}
		s.swept()
		return nil
	})
	return s
}

// store stores a row. A row of PORT_TABLE also signals when all ports are known.
func (s *Sync) store(table, key string, fields swss.FieldValues) {
	s.due = true
	if fields == nil {
		delete(s.rows[table], key)
		return
	}
	s.rows[table][key] = schema.LastOper(s.rows[table][key], fields)
}

// storeRoute processes a row of ROUTE_TABLE. Only the configured routes go to Linux: the others are from zebra, which
// writes them to Linux itself.
func (s *Sync) storeRoute(key string, fields swss.FieldValues) {
	_, was := s.static[key]
	delete(s.static, key)
	is := beside.Tammgrs(fields)
	if route, err := schema.ParseRoute(key, fields); is && err == nil {
		s.static[key] = route
	}
	s.due = s.due || was || is
}

// reconcile applies the rows to Linux and NEIGH_TABLE.
func (s *Sync) reconcile(ctx context.Context) error {
	if s.due {
		s.plan = makePlan(s.rows, s.mac)
		s.plan.addRoutes(s.static)
		s.host.apply(s.plan)
		if s.lined {
			s.addrs.Set(s.plan.addresses())
		}
		for key := range s.known { // the rules may have changed
			s.dirty[key] = true
		}
		s.due, s.neighborhood.ask = false, true
	}
	s.began = true
	if s.neighborhood.ask {
		s.toKernel(s.plan)
	}
	return s.flush(ctx, s.plan)
}

// again retries failed operations.
func (s *Sync) again(_ context.Context, now time.Time) error {
	s.states.dirty = s.states.dirty || s.lined && s.states.rows.Stale()
	if s.sweep.IsZero() && (len(s.before) > 0 || s.states.former != nil) {
		s.sweep = now.Add(neighborTime)
	}
	if s.neighborhood.ask {
		s.toKernel(s.plan)
	}
	s.nextHops.ask(&s.neighborhood, s.plan, now)
	s.refresh(s.plan, now)
	if s.host.trouble() != "" {
		s.due = true
	}
	return nil
}

// LinkChanged records the index of an interface of Linux. An index of 0 means that no interface has that name any more.
func (s *Sync) LinkChanged(name string, index int) { s.due = s.host.changed(name, index) || s.due }

// Learned processes a neighbour that Linux reports. A known neighbour that Linux drops while syncd restarts stays until
// restartTime has passed.
func (s *Sync) Learned(n Neighbor) {
	key := keyOf(n)
	delete(s.lost, key)
	if _, known := s.known[key]; known && n.Gone && s.d.Now().Before(s.lineAt.Add(restartTime)) {
		s.lost[key] = n
		return
	}
	s.learned(n)
}

// lostUntil returns the time at which lost neighbours are dropped. It is zero if there are none.
func (s *Sync) lostUntil() time.Time {
	if len(s.lost) == 0 {
		return time.Time{}
	}
	return s.lineAt.Add(restartTime)
}

// Forget announces that Linux is going to report all of its neighbours again.
func (s *Sync) Forget() { s.forget() }

// Lacks describes the deviations from the configuration, or "" if there are none. It may be called from any goroutine.
func (s *Sync) Lacks() string { return s.host.trouble() }
