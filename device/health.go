package device

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tamtam/schema"
	"tamtam/swss"
	"tamtam/swss/drift"
)

// ErrNoSuchDaemon is found in the error of [Health] for an unknown name.
var ErrNoSuchDaemon = errors.New("no such daemon")

var daemons = []string{"tammgrd", "orchagent", "syncd", "mgmtd"}

// Daemons returns the names of the daemons.
func Daemons() []string { return slices.Clone(daemons) }

// A daemon that lives renews its row in STATE_DB once per beat; the row lives for a few beats.
const (
	healthTable = schema.StateHealth
	beatPeriod  = time.Second
	beatLife    = 5 * time.Second
)

// Fields of a daemon's row.
const (
	fieldState  = "state"
	fieldReason = "reason"
	fieldSince  = "since"
	fieldOwner  = "owner" // the process
)

// States of a daemon.
const (
	StateReady   = "ready"
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
	now         chan struct{} // holds a value when the next beat must not wait

	mu     sync.Mutex
	state  DaemonState
	silent bool                                 // another process of that name works, whose row this is
	alive  func(ctx context.Context) error      // fails when the daemon hangs; nil: it does not
	lacks  func(ctx context.Context) (r string) // what else it waits for; nil: nothing
	watch  *drift.Watch                         // what the daemon's work as it is now compares; nil: nothing
	lacked DaemonState                          // as last told, of what works and is not ready
	before drift.State                          // of what earlier lives compared
}

func newHealth(name string) *health {
	h := &health{name: name, owner: rand.Text(), now: make(chan struct{}, 1)}
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
		h.state = DaemonState{State: state, Reason: reason, Since: time.Now()}
	}
}

// lives sets what is asked of the daemon's work as it is now, and what that compares.
func (h *health) lives(alive func(context.Context) error, watch *drift.Watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watch != nil {
		h.before = h.watch.State().After(h.before)
	}
	h.alive, h.watch = alive, watch
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
				log.Error(h.name+" cannot tell how it is", "because", swss.Why(err))
			} else {
				log.Info(h.name + " can tell again how it is")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-h.now:
		}
	}
}

// hurry makes the next beat come now: something has changed that others should hear of at once.
func (h *health) hurry() {
	select {
	case h.now <- struct{}{}:
	default:
	}
}

// renew writes the rows, if the daemon lives.
func (h *health) renew(ctx context.Context, r *swss.Redis) error {
	h.mu.Lock()
	state, silent, alive, watch, before := h.state, h.silent, h.alive, h.watch, h.before
	h.mu.Unlock()
	if silent || alive != nil && alive(ctx) != nil {
		return nil
	}
	if state.State == StateReady {
		state = h.whole(ctx, state, watch)
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
	reason, since := "", time.Now()
	if watch != nil {
		compared := watch.State()
		if reason = compared.Lacks(); !compared.Since.IsZero() {
			since = compared.Since
		}
	}
	h.mu.Lock()
	lacks := h.lacks
	h.mu.Unlock()
	if lacks != nil {
		if lack := lacks(ctx); lack != "" {
			reason, since = lack, time.Now()
		}
	}
	switch {
	case reason == "" && h.lacked.Reason != "":
		h.tellAgain()
		state.Since, h.lacked = time.Now(), DaemonState{}
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
	h.state.Since = time.Now()
}

// A Question is what [Health] is asked about a daemon.
type Question struct {
	Name string
	Addr string // of Redis
	GNMI string // of mgmtd
	// Live asks whether the process works, so that a restart would not help; else whether what is configured is in
	// force, as far as this daemon knows, or is told to be pending or failed.
	Live    bool
	Timeout time.Duration
}

// Health returns "ok" if the answer is yes, for a live daemon with what it waits for, and otherwise an error with the
// reason. A daemon that nothing was heard of for some seconds does not live; mgmtd must also accept a connection.
func Health(ctx context.Context, q Question) (string, error) {
	name, addr := q.Name, q.Addr
	if !slices.Contains(daemons, name) {
		return "", fmt.Errorf("%w %q: want one of %v", ErrNoSuchDaemon, name, daemons)
	}
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	r, err := swss.Open(ctx, addr)
	if err != nil {
		return "", fmt.Errorf("redis at %s: %s", addr, swss.Why(err))
	}
	defer r.Close()
	state, heard, err := ReadState(ctx, r, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("redis at %s: %s", addr, swss.Why(err))
	case !heard:
		return "", fmt.Errorf("%s has not been heard of for %v%s", name, beatLife, refusal(ctx, r))
	case state.State != StateReady && !q.Live:
		return "", fmt.Errorf("%s is not ready since %s: %s", name, state.Since.Format(time.TimeOnly), state.Reason)
	}
	if name == "mgmtd" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", q.GNMI)
		if err != nil {
			return "", fmt.Errorf("mgmtd: %w", err)
		}
		conn.Close()
	}
	if state.State != StateReady {
		return "ok, not ready: " + state.Reason, nil
	}
	return "ok", nil
}

// refusal says why nobody can be heard of: the server takes no writes. "": it does.
func refusal(ctx context.Context, r *swss.Redis) string {
	if err := swss.NewTable(r.DB(swss.StateDB), healthTable).SetFor(ctx, "probe", nil, time.Second); err != nil {
		return "; " + swss.Why(err)
	}
	return ""
}

// WaitRedis opens Redis, waiting for it to come up: containers start in any
// order.
func WaitRedis(ctx context.Context, cfg swss.Config, log *slog.Logger) (*swss.Redis, error) {
	for told := false; ; told = true {
		r, err := swss.Connect(ctx, cfg)
		if err == nil || !errors.Is(err, swss.ErrUnavailable) {
			return r, err
		}
		if !told {
			log.Warn("waiting for redis", "because", swss.Why(err))
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// DataDir returns the default directory for what a switch keeps on this
// machine: certificates and the CLI's socket.
func DataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/tamtam"
	}
	if dir, err := os.UserHomeDir(); err == nil {
		return filepath.Join(dir, ".local", "share", "tamtam")
	}
	return filepath.Join(os.TempDir(), "tamtam")
}

// SocketPath returns where in the data directory the CLI's socket is.
func SocketPath(data string) string { return filepath.Join(data, "mgmt.sock") }
