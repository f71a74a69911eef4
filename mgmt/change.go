package mgmt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tamtam/mgmt/access"
	"tamtam/swss"
)

// A Change is one entry during a Set, as a Group.Finish sees it.
type Change struct {
	ctx context.Context
	tx  *tx
	e   *txEntry
}

// Keys are the keys of the entry.
func (c *Change) Keys() []string { return c.e.keys }

// Fields returns the entry's row of a table of CONFIG_DB as it will be; changes to it are written.
// nil: there will be none.
func (c *Change) Fields(table string) map[string]string {
	for i, r := range c.e.group.rows {
		if r.DB == swss.ConfigDB && r.Table == table {
			return c.e.recs[i]
		}
	}
	return nil
}

// Changed reports whether the Set changes a leaf, its path relative to the entry.
func (c *Change) Changed(path string) bool {
	n := c.tx.model.find(c.e.group.node.path + "/" + path)
	return n != nil && !slices.Equal(c.e.value(n), (&entry{group: c.e.group, keys: c.e.keys, recs: c.e.before}).value(n))
}

// Read returns a row of any database; nil: there is none.
func (c *Change) Read(db swss.DBName, table, key string) (map[string]string, error) {
	row, found, err := swss.NewTable(c.tx.reader.redis.DB(db), table).Get(c.ctx, key)
	switch {
	case err != nil:
		return nil, unavailable(err)
	case !found:
		return nil, nil
	}
	return row, nil
}

// Entries returns the rows of a table of CONFIG_DB that the entries of a list with one key have, as
// they will be, by that key. Some may be [Change.InDoubt].
func (c *Change) Entries(path, table string) (map[string]map[string]string, error) {
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

// Sees reports whether whoever asks for the Set may see something of an entry of a list with one key, so that an error
// may name it.
func (c *Change) Sees(path, key string) bool {
	return c.tx.view.some(c.tx.model.find(path), []string{key}, access.Read)
}

// Entry returns the row of a table of CONFIG_DB that one entry of a list with one key has, as it
// will be; nil: there will be none, or it is in doubt.
func (c *Change) Entry(path, key, table string) (map[string]string, error) {
	e, err := c.entry(path, key)
	if err != nil || c.InDoubt(path, key) {
		return nil, err
	}
	return (&Change{e: e}).Fields(table), nil
}

// InDoubt reports whether a failed part of the Set was to change an entry of a list with one key:
// then nothing that follows from the entry is an error.
func (c *Change) InDoubt(path, key string) bool {
	g, f := c.tx.model.find(path).group, c.tx.faults
	return f.made.entryInDoubt(g, []string{key}) || f.gone.entryInDoubt(g, []string{key})
}

// PutEntry gives an entry of a list with one key a row of CONFIG_DB. It is an error if the entry
// exists, unless it may.
func (c *Change) PutEntry(path, key, table string, fields map[string]string, mayExist bool) error {
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

// RemoveEntry removes an entry of a list with one key.
func (c *Change) RemoveEntry(path, key string) error {
	e, err := c.entry(path, key)
	if err == nil {
		c.tx.must(e)
		e.drop()
		e.step = max(e.step, c.e.step)
	}
	return err
}

func (c *Change) entry(path, key string) (*txEntry, error) {
	return c.tx.get(c.ctx, c.tx.model.find(path).group, []string{key})
}

// A refusal is an error about the state of the switch, not about the request.
type refusal struct{ error }

// Refused makes an error one about the state of the switch: the same request
// may succeed later.
func Refused(err error) error { return refusal{err} }

func (r refusal) Unwrap() error { return r.error }

func isRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}
