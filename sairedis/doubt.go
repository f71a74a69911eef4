package sairedis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// A client that has heard nothing of syncd does not know what the ASIC does, and says so before it knows more: syncd
// may be gone, may hang, or may be slow. Only what cannot come to a good end makes it lose its channel.

// A Sign is what can be seen of syncd without asking it.
type Sign struct {
	Gone   string // why it will answer nothing any more; "": it may
	Silent string // why it may not live; "": there is no such sign
	// Says is set where syncd says by itself how it is: while it does, it need not be asked. SONiC's does not.
	Says bool
}

// Bounds of what is taken for normal.
const (
	lateAfter   = 5 * time.Second       // without an answer, it is not known what the ASIC does
	latePerItem = 10 * time.Millisecond // more for each object of a bulk request
	askAfter    = 2 * time.Second       // without an answer, a syncd that does not say how it is is asked
)

// lateness is when a request is late. That views take long is no sign of anything.
func (c *channel) lateness(req message) time.Duration {
	switch req.op {
	case opNotify:
		return c.timeout
	case opBulkCreate, opBulkRemove, opBulkSet, opBulkGet:
		return c.late + time.Duration(len(req.fields))*latePerItem
	}
	return c.late
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
	case c.goneFor.IsZero():
		c.goneFor = time.Now()
	case time.Since(c.goneFor) >= c.patience:
		return s, errors.New(s.Gone)
	}
	silent := s.Silent
	if !asked {
		silent = ""
	}
	if why := cmp.Or(s.Gone, late, silent); why != "" || !asked && s.Silent == "" {
		c.suspect(why)
	}
	return s, nil
}

// suspect says why it is not known what the ASIC does, or with "" that it is known again.
func (c *channel) suspect(why string) {
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
	_, _, err := c.do(ctx, *c.question, answerOp(opAttrQuery))
	return err
}

func lateText(d time.Duration) string {
	return fmt.Sprintf("syncd has not answered for %s", d)
}
