package fault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// Timeouts and intervals of a Controller.
const (
	beat     = time.Second     // interval between writes of the row
	rowTTL   = 5 * time.Second // time until the row expires
	patience = 5 * time.Second // limit for one request to Redis
)

// A Controller is the fault controller of one daemon. It handles requests to inject faults, and reports the injected
// ones. A nil Controller accepts no requests and has no faults.
type Controller struct {
	*Rules
	redis    *swss.Redis
	log      *slog.Logger
	allowed  bool
	clocks   clocks
	reported []string // ids in the daemon's row
}

// NewController returns the fault controller of a daemon. If allowed is false, it accepts no requests, and only undoes
// the faults that an earlier process of the daemon has left.
func NewController(daemon string, r *swss.Redis, allowed bool, log *slog.Logger) *Controller {
	d := &Controller{Rules: NewRules(time.Now), redis: r, log: log, allowed: allowed}
	d.at = daemon
	return d
}

// Accepts reports whether the daemon accepts faults. A nil Controller accepts none.
func (d *Controller) Accepts() bool { return d != nil && d.allowed }

// SAI returns the chip behind a layer that injects the faults.
func (d *Controller) SAI(next sai.API) sai.API {
	if !d.Accepts() {
		return next
	}
	return d.Rules.SAI(next)
}

// Notified returns how often a notification must be passed on; see [Rules.Notified].
func (d *Controller) Notified(n sai.Notification) int {
	if !d.Accepts() {
		return 1
	}
	return d.Rules.Notified(n)
}

// Disturb returns the function that disturbs the messages that a daemon receives; nil means that there is none.
func (d *Controller) Disturb() func(channel string) int {
	if !d.Accepts() {
		return nil
	}
	return d.Delivered
}

// InForce returns a text about the faults in force, and since when; "" means that there are none.
func (d *Controller) InForce() (text string, since time.Time) {
	if !d.Accepts() {
		return "", time.Time{}
	}
	return words(d.List())
}

// Run handles requests until ctx ends, and then undoes all faults.
func (d *Controller) Run(ctx context.Context) error {
	if d == nil {
		return nil
	}
	for !d.mended(ctx) { // Redis is not available yet
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(beat):
		}
	}
	if !d.allowed {
		return nil
	}
	l := swss.NewListener(d.redis)
	defer l.Close()
	requests := swss.NewNotificationConsumer(l, d.redis.DB(swss.StateDB), channel(d.at))
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		d.work(ctx, requests)
		var due <-chan time.Time
		if at, ok := d.nextEnd(); ok {
			due = time.After(time.Until(at))
		}
		select {
		case <-ctx.Done():
			d.leave(context.WithoutCancel(ctx))
			return nil
		case <-l.Ready():
		case <-tick.C:
		case <-due:
		}
	}
}

// mended undoes the faults that an earlier process has left in Redis and in its rows. It reports whether that
// succeeded.
func (d *Controller) mended(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(
		d.makeRoom(ctx, func(by string, _ time.Time) bool { return by == d.at }), d.table().Del(ctx, d.at),
	) == nil
}

// work answers requests, undoes expired faults, and reports.
func (d *Controller) work(ctx context.Context, requests *swss.NotificationConsumer) {
	asked, _ := requests.Pops(ctx) // Pops never fails here
	for _, q := range asked {
		d.answer(ctx, q)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// A daemon that filled Redis and was killed may never return. So any other daemon undoes this once it is overdue.
	overdue := func(by string, until time.Time) bool { return by != d.at && time.Since(until) > 2*beat }
	if err := errors.Join(d.undo(ctx), d.makeRoom(ctx, overdue), d.report(ctx, d.List())); err != nil && ctx.Err() == nil {
		d.log.Debug("faults on purpose", "error", err) // Redis is away, paused or full: the next call tries again
	}
}

// nextEnd returns the end of the fault that expires next.
func (d *Controller) nextEnd() (at time.Time, ok bool) {
	for _, n := range d.List() {
		if n.Over == "" && n.Until.After(d.now()) && (!ok || n.Until.Before(at)) {
			at, ok = n.Until, true
		}
	}
	return at, ok
}

// leave undoes all faults, since the daemon ends.
func (d *Controller) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d.Clear()
	if err := errors.Join(d.undo(ctx), d.table().Del(ctx, d.at)); err != nil {
		d.log.Warn("faults on purpose: not all could be taken back", "error", err)
	}
}

func (d *Controller) table() *swss.Table { return swss.NewTable(d.redis.DB(swss.StateDB), Table) }

// report writes the row with the daemon's faults to STATE_DB. If Redis is full, the old row stays.
func (d *Controller) report(ctx context.Context, list []Injected) error {
	row := swss.FieldValues{}
	for _, n := range list {
		row[n.ID] = swss.EncodeFields(swss.Pairs(n.row()))
	}
	var gone []string
	for _, id := range d.reported {
		if row[id] == "" {
			gone = append(gone, id)
		}
	}
	state := d.redis.DB(swss.StateDB)
	switch {
	case len(row) == 0 && len(gone) == 0:
		return nil
	case len(row) == 0:
		if err := d.table().Del(ctx, d.at); err != nil {
			return err
		}
	default:
		if err := d.table().SetFor(ctx, d.at, row, rowTTL); err != nil {
			return errors.Join(err, state.Client().PExpire(ctx, Table+state.Separator()+d.at, rowTTL).Err())
		}
		if err := d.table().HDel(ctx, d.at, gone...); len(gone) > 0 && err != nil {
			return err
		}
	}
	d.reported = slices.Collect(maps.Keys(row))
	return nil
}

// answer executes a request and sends the result.
func (d *Controller) answer(ctx context.Context, q swss.KeyOpFieldsValues) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	to := q.Key
	if !strings.HasPrefix(to, answers) || len(to) > longest {
		d.log.Warn("faults on purpose: a request without a waiting client", "channel", to[:min(len(to), longest)])
		return
	}
	say := func(ctx context.Context, p redis.Cmdable, op, text string, row swss.FieldValues) error {
		fields := append([]swss.Pair{{Field: op, Value: text}}, swss.Pairs(row)...)
		return p.Publish(ctx, to, swss.EncodeFields(fields)).Err()
	}
	client := d.redis.DB(swss.StateDB).Client()
	var err error
	switch q.Op {
	case opInject:
		err = d.inject(ctx, q.FieldValues(), func(p redis.Cmdable, n Injected) error {
			return say(ctx, p, opDone, n.ID, n.row())
		})
	case opClear:
		n := d.Clear()
		if err = d.undo(ctx); err == nil {
			err = say(ctx, client, opDone, strconv.Itoa(n), nil)
		}
	default:
		err = fmt.Errorf("%.40q, want %s or %s", q.Op, opInject, opClear)
	}
	if err != nil {
		if lost := say(ctx, client, opRefused, swss.Why(err), nil); lost != nil {
			d.log.Warn("faults on purpose: an answer is lost", "error", lost)
		}
	}
}

// inject puts a fault in force. It first reports the fault, then injects it, then answers.
func (d *Controller) inject(ctx context.Context, row swss.FieldValues, done func(redis.Cmdable, Injected) error) error {
	f, err := Parse(row)
	if err != nil {
		return err
	}
	if at := At(f.Kind); !slices.Contains(at, d.at) {
		return fmt.Errorf("fault %s: %s does not do that, but %s", f.Kind, d.at, strings.Join(at, ", "))
	}
	n, err := d.next(f)
	if err != nil {
		return err
	}
	if err := d.report(ctx, append(d.List(), n.Injected)); err != nil {
		return fmt.Errorf("fault %s: it cannot be reported, so it is not injected: %w", f.Kind, err)
	}
	d.log.Warn("a fault on purpose", "fault", n.Fault.String(), "until", n.Until)
	answered := false
	switch f.Kind {
	case RedisPause:
		err = d.pause(ctx, n, done)
		answered = true
	case RedisSlow:
		err = d.slow(ctx, n)
	case RedisFull:
		err = d.fill(ctx, n)
	case RedisEmpty:
		err = d.empty(ctx, n)
	case ClockStep:
		err = d.clocks.step(n)
	}
	if err != nil {
		return errors.Join(err, d.report(ctx, d.List()))
	}
	d.put(n)
	if answered {
		return nil
	}
	return done(d.redis.DB(swss.StateDB).Client(), n.Injected)
}

// A Clock is a clock that can be set: that of a simulated chip.
type Clock interface {
	StepClock(d time.Duration) error
	SetClockSynchronised(bool)
}

// clocks holds the clocks of a daemon with a chip.
type clocks struct {
	mu         sync.Mutex
	chip       Clock // nil means that there is none yet
	ahead      time.Duration
	hostsAhead time.Duration
}

// Drive sets the chip whose clock the controller controls. It steps the new chip's clock by as much as faults have
// stepped the former chip's clock.
func (d *Controller) Drive(chip Clock) error {
	if !d.Accepts() {
		return nil
	}
	c := &d.clocks
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chip = chip
	if c.ahead == 0 {
		return nil
	}
	return c.set(c.ahead)
}

// Ahead returns by how much faults have set the chip's clock ahead of the host's.
func (d *Controller) Ahead() time.Duration {
	if !d.Accepts() {
		return 0
	}
	d.clocks.mu.Lock()
	defer d.clocks.mu.Unlock()
	return d.clocks.ahead - d.clocks.hostsAhead
}

// step sets a clock, and sets it back when the fault ends.
func (c *clocks) step(n *rule) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.Of == HostClock {
		c.hostsAhead = n.Step
		n.undo = func(context.Context) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.hostsAhead = 0
			return nil
		}
		return nil
	}
	if err := c.set(n.Step); err != nil {
		return err
	}
	c.ahead = n.Step
	n.undo = func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := c.set(-n.Step); err != nil {
			return err
		}
		c.ahead = 0
		c.chip.SetClockSynchronised(true)
		return nil
	}
	return nil
}

// set steps the chip's clock. The chip then reports the clock as not synchronised.
func (c *clocks) set(step time.Duration) error {
	if c.chip == nil {
		return errors.New("there is no chip yet")
	}
	if err := c.chip.StepClock(step); err != nil {
		return err
	}
	c.chip.SetClockSynchronised(false)
	return nil
}
