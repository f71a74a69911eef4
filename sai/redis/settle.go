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

// barrierGroup is a group of counters that does not exist, so its removal changes nothing in syncd.
const barrierGroup = "TAMTAM_BARRIER"

// resync makes syncd answer two queries of different kinds. A former client has left at most one request, and one query
// after it, without an answer. So the last answer arrives after all its requests were executed. resync has no time
// limit, because another request would only wait in the same queue.
func (c *Client) resync(ctx context.Context) error {
	c.check, c.question, c.inView, c.held = newGuard(), nil, false, nil
	c.alone, c.resyncing = false, true
	defer func() { c.resyncing = false }()
	there, err := meetSwitch(ctx, c)
	switch {
	case err != nil:
		return err
	case there:
		err = askBoth(ctx, c)
	default:
		err = resyncEmpty(ctx, c)
	}
	if err != nil {
		return err
	}
	c.alone = there
	return c.syncd.look(ctx)
}

// resyncEmpty does the work of resync without a switch. SONiC's syncd stops when a query names something that does not
// exist. So its request is of another kind than INIT_VIEW, which comes next.
func resyncEmpty(ctx context.Context, c *Client) error {
	if busy, err := c.hasQueued(ctx); err != nil || !busy {
		return err
	}
	return barrier(ctx, c)
}

// barrier waits until syncd has executed all earlier requests. It sends a request that any syncd can answer.
func barrier(ctx context.Context, c *Client) error {
	var refused *sai.CallError
	err := c.flex(ctx, protocol.Message{Key: barrierGroup, Op: protocol.OpDelGroup})
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// meetSwitch reports whether the ASIC has a switch. When SONiC's syncd starts, it writes the map of ids id by id,
// before it accepts requests. If ASIC_STATE has the switch but the map lacks it, the map is read again after an
// answer of syncd.
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

// askBoth sends the two queries, which a syncd with a switch can answer even during a view.
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
		if err != nil && !errors.As(err, &refused) { // an error answer of syncd is an answer too
			return err
		}
	}
	return nil
}

// SONiC's syncd has no id, and does not load its former polls: a restarted one must receive them again. It deletes
// the map of ids when it starts or has applied a view, and writes it again. The mark of a known syncd is a time to
// live on that key, so long that it never expires. It stays while objects come and go, and disappears with the map.
const (
	runSeen  = 1_000_000_000 * time.Second // polls are being requested from syncd
	runKnown = 2_000_000_000 * time.Second // all polls in FLEX_COUNTER_DB have been requested
)

//go:embed prolong.lua
var prolongText string

var prolong = swss.NewScript(prolongText)

// An acquaintance is the client's knowledge of its syncd.
type acquaintance struct {
	asic     *swss.DB
	nameless bool // true if this syncd has no id, like SONiC's
	met      bool // true if this syncd has a switch and our mark
}

// look finds out whether syncd has an id.
func (a *acquaintance) look(ctx context.Context) error {
	run, _, err := Run(ctx, a.asic.Redis())
	a.nameless = run == ""
	return err
}

// meet marks a syncd without an id that has a switch.
func (a *acquaintance) meet(ctx context.Context) (err error) {
	if a.met = false; !a.nameless {
		return nil
	}
	if a.met, err = a.asic.Client().Expire(ctx, protocol.KeyVIDToRID, runSeen).Result(); err != nil {
		return fmt.Errorf("sairedis: mark of syncd: %w", err)
	}
	return nil
}

// meetAgain marks a syncd without an id if it may have lost its polls, and reports whether it may have.
func (a *acquaintance) meetAgain(ctx context.Context) (anew bool, err error) {
	knows, _, err := a.is(ctx)
	if err != nil || knows || !a.nameless {
		return false, err
	}
	return true, a.meet(ctx)
}

// know records that the marked syncd has received all polls. Another syncd stays unmarked.
func (a *acquaintance) know(ctx context.Context) error {
	if !a.nameless {
		return nil
	}
	if _, err := a.asic.Run(ctx, prolong, []string{protocol.KeyVIDToRID}, runKnown.Milliseconds()); err != nil {
		return fmt.Errorf("sairedis: mark of syncd: %w", err)
	}
	return nil
}

// is reports whether the current syncd is marked (met), and whether it has received all polls (knows).
func (a *acquaintance) is(ctx context.Context) (knows, met bool, err error) {
	left, err := a.asic.Client().PTTL(ctx, protocol.KeyVIDToRID).Result()
	if err != nil {
		return false, false, fmt.Errorf("sairedis: mark of syncd: %w", err)
	}
	return left > runSeen, left > 0, nil
}

// Knows reports whether the current syncd has received the polls in FLEX_COUNTER_DB. SONiC's syncd does not read them
// at its start.
func Knows(ctx context.Context, r *swss.Redis) (bool, error) {
	knows, _, err := (&acquaintance{asic: r.DB(swss.ASICDB)}).is(ctx)
	return knows, err
}
