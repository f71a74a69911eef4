package sairedis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// bulkSize is the number of objects in one bulk request.
const bulkSize = 1000

// A bulkItem is one object of a bulk request.
type bulkItem struct {
	index int // index of the object in the caller's list
	key   sai.Key
	value string // text of its attributes, joined
}

// BulkCreate implements [sai.API]. Objects whose values a bulk request cannot carry are created one by one.
func (c *Client) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	if err := c.acquire(ctx); err != nil {
		return make([]sai.OID, len(objs)), slices.Repeat([]error{err}, len(objs))
	}
	defer c.release()
	oids, errs := make([]sai.OID, len(objs)), make([]error, len(objs))
	var items []bulkItem
	for i, attrs := range objs {
		value, ok, err := "", true, c.check.CheckCreate(t, attrs)
		if err == nil {
			value, ok, err = bulkValue(attrs)
		}
		switch {
		case err != nil:
			errs[i] = err
		case !ok || t == sai.ObjectTypeSwitch:
			oids[i], errs[i] = c.create(ctx, t, attrs)
		default:
			items = append(items, bulkItem{index: i, value: value})
		}
	}
	if len(items) == 0 {
		return oids, errs
	}
	vids, err := c.newVIDs(ctx, t, int64(len(items)))
	for j := range items {
		if err != nil {
			errs[items[j].index] = err
			continue
		}
		items[j].key = sai.Obj(t, vids[j])
	}
	if err != nil {
		return oids, errs
	}
	c.bulk(ctx, protocol.OpBulkCreate, t, items, errs, func(it bulkItem) {
		oids[it.index] = it.key.OID
		c.check.Created(it.key, objs[it.index])
	})
	return oids, errs
}

// BulkCreateEntries implements [sai.API]. Entries whose values a bulk request cannot carry are created one by one.
func (c *Client) BulkCreateEntries(ctx context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	var first sai.Entry
	return c.inBulk(ctx, protocol.OpBulkCreate, len(entries), func(i int) (sai.Key, []sai.Attr, error) {
		e := entries[i]
		if err := checkEntry(protocol.OpBulkCreate, e); err != nil {
			return sai.Key{}, nil, err
		}
		first = cmp.Or(first, e)
		err := sameType(protocol.OpBulkCreate, sai.EntryKey(e), sai.EntryKey(first))
		if err == nil {
			err = c.check.CheckCreateEntry(e, attrs[i])
		}
		return sai.EntryKey(e), attrs[i], err
	}, func(i int) error {
		return c.createKey(ctx, sai.EntryKey(entries[i]), attrs[i])
	}, func(i int) { c.check.Created(sai.EntryKey(entries[i]), attrs[i]) })
}

func bulkValue(attrs []sai.Attr) (value string, ok bool, err error) {
	pairs, err := protocol.FormatAttrs(attrs)
	if err != nil {
		return "", false, err
	}
	if len(pairs) == 0 {
		pairs = protocol.NullPair
	}
	value, ok = protocol.JoinAttrs(pairs)
	return value, ok, nil
}

// BulkRemove implements [sai.API].
func (c *Client) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	return c.inBulk(ctx, protocol.OpBulkRemove, len(keys), func(i int) (sai.Key, []sai.Attr, error) {
		err := sameType(protocol.OpBulkRemove, keys[i], keys[0])
		if err == nil {
			err = c.check.CheckRemove(keys[i])
		}
		return keys[i], nil, err
	}, nil, func(i int) { c.check.Removed(keys[i]) })
}

// BulkSet implements [sai.API].
func (c *Client) BulkSet(ctx context.Context, keys []sai.Key, attrs []sai.Attr) []error {
	return c.inBulk(ctx, protocol.OpBulkSet, len(keys), func(i int) (sai.Key, []sai.Attr, error) {
		err := sameType(protocol.OpBulkSet, keys[i], keys[0])
		if err == nil {
			err = c.check.CheckSet(keys[i], attrs[i])
		}
		return keys[i], attrs[i : i+1], err
	}, func(i int) error {
		return c.set(ctx, keys[i], attrs[i])
	}, func(i int) { c.check.Changed(keys[i], attrs[i]) })
}

// inBulk makes a bulk call for n items. prepare checks an item, and returns its key and attributes. single makes a
// separate call for an item whose values a bulk request cannot carry. done is called for each item that has succeeded
// in bulk.
func (c *Client) inBulk(
	ctx context.Context, op string, n int, prepare func(i int) (sai.Key, []sai.Attr, error), single func(i int) error,
	done func(i int),
) []error {
	if err := c.acquire(ctx); err != nil {
		return slices.Repeat([]error{err}, n)
	}
	defer c.release()
	errs := make([]error, n)
	var items []bulkItem
	for i := range errs {
		key, attrs, err := prepare(i)
		value, ok := "", true
		if err == nil && op != protocol.OpBulkRemove {
			value, ok, err = bulkValue(attrs)
		}
		switch {
		case err != nil:
			errs[i] = err
		case !ok:
			errs[i] = single(i)
		default:
			items = append(items, bulkItem{index: i, key: key, value: value})
		}
	}
	if len(items) > 0 {
		c.bulk(ctx, op, protocol.KeyType(items[0].key), items, errs, func(it bulkItem) { done(it.index) })
	}
	return errs
}

// bulk sends items, bulkSize at a time. It stores each item's error in errs and calls done for each that succeeded.
func (c *Client) bulk(
	ctx context.Context, op string, t sai.ObjectType, items []bulkItem, errs []error, done func(bulkItem),
) {
	for len(items) > 0 {
		n := min(len(items), bulkSize)
		c.bulkOne(ctx, op, t, items[:n], errs, done)
		items = items[n:]
	}
}

func (c *Client) bulkOne(
	ctx context.Context, op string, t sai.ObjectType, items []bulkItem, errs []error, done func(bulkItem),
) {
	fields := make([]swss.Pair, len(items))
	for i, it := range items {
		_, id, _ := strings.Cut(sai.FormatKey(it.key), ":")
		fields[i] = swss.Pair{Field: id, Value: it.value}
	}
	c.rec.bulk(op, t, fields)
	m := protocol.Message{Key: fmt.Sprintf("%s:%d", t, len(items)), Op: op, Fields: fields}
	status, answers, err := c.do(ctx, m, protocol.OpResponse)
	switch {
	case err != nil:
	case len(answers) == 0 && status != sai.StatusSuccess: // the request was refused as a whole
		err = statusError(op, t, status)
	case len(answers) != len(items):
		err = c.lose(fmt.Errorf("sairedis: answer to %s of %s has %d statuses, want %d", op, t, len(answers), len(items)))
	}
	for i, it := range items {
		if err != nil {
			errs[it.index] = err
			continue
		}
		s, ok := sai.LookupStatus(answers[i].Field)
		if !ok {
			errs[it.index] = fmt.Errorf("sairedis: answer to %s of %s has the unknown status %.80q", op, t, answers[i].Field)
			continue
		}
		if s == sai.StatusSuccess {
			done(it)
			continue
		}
		c.rec.line("E", s.String())
		errs[it.index] = statusError(op, t, s)
	}
}

func (r *recorder) bulk(op string, t sai.ObjectType, fields []swss.Pair) {
	if r == nil {
		return
	}
	letter := map[string]string{protocol.OpBulkCreate: "C", protocol.OpBulkRemove: "R", protocol.OpBulkSet: "S"}[op]
	words := []string{t.String()}
	for _, f := range fields {
		words = append(words, "", f.Field)
		if f.Value != "" {
			words = append(words, f.Value)
		}
	}
	r.line(letter, words...)
}
