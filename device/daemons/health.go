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
	"tamtam/swss/tick"
)

// ErrNoSuchDaemon is wrapped by the error of [Health] for an unknown name.
var ErrNoSuchDaemon = errors.New("no such daemon")

var daemons = []string{"tammgrd", "orchagent", "syncd", "mgmtd"}

// database is the name under which [Health] checks Redis, which is not one of our daemons.
const database = "redis"

// Daemons returns the names of the daemons that every switch has.
func Daemons() []string { return slices.Clone(daemons) }

// A running daemon renews its row in STATE_DB once per beat. The row expires after a small number of beats.
const (
	healthTable = schema.StateHealth
	beatPeriod  = time.Second
	beatTTL     = schema.HealthTTL
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

// A DaemonState is the state that a daemon reports.
type DaemonState struct {
	State  string // StateReady, or StateWaiting with the reason
	Reason string
	Since  time.Time
	Owner  string // identifies the process
	// Lasts is true if the row does not expire, so that no daemon can have written it.
	Lasts bool
}

// ReadState returns the state that a daemon reports. It returns false if the daemon sent no beat for some seconds.
func ReadState(ctx context.Context, r *swss.Redis, name string) (DaemonState, bool, error) {
	states, err := readStates(ctx, r, []string{name})
	state, heard := states[name]
	return state, heard, err
}

// readStates returns the states that daemons report. It omits a daemon that sent no beat for some seconds.
func readStates(ctx context.Context, r *swss.Redis, names []string) (map[string]DaemonState, error) {
	states := map[string]DaemonState{}
	read := func(name string, row swss.FieldValues, left time.Duration) {
		// If the time to live is longer, the clock of Redis' host was set back, and the row was not renewed since.
		if len(row) == 0 || left > beatTTL {
			return
		}
		since, _ := time.Parse(time.RFC3339Nano, row[fieldSince]) // zero in a row of an unknown format
		states[name] = DaemonState{
			State: row[fieldState], Reason: row[fieldReason], Since: since, Owner: row[fieldOwner],
			Lasts: left == -1, // Redis' value for a key that does not expire
		}
	}
	return states, swss.NewTable(r.DB(swss.StateDB), healthTable).GetManyFor(ctx, names, read)
}

// A health holds the state that a daemon reports. It is written by one goroutine and read by another.
type health struct {
	name, owner string
	faults      *fault.Controller
	clock       func() time.Time

	mu     sync.Mutex
	state  DaemonState
	silent bool                            // true if another process of that name runs and owns the row
	ping   func(ctx context.Context) error // returns an error if the daemon hangs; nil means that it cannot hang
	// receives returns an error if the daemon receives no change events. If receives is nil, it always receives them.
	receives func(ctx context.Context) error
	lacks    func(ctx context.Context) (r string) // reason why the daemon waits; nil means no further reason
	watch    *drift.Watch                         // comparison by the current run; nil means that it compares nothing
	lacked   DaemonState                          // the last reported reason why a running daemon is not ready
	before   drift.State                          // results of comparisons by earlier runs
	heed     func(reason string)                  // receives each reason; nil means that nothing receives it
	// upset is the state in which the daemon did not work. It is kept until the daemon has worked again for
	// debounceTime. It is zero if the daemon always worked.
	upset DaemonState
	news  chan struct{} // holds a value when the state has changed since the last beat
}

func newHealth(name string) *health {
	h := &health{name: name, owner: rand.Text(), clock: time.Now, news: make(chan struct{}, 1)}
	h.report("starting")
	return h
}

// report records the reason why the daemon does not work. "" means that it works.
func (h *health) report(reason string) {
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

// attach sets the checks of the daemon's current run, and the run's comparison.
func (h *health) attach(alive, hears func(context.Context) error, watch *drift.Watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watch != nil {
		h.before = h.watch.State().After(h.before)
	}
	h.ping, h.receives, h.watch = alive, hears, watch
}

// setLacks sets the function that returns what else the daemon waits for.
func (h *health) setLacks(lacks func(context.Context) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lacks = lacks
}

// beat renews the row until ctx ends, while the daemon works. If that fails, it can only log the failure.
func (h *health) beat(ctx context.Context, r *swss.Redis, log *slog.Logger) error {
	for reported := false; ; {
		beat, cancel := context.WithTimeout(ctx, beatTTL/2) // a connection may hang while a new one would work
		err := h.renew(beat, r)
		cancel()
		if failed := err != nil && ctx.Err() == nil; failed != reported {
			if reported = failed; failed {
				log.Error(h.name+" cannot report its health", "because", swss.Why(err))
			} else {
				log.Info(h.name + " can report its health again")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.After(beatPeriod):
		case <-h.news: // readers must not see an outdated state
		}
	}
}

// hurry triggers the next beat now, so that a change is visible at once.
func (h *health) hurry() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// debounceTime is how long a daemon must have worked again before it reports that it works. A daemon that fails every
// second never reports that.
const debounceTime = 2 * beatPeriod

// debounced returns the state to report. The caller holds mu.
func (h *health) debounced() DaemonState {
	if h.state.State == StateReady {
		if h.upset.Reason != "" && h.clock().Sub(h.state.Since) < debounceTime {
			return h.upset
		}
		h.upset = DaemonState{}
	}
	return h.state
}

// renew writes the rows, if the daemon works.
func (h *health) renew(ctx context.Context, r *swss.Redis) error {
	h.mu.Lock()
	state, silent, alive, watch, before := h.debounced(), h.silent, h.ping, h.watch, h.before
	h.mu.Unlock()
	if silent || alive != nil && alive(ctx) != nil {
		return nil
	}
	if state.State == StateReady {
		state = h.whole(ctx, state, watch)
	} else if injected, _ := h.faults.InForce(); injected != "" {
		state.Reason += "; " + injected
	}
	rows := map[string]swss.FieldValues{healthTable: {
		fieldState: state.State, fieldReason: state.Reason,
		fieldSince: state.Since.UTC().Format(time.RFC3339Nano), fieldOwner: h.owner,
	}}
	if watch != nil {
		rows[drift.Table] = watch.State().After(before).Row()
	}
	return h.write(ctx, r.DB(swss.StateDB), rows)
}

// write writes the daemon's rows of some tables.
func (h *health) write(ctx context.Context, state *swss.DB, rows map[string]swss.FieldValues) error {
	err := state.SetFor(ctx, h.name, rows, beatTTL)
	if !swss.IsMisuse(err) {
		return err
	}
	for table := range rows {
		if _, _, err := swss.NewTable(state, table).Get(ctx, h.name); swss.IsMisuse(err) {
			if err := swss.NewTable(state, table).Del(ctx, h.name); err != nil { // the next beat writes it
				return err
			}
		}
	}
	return nil
}

// whole returns the state of a daemon that works. Such a daemon is ready only if, as far as it can determine, the
// configuration is in force.
func (h *health) whole(ctx context.Context, state DaemonState, watch *drift.Watch) DaemonState {
	reason, since := "", h.clock()
	if watch != nil {
		compared := watch.State()
		if reason = compared.Lacks(); !compared.Since.IsZero() {
			since = compared.Since
		}
	}
	h.mu.Lock()
	hears, lacks := h.receives, h.lacks
	h.mu.Unlock()
	if hears != nil {
		beat, cancel := context.WithTimeout(ctx, beatTTL/4)
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
		h.resetSince()
		state.Since, h.lacked = h.clock(), DaemonState{}
	case reason != "":
		if reason != h.lacked.Reason {
			h.lacked = DaemonState{State: StateWaiting, Reason: reason, Since: since}
		}
		state = h.lacked
	}
	return state
}

// resetSince records that the daemon is ready from now on.
func (h *health) resetSince() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Since = h.clock()
}

// A Question is a request to [Health].
type Question struct {
	Name  string      // a daemon's name, or "redis"
	Addr  string      // address of Redis
	Redis swss.Config // used instead of Addr if it lists Redis instances
	GNMI  string      // mgmtd's address: HOST:PORT or unix:PATH
	// Live asks only whether the process works, so that a restart would not help. Otherwise the question is whether the
	// daemon is ready. It is if, as far as it can determine, the configuration is in force, or reported as pending or
	// failed.
	Live    bool
	Timeout time.Duration
}

// Health returns "ok" if the daemon is ready or, as q requests, live. For a live daemon that is not ready, the text
// also names the reason. Otherwise it returns an error with the reason. A daemon that sent no beat for some seconds is
// not live; mgmtd must also answer gNMI, and the text names its failing outputs.
// Redis is ready if it accepts writes, and live if it answers.
func Health(ctx context.Context, q Question) (string, error) {
	name := q.Name
	if all := slices.Concat(daemons, optional); name != database && !slices.Contains(all, name) {
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
	text := ok(state.Reason)
	if name == "mgmtd" {
		failed, err := OutputAlarms(ctx, r)
		if err != nil && !swss.IsMisuse(err) {
			return "", fmt.Errorf("redis at %s: %s", r.Addr(), swss.Why(err))
		}
		if len(failed) > 0 {
			text += "; outputs that fail: " + strings.Join(failed, "; ")
		}
	}
	return text, nil
}

// stateOf returns the state of a daemon that passes the question; otherwise the error contains the reason.
func stateOf(ctx context.Context, r *swss.Redis, q Question) (DaemonState, error) {
	name := q.Name
	state, heard, err := ReadState(ctx, r, name)
	strange := ""
	if err == nil && heard {
		strange = state.lasting()
	}
	if err == nil && strange == "" && !q.Live { // a process whose mark is missing is live, and will set the mark again
		strange, err = Stranger(ctx, r, name, state)
	}
	switch {
	case err != nil:
		return state, fmt.Errorf("redis at %s: %s", r.Addr(), swss.Why(err))
	case !heard:
		silence := fmt.Errorf("%s has not been heard of for %v", name, beatTTL)
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

// HealthOf checks several daemons concurrently. It returns "ok" if [Health] returns "ok" for all of them. Otherwise the
// text names the daemons with other texts.
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

// Running returns the daemons that every switch has, and those of [Beside] that run, or ended unexpectedly.
func Running(ctx context.Context, q Question) []string {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	r := swss.Look(q.Redis)
	defer r.Close()
	names := Daemons()
	others, err := BesideHere(ctx, r)
	if err != nil {
		return names // their checks report the problem with Redis
	}
	return append(names, others...)
}

// ok returns the result for a live daemon. lacks is the reason why it is not ready, or "" if it is ready.
func ok(lacks string) string {
	if lacks == "" {
		return "ok"
	}
	return "ok, not ready: " + lacks
}

// probeTable is the table for trial writes, which show whether the server accepts writes.
const probeTable = "TAMTAM_PROBE"

// refusal returns why the server accepts no writes, "" if it does.
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
