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

// A doubt is why it is not known at the moment what the ASIC does. While there is one, STATE_DB says that of every row
// in force, orchagent is not ready, and keeps back what becomes of rows.
type doubt struct {
	doubter orch.Doubter
	health  *health
	log     *slog.Logger

	mu     sync.Mutex
	reason string
	tells  func(why string) // hears the reason while it is not sure what the ASIC does; nil: nobody
	sure   bool             // what was in force is in force again when the doubt ends; else that is yet to be found
	change chan struct{}    // holds a value when one of them has changed
}

func newDoubt(r *swss.Redis, h *health, log *slog.Logger) *doubt {
	return &doubt{doubter: orch.Doubter{Redis: r, Owner: h.owner}, health: h, log: log, change: make(chan struct{}, 1)}
}

// applied says that the ASIC does what is configured, or will have as soon as syncd answers.
func (d *doubt) applied() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sure = true
	d.changed()
}

// changed wakes run. The caller holds mu.
func (d *doubt) changed() {
	select {
	case d.change <- struct{}{}:
	default:
	}
}

func (d *doubt) isSure() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sure
}

// say sets the reason; "" ends the doubt.
func (d *doubt) say(why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reason == why {
		return
	}
	d.reason = why
	if !d.sure && d.tells != nil {
		d.tells(why)
	}
	d.changed()
}

// why returns the reason, "" if there is no doubt.
func (d *doubt) why() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reason
}

// lacks is why orchagent is not ready, "" if it is.
func (d *doubt) lacks(context.Context) string {
	why := d.why()
	if why != "" {
		why = doubtText(why)
	}
	return why
}

// lookAgain is how long after a doubt was told it is looked whether something else was written at that moment.
const lookAgain = time.Second

// run keeps STATE_DB to the doubt until ctx ends. tellPorts is called when a doubt has ended and the ASIC does what is
// configured: it tells how ports are.
func (d *doubt) run(ctx context.Context, tellPorts func(context.Context) error) {
	rows, ports := false, false // are told to be unknown
	for {
		var again <-chan time.Time
		switch why := d.why(); {
		case why != "":
			rows, ports = true, true
			d.health.hurry()
			if n, err := d.tell(ctx, why); n > 0 || err != nil {
				again = time.After(lookAgain)
			}
		case !d.isSure():
			rows = false // what becomes of them is yet to be told
		case ports:
			if err := errors.Join(d.believe(ctx, rows), tellPorts(ctx)); err != nil {
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

// believe says that rows are what they were, if they are told to be unknown.
func (d *doubt) believe(ctx context.Context, rows bool) error {
	if !rows {
		return nil
	}
	return d.doubter.Believe(ctx, time.Now())
}

// tell says in STATE_DB that the state of the ASIC is unknown, and returns of how many rows that was not known.
func (d *doubt) tell(ctx context.Context, why string) (int, error) {
	n, err := d.doubter.Doubt(ctx, doubtText(why), time.Now())
	if n > 0 || err != nil {
		d.log.Warn("the state of the ASIC is unknown", "because", why, "rows", n, "error", err)
	}
	return n, err
}

func doubtText(why string) string { return "the state of the ASIC is unknown: " + why }

// signs are what orchagent sees of syncd without asking it.
type signs struct {
	redis *swss.Redis
	claim *swss.Claim
	run   string // of the syncd that this life of orchagent works with; "": none is known, or it has no name
	told  bool   // one without a name has been told what to poll
}

// look looks. Where Redis cannot be asked, nothing is seen.
func (s *signs) look(ctx context.Context) sairedis.Sign {
	if err := s.claim.Check(ctx); errors.Is(err, swss.ErrAnew) {
		return sairedis.Sign{Gone: swss.Why(err)}
	}
	nothing := sairedis.Sign{Says: true}
	run, err := sairedis.Run(ctx, s.redis)
	if err != nil {
		return nothing
	}
	listens, err := sairedis.Listens(ctx, s.redis)
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
	case run == "": // SONiC's
		return s.lookAtNameless(ctx)
	case !heard:
		return sairedis.Sign{Silent: "syncd has not been heard of for " + beatLife.String()}
	}
	return nothing
}

// lookAtNameless looks at a syncd like SONiC's.
func (s *signs) lookAtNameless(ctx context.Context) sairedis.Sign {
	if !s.told {
		return sairedis.Sign{}
	}
	if knows, err := sairedis.Knows(ctx, s.redis); err == nil && !knows {
		return sairedis.Sign{Gone: "another syncd has begun, and has no list of counters to poll"}
	}
	return sairedis.Sign{}
}

// await waits until there is a syncd. Meanwhile nobody knows what the ASIC does, if there is one.
func (s *signs) await(ctx context.Context, c Common) error {
	for {
		sign := s.look(ctx)
		if sign.Gone == "" {
			return nil
		}
		if _, err := c.doubt.tell(ctx, sign.Gone); err != nil {
			return err
		}
		c.health.tell(doubtText(sign.Gone))
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
