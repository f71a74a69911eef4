package daemons

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"tamtam/orch"
	sairedis "tamtam/sai/redis"
	"tamtam/swss"
)

// An asicState holds the reason why the state of the ASIC is currently unknown. While there is a reason, STATE_DB
// reports it for every row in force. orchagent is then not ready, and does not report results of rows.
type asicState struct {
	marker orch.ASICMarker
	health *health
	log    *slog.Logger

	mu      sync.Mutex
	reason  string
	reports func(why string) // receives the reason while sure is false; nil means that nothing receives it
	// sure is true if rows that were in force will be in force again when the state is known. It is false if this is
	// not certain.
	sure   bool
	change chan struct{} // holds a value when reason or sure has changed
}

func newASICState(r *swss.Redis, h *health, log *slog.Logger) *asicState {
	return &asicState{
		marker: orch.ASICMarker{Redis: r, Owner: h.owner},
		health: h,
		log:    log,
		change: make(chan struct{}, 1),
	}
}

// applied records that the ASIC matches the configuration, or will as soon as syncd answers.
func (d *asicState) applied() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sure = true
	d.changed()
}

// changed wakes run. The caller holds mu.
func (d *asicState) changed() {
	select {
	case d.change <- struct{}{}:
	default:
	}
}

func (d *asicState) isSure() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sure
}

// say sets the reason; "" means that the state of the ASIC is known again.
func (d *asicState) say(why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reason == why {
		return
	}
	d.reason = why
	if !d.sure && d.reports != nil {
		d.reports(why)
	}
	d.changed()
}

// why returns the reason, "" if the state of the ASIC is known.
func (d *asicState) why() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reason
}

// lacks returns why orchagent is not ready, "" if it is.
func (d *asicState) lacks(context.Context) string {
	why := d.why()
	if why != "" {
		why = unknownText(why)
	}
	return why
}

// lookAgain is the time after which rows are marked as unknown again, in case further rows were written meanwhile.
const lookAgain = time.Second

// run keeps STATE_DB in line with the reason until ctx ends. When the state is known again and the ASIC matches the
// configuration, it calls reportPorts, which reports the state of ports.
func (d *asicState) run(ctx context.Context, reportPorts func(context.Context) error) {
	rows, ports := false, false // whether rows, or ports, are reported as unknown
	for {
		var again <-chan time.Time
		switch why := d.why(); {
		case why != "":
			rows, ports = true, true
			d.health.hurry()
			if n, err := d.report(ctx, why); n > 0 || err != nil {
				again = time.After(lookAgain)
			}
		case !d.isSure():
			rows = false // the results of the rows are still to be reported
		case ports:
			if err := errors.Join(d.restore(ctx, rows), reportPorts(ctx)); err != nil {
				again = time.After(lookAgain)
				break
			}
			d.health.hurry()
			d.log.Info("the state of the ASIC is known again")
			rows, ports = false, false
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-d.change:
		}
	}
}

// restore restores the status of rows that were reported as unknown.
func (d *asicState) restore(ctx context.Context, rows bool) error {
	if !rows {
		return nil
	}
	return d.marker.Restore(ctx, time.Now())
}

// report reports in STATE_DB that the state of the ASIC is unknown. It returns the number of rows whose status it
// changed to unknown.
func (d *asicState) report(ctx context.Context, why string) (int, error) {
	n, err := d.marker.MarkUnknown(ctx, unknownText(why), time.Now())
	if n > 0 || err != nil {
		d.log.Warn("the state of the ASIC is unknown", "because", why, "rows", n, "error", err)
	}
	return n, err
}

func unknownText(why string) string { return "the state of the ASIC is unknown: " + why }

// signs observes syncd for orchagent without sending it requests.
type signs struct {
	redis    *swss.Redis
	claim    *swss.Claim
	run      string // name of the syncd run that this run of orchagent works with; "" if unknown, or if it has no name
	reported bool   // true if a syncd without a name has received the polls
}

// look observes syncd. If Redis cannot be read, it reports nothing.
func (s *signs) look(ctx context.Context) sairedis.Sign {
	if err := s.claim.Check(ctx); errors.Is(err, swss.ErrReset) {
		return sairedis.Sign{Gone: swss.Why(err)}
	}
	nothing := sairedis.Sign{Says: true}
	run, listens, err := sairedis.Run(ctx, s.redis)
	if err != nil {
		return nothing
	}
	_, heard, err := ReadState(ctx, s.redis, "syncd")
	switch {
	case err != nil:
		return nothing
	case run != "" && s.run != "" && run != s.run:
		return sairedis.Sign{Gone: "another syncd has begun, with a fresh chip", Replaced: true}
	case !listens:
		return sairedis.Sign{Gone: "syncd is gone: no process accepts requests"}
	case run == "": // SONiC's syncd
		return s.lookAtNameless(ctx)
	case !heard:
		return sairedis.Sign{Silent: "syncd has not been heard of for " + beatTTL.String()}
	}
	return nothing
}

// lookAtNameless observes a syncd without a run name, such as SONiC's.
func (s *signs) lookAtNameless(ctx context.Context) sairedis.Sign {
	if !s.reported {
		return sairedis.Sign{}
	}
	if knows, err := sairedis.Knows(ctx, s.redis); err == nil && !knows {
		return sairedis.Sign{Gone: "another syncd has begun, and has no list of counters to poll"}
	}
	return sairedis.Sign{}
}

// await waits until there is a syncd. Meanwhile it reports the state of the ASIC as unknown.
func (s *signs) await(ctx context.Context, c Common) error {
	for {
		sign := s.look(ctx)
		if sign.Gone == "" {
			return nil
		}
		if _, err := c.asicState.report(ctx, sign.Gone); err != nil {
			return err
		}
		c.health.report(unknownText(sign.Gone))
		if err := s.claim.Check(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beatPeriod / 4):
		}
	}
}
