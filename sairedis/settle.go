package sairedis

import (
	"context"
	_ "embed" // a script
	"errors"
	"fmt"
	"time"

	"tamtam/sai"
	"tamtam/swss"
)

// barrierGroup is a group of counters that nobody has: to remove it asks syncd for nothing.
const barrierGroup = "TAMTAM_BARRIER"

// settle has syncd answer questions of different kinds. A former client has left one request without an answer at most,
// and a question behind it, so that the last answer is behind all that it asked for. That may take as long as syncd
// takes: another request would only wait behind.
func (c *Client) settle(ctx context.Context) error {
	c.check, c.question, c.inView, c.held = newGuard(), nil, false, nil
	c.alone, c.settling = false, true
	defer func() { c.settling = false }()
	there, err := c.hasSwitch(ctx)
	switch {
	case err != nil:
		return err
	case there:
		err = c.questions(ctx)
	default:
		err = c.settleEmpty(ctx)
	}
	if err != nil {
		return err
	}
	c.alone = there
	run, err := Run(ctx, c.asic.Redis())
	c.nameless = run == ""
	return err
}

// settleEmpty is settle where there is no switch. SONiC's syncd stops when asked about what does not exist, so that
// nothing is asked that is of the kind of INIT_VIEW, which comes next.
func (c *Client) settleEmpty(ctx context.Context) error {
	if busy, err := c.hasQueued(ctx); err != nil || !busy {
		return err
	}
	var refused *sai.CallError
	err := c.flex(ctx, message{key: barrierGroup, op: opDelGroup})
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

func (c *Client) hasSwitch(ctx context.Context) (bool, error) {
	there, err := interruptible(ctx, func() (bool, error) {
		return c.asic.Client().HExists(ctx, vidToRID, SwitchVID.String()).Result()
	})
	if err != nil {
		return false, fmt.Errorf("sairedis: %s: %w", vidToRID, err)
	}
	return there, nil
}

// questions asks two that a syncd with a switch can answer, also while there is a view.
func (c *Client) questions(ctx context.Context) error {
	room := swss.Pair{Field: "LIST_SIZE", Value: fmt.Sprint(maxEnumValues)}
	for _, q := range []message{
		{op: opEnumQuery, fields: []swss.Pair{{Field: "ATTR_ID", Value: sai.SwitchAttrSwitchingMode.String()}, room}},
		{op: opStatsQuery, fields: []swss.Pair{room}},
	} {
		q.key = SwitchVID.String()
		q.fields = append([]swss.Pair{typeField(sai.ObjectTypeSwitch)}, q.fields...)
		var refused *sai.CallError
		_, err := c.query(ctx, q, answerOp(q.op), sai.ObjectTypeSwitch)
		if err != nil && !errors.As(err, &refused) { // that it does not know is an answer
			return err
		}
	}
	return nil
}

// SONiC's syncd has no name, and does not read what it polled before: one that begins must be told again. It deletes
// the map of ids when it begins, or has applied a view, and writes it anew. A time to live on that key, so long that it
// never comes, stays while objects come and go, and goes with the map: it is the mark of the syncd that has been met.
const (
	lifeMet   = 1_000_000_000 * time.Second // polls are being asked for
	lifeKnown = 2_000_000_000 * time.Second // what stands in FLEX_COUNTER_DB has been asked for
)

//go:embed prolong.lua
var prolongText string

var prolong = swss.NewScript(prolongText)

// meet marks the syncd that there is, if it has no name and a switch.
func (c *Client) meet(ctx context.Context) (err error) {
	if c.met = false; !c.nameless {
		return nil
	}
	if c.met, err = c.asic.Client().Expire(ctx, vidToRID, lifeMet).Result(); err != nil {
		return fmt.Errorf("sairedis: mark of syncd: %w", err)
	}
	return nil
}

// startMeeting marks a syncd that may not know what to poll, and reports whether there is one.
func (c *Client) startMeeting(ctx context.Context) (anew bool, err error) {
	if err := c.take(ctx); err != nil {
		return false, err
	}
	defer c.give()
	knows, _, err := c.acquainted(ctx)
	if err != nil || knows || !c.nameless {
		return false, err
	}
	return true, c.meet(ctx)
}

// know notes that the syncd that was met has been asked for all polls. Another stays unmarked.
func (c *Client) know(ctx context.Context) error {
	if !c.nameless {
		return nil
	}
	if _, err := c.asic.Run(ctx, prolong, []string{vidToRID}, lifeKnown.Milliseconds()); err != nil {
		return fmt.Errorf("sairedis: mark of syncd: %w", err)
	}
	return nil
}

// acquainted reports whether the syncd that there is has been met, and whether it knows what to poll.
func (c *Client) acquainted(ctx context.Context) (knows, met bool, err error) {
	return acquainted(ctx, c.asic)
}

func acquainted(ctx context.Context, asic *swss.DB) (knows, met bool, err error) {
	left, err := asic.Client().PTTL(ctx, vidToRID).Result()
	if err != nil {
		return false, false, fmt.Errorf("sairedis: mark of syncd: %w", err)
	}
	return left > lifeMet, left > 0, nil
}

// Knows reports whether the syncd that there is has been asked to poll what stands in FLEX_COUNTER_DB. SONiC's does not
// read that when it begins.
func Knows(ctx context.Context, r *swss.Redis) (bool, error) {
	knows, _, err := acquainted(ctx, r.DB(swss.ASICDB))
	return knows, err
}
