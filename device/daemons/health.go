package daemons

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"tamtam/device/fault"
	"tamtam/mgmt"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// ErrNoSuchDaemon is found in the error of [Health] for an unknown name.
var ErrNoSuchDaemon = errors.New("no such daemon")

var daemons = []string{"tammgrd", "orchagent", "syncd", "mgmtd"}

// database is what [Health] calls Redis, which is none of our daemons.
const database = "redis"

// Daemons returns the names of the daemons.
func Daemons() []string { return slices.Clone(daemons) }

// A daemon that lives renews its row in STATE_DB once per beat; the row lives for a few beats.
const (
	healthTable = schema.StateHealth
	beatPeriod  = time.Second
	beatLife    = schema.HealthLife
)

// Fields of a daemon's row.
const (
	fieldState  = schema.HealthState
	fieldReason = "reason"
	fieldSince  = schema.HealthSince
	fieldOwner  = schema.HealthOwner
)

// States of a daemon.
const (
	StateReady   = schema.HealthReady
	StateWaiting = "waiting"
)

// A DaemonState is what a daemon says of itself.
type DaemonState struct {
	State  string // StateReady, or StateWaiting for the reason
	Reason string
	Since  time.Time
	Owner  string // the process
}

// ReadState returns what a daemon says of itself, false if nothing was heard of it for some seconds.
func ReadState(ctx context.Context, r *swss.Redis, name string) (DaemonState, bool, error) {
	row, left, err := swss.NewTable(r.DB(swss.StateDB), healthTable).GetFor(ctx, name)
	// A row that has longer to live is from before the clock of Redis' host was set back: nobody has renewed it since.
	if err != nil || len(row) == 0 || left > beatLife {
		return DaemonState{}, false, err
	}
	since, _ := time.Parse(time.RFC3339Nano, row[fieldSince]) // a foreign row: the zero time
	return DaemonState{State: row[fieldState], Reason: row[fieldReason], Since: since, Owner: row[fieldOwner]}, true, nil
}

// A health is how a daemon is, by its own word. It is told from one goroutine and read from another.
type health struct {
	name, owner string
	faults      *fault.Desk
	clock       func() time.Time

	mu     sync.Mutex
	state  DaemonState
	silent bool                                 // another process of that name works, whose row this is
	alive  func(ctx context.Context) error      // fails when the daemon hangs; nil: it does not
	hears  func(ctx context.Context) error      // fails when it does not hear of changes; nil: it hears
	lacks  func(ctx context.Context) (r string) // what else it waits for; nil: nothing
	watch  *drift.Watch                         // what the daemon's work as it is now compares; nil: nothing
	lacked DaemonState                          // as last told, of what works and is not ready
	before drift.State                          // of what earlier lives compared
	heed   func(reason string)                  // hears what is told; nil: nobody
	upset  DaemonState                          // why it did not work before it works again; zero: it always did
	news   chan struct{}                        // has a value when something was told since the last beat
}

func newHealth(name string) *health {
	h := &health{name: name, owner: rand.Text(), clock: time.Now, news: make(chan struct{}, 1)}
	h.tell("starting")
	return h
}

// tell notes why the daemon does not work, "" if it does.
func (h *health) tell(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	state := StateReady
	if reason != "" {
		state = StateWaiting
	}
	if h.state.State != state || h.state.Reason != reason {
		if h.state.State == StateReady {
			h.upset = DaemonState{State: state, Reason: reason, Since: h.clock()}
		}
		h.state = DaemonState{State: state, Reason: reason, Since: h.clock()}
		if h.heed != nil {
			h.heed(reason)
		}
		h.hurry()
	}
}

// lives sets what is asked of the daemon's work as it is now, and what that compares.
func (h *health) lives(alive, hears func(context.Context) error, watch *drift.Watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watch != nil {
		h.before = h.watch.State().After(h.before)
	}
	h.alive, h.hears, h.watch = alive, hears, watch
}

// setLacks sets what else the daemon may wait for.
func (h *health) setLacks(lacks func(context.Context) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lacks = lacks
}

// beat renews the row until ctx ends, while the daemon lives. Where that fails, the log is all that can be told.
func (h *health) beat(ctx context.Context, r *swss.Redis, log *slog.Logger) error {
	tick := time.NewTicker(beatPeriod)
	defer tick.Stop()
	for told := false; ; {
		beat, cancel := context.WithTimeout(ctx, beatLife/2) // a connection may hang, and a new one not
		err := h.renew(beat, r)
		cancel()
		if failed := err != nil && ctx.Err() == nil; failed != told {
			if told = failed; failed {
				log.Error(h.name+" cannot report its health", "because", swss.Why(err))
			} else {
				log.Info(h.name + " can report its health again")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-h.news: // whoever asks is not told what is over
		}
	}
}

// hurry makes the next beat come now: something has changed that others should hear of at once.
func (h *health) hurry() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// settleTime is how long a daemon has to work again before it says so: one that fails every second does not.
const settleTime = 2 * beatPeriod

// settled is the state that is told; mu is held.
func (h *health) settled() DaemonState {
	if h.state.State == StateReady {
		if h.upset.Reason != "" && h.clock().Sub(h.state.Since) < settleTime {
			return h.upset
		}
		h.upset = DaemonState{}
	}
	return h.state
}

// renew writes the rows, if the daemon lives.
func (h *health) renew(ctx context.Context, r *swss.Redis) error {
	h.mu.Lock()
	state, silent, alive, watch, before := h.settled(), h.silent, h.alive, h.watch, h.before
	h.mu.Unlock()
	if silent || alive != nil && alive(ctx) != nil {
		return nil
	}
	if state.State == StateReady {
		state = h.whole(ctx, state, watch)
	} else if injected, _ := h.faults.InForce(); injected != "" {
		state.Reason += "; " + injected
	}
	err := h.write(ctx, r, healthTable, swss.FieldValues{
		fieldState: state.State, fieldReason: state.Reason,
		fieldSince: state.Since.UTC().Format(time.RFC3339Nano), fieldOwner: h.owner,
	})
	if watch != nil && err == nil {
		err = h.write(ctx, r, drift.Table, watch.State().After(before).Row())
	}
	return err
}

func (h *health) write(ctx context.Context, r *swss.Redis, table string, row swss.FieldValues) error {
	rows := swss.NewTable(r.DB(swss.StateDB), table)
	err := rows.SetFor(ctx, h.name, row, beatLife)
	if swss.IsMisuse(err) {
		return rows.Del(ctx, h.name) // the next beat writes it
	}
	return err
}

// whole is the state of a daemon that works: it is ready only if what is configured is in force, as far as it knows.
func (h *health) whole(ctx context.Context, state DaemonState, watch *drift.Watch) DaemonState {
	reason, since := "", h.clock()
	if watch != nil {
		compared := watch.State()
		if reason = compared.Lacks(); !compared.Since.IsZero() {
			since = compared.Since
		}
	}
	h.mu.Lock()
	hears, lacks := h.hears, h.lacks
	h.mu.Unlock()
	if hears != nil {
		beat, cancel := context.WithTimeout(ctx, beatLife/4)
		if hears(beat) != nil {
			reason, since = "its connection for notifications does not answer", h.clock()
		}
		cancel()
	}
	if lacks != nil {
		if lack := lacks(ctx); lack != "" {
			reason, since = lack, h.clock()
		}
	}
	if injected, from := h.faults.InForce(); injected != "" {
		if reason != "" {
			injected = reason + "; " + injected
		}
		reason, since = injected, from
	}
	switch {
	case reason == "" && h.lacked.Reason != "":
		h.tellAgain()
		state.Since, h.lacked = h.clock(), DaemonState{}
	case reason != "":
		if reason != h.lacked.Reason {
			h.lacked = DaemonState{State: StateWaiting, Reason: reason, Since: since}
		}
		state = h.lacked
	}
	return state
}

// tellAgain notes that the daemon is ready from now on.
func (h *health) tellAgain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Since = h.clock()
}

// A Question is what [Health] is asked about a daemon.
type Question struct {
	Name  string      // a daemon, or "redis"
	Addr  string      // of Redis
	Redis swss.Config // instead of Addr, if it has instances
	GNMI  string      // of mgmtd: HOST:PORT or unix:PATH
	// Live asks whether the process works, so that a restart would not help; else whether what is configured is in
	// force, as far as this daemon knows, or is told to be pending or failed.
	Live    bool
	Timeout time.Duration
}

// Health returns "ok" if the answer is yes, for a live daemon with what it waits for, and otherwise an error with the
// reason. A daemon that nothing was heard of for some seconds does not live; mgmtd must also answer gNMI. Redis is
// ready if it takes writes, and lives if it answers.
func Health(ctx context.Context, q Question) (string, error) {
	name := q.Name
	if all := slices.Concat(daemons, beside); name != database && !slices.Contains(all, name) {
		return "", fmt.Errorf("%w %q: want one of %v, or %s", ErrNoSuchDaemon, name, all, database)
	}
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	if len(q.Redis.Instances) == 0 {
		var err error
		if q.Redis, err = swss.DefaultConfig(q.Addr); err != nil {
			return "", err
		}
	}
	r := swss.Look(q.Redis)
	defer r.Close()
	if name == database {
		why := refusal(ctx, r)
		if why != "" && (!q.Live || r.DB(swss.StateDB).Ping(ctx) != nil) {
			return "", fmt.Errorf("redis at %s: %s", r.Addr(), why)
		}
		return ok(why), nil
	}
	state, err := stateOf(ctx, r, q)
	if err != nil {
		return "", err
	}
	if name == "mgmtd" {
		if err := mgmt.Probe(ctx, q.GNMI); err != nil {
			return "", fmt.Errorf("mgmtd: %w", err)
		}
	}
	if state.State == StateReady {
		state.Reason = ""
	}
	return ok(state.Reason), nil
}

// stateOf is the state of a daemon that is as the question wants it; else the error says why not.
func stateOf(ctx context.Context, r *swss.Redis, q Question) (DaemonState, error) {
	name := q.Name
	state, heard, err := ReadState(ctx, r, name)
	strange := ""
	if err == nil && heard {
		strange, err = lasting(ctx, r, name)
	}
	if err == nil && strange == "" && !q.Live { // a process without its mark lives, and makes it again
		strange, err = otherOwner(ctx, r, name, state)
	}
	switch {
	case err != nil:
		return state, fmt.Errorf("redis at %s: %s", r.Addr(), swss.Why(err))
	case !heard:
		silence := fmt.Errorf("%s has not been heard of for %v", name, beatLife)
		if why := refusal(ctx, r); why != "" {
			silence = fmt.Errorf("%w; %s", silence, why)
		}
		return state, silence
	case strange != "":
		return state, fmt.Errorf("%s: %s", name, strange)
	case state.State != StateReady && !q.Live:
		return state, fmt.Errorf("%s is not ready since %s: %s", name, state.Since.Format(time.TimeOnly), state.Reason)
	}
	return state, nil
}

// HealthOf asks some of the daemons, all at once. It is "ok" if all answers are; of several, those that say more are
// named.
func HealthOf(ctx context.Context, q Question, names []string) (string, error) {
	states, errs := make([]string, len(names)), make([]error, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		q := q
		q.Name = name
		asked.Go(func() { states[i], errs[i] = Health(ctx, q) })
	}
	asked.Wait()
	if err := errors.Join(errs...); err != nil || len(names) == 1 {
		return states[0], err
	}
	var more []string
	for i, state := range states {
		if state != "ok" {
			more = append(more, names[i]+": "+state)
		}
	}
	return cmp.Or(strings.Join(more, "; "), "ok"), nil
}

// Running returns the daemons that a switch has, and those of [Beside] that work, or have ended without being told to.
func Running(ctx context.Context, q Question) []string {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	r := swss.Look(q.Redis)
	defer r.Close()
	names := Daemons()
	others, err := BesideHere(ctx, r)
	if err != nil {
		return names // they say what is wrong with Redis
	}
	return append(names, others...)
}

// ok is the answer of what lives, and why it is not ready.
func ok(lacks string) string {
	if lacks == "" {
		return "ok"
	}
	return "ok, not ready: " + lacks
}

// probeTable is what a write is tried with, to know whether the server takes writes.
const probeTable = "TAMTAM_PROBE"

// refusal says why the server takes no writes. "": it does.
func refusal(ctx context.Context, r *swss.Redis) string {
	if err := swss.NewTable(r.DB(swss.StateDB), probeTable).SetFor(ctx, "", nil, time.Second); err != nil {
		why := swss.Why(err)
		if injected := fault.InWords(ctx, r); injected != "" {
			why += "; " + injected
		}
		return why
	}
	return ""
}
