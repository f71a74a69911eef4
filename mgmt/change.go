package mgmt

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/mgmt/access"
	"tamtam/swss"
)

// A finishing is the [Change] of an entry that a Set finishes.
type finishing struct {
	ctx context.Context
	tx  *tx
	e   *txEntry
}

// Keys implements [Change].
func (c *finishing) Keys() []string { return c.e.keys }

// Created implements [Change].
func (c *finishing) Created() bool { return (&entry{group: c.e.group, recs: c.e.before}).own() == nil }

// Fields implements [Change].
func (c *finishing) Fields(table string) map[string]string {
	for i, r := range c.e.group.rows {
		if r.DB == swss.ConfigDB && r.Table == table {
			return c.e.recs[i]
		}
	}
	return nil
}

// Changed implements [Change].
func (c *finishing) Changed(path string) bool {
	n := c.tx.model.find(c.e.group.node.path + "/" + path)
	return n != nil && !slices.Equal(c.e.value(n), (&entry{group: c.e.group, keys: c.e.keys, recs: c.e.before}).value(n))
}

// Read implements [Change].
func (c *finishing) Read(db swss.DBName, table, key string) (map[string]string, error) {
	row, found, err := swss.NewTable(c.tx.reader.redis.DB(db), table).Get(c.ctx, key)
	switch {
	case err != nil:
		return nil, unavailable(err)
	case !found:
		return nil, nil
	}
	return row, nil
}

// Entries implements [Change].
func (c *finishing) Entries(path, table string) (map[string]map[string]string, error) {
	g := c.tx.model.find(path).group
	es, err := c.tx.match(c.ctx, g, extend(nil, g))
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	for _, e := range es {
		for i, r := range g.rows {
			if r.DB == swss.ConfigDB && r.Table == table && e.recs[i] != nil {
				out[e.keys[0]] = e.recs[i]
			}
		}
	}
	return out, nil
}

// Sees implements [Change].
func (c *finishing) Sees(path, key string) bool {
	return c.tx.view.some(c.tx.model.find(path), []string{key}, access.Read)
}

// Entry implements [Change].
func (c *finishing) Entry(path, key, table string) (map[string]string, error) {
	e, err := c.entry(path, key)
	if err != nil || c.InDoubt(path, key) {
		return nil, err
	}
	return (&finishing{e: e}).Fields(table), nil
}

// InDoubt implements [Change].
func (c *finishing) InDoubt(path, key string) bool {
	g, f := c.tx.model.find(path).group, c.tx.faults
	return f.made.entryInDoubt(g, []string{key}) || f.gone.entryInDoubt(g, []string{key})
}

// PutEntry implements [Change].
func (c *finishing) PutEntry(path, key, table string, fields map[string]string, mayExist bool) error {
	e, err := c.entry(path, key)
	if err != nil {
		return err
	}
	if e.present && !mayExist {
		return fmt.Errorf("%s exists already", key)
	}
	c.tx.must(e)
	for i, r := range e.group.rows {
		if r.DB == swss.ConfigDB && r.Table == table {
			e.recs[i] = maps.Clone(fields)
			e.touched, e.present = true, true
			e.step = max(e.step, c.e.step)
		}
	}
	return nil
}

// RemoveEntry implements [Change].
func (c *finishing) RemoveEntry(path, key string) error {
	e, err := c.entry(path, key)
	if err == nil {
		c.tx.must(e)
		e.drop()
		e.step = max(e.step, c.e.step)
	}
	return err
}

func (c *finishing) entry(path, key string) (*txEntry, error) {
	return c.tx.get(c.ctx, c.tx.model.find(path).group, []string{key})
}
