package sairedis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// pollSize is the number of objects in one start_poll or stop_poll.
const pollSize = 1000

// A CounterGroup holds the settings of a group of counters. The zero value of a field leaves the setting unchanged.
type CounterGroup struct {
	Interval time.Duration // polling interval in whole milliseconds
	Mode     string
	Enabled  *bool
}

// SetCounterGroup creates or changes a flex counter group.
func (c *Client) SetCounterGroup(ctx context.Context, group string, g CounterGroup) error {
	var fields []swss.Pair
	if g.Interval != 0 {
		fields = append(
			fields,
			swss.Pair{Field: flex.FieldPollInterval, Value: strconv.FormatInt(g.Interval.Milliseconds(), 10)},
		)
	}
	if g.Mode != "" {
		fields = append(fields, swss.Pair{Field: flex.FieldStatsMode, Value: g.Mode})
	}
	if g.Enabled != nil {
		word := "disable"
		if *g.Enabled {
			word = "enable"
		}
		fields = append(fields, swss.Pair{Field: flex.FieldStatus, Value: word})
	}
	if len(fields) == 0 {
		return nil // a request without fields would remove the group
	}
	if err := errors.Join(checkGroup(group), g.check()); err != nil {
		return err
	}
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	return c.flex(ctx, protocol.Message{Key: group, Op: protocol.OpSetGroup, Fields: fields})
}

// DelCounterGroup removes a flex counter group.
func (c *Client) DelCounterGroup(ctx context.Context, group string) error {
	if err := checkGroup(group); err != nil {
		return err
	}
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	return c.flex(ctx, protocol.Message{Key: group, Op: protocol.OpDelGroup})
}

// StartPoll makes syncd read counters of objects into COUNTERS_DB at the group's interval. Before ApplyView, syncd has
// no new objects, so the request is delayed until then. field is one of the ..._ID_LIST words. ids
// are the names of the statistics or, for a field of attributes, of the attributes.
func (c *Client) StartPoll(ctx context.Context, group, field string, ids []string, objs ...sai.OID) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	if err := c.check.checkPolled(group, field, ids, objs); err != nil {
		return err
	}
	fields := []swss.Pair{{Field: field, Value: strings.Join(ids, ",")}}
	if c.inView {
		c.held = append(c.held, heldPoll{group, fields, slices.Clone(objs)})
		return nil
	}
	return c.poll(ctx, protocol.OpStartPoll, group, fields, objs)
}

// StopPoll ends a poll that StartPoll began. The rows of COUNTERS_DB stay: the caller must delete them.
func (c *Client) StopPoll(ctx context.Context, group string, objs ...sai.OID) error {
	if err := checkGroup(group); err != nil {
		return err
	}
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	if c.inView {
		for i, p := range c.held {
			if p.group == group {
				c.held[i].objs = slices.DeleteFunc(p.objs, func(o sai.OID) bool { return slices.Contains(objs, o) })
			}
		}
		return nil
	}
	return c.poll(ctx, protocol.OpStopPoll, group, nil, objs)
}

// stopFormer ends the polls of a former run. Their objects may be gone in the new view, or have other virtual ids. A
// stock syncd would try to read such objects for ever.
func (c *Client) stopFormer(ctx context.Context) error {
	former, err := c.polls(ctx)
	if err != nil {
		return err
	}
	return c.stopPolls(ctx, former)
}

// A polledObject is an object in a group of counters.
type polledObject struct {
	group string
	oid   sai.OID
}

// polls returns the objects that syncd polls, with their counters.
func (c *Client) polls(ctx context.Context) (map[polledObject]swss.FieldValues, error) {
	rows, err := interruptible(ctx, func() (map[string]swss.FieldValues, error) { return c.polled.Dump(ctx) })
	if err != nil {
		return nil, fmt.Errorf("sairedis: %s: %w", flex.Table, err)
	}
	all := make(map[polledObject]swss.FieldValues, len(rows))
	for key, row := range rows {
		group, id, _ := strings.Cut(key, ":")
		if o, err := sai.ParseOID(id); err == nil && checkGroup(group) == nil {
			all[polledObject{group, o}] = row
		}
	}
	return all, nil
}

// stopPolls ends polls. The caller holds the turn.
func (c *Client) stopPolls(ctx context.Context, polls map[polledObject]swss.FieldValues) error {
	groups := map[string][]sai.OID{}
	for p := range polls {
		groups[p.group] = append(groups[p.group], p.oid)
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		slices.Sort(groups[group])
		if err := c.poll(ctx, protocol.OpStopPoll, group, nil, groups[group]); err != nil {
			return err
		}
	}
	return nil
}

// pollOnly makes syncd poll the wanted counters and no others. Existing polls continue without a gap. If the last
// parameter is true, syncd may have lost its polls, so they are requested again.
func (c *Client) pollOnly(ctx context.Context, wanted []heldPoll, anew bool) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	old, err := c.polls(ctx)
	if err != nil {
		return err
	}
	for _, w := range wanted {
		var fresh []sai.OID
		for _, o := range slices.DeleteFunc(slices.Clone(w.objs), c.check.lacks) {
			at := polledObject{w.group, o}
			if row, ok := old[at]; !ok || anew || !maps.Equal(row, swss.ToFieldValues(w.fields)) {
				fresh = append(fresh, o)
			}
			delete(old, at)
		}
		if err := c.poll(ctx, protocol.OpStartPoll, w.group, w.fields, fresh); err != nil {
			return err
		}
	}
	if err := c.stopPolls(ctx, old); err != nil || !anew {
		return err
	}
	return c.syncd.know(ctx)
}

// A heldPoll is a start_poll that waits for ApplyView. Objects that are gone by then are omitted.
type heldPoll struct {
	group  string
	fields []swss.Pair
	objs   []sai.OID
}

func (c *Client) poll(ctx context.Context, op, group string, fields []swss.Pair, objs []sai.OID) error {
	for chunk := range slices.Chunk(objs, pollSize) {
		ids := make([]string, len(chunk))
		for i, o := range chunk {
			ids[i] = o.String()
		}
		key := group + ":" + strings.Join(ids, ",")
		if err := c.flex(ctx, protocol.Message{Key: key, Op: op, Fields: fields}); err != nil {
			return err
		}
	}
	return nil
}

// flex sends a request about flex counters. The caller holds the turn.
func (c *Client) flex(ctx context.Context, req protocol.Message) error {
	c.rec.attrs("p", req.Op+"|"+req.Key, req.Fields)
	return c.change(ctx, req, 0)
}
