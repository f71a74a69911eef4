package flex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss/schema"
	"tamtam/swss/tick"
)

// Poll reads the counters of the groups that are due at now into COUNTERS_DB. A group is due when it is enabled, and
// then at its interval. Poll returns the time when the next group is due. It is zero if no group is enabled.
func (c *Counters) Poll(ctx context.Context, now time.Time) (next time.Time, err error) {
	if err := c.ApplyRows(ctx); err != nil {
		return time.Time{}, err
	}
	for _, name := range c.groupNames() {
		due, pollErr := c.pollIfDue(ctx, name, now)
		err = errors.Join(err, pollErr)
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next, errors.Join(err, c.writeDebugSince(ctx))
}

// PollAll reads all counters of enabled groups, due or not.
func (c *Counters) PollAll(ctx context.Context) error {
	if err := c.ApplyRows(ctx); err != nil {
		return err
	}
	var err error
	for _, name := range c.groupNames() {
		c.mu.Lock()
		g := c.Groups[name]
		enabled := g != nil && g.enabled
		c.mu.Unlock()
		if enabled {
			err = errors.Join(err, c.pollGroup(ctx, name))
		}
	}
	return errors.Join(err, c.writeDebugSince(ctx))
}

// leastPause is the minimum time between two polls: half of the shortest interval, so that every interval can be met.
const leastPause = 5 * time.Millisecond

// Run calls Poll at wall time until ctx ends.
func (c *Counters) Run(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		next, err := c.Poll(ctx, now)
		if err != nil && ctx.Err() == nil {
			c.log.Error("syncd: counters", "error", err)
		}
		wait := tick.Until(now, time.Second) // maximum wait, because a group may be created or enabled meanwhile
		if !next.IsZero() {
			wait = min(wait, max(time.Until(next), leastPause))
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (c *Counters) groupNames() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.Groups))
}

// pollIfDue reads a group if it is due, and returns the time when it is due next.
func (c *Counters) pollIfDue(ctx context.Context, name string, now time.Time) (time.Time, error) {
	c.mu.Lock()
	g := c.Groups[name]
	if g == nil || !g.enabled || g.interval == 0 {
		c.mu.Unlock()
		return time.Time{}, nil
	}
	due := !now.Before(g.next)
	if due {
		if g.next = g.next.Add(g.interval); !g.next.After(now) {
			g.next = now.Add(g.interval)
		}
	}
	next := g.next
	c.mu.Unlock()
	if !due {
		return next, nil
	}
	if err := c.pollGroup(ctx, name); err != nil {
		return next, err
	}
	c.runPlugins(ctx, name)
	return next, nil
}

// pollSlice is the number of objects that are read before other requests are served.
const pollSlice = 1000

func (c *Counters) pollGroup(ctx context.Context, name string) error {
	c.mu.Lock()
	var vids []sai.OID
	if g := c.Groups[name]; g != nil {
		vids = slices.SortedFunc(maps.Keys(g.Counters), cmp.Compare[sai.OID])
	}
	c.mu.Unlock()
	for chunk := range slices.Chunk(vids, pollSlice) {
		if err := c.pollSome(ctx, name, chunk); err != nil {
			return err
		}
	}
	return nil
}

// pollSome reads objects of a group and writes their rows, and the time, in one transaction.
func (c *Counters) pollSome(ctx context.Context, name string, vids []sai.OID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.Groups[name]
	if g == nil {
		return nil
	}
	at := c.births.now()
	// Rows and their time are written together, so that no reader takes counters for older or newer than they are.
	_, err := c.out.Client().TxPipelined(ctx, func(to redis.Pipeliner) error {
		to.HSet(ctx, schema.CountersCollected, name, at.UTC().Format(time.RFC3339Nano))
		for _, vid := range vids {
			p := g.Counters[vid]
			if p == nil || !c.objects.IDs.Known(vid) { // an unknown object is in a view that is not applied yet
				continue
			}
			args, gone, err := c.read(ctx, name, vid, p, g)
			if len(gone) > 0 { // otherwise a value of an earlier run would look like a current one
				to.HDel(ctx, "COUNTERS:"+vid.String(), gone...)
				if text := strings.Join(gone, ","); !g.leftOut[text] {
					g.leftOut[text] = true
					c.log.Info("syncd: the chip does not count these", "group", name, "object", vid, "left out", text)
				}
			}
			if err != nil {
				c.log.Warn("syncd: counters", "group", name, "object", vid, "error", err)
				continue
			}
			c.rate(ctx, to, name, g, vid, args)
			g.peak(name, vid, args)
			if len(args) > 0 {
				to.HSet(ctx, "COUNTERS:"+vid.String(), args...)
			}
			if g.clear { // each reading resets the counter
				to.HDel(ctx, "COUNTERS:"+vid.String(), FieldCountedSince+name)
			}
		}
		return nil
	})
	return errors.Join(err, g.raised.write(ctx, c.out))
}

// read returns the fields of one object's row, and the fields that no longer belong there. If the backend does not
// support an attribute or statistic, only that one is missing, and it is not read again.
func (c *Counters) read(
	ctx context.Context, group string, vid sai.OID, p *polled, g *Group,
) (args []any, gone []string, err error) {
	t, _ := protocol.VIDType(vid)
	k, err := c.objects.IDs.RealKey(sai.Obj(t, vid))
	if err != nil {
		return nil, nil, err
	}
	gone, p.unknown = p.unknown, nil
	var got []sai.Attr
	gone, err = readSupported(gone, &p.attrs, func(ids []sai.AttrID) error {
		want := make([]sai.Attr, len(ids))
		for i, id := range ids {
			want[i] = sai.Want(id, 1)
		}
		got, err = c.backend.Get(ctx, k, want)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if len(p.attrs) > 0 {
		for _, a := range got {
			text, err := sai.FormatValue(a.ID, a.Value)
			if err != nil {
				return nil, nil, err
			}
			args = append(args, a.ID.String(), text)
		}
	}
	var values []uint64
	gone, err = readSupported(gone, &p.stats, func(ids []sai.StatID) error {
		values, err = c.backend.Stats(ctx, k, ids)
		return err
	})
	if err != nil || len(p.stats) == 0 {
		return args, gone, err
	}
	// The values that are cleared are read once more, at the instant of the clearing.
	if cleared := g.cleared(group, p.stats); len(cleared) > 0 {
		last, err := c.births.StatsAndClear(ctx, k, cleared)
		if err != nil {
			return args, gone, err
		}
		for i, id := range cleared {
			values[slices.Index(p.stats, id)] = last[i]
		}
	}
	for i, id := range p.stats {
		args = append(args, id.String(), strconv.FormatUint(values[i], 10))
	}
	if g.clear {
		return args, gone, nil
	}
	return append(args, c.countedSince(group, k)...), gone, nil
}

// readSupported reads all ids together. If the backend does not support that, it removes from ids those that cannot be
// read even alone, and appends their names to gone. Then it reads the others together.
func readSupported[T fmt.Stringer](gone []string, ids *[]T, read func([]T) error) ([]string, error) {
	if len(*ids) == 0 {
		return gone, nil
	}
	err := read(*ids)
	if !sai.Unsupported(err) {
		return gone, err
	}
	var can []T
	for _, id := range *ids {
		switch err := read([]T{id}); {
		case err == nil:
			can = append(can, id)
		case sai.Unsupported(err):
			gone = append(gone, id.String())
		default:
			return gone, err
		}
	}
	if len(can) == len(*ids) {
		return gone, err // each id can be read alone, but not all together
	}
	if *ids = can; len(can) == 0 {
		return gone, nil
	}
	return gone, read(can)
}
