package orch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/drift"
)

// Options of a [Daemon].
type Options struct {
	Logger   *slog.Logger // nil discards messages
	Recorder io.Writer    // receives every task in the format of SONiC's swss.rec; nil records nothing
	// Claim is the daemon's mark in its databases; nil if no other process uses them. Run ends if the databases are no
	// longer those of the claim, for example after a restart of Redis. The databases are checked at the start, after
	// every failure, and once per second.
	Claim *swss.Claim
	// Disturb returns how often a message of a channel is delivered, for fault injection. nil means once.
	Disturb func(channel string) int
	// Time returns the time of day, which may be set, and the time since a fixed instant. nil means the kernel's
	// clocks.
	Time func() (day time.Time, since time.Duration)
	// Report is called by Run with the reason when the daemon cannot work, and with "" when it works again. It may be
	// nil.
	Report func(reason string)
	// ASICUnknown reports whether the state of the ASIC is currently unknown. Outcomes are then not written. nil means
	// that the state is always known.
	ASICUnknown func() bool
}

// A Daemon consumes tables and passes their rows to handlers. Everything is registered before the first Run or Step.
type Daemon struct {
	name     string
	redis    *swss.Redis
	log      *slog.Logger
	recorder io.Writer
	listener *swss.Listener
	opts     Options
	turn     chan struct{} // holds a value while the turn is free
	wake     chan struct{}

	// The following fields may only be used by the holder of the turn.
	*clock
	*outcomes
	inputs    []*input
	afterRows []*afterRows
	timers    []*timer
	parked    map[Dep]map[*pending]struct{}
	former    *former // outcomes of the former process; nil if they do not matter
	onRelease []func()
	resolved  map[Dep]struct{} // dependencies resolved since the handler was last called

	watch      *drift.Watch
	fixed      fixed             // rows of STATE_DB that describe the ASIC
	compared   map[*swss.DB]bool // databases from which the daemon consumes tables
	comparedAt time.Time         // time of the last call of watch.Work; zero before the first step
	checked    bool              // true if the databases were checked
	flushCount string            // counts of the commands that empty databases at the last check, as text
	onFlush    []func()
}

// NewDaemon returns a daemon without tables. name is used in logs and in the field "by" of STATE_DB rows.
func NewDaemon(name string, r *swss.Redis, opts Options) *Daemon {
	c := newClock(opts.Time)
	d := &Daemon{
		clock: c, outcomes: newOutcomes(name, r, c),
		name: name, redis: r, log: opts.Logger, recorder: opts.Recorder, opts: opts,
		listener: swss.NewListener(r),
		turn:     make(chan struct{}, 1),
		wake:     make(chan struct{}, 1),
		parked:   map[Dep]map[*pending]struct{}{},
		resolved: map[Dep]struct{}{},
		watch:    drift.NewWatch(), compared: map[*swss.DB]bool{},
	}
	if opts.Disturb != nil {
		d.listener.Disturb(opts.Disturb)
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.watch.Author = func(ctx context.Context, daemon string) (int, bool) { return drift.Author(ctx, r, daemon) }
	d.outcomes.asicUnknown = opts.ASICUnknown
	compareOutcomes(d)
	d.At(d.compareAt, d.compareSome)
	d.turn <- struct{}{}
	return d
}

// Name returns the daemon's name.
func (d *Daemon) Name() string { return d.name }

// Redis returns the server that the daemon uses.
func (d *Daemon) Redis() *swss.Redis { return d.redis }

// Logger returns the daemon's logger.
func (d *Daemon) Logger() *slog.Logger { return d.log }

// Consume passes the rows of a source to a handler. table is the name of the rows' table in tasks. Tables are handled
// in the order of their registration. Rows that exist at the start are delivered as Set.
func (d *Daemon) Consume(src func(*swss.Listener) swss.Source, table string, h Handler, rep Reporting) {
	source := src(d.listener)
	if s, ok := source.(*swss.Subscriber); ok {
		source = newRows(s)
	}
	rep.By = cmp.Or(rep.By, d.name)
	if rep.Key == nil {
		sep := ":"
		if s, ok := source.(interface{ DB() *swss.DB }); ok {
			sep = s.DB().Separator()
		}
		rep.Key = func(key string) string { return strings.ReplaceAll(key, sep, "|") }
	}
	if rep.StateTable != "" {
		d.reports[rep.StateTable] = rep
	}
	in := &input{
		source: source, table: table, handler: h, rep: rep,
		rows: map[string]*pending{}, ready: map[string]struct{}{},
	}
	d.inputs = append(d.inputs, in)
	d.compareRows(in)
}

// Receive passes the messages of a source (notifications, queued operations) to f one by one, in order. If messages may
// have been lost, it logs that, and calls the functions lost.
func (d *Daemon) Receive(
	src func(*swss.Listener) swss.Source, f func(context.Context, swss.KeyOpFieldsValues) error, lost ...func(),
) {
	source := src(d.listener)
	d.inputs = append(d.inputs, &input{source: source, table: source.Name(), receive: f, lost: lost})
}

// lossy is a source whose items may be lost, see [swss.NotificationConsumer].
type lossy interface {
	Lost(ctx context.Context) (bool, error)
}

// missed handles the loss of items of a source.
func (d *Daemon) missed(ctx context.Context, in *input) error {
	source, ok := in.source.(lossy)
	if !ok {
		return nil
	}
	lost, err := source.Lost(ctx)
	if err != nil || !lost {
		return err
	}
	d.log.Warn("messages may have been lost: too many waited, or the connection to Redis was interrupted",
		"channel", in.table)
	for _, f := range in.lost {
		f()
	}
	return nil
}

// An afterRows is a registration of [Daemon.AfterRows].
type afterRows struct {
	due     func() bool
	emptied bool // true if a database was emptied since the last success of f
	f       func(context.Context) error
}

// AfterRows calls f when all incoming rows have been handled and due returns true, and after a database was emptied.
// If f fails, it is called again once Redis answers.
func (d *Daemon) AfterRows(due func() bool, f func(context.Context) error) {
	a := &afterRows{due: due, f: f}
	d.OnFlush(func() { a.emptied = true })
	d.afterRows = append(d.afterRows, a)
}

// concludeRows calls the functions that are due after rows.
func (d *Daemon) concludeRows(ctx context.Context) (worked bool, err error) {
	for _, a := range d.afterRows {
		if !a.emptied && !a.due() {
			continue
		}
		worked = true
		if err := a.f(ctx); err != nil {
			return true, fmt.Errorf("%w: %w", swss.ErrUnavailable, err)
		}
		a.emptied = false
	}
	return worked, nil
}

// Step does all pending work at simulated time now and reports whether there was any. It never sleeps, and does not
// wait for input.
//
// An error means that Redis is not available or that a timer or receiver failed. The next step continues with the
// remaining work.
func (d *Daemon) Step(ctx context.Context, now time.Time) (worked bool, err error) {
	return d.step(ctx, now, true)
}

// step acquires the turn and works until nothing is left. With barrier, it first waits until all messages published so
// far have arrived.
func (d *Daemon) step(ctx context.Context, now time.Time, barrier bool) (worked bool, err error) {
	if err := d.acquire(ctx); err != nil {
		return false, err
	}
	defer d.release()
	d.now, d.live = now, !barrier
	for {
		if barrier {
			if err := d.listener.Sync(ctx); err != nil {
				return worked, err
			}
		}
		again, err := d.round(ctx)
		worked = worked || again
		if err != nil || !again {
			return worked, err
		}
		if err := ctx.Err(); err != nil { // a round would handle nothing, and the next one would have the same items
			return worked, err
		}
	}
}

// round accepts the items that have arrived, handles them, and fires the timers that are due.
func (d *Daemon) round(ctx context.Context) (worked bool, err error) {
	var errs []error
	for _, f := range []func(context.Context) (bool, error){d.pop, d.process, d.concludeRows, d.fire, d.process} {
		did, err := f(ctx)
		worked = worked || did
		if err != nil {
			errs = append(errs, err)
		}
		if errors.Is(err, swss.ErrUnavailable) || ctx.Err() != nil {
			break
		}
	}
	errs = append(errs, d.flushState(ctx))
	return worked, errors.Join(errs...)
}

// pop reads the available items of the sources.
func (d *Daemon) pop(ctx context.Context) (worked bool, err error) {
	var errs []error
	for _, in := range d.inputs {
		items, err := in.source.Pops(ctx)
		if err != nil {
			return worked, errors.Join(append(errs, err)...)
		}
		worked = worked || len(items) > 0
		for _, kfv := range items {
			if in.receive != nil {
				if err := in.receive(ctx, kfv); err != nil {
					errs = append(errs, fmt.Errorf("%s: %s: %w", d.name, in.table, err))
				}
				continue
			}
			t := Task{Table: in.table, Key: kfv.Key, Op: Del}
			if kfv.Op == swss.OpSet {
				t.Op, t.Fields = Set, kfv.FieldValues()
			}
			if kfv.Size != 0 {
				t.Fields = unreadRow(kfv.Size)
			}
			in.recordReceived(t)
			d.push(in, t)
		}
		if err := d.missed(ctx, in); err != nil {
			return worked, errors.Join(append(errs, err)...)
		}
	}
	return worked, errors.Join(errs...)
}

// Do calls f like a handler, while no handler runs. Then the daemon looks for work. A handler must not call it. It
// fails if ctx ends before the turn is free.
func (d *Daemon) Do(ctx context.Context, f func()) error {
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	if d.live {
		d.now = d.steady()
	}
	f()
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return nil
}

// Alive returns an error if ctx ends before no handler runs.
func (d *Daemon) Alive(ctx context.Context) error {
	if err := d.acquire(ctx); err != nil {
		return err
	}
	d.release()
	return nil
}

// Hears tests the connection that reports changes to the daemon. It returns an error if ctx ends before the connection
// answers.
func (d *Daemon) Hears(ctx context.Context) error { return d.listener.Sync(ctx) }

func (d *Daemon) acquire(ctx context.Context) error {
	select {
	case <-d.turn:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s is busy: %w", d.name, ctx.Err())
	}
}

func (d *Daemon) release() { d.turn <- struct{}{} }

// Close ends the daemon's connection. Run calls it when it returns.
func (d *Daemon) Close() error { return d.listener.Close() }

// A Dump lists the pending work of a daemon.
type Dump struct {
	Pending []string         // "TABLE key SET", sorted
	Parked  map[Dep][]string // keys of parked tasks in the same form, by their dependency
}

// Dump returns the pending work of the daemon. A handler must not call it.
func (d *Daemon) Dump() Dump {
	<-d.turn
	defer d.release()
	dump := Dump{Parked: map[Dep][]string{}}
	for _, in := range d.inputs {
		for _, key := range slices.Sorted(maps.Keys(in.rows)) {
			p := in.rows[key]
			for _, t := range []*Task{p.del, p.set} {
				if t == nil {
					continue
				}
				line := fmt.Sprintf("%s %s %s", in.table, key, t.Op)
				if p.on == (Dep{}) {
					dump.Pending = append(dump.Pending, line)
				} else {
					dump.Parked[p.on] = append(dump.Parked[p.on], line)
				}
			}
		}
	}
	slices.Sort(dump.Pending)
	return dump
}

// record writes a task in the format of SONiC's swss.rec.
func (d *Daemon) record(t Task) {
	line := d.ofDay().UTC().Format("2006-01-02.15:04:05.000000") + "|" + t.Table + ":" + t.Key + "|" + t.Op.String()
	for _, p := range swss.Pairs(t.Fields) {
		line += "|" + p.Field + ":" + p.Value
	}
	if _, err := io.WriteString(d.recorder, line+"\n"); err != nil {
		d.log.Warn("recording stopped", "error", err)
		d.recorder = nil
	}
}

// retryDep returns the dependency of a task that failed with a SAI status of class Retry.
func retryDep(err error) Dep {
	var call *sai.CallError
	if errors.As(err, &call) {
		return ResourceDep(call.Type)
	}
	return Dep{Kind: resourceKind}
}
