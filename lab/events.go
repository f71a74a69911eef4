package lab

import (
	"context"
	"fmt"
	"time"

	"tamtam/device"
	"tamtam/lab/chance"
	"tamtam/saisim"
	"tamtam/swss"
)

// happen executes everything that is due now: events in the order of the topology, then the clocks' exchanges.
func (l *Lab) happen(ctx context.Context) error {
	happened := false
	for len(l.events) > 0 && l.events[0].At <= l.now {
		e := l.events[0]
		l.events = l.events[1:]
		if err := l.do(ctx, e); err != nil {
			return fmt.Errorf("event %s at %v: %w", e.Do, e.At, err)
		}
		happened = true
	}
	if happened { // a switch may have frames to send now, and the window must not skip them
		l.plan()
	}
	for _, c := range l.clocks {
		if c.at <= l.now {
			if err := c.exchange(l.now); err != nil {
				return err
			}
		}
	}
	for _, o := range l.observers {
		if o.next <= l.now {
			o.next += o.Every()
			o.Gather()
		}
	}
	return nil
}

func (l *Lab) do(ctx context.Context, e Event) error {
	if e.Link != "" {
		for _, k := range l.links {
			if k.name == e.Link {
				return l.doLink(ctx, k, e)
			}
		}
		return nil // Validate has checked it
	}
	n := l.byName[e.Switch]
	switch e.Do {
	case "restart":
		if err := l.restart(ctx, n, e.What); err != nil {
			return err
		}
	case "config":
		if err := n.configure(ctx, e); err != nil {
			return err
		}
	case "step-clock":
		return n.sim.Chip.StepClock(time.Duration(e.By / Nanosecond))
	case "drift":
		if e.PPB != 0 && n.s.Clock.PTP.Master == "" {
			n.sim.Chip.SetClockSynchronised(false) // from now on, no master disciplines the clock
		}
		return n.sim.Chip.SetClockDrift(e.PPB)
	}
	return n.sim.RunUntilIdle(ctx)
}

func (l *Lab) doLink(ctx context.Context, k *link, e Event) error {
	switch e.Do {
	case "impair":
		for _, w := range k.wires {
			w.Impairment = *e.Impair
		}
	case "down":
		k.down = true
		k.fell++
		for _, w := range k.wires {
			w.down = true
			w.cut()
		}
		if k.Detect == 0 {
			return l.notice(ctx, k)
		}
		l.insert(Event{At: l.now + k.Detect, Do: "notice", Link: k.name, What: fmt.Sprint(k.fell)})
	case "notice":
		if k.down && e.What == fmt.Sprint(k.fell) {
			return l.notice(ctx, k)
		}
	case "up":
		k.down = false
		for _, w := range k.wires {
			w.down = false
		}
		return l.notice(ctx, k)
	}
	return nil
}

func (l *Lab) insert(e Event) {
	i := 0
	for i < len(l.events) && l.events[i].At <= e.At {
		i++
	}
	l.events = append(l.events[:i], append([]Event{e}, l.events[i:]...)...)
}

// notice informs the ports at both ends of the state of their link. Then it lets the control planes act on it.
func (l *Lab) notice(ctx context.Context, k *link) error {
	for _, w := range k.wires {
		if n := w.to.node; n != nil {
			n.sim.Chip.SetLink(w.to.port.id, !k.down)
			if err := n.sim.RunUntilIdle(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// restart restarts a part of a switch. If it is syncd, the chip restarts too, and its frames are lost.
func (l *Lab) restart(ctx context.Context, n *node, what string) error {
	switch what {
	case "managers":
		return n.sim.RestartManagers(ctx)
	case "orchagent":
		return n.sim.RestartOrchagent(ctx)
	}
	for _, a := range n.accounts {
		if a != nil {
			a.restart += a.flying()
		}
	}
	if err := n.sim.RestartSyncd(ctx); err != nil {
		return err
	}
	n.base = l.now
	if n.truth != nil {
		n.truth.Restart(truthTime(l.now))
	}
	for _, w := range n.watchers {
		w.Restarted()
	}
	if err := n.startClock(); err != nil {
		return err
	}
	for _, k := range l.links {
		for _, w := range k.wires {
			if k.down && w.to.node == n {
				n.sim.Chip.SetLink(w.to.port.id, false)
			}
		}
	}
	return nil
}

func (n *node) configure(ctx context.Context, e Event) error {
	db := n.sim.Redis.DB(swss.ConfigDB)
	for _, row := range e.Delete {
		table, key, _ := cutRow(row)
		if err := swss.NewTable(db, table).Del(ctx, key); err != nil {
			return err
		}
	}
	for _, row := range device.SortedKeys(e.Set) {
		table, key, _ := cutRow(row)
		fields := e.Set[row]
		if len(fields) == 0 {
			fields = swss.FieldValues{"NULL": "NULL"}
		}
		if err := swss.NewTable(db, table).SetMany(ctx, map[string]swss.FieldValues{key: fields}); err != nil {
			return err
		}
	}
	return nil
}

// startClock makes a chip's clock run as the topology requires. A clock that drifts without discipline is not
// synchronised. A disciplined one is not until its servo reports it. A clock without drift is exact, and trusted within
// the clock error of its session.
func (n *node) startClock() error {
	c := n.s.Clock
	n.sim.Chip.SetClockSynchronised(c.Drift == 0 && c.PTP.Master == "")
	return n.sim.Chip.SetClockDrift(n.s.Clock.Drift)
}

// A discipline steers one switch's clock by another's.
type discipline struct {
	n, master *node
	ptp       PTP
	servo     saisim.Servo
	random    chance.Source
	at        Time // time of the next exchange
}

func (l *Lab) makeClocks(context.Context) error {
	for _, n := range l.nodes {
		c := n.s.Clock
		if err := n.startClock(); err != nil {
			return fmt.Errorf("switch %s: %w", n.s.Name, err)
		}
		if err := n.sim.Chip.StepClock(time.Duration(c.Offset / Nanosecond)); err != nil {
			return fmt.Errorf("switch %s: %w", n.s.Name, err)
		}
		if c.PTP.Master == "" {
			continue
		}
		n.sim.Chip.SetClockSynchronised(false)
		p := c.PTP
		if p.Interval == 0 {
			p.Interval = 125 * Millisecond
		}
		if p.Delay == 0 {
			p.Delay = Microsecond
		}
		l.clocks = append(l.clocks, &discipline{
			n: n, master: l.byName[p.Master], ptp: p, at: p.Interval,
			servo:  saisim.Servo{StepOver: time.Duration(p.Step / Nanosecond)},
			random: chance.New(l.opts.Seed, "ptp/"+n.s.Name),
		})
	}
	return nil
}

// exchange makes one exchange of messages; the Sync message leaves at now. The clocks do not change before its last
// message, so their readings are known in advance. The servo receives them immediately.
func (c *discipline) exchange(now Time) error {
	delay := func() Time { return c.ptp.Delay + Time(c.random.Below(uint64(c.ptp.Jitter)+1)) }
	at := func(n *node, t Time) saisim.Cycle { return max(n.sim.Chip.Now(), n.cycle(t)) }
	slave, master := c.n.sim.Chip, c.master.sim.Chip
	come := now + delay()
	answer := come + delay() + Microsecond
	k := c.servo.Sample(
		master.Timestamp(at(c.master, now)), slave.Timestamp(at(c.n, come)),
		slave.Timestamp(at(c.n, come+Microsecond)), master.Timestamp(at(c.master, answer)))
	c.at += c.ptp.Interval
	return slave.Discipline(k)
}
