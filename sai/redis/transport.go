package sairedis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// An unsent error means that no request was sent: the ASIC is unchanged.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// A channel carries requests to syncd and answers back, one at a time, until an answer is missing. Then it is lost
// for good.
type channel struct {
	requests  *swss.Queue
	answers   *swss.Inbox
	timeout   time.Duration
	viewed    time.Duration // maximum time of a comparison of views, if no state of syncd is visible
	patience  time.Duration // time after which the fate of a request is queried
	late      time.Duration // time after which the state of the ASIC is unknown
	idle      time.Duration // time of silence after which a syncd that does not report its state is queried
	sign      func(context.Context) Sign
	onUnknown func(why string)
	log       *slog.Logger

	// The following fields may only be used by the holder of the turn.
	question  *protocol.Message // the query to send; nil if syncd cannot answer one yet
	asked     int               // number of queries without an answer yet
	alone     bool              // true if no other client makes requests, so that an unexpected answer reveals one
	strange   error             // error if another client has made requests; else nil
	goneFor   time.Time         // time since which no answer is possible; zero if one is possible
	received  time.Time         // time at which syncd last answered
	resyncing bool              // true if requests of former clients may be under way

	saying   sync.Mutex
	reported string // last reported reason why the state of the ASIC is unknown
	final    bool   // true if the state stays unknown for ever

	turn   chan struct{} // holds a value while a call is under way; guards broken
	broken error         // reason why the state of the ASIC is unknown; nil if it is known
	lost   chan struct{} // closed when broken is set
}

// openChannel opens a channel. It discards answers that a former client left unread.
func openChannel(ctx context.Context, asic *swss.DB, opts ClientOptions) (*channel, error) {
	answers := swss.NewQueue(asic, protocol.GetResponse, swss.WithModify())
	c := &channel{
		requests: swss.NewQueue(asic, protocol.ASICState), answers: swss.NewInbox(answers),
		timeout: opts.Timeout, viewed: opts.View, patience: opts.Patience, late: cmp.Or(opts.Late, lateAfter),
		idle: cmp.Or(opts.Idle, askAfter), sign: opts.Sign, onUnknown: opts.ASICUnknown, log: opts.Logger,
		turn: make(chan struct{}, 1), lost: make(chan struct{}),
	}
	_, err := interruptible(ctx, func() (struct{}, error) {
		err := answers.Load(ctx)
		if err == nil {
			err = answers.Drain(ctx)
		}
		if err == nil {
			_, err = c.answers.Open(ctx)
		}
		return struct{}{}, err
	})
	if err != nil {
		go c.Close() // Close may have to wait for Redis
		return nil, err
	}
	return c, nil
}

// Close ends the client's connection. Syncd and the ASIC stay unchanged.
func (c *channel) Close() error { return c.answers.Close() }

// acquire acquires the turn. It fails once the channel is lost.
func (c *channel) acquire(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("sairedis: %w", ctx.Err())
	}
	if c.broken != nil {
		c.release()
		return c.broken
	}
	return nil
}

// release releases the turn.
func (c *channel) release() { <-c.turn }

// A reply is the answer to a request.
type reply struct {
	status sai.Status
	fields []swss.Pair
}

// do sends one request and waits for its answer. It returns the answer's key, a status, separately. An error of another
// type than unsent means that the state of the ASIC is unknown.
func (c *channel) do(ctx context.Context, req protocol.Message, answer string) (sai.Status, []swss.Pair, error) {
	if c.broken != nil {
		return 0, nil, c.broken
	}
	r, err := interruptible(ctx, func() (reply, error) { return c.exchange(ctx, req, answer) })
	if err == nil {
		c.received = time.Now()
		if c.goneFor.IsZero() { // if syncd was gone, another one has answered
			c.suspect("")
		}
	}
	if err != nil {
		err = fmt.Errorf("sairedis: %s %s: %w", req.Op, req.Key, err)
		var u unsent
		if !errors.As(err, &u) {
			err = c.lose(err)
		}
	}
	return r.status, r.fields, err
}

// interruptible calls f and returns its result, or an error if ctx ends first. Then f may still be running. It is
// needed because Redis may not answer, and go-redis heeds only deadlines.
func interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, unsent{err}
	}
	if ctx.Done() == nil {
		return f()
	}
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// exchange pushes the request and receives its answer.
func (c *channel) exchange(ctx context.Context, req protocol.Message, answer string) (reply, error) {
	stale, err := c.answers.Open(ctx)
	if err != nil {
		return reply{}, unsent{err}
	}
	if err := cmp.Or(c.strange, c.skip(stale)); err != nil {
		return reply{}, err
	}
	if err := c.requests.Push(ctx, req.Entry()); err != nil {
		if swss.NothingSent(err) {
			err = unsent{err}
		}
		return reply{}, err
	}
	return c.await(ctx, answer, c.terms(req))
}

// A waiting is the state of a request that has been sent.
type waiting struct {
	terms
	answer string    // expected kind of answer
	begin  time.Time // time at which the request was sent
	since  time.Time // time from which limit counts
	asked  bool      // true if a query about the request was sent
}

// await waits for the answer to the request that was sent. If no answer arrives for a while, it sends a query. syncd
// answers in order, so an answer to a later query proves that the request will get no answer. When an answer is late,
// the state of the ASIC is unknown.
func (c *channel) await(ctx context.Context, answer string, t terms) (reply, error) {
	w := waiting{terms: t, answer: answer, begin: time.Now(), since: time.Now()}
	for {
		most := min(c.patience, lookPeriod)
		if w.limit > 0 {
			most = min(most, w.limit-time.Since(w.since))
		}
		entries, err := c.answers.Wait(ctx, most)
		if err == nil && len(entries) == 0 {
			if err = c.nothingYet(ctx, &w); err != nil && errors.Is(err, w.given) {
				if entries, err = c.answers.Look(ctx); err == nil && len(entries) == 0 {
					err = w.given
				}
			}
		}
		if err != nil {
			return reply{}, err
		}
		for i, e := range entries {
			if e.Op == "S"+answer {
				c.strange = c.skip(entries[i+1:])
				return answered(e)
			}
			if err := c.skip(entries[i : i+1]); err != nil {
				return reply{}, err
			}
		}
		if w.asked && c.asked == 0 {
			return reply{}, errors.New("the answer is lost: syncd has answered a later question")
		}
	}
}

// nothingYet does the checks that are due while there is no answer. It fails if no answer can arrive any more.
func (c *channel) nothingYet(ctx context.Context, w *waiting) (err error) {
	busy := false
	if w.behind {
		if busy, err = c.hasQueued(ctx); err != nil {
			return err
		}
	}
	if busy {
		w.since = time.Now()
	}
	waited, why := time.Since(w.begin), ""
	if waited >= w.late {
		why = w.why(waited, busy)
	}
	if _, err := c.signs(ctx, why, true); err != nil {
		return err
	}
	switch {
	case w.limit > 0 && time.Since(w.since) >= w.limit:
		return w.given
	case !w.asked && waited >= c.patience:
		w.asked, err = c.inquire(ctx, w.answer)
	}
	return err
}

// inquire sends a query after a request without an answer. It does nothing if no query has an answer of another kind
// than the request.
func (c *channel) inquire(ctx context.Context, answer string) (asked bool, err error) {
	if c.question == nil || answer == protocol.AnswerOp(protocol.OpAttrQuery) {
		return false, nil
	}
	c.log.Warn("no answer from syncd: it is asked whether there will be one")
	c.asked++
	return true, c.requests.Push(ctx, c.question.Entry())
}

// skip ignores answers to queries, and unexpected answers. It fails if other clients make requests, because these may
// have changed the ASIC.
func (c *channel) skip(entries []swss.Entry) error {
	for _, e := range entries {
		if c.asked > 0 && e.Op == "S"+protocol.AnswerOp(protocol.OpAttrQuery) {
			c.asked--
			continue
		}
		c.log.Warn("skipped an answer to no request of this process", "key", e.Key, "op", e.Op)
		if c.alone {
			return ErrStrangers
		}
	}
	return nil
}

// look checks for unexpected answers, and for a syncd that is gone. In both cases the channel is lost. It sends a query
// to a syncd that does not report its state.
func (c *channel) look(ctx context.Context) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	stale, err := c.answers.Open(ctx)
	if err != nil {
		return nil // while Redis is away nothing can be found out
	}
	s, err := c.signs(ctx, "", false)
	if err = cmp.Or(c.strange, c.skip(stale), err); err != nil {
		return c.lose(fmt.Errorf("sairedis: %w", err))
	}
	if s.Gone == "" && (s.Silent != "" || !s.Says) {
		return c.ask(ctx)
	}
	return nil
}

// GiveUp declares the state of the ASIC unknown, with a reason from outside.
func (c *channel) GiveUp(ctx context.Context, why error) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	return c.lose(fmt.Errorf("sairedis: %w", why))
}

func answered(e swss.Entry) (reply, error) {
	m, err := protocol.Decode(e)
	if err != nil {
		return reply{}, err
	}
	status, ok := sai.LookupStatus(m.Key)
	if !ok {
		return reply{}, fmt.Errorf("answer has the unknown status %.80q", m.Key)
	}
	return reply{status, m.Fields}, nil
}
