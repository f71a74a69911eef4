package sairedis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tamtam/sai/redis/protocol"
)

// ErrStopped is wrapped by the error for a syncd that is running but does nothing any more. SONiC's syncd waits for its
// shutdown in this way after a fatal error. A new client would fail too.
var ErrStopped = errors.New("it has stopped working, and has to be restarted")

// If a client has received no answer from syncd, the state of the ASIC is unknown, and the client reports this early.
// syncd may be gone, hang, or be slow. The client gives up its channel only if no answer can arrive any more.

// A Sign is the visible state of syncd, found without a query.
type Sign struct {
	Gone   string // reason why syncd will answer nothing any more; "" if it may answer
	Silent string // reason why syncd may be dead; "" if there is no such indication
	// Replaced means that Gone is final, because another syncd with a fresh chip has replaced it. The client does not
	// wait for it.
	Replaced bool
	// Says means that syncd reports its state by itself, so that it need not be queried. SONiC's syncd does not.
	Says bool
}

// Bounds of normal behaviour.
const (
	lateAfter   = 5 * time.Second       // time without an answer after which the state of the ASIC is unknown
	latePerItem = 10 * time.Millisecond // added for each object of a bulk request
	askAfter    = 2 * time.Second       // time of silence after which a syncd that does not report its state is queried
)

// terms are the rules for waiting for an answer.
type terms struct {
	late  time.Duration                           // after this time the state of the ASIC is unknown
	why   func(d time.Duration, busy bool) string // returns the reason; busy means busy with former requests
	limit time.Duration                           // after this time there will be no answer; 0 means no limit
	given error                                   // error that is returned at the limit
	// behind means that syncd may be busy with requests of other clients. So limit counts from the time when syncd
	// dequeues our request.
	behind bool
}

// terms returns the terms of a request. A long comparison of views is no sign of a fault: its time in SONiC's syncd
// grows with the square of the number of objects. A query would only wait in the queue.
func (c *channel) terms(req protocol.Message) terms {
	t := terms{
		late: c.late, limit: c.timeout, given: fmt.Errorf("no answer from syncd within %s", c.timeout),
		why: func(time.Duration, bool) string { return lateText(c.late) },
	}
	switch {
	case req.Op == protocol.OpNotify && req.Key == protocol.ApplyView:
		t.why = func(d time.Duration, _ bool) string { return "syncd has been comparing views for " + roughly(d) }
		if t.limit = 0; c.sign == nil {
			t.limit, t.given = c.viewed, fmt.Errorf("no answer from syncd within %s", c.viewed)
		}
	case c.resyncing:
		t.behind, t.limit = true, min(c.timeout, mutePatiences*c.patience)
		t.given = fmt.Errorf("syncd takes requests and has answered none for %s: %w", t.limit, ErrStopped)
		t.why = func(d time.Duration, busy bool) string {
			if !busy {
				return lateText(c.late)
			}
			return "syncd has been busy for " + roughly(d) + " with what was asked for before"
		}
	case req.Op == protocol.OpBulkCreate,
		req.Op == protocol.OpBulkRemove,
		req.Op == protocol.OpBulkSet,
		req.Op == protocol.OpBulkGet:
		t.late += time.Duration(len(req.Fields)) * latePerItem
		late := t.late
		t.why = func(time.Duration, bool) string { return lateText(late) }
	}
	return t
}

// mutePatiences is the maximum silence of a syncd after it has dequeued a query, in units of the client's patience.
const mutePatiences = 5

// roughly formats a duration so that the text changes rarely, because each text is written to STATE_DB.
func roughly(d time.Duration) string {
	step := time.Second
	for 2*step <= d {
		step *= 2
	}
	return "more than " + step.String()
}

// hasQueued reports whether there are requests that syncd has not dequeued.
func (c *channel) hasQueued(ctx context.Context) (bool, error) {
	n, err := c.requests.Len(ctx)
	return n > 0, err
}

// signs evaluates the visible state of syncd. It fails when no answer can arrive any more. late is the reason if the
// answer to a request is late, else "". asked means that a request has waited longer than the client's patience.
func (c *channel) signs(ctx context.Context, late string, asked bool) (Sign, error) {
	if c.sign == nil {
		c.suspect(late)
		return Sign{Says: true}, nil
	}
	s := c.sign(ctx)
	switch {
	case s.Gone == "":
		c.goneFor = time.Time{}
	case s.Replaced:
		return s, errors.New(s.Gone)
	case c.goneFor.IsZero():
		c.goneFor = time.Now()
	case time.Since(c.goneFor) >= c.patience:
		return s, errors.New(s.Gone)
	}
	silent := s.Silent
	if !asked {
		silent = ""
	}
	// If syncd is silent, that is a better reason than a late answer or a busy syncd.
	if why := cmp.Or(s.Gone, silent, late); why != "" || !asked && s.Silent == "" {
		c.suspect(why)
	}
	return s, nil
}

// suspect reports why the state of the ASIC is unknown, or "" if it is known again. After a call was cancelled, suspect
// may still run, concurrently with the holder of the turn. Once the channel is lost, the state stays unknown.
func (c *channel) suspect(why string) {
	c.saying.Lock()
	defer c.saying.Unlock()
	if !c.final {
		c.say(why)
	}
}

// despair reports the reason like suspect, and makes it final.
func (c *channel) despair(why string) {
	c.saying.Lock()
	defer c.saying.Unlock()
	c.say(why)
	c.final = true
}

func (c *channel) say(why string) {
	if c.onUnknown != nil && c.reported != why {
		c.onUnknown(why)
	}
	c.reported = why
}

// ask sends the query, if there is one and syncd has been silent for a while.
func (c *channel) ask(ctx context.Context) error {
	if c.question == nil || time.Since(c.received) < c.idle {
		return nil
	}
	_, _, err := c.do(ctx, *c.question, protocol.AnswerOp(protocol.OpAttrQuery))
	return err
}

func lateText(d time.Duration) string {
	return fmt.Sprintf("syncd has not answered for %s", d)
}
