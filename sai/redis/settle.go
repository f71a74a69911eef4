package sairedis

import (
	"context"
	_ "embed" // a script
	"errors"
	"fmt"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
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
	there, err := meetSwitch(ctx, c)
	switch {
	case err != nil:
		return err
	case there:
		err = askBoth(ctx, c)
	default:
		err = settleEmpty(ctx, c)
	}
	if err != nil {
		return err
	}
	c.alone = there
	return c.syncd.look(ctx)
}

// settleEmpty is settle where there is no switch. SONiC's syncd stops when asked about what does not exist, so that
// nothing is asked that is of the kind of INIT_VIEW, which comes next.
func settleEmpty(ctx context.Context, c *Client) error {
	if busy, err := c.hasQueued(ctx); err != nil || !busy {
		return err
	}
	return barrier(ctx, c)
}

// barrier waits until syncd has done what was asked for before, with a request that any syncd can answer.
func barrier(ctx context.Context, c *Client) error {
	var refused *sai.CallError
	err := c.flex(ctx, protocol.Message{Key: barrierGroup, Op: protocol.OpDelGroup})
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// meetSwitch reports whether the ASIC has a switch. SONiC's syncd writes the map of ids id by id when it begins, before
// it takes requests: where the map lacks the switch that ASIC_STATE has, it is looked at again when syncd has answered.
func meetSwitch(ctx context.Context, c *Client) (bool, error) {
	there, err := hasSwitch(ctx, c.asic)
	if err != nil || there {
		return there, err
	}
	row := protocol.ASICState + ":" + sai.FormatKey(sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID))
	rows, err := interruptible(ctx, func() (int64, error) { return c.asic.Client().Exists(ctx, row).Result() })
	if err != nil {
		return false, fmt.Errorf("sairedis: %s: %w", row, err)
	}
	if rows == 0 {
		return false, nil
	}
	if err := barrier(ctx, c); err != nil {
		return false, err
	}
	return hasSwitch(ctx, c.asic)
}

func hasSwitch(ctx context.Context, asic *swss.DB) (bool, error) {
	there, err := interruptible(ctx, func() (bool, error) {
		return asic.Client().HExists(ctx, protocol.KeyVIDToRID, protocol.SwitchVID.String()).Result()
	})
	if err != nil {
		return false, fmt.Errorf("sairedis: %s: %w", protocol.KeyVIDToRID, err)
	}
	return there, nil
}

// askBoth asks the two questions, which a syncd with a switch can answer, also while there is a view.
func askBoth(ctx context.Context, c *Client) error {
	room := swss.Pair{Field: "LIST_SIZE", Value: fmt.Sprint(maxEnumValues)}
	for _, q := range []protocol.Message{
		{Op: protocol.OpEnumQuery, Fields: []swss.Pair{
			{Field: "ATTR_ID", Value: sai.SwitchAttrSwitchingMode.String()}, room,
		}},
		{Op: protocol.OpStatsQuery, Fields: []swss.Pair{room}},
	} {
		q.Key = protocol.SwitchVID.String()
		q.Fields = append([]swss.Pair{typeField(sai.ObjectTypeSwitch)}, q.Fields...)
		var refused *sai.CallError
		_, err := c.query(ctx, q, protocol.AnswerOp(q.Op), sai.ObjectTypeSwitch)
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

// An acquaintance is what a client knows of the syncd that it works with.
type acquaintance struct {
	asic     *swss.DB
	nameless bool // it is not ours but one like SONiC's
	met      bool // it has a switch and our mark
}

// look finds out whether it is nameless.
func (a *acquaintance) look(ctx context.Context) error {
	run, err := Run(ctx, a.asic.Redis())
	a.nameless = run == ""
	return err
}

// meet marks a nameless syncd that has a switch.
func (a *acquaintance) meet(ctx context.Context) (err error) {
	if a.met = false; !a.nameless {
		return nil
	}
	if a.met, err = a.asic.Client().Expire(ctx, protocol.KeyVIDToRID, lifeMet).Result(); err != nil {
		return fmt.Errorf("sairedis: mark of syncd: %w", err)
	}
	return nil
}

// meetAgain marks a nameless syncd that may not know what to poll, and reports whether it is one.
func (a *acquaintance) meetAgain(ctx context.Context) (anew bool, err error) {
	knows, _, err := a.is(ctx)
	if err != nil || knows || !a.nameless {
		return false, err
	}
	return true, a.meet(ctx)
}

// know notes that the syncd that was met has been asked for all polls. Another stays unmarked.
func (a *acquaintance) know(ctx context.Context) error {
	if !a.nameless {
		return nil
	}
	if _, err := a.asic.Run(ctx, prolong, []string{protocol.KeyVIDToRID}, lifeKnown.Milliseconds()); err != nil {
		return fmt.Errorf("sairedis: mark of syncd: %w", err)
	}
	return nil
}

// is reports whether the syncd that there is has been met, and whether it knows what to poll.
func (a *acquaintance) is(ctx context.Context) (knows, met bool, err error) {
	left, err := a.asic.Client().PTTL(ctx, protocol.KeyVIDToRID).Result()
	if err != nil {
		return false, false, fmt.Errorf("sairedis: mark of syncd: %w", err)
	}
	return left > lifeMet, left > 0, nil
}

// Knows reports whether the syncd that there is has been asked to poll what stands in FLEX_COUNTER_DB. SONiC's does not
// read that when it begins.
func Knows(ctx context.Context, r *swss.Redis) (bool, error) {
	knows, _, err := (&acquaintance{asic: r.DB(swss.ASICDB)}).is(ctx)
	return knows, err
}
