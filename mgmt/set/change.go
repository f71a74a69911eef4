package set

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/mgmt/access"
	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// A finishing is the [tree.Change] of an entry that a Set finishes.
type finishing struct {
	ctx context.Context
	tx  *Tx
	e   *txEntry
}

// Keys implements [tree.Change].
func (c *finishing) Keys() []string { return c.e.Keys }

// Created implements [tree.Change].
func (c *finishing) Created() bool {
	return (&tree.Entry{List: c.e.List, Rows: c.e.before}).Own() == nil
}

// Fields implements [tree.Change].
func (c *finishing) Fields(table string) map[string]string {
	for i, r := range c.e.List.Rows {
		if r.DB == swss.ConfigDB && r.Table == table {
			return c.e.Rows[i]
		}
	}
	return nil
}

// Changed implements [tree.Change].
func (c *finishing) Changed(path string) bool {
	n := c.tx.Model.Find(c.e.List.Node.Path + "/" + path)
	was := tree.Entry{List: c.e.List, Keys: c.e.Keys, Rows: c.e.before}
	return n != nil && !slices.Equal(c.e.Value(n), was.Value(n))
}

// Read implements [tree.Change].
func (c *finishing) Read(db swss.DBName, table, key string) (map[string]string, error) {
	row, found, err := swss.NewTable(c.tx.Reader.Redis.DB(db), table).Get(c.ctx, key)
	switch {
	case err != nil:
		return nil, tree.Unavailable(err)
	case !found:
		return nil, nil
	}
	return row, nil
}

// Entries implements [tree.Change].
func (c *finishing) Entries(path, table string) (map[string]map[string]string, error) {
	g := c.tx.Model.Find(path).List
	es, err := c.tx.match(c.ctx, g, tree.Extend(nil, g))
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	for _, e := range es {
		for i, r := range g.Rows {
			if r.DB == swss.ConfigDB && r.Table == table && e.Rows[i] != nil {
				out[e.Keys[0]] = e.Rows[i]
			}
		}
	}
	return out, nil
}

// Sees implements [tree.Change].
func (c *finishing) Sees(path, key string) bool {
	return c.tx.View.Some(c.tx.Model.Find(path), []string{key}, access.Read)
}

// Entry implements [tree.Change].
func (c *finishing) Entry(path, key, table string) (map[string]string, error) {
	e, err := c.entry(path, key)
	if err != nil || c.Unknown(path, key) {
		return nil, err
	}
	return (&finishing{e: e}).Fields(table), nil
}

// Unknown implements [tree.Change].
func (c *finishing) Unknown(path, key string) bool {
	g, f := c.tx.Model.Find(path).List, c.tx.faults
	return f.made.entryUnknown(g, []string{key}) || f.gone.entryUnknown(g, []string{key})
}

// PutEntry implements [tree.Change].
func (c *finishing) PutEntry(path, key, table string, fields map[string]string, mayExist bool) error {
	e, err := c.entry(path, key)
	if err != nil {
		return err
	}
	if e.present && !mayExist {
		return fmt.Errorf("%s exists already", key)
	}
	c.tx.must(e)
	for i, r := range e.List.Rows {
		if r.DB == swss.ConfigDB && r.Table == table {
			e.Rows[i] = maps.Clone(fields)
			e.touched, e.present = true, true
			e.step = max(e.step, c.e.step)
		}
	}
	return nil
}

// RemoveEntry implements [tree.Change].
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
	return c.tx.get(c.ctx, c.tx.Model.Find(path).List, []string{key})
}
