package dial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"

	"tamtam/tam/altmark"
)

// An Event is a message of a target, or a change of its connection.
type Event struct {
	Target  string
	Session string // empty for an event of the whole target
	Kind    EventKind
	// Settings of the session. A zero role means that the session does not exist and its settings are unknown.
	Settings altmark.Session
	Period   altmark.Period
	Arrived  time.Time // arrival of Period, by the clock of this host; zero if it was reported before the subscription
	Err      error     // set for Lost and Bad
	Notice   string    // remark about a path, whose name is in Target
}

// News describes the event of the target or the session in words, and reports whether it is a problem.
func (e Event) News() (text string, bad bool) {
	switch {
	case e.Kind == Synced:
		return "connected", false
	case e.Kind == Lost:
		return fmt.Sprintf("no connection: %v", e.Err), true
	case e.Kind == Notice:
		return e.Notice, false
	case e.Kind == Bad:
		return e.Err.Error(), true
	case e.Settings.Role == 0:
		return "is not configured", true
	}
	return fmt.Sprintf("%s, %s, every %s", e.Settings.Role, e.Settings.Method, e.Settings.Interval), false
}

// EventKind defines which fields of an Event are used.
type EventKind uint8

// The kinds.
const (
	Settings EventKind = iota + 1
	Period
	Synced // all that existed has been sent
	Lost   // the connection was lost; the watch reconnects
	Bad    // the target sent something invalid
	Notice // a remark about a path
)

// Bounds of the wait before a reconnect.
const (
	minRetry = 200 * time.Millisecond
	maxRetry = 5 * time.Second
)

// Watch calls report with a target's messages about sessions, until ctx ends, and reconnects whenever the connection is
// lost. It returns an error if the options are invalid.
func Watch(ctx context.Context, target string, sessions []string, o Options, report func(Event)) error {
	lost := func(err error) { report(Event{Target: target, Kind: Lost, Err: err}) }
	return o.again(ctx, target, lost, func(conn *grpc.ClientConn) (synced bool, err error) {
		w := &watch{target: target, report: report, sessions: map[string]*session{}}
		for _, s := range sessions {
			w.sessions[s] = newSession(s)
		}
		err = w.once(ctx, conn, o, sessions)
		return w.synced, err
	})
}

// again reads a target until ctx ends, and reconnects on failure. once reports whether everything that existed was sent
// before the connection failed.
func (o Options) again(
	ctx context.Context, target string, lost func(error), once func(*grpc.ClientConn) (synced bool, err error),
) error {
	conn, err := o.client(target)
	if err != nil {
		return err
	}
	defer conn.Close()
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		synced, err := once(conn)
		if ctx.Err() != nil {
			return nil
		}
		if synced {
			wait = minRetry
		}
		lost(err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// watch is one subscription.
type watch struct {
	target   string
	report   func(Event)
	sessions map[string]*session
	synced   bool
}

func (w *watch) once(ctx context.Context, conn *grpc.ClientConn, o Options, sessions []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := o.subscribe(ctx, conn, sessions)
	if err != nil {
		return err
	}
	for {
		reply, err := stream.Recv()
		if err != nil {
			return err
		}
		switch r := reply.GetResponse().(type) {
		case *gpb.SubscribeResponse_Update:
			w.apply(r.Update, time.Now())
		case *gpb.SubscribeResponse_SyncResponse:
			for name, s := range w.sessions {
				if !w.synced && len(s.config) == 0 { // it does not exist, whatever it was before
					w.report(Event{Target: w.target, Session: name, Kind: Settings})
				}
			}
			w.synced = true
			w.report(Event{Target: w.target, Kind: Synced})
		default:
			return errors.New("the server sends neither updates nor the end of the initial values")
		}
	}
}

// apply applies a notification. Until the target is synced, the arrival time has no meaning, since the switch sends
// what existed before the subscription.
func (w *watch) apply(n *gpb.Notification, now time.Time) {
	if !w.synced {
		now = time.Time{}
	}
	changed := map[string]*changes{}
	at := func(name string) *changes {
		if changed[name] == nil {
			changed[name] = &changes{periods: map[string]bool{}}
		}
		return changed[name]
	}
	bad := func(session string, err error) {
		w.report(Event{Target: w.target, Session: session, Kind: Bad, Err: err})
	}
	for _, p := range n.GetDelete() {
		elems := join(n.GetPrefix(), p)
		for name, s := range w.sessions {
			if s.remove(elems) {
				at(name).config = true
			}
		}
	}
	for _, u := range n.GetUpdate() {
		leaves, err := leavesOf(join(n.GetPrefix(), u.GetPath()), u.GetVal())
		if err != nil {
			bad("", err)
			continue
		}
		for _, l := range leaves {
			s := w.sessions[l.session]
			if s == nil {
				continue
			}
			s.set(l, at(l.session))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		s, c := w.sessions[name], changed[name]
		if c.config {
			settings, err := s.settings()
			if err != nil {
				bad(name, err)
			}
			w.report(Event{Target: w.target, Session: name, Kind: Settings, Settings: settings})
		}
		for _, number := range slices.SortedFunc(maps.Keys(c.periods), byNumber) {
			p, err := s.period(number)
			if err != nil {
				bad(name, err)
				continue
			}
			w.report(Event{Target: w.target, Session: name, Kind: Period, Period: p, Arrived: now})
		}
	}
}

type changes struct {
	config  bool
	periods map[string]bool
}

// byNumber orders decimal numbers, whatever their size.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
