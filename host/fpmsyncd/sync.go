package fpmsyncd

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tamtam/host/beside"
	"tamtam/host/fpm"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// RestartTime is how long rows that zebra has not sent again stay after it has connected: SONiC's default for the
// routing stack.
const RestartTime = 120 * time.Second

// Limits of the state kept for a peer.
const (
	mostRoutes = 1 << 20
	mostRoom   = 256 << 20 // bytes of distinct rows
	mostGroups = 1 << 14
)

// Config configures a [Sync].
type Config struct {
	Daemon *orch.Daemon
	Redis  *swss.Redis
	// Name returns the name of an interface of the host by its index, "" if there is none.
	Name func(index uint32) string
	// Restart is how long rows that zebra has not sent again stay after it has connected; 0 means RestartTime.
	Restart time.Duration
}

// A Sync writes routes to ROUTE_TABLE. Except Lacks, its methods run on the daemon's goroutine.
type Sync struct {
	table   beside.Table
	log     *slog.Logger
	now     func() time.Time
	name    func(uint32) string
	restart time.Duration

	loaded bool
	routes map[netip.Prefix]*route
	rows   map[row]*shared
	room   int // bytes used by the rows
	hops   map[uint32]*fpm.NextHop
	moved  map[uint32]bool         // next hops that changed since routes were last checked
	dirty  map[netip.Prefix]bool   // prefixes whose row must be written
	static map[string]netip.Prefix // prefixes of STATIC_ROUTE, by key
	check  map[netip.Prefix]bool   // prefixes whose row's owner must be checked
	hurry  time.Time               // time until which tammgrd may be about to act on STATIC_ROUTE

	sweep time.Time // when routes that were not sent again are removed; zero means never
	owes  owes
	standing

	mu       sync.Mutex
	reported standing // copy for Lacks
}

// standing is the state of the connection with zebra.
type standing struct {
	peer     string       // address of zebra; "" if it is not connected
	received bool         // true if zebra has sent something since it connected
	count    int          // number of routes
	before   int          // number of routes that zebra has not sent again
	lost     int          // number of messages of this connection that could not be read
	lostWhy  string       // reason why the first of these could not be read
	full     int          // number of routes of this connection beyond the limits
	encap    netip.Prefix // a route of this connection whose packets would have to be encapsulated
}

// A route as zebra sent it, or as it was found.
type route struct {
	want, have *shared // target row and existing row; nil means no row
	reported   bool    // true if the connected zebra has sent it
	group      uint32  // ID of the next hop; 0 if there is none
	protocol   uint8   // protocol number as zebra sent it
	answered   bool    // true if zebra was notified that it is in the ASIC
}

// A shared row is used by all routes that look alike.
type shared struct {
	row
	uses int
}

// New registers the routes on a daemon.
func New(cfg Config) *Sync {
	s := &Sync{
		table: beside.Table{DB: cfg.Redis.DB(swss.ApplDB), Name: schema.AppRoute}, log: cfg.Daemon.Logger(),
		now: cfg.Daemon.Now, name: cfg.Name, restart: cfg.Restart,
		routes: map[netip.Prefix]*route{}, rows: map[row]*shared{}, hops: map[uint32]*fpm.NextHop{},
		moved: map[uint32]bool{}, dirty: map[netip.Prefix]bool{}, static: map[string]netip.Prefix{},
		check: map[netip.Prefix]bool{},
	}
	if s.restart == 0 {
		s.restart = RestartTime
	}
	s.owes = newOwes(nil)
	s.report()
	cfg.Daemon.Receive(func(l *swss.Listener) swss.Source {
		return swss.NewNotificationConsumer(l, cfg.Redis.DB(swss.ApplDB), schema.ResponseChannel(schema.AppRoute))
	}, s.responded)
	cfg.Daemon.Every(func() time.Duration {
		if len(s.owes.messages) == 0 {
			return 0
		}
		return askPeriod
	}, s.askAgain)
	forward.Consume(cfg.Daemon, cfg.Redis.DB(swss.ConfigDB), schema.CfgStaticRoute, s.recordStatic)
	cfg.Daemon.AfterRows(func() bool { return !s.loaded || len(s.dirty) > 0 || len(s.moved) > 0 }, s.flush)
	cfg.Daemon.OnFlush(func() { s.loaded = false })
	cfg.Daemon.At(func() time.Time { return s.sweep }, s.sweepOld)
	cfg.Daemon.Every(func() time.Duration {
		switch {
		case len(s.check) == 0 && len(s.static) == 0:
			return 0
		case s.now().Before(s.hurry):
			return hurryPeriod
		}
		return checkPeriod
	}, s.checkContested)
	s.compare(cfg.Daemon)
	return s
}

// Connected handles a connection of zebra, which is going to send all its routes. send sends it a frame, and returns
// false if it reads too slowly.
func (s *Sync) Connected(peer string, send func(frame []byte) bool) {
	s.standing, s.owes = standing{peer: peer}, newOwes(send)
	clear(s.hops)
	for _, r := range s.routes {
		r.reported, r.group, r.answered = false, 0, false
		s.before++
	}
	s.sweep = s.now().Add(s.restart)
	s.log.Info("zebra is connected", "peer", peer, "routes of before", s.before)
	s.report()
}

// Disconnected handles the end of the connection. The routes stay.
func (s *Sync) Disconnected(why error) {
	s.log.Warn("zebra is not connected any more: its routes stay", "because", why, "routes", len(s.routes))
	s.peer, s.sweep, s.owes = "", time.Time{}, newOwes(nil)
	s.report()
}

func (s *Sync) sweepOld(context.Context, time.Time) error {
	s.sweep = time.Time{}
	if !s.loaded || !s.received { // the earlier routes are unknown, or zebra has not begun
		s.sweep = s.now().Add(time.Second)
		return nil
	}
	gone := 0
	for p, r := range s.routes {
		if !r.reported {
			r.reported = true
			s.want(p, r, nil)
			gone++
		}
	}
	s.before = 0
	s.log.Info("the time for zebra to send all routes is over",
		"told", len(s.routes)-gone, "not told again, and removed", gone)
	s.report()
	return nil
}

// Receive processes a frame of zebra's.
func (s *Sync) Receive(frame []byte) {
	defer s.report()
	for m, err := range fpm.Parse(frame) {
		s.received = true
		switch {
		case err != nil:
			if s.lost++; s.lost == 1 {
				s.lostWhy = err.Error()
				s.log.Error("a message of zebra's was not understood", "because", err, "peer", s.peer)
			}
		case m.Route != nil:
			s.applyRoute(m.Route)
		case m.NextHop != nil:
			s.applyNextHop(m.NextHop)
		}
	}
}

// applyRoute processes a route of the default VRF, whose table may also be 0. Routes of other tables, and to link-local
// or multicast addresses, are not the switch's.
func (s *Sync) applyRoute(m *fpm.Route) {
	a := m.Dest.Addr()
	if m.Table != fpm.MainTable && m.Table != 0 ||
		a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsLoopback() {
		return
	}
	r := s.routes[m.Dest]
	if m.Gone {
		s.drop(m.Dest, r)
		return
	}
	if r == nil {
		if len(s.routes) >= mostRoutes {
			s.noRoom(m.Dest)
			return
		}
		r = &route{reported: true}
		s.routes[m.Dest] = r
	}
	s.retold(r)
	s.owes.add(m.Dest, m.Raw)
	r.group, r.protocol, r.answered = 0, m.Protocol, false
	if m.Group != 0 && m.Type == fpm.Unicast {
		r.group = m.Group
		s.moved[m.Group] = true // decided with all others of the frame: its members may come later
		return
	}
	s.decide(m.Dest, r, m.Type, m.Hops)
}

// decide makes the row of a route. A route that drops has a blackhole row, whatever error it sends, since the chip
// sends none. A route with next hops has a row with these; others have none.
func (s *Sync) decide(dest netip.Prefix, r *route, kind uint8, hops []fpm.Hop) {
	switch kind {
	case fpm.Blackhole, fpm.Unreachable, fpm.Prohibit:
		s.want(dest, r, s.share(dest, row{protocol: protocol(r.protocol), blackhole: true}))
	case fpm.Unicast:
		for _, h := range hops {
			if h.Encap {
				s.want(dest, r, nil)
				s.leaveOut(dest)
				return
			}
		}
		if row, ok := hopsRow(dest, r.protocol, hops, s.name); ok {
			s.want(dest, r, s.share(dest, row))
			return
		}
		s.want(dest, r, nil)
		if len(hops) > 0 && !slices.ContainsFunc(hops, func(h fpm.Hop) bool { return s.name(h.Index) == "" }) {
			s.owes.answerDue(dest) // the chip must not have it: Linux alone forwards by these interfaces
		}
	default:
		s.want(dest, r, nil)
	}
}

func (s *Sync) drop(dest netip.Prefix, r *route) {
	if r == nil {
		return
	}
	s.retold(r)
	r.group = 0
	s.owes.remove(dest)
	s.want(dest, r, nil)
}

// retold records that zebra has sent a route again.
func (s *Sync) retold(r *route) {
	if r.reported {
		return
	}
	r.reported = true
	s.before--
}

// want sets the row that a route should have, which the caller has shared; nil means none.
func (s *Sync) want(dest netip.Prefix, r *route, w *shared) {
	s.release(r.want)
	if r.want = w; r.want != r.have || w == nil || s.owes.has(dest) {
		s.dirty[dest] = true
	} else {
		delete(s.dirty, dest)
	}
}

// share returns the shared row of all routes that look alike, nil if the limit is reached.
func (s *Sync) share(dest netip.Prefix, r row) *shared {
	one := s.rows[r]
	if one == nil {
		if s.room+r.size() > mostRoom {
			s.noRoom(dest)
			return nil
		}
		one = &shared{row: r}
		s.rows[r] = one
		s.room += r.size()
	}
	one.uses++
	return one
}

func (s *Sync) release(one *shared) {
	if one == nil {
		return
	}
	if one.uses--; one.uses == 0 {
		delete(s.rows, one.row)
		s.room -= one.size()
	}
}

// leaveOut logs a route whose packets would have to be encapsulated or labelled.
func (s *Sync) leaveOut(dest netip.Prefix) {
	if !s.encap.IsValid() {
		s.encap = dest
		s.log.Warn("routes are left out: their packets would have to be encapsulated", "first", dest)
	}
}

// noRoom logs a route that is beyond the limits.
func (s *Sync) noRoom(dest netip.Prefix) {
	if s.full++; s.full == 1 {
		s.log.Error("there is no room for more routes", "first", dest, "routes", len(s.routes), "bytes", s.room)
	}
}

// report publishes the state for Lacks.
func (s *Sync) report() {
	s.count = len(s.routes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = s.standing
}

// Lacks describes differences between zebra's routes and ROUTE_TABLE, "" if there are none. It may be called from any
// goroutine.
func (s *Sync) Lacks() string {
	s.mu.Lock()
	now := s.reported
	s.mu.Unlock()
	switch {
	case now.peer == "":
		return fmt.Sprintf("zebra is not connected; the %d routes that it sent stay", now.count)
	case now.lost > 0:
		return fmt.Sprintf("%d messages of zebra's were not understood: %s", now.lost, now.lostWhy)
	case now.full > 0:
		return fmt.Sprintf("there is no room for %d routes of zebra's: want at most %d", now.full, mostRoutes)
	case now.encap.IsValid():
		return fmt.Sprintf("routes of zebra's whose packets would have to be encapsulated are left out, as %s", now.encap)
	case now.before > 0:
		return fmt.Sprintf("zebra has not sent %d routes again; those not sent %s after it connected are removed",
			now.before, s.restart)
	}
	return ""
}
