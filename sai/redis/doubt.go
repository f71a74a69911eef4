package sairedis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tamtam/sai/redis/protocol"
)

// ErrStopped is found in the error of a syncd that is there and does nothing any more: SONiC's waits so for its
// shutdown after an error that it does not survive. Other clients will not fare better.
var ErrStopped = errors.New("it has stopped working, and has to be restarted")

// A client that has heard nothing of syncd does not know what the ASIC does, and says so before it knows more: syncd
// may be gone, may hang, or may be slow. Only what cannot come to a good end makes it lose its channel.

// A Sign is what can be seen of syncd without asking it.
type Sign struct {
	Gone   string // why it will answer nothing any more; "": it may
	Silent string // why it may not live; "": there is no such sign
	// Replaced says that Gone is for good, since another syncd with a fresh chip is in its place: it is not waited for.
	Replaced bool
	// Says is set where syncd says by itself how it is: while it does, it need not be asked. SONiC's does not.
	Says bool
}

// Bounds of what is taken for normal.
const (
	lateAfter   = 5 * time.Second       // without an answer, it is not known what the ASIC does
	latePerItem = 10 * time.Millisecond // more for each object of a bulk request
	askAfter    = 2 * time.Second       // without an answer, a syncd that does not say how it is is asked
)

// terms are how an answer is waited for.
type terms struct {
	late  time.Duration                           // without it for so long, it is not known what the ASIC does
	why   func(d time.Duration, busy bool) string // the reason, after that time; busy: with what others asked for
	limit time.Duration                           // then there will be none; 0: while there is a syncd, there may
	given error                                   // the reason for that
	// behind: syncd may be busy with what others asked for, so that limit is for when it has taken ours.
	behind bool
}

// terms are those of a request. That a comparison of views takes long is no sign of anything: SONiC's syncd takes time
// that grows with the square of the objects, and another request would only wait behind.
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
	case c.settling:
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

// mutePatiences is for how many times a client's patience a syncd may say nothing to a question that it has taken.
const mutePatiences = 5

// roughly is a duration that changes seldom: what is said with it is written to STATE_DB.
func roughly(d time.Duration) string {
	step := time.Second
	for 2*step <= d {
		step *= 2
	}
	return "more than " + step.String()
}

// hasQueued reports whether there are requests that syncd has not taken.
func (c *channel) hasQueued(ctx context.Context) (bool, error) {
	n, err := c.requests.Len(ctx)
	return n > 0, err
}

// signs looks at what can be seen of syncd. It fails when nothing will answer any more. late says that the answer to a
// request is, "" that it is not, or that there is no request; asked, that one has been waited for a while.
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
	// Of a syncd that is not heard of, silence says more than that an answer is late or that it is busy.
	if why := cmp.Or(s.Gone, silent, late); why != "" || !asked && s.Silent == "" {
		c.suspect(why)
	}
	return s, nil
}

// suspect says why it is not known what the ASIC does, or with "" that it is known again. A call that was given up may
// still come to it, beside who has the turn now; once the channel is lost, nothing is known again.
func (c *channel) suspect(why string) {
	c.saying.Lock()
	defer c.saying.Unlock()
	if !c.final {
		c.say(why)
	}
}

// despair is suspect for the last time.
func (c *channel) despair(why string) {
	c.saying.Lock()
	defer c.saying.Unlock()
	c.say(why)
	c.final = true
}

func (c *channel) say(why string) {
	if c.doubt != nil && c.doubted != why {
		c.doubt(why)
	}
	c.doubted = why
}

// ask asks the question, if there is one and syncd has not answered anything for a while.
func (c *channel) ask(ctx context.Context) error {
	if c.question == nil || time.Since(c.heard) < c.idle {
		return nil
	}
	_, _, err := c.do(ctx, *c.question, protocol.AnswerOp(protocol.OpAttrQuery))
	return err
}

func lateText(d time.Duration) string {
	return fmt.Sprintf("syncd has not answered for %s", d)
}
