package fetch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	"github.com/redis/go-redis/v9"
)

// fetch reads rows of the entries. It first reads the rows that make up the entries, because they determine keys and
// counter maps. Then it reads the other rows that are needed.
func (r Reader) fetch(ctx context.Context, g *tree.List, entries []*tree.Entry, need []bool) error {
	first := make([]bool, len(g.Rows))
	rest := make([]bool, len(g.Rows))
	for i, row := range g.Rows {
		first[i] = row.Entry || len(g.Derive) > 0 && row.Map == ""
		rest[i] = !first[i] && (need == nil || need[i])
	}
	if err := r.FetchRows(ctx, g, entries, first); err != nil {
		return err
	}
	there := slices.DeleteFunc(slices.Clone(entries), func(e *tree.Entry) bool { return !e.Exists() })
	if err := r.FetchRows(ctx, g, there, rest); err != nil {
		return err
	}
	if len(there) < len(entries) {
		gone := slices.DeleteFunc(slices.Clone(entries), func(e *tree.Entry) bool { return e.Exists() })
		if err := r.fetchLeft(ctx, g, gone, rest); err != nil {
			return err
		}
	}
	return r.resolvePorts(ctx, g, there)
}

// A want is a Redis hash to be read.
type want struct {
	e    *tree.Entry
	row  int
	key  string
	cmd  *redis.MapStringStringCmd
	name *redis.StringCmd  // for a row with Map
	each *redis.StringCmd  // for a row with Each
	made map[string]string // for a row with Source
}

// hash returns the fields that were read, or nil if there are none.
func (w *want) hash() map[string]string {
	if w.made != nil {
		return w.made
	}
	if w.each != nil {
		return tree.JSONFields(w.each.Val())
	}
	if r := w.e.List.Rows[w.row]; len(r.EachKeys) > 0 && w.cmd != nil {
		return tree.JSONFields(r.Folded(w.cmd.Val())[r.EachField(w.e.Keys)])
	}
	if w.cmd == nil || len(w.cmd.Val()) == 0 {
		return nil
	}
	fields := w.cmd.Val()
	if !w.e.List.Rows[w.row].Its(w.e, fields) {
		return nil
	}
	if inner := w.e.List.Rows[w.row].JSON; fields[inner] != "" {
		maps.Copy(fields, tree.JSONFields(fields[inner]))
	}
	return fields
}

// FetchRows reads the rows of entries that are set in which.
func (r Reader) FetchRows(ctx context.Context, g *tree.List, entries []*tree.Entry, which []bool) error {
	byDB := map[swss.DBName][]*want{}
	for i, row := range g.Rows {
		if !which[i] {
			continue
		}
		if row.Template.Gather >= 0 {
			if err := r.fetchGathered(ctx, row, entries); err != nil {
				return err
			}
			continue
		}
		for _, e := range r.fetchKept(row, entries) {
			if !row.Serves(e.Keys) {
				continue
			}
			byDB[row.DB] = append(byDB[row.DB], &want{e: e, row: i, key: row.Template.Expand(e.Keys, e.Own())})
		}
	}
	for name, wants := range byDB {
		for c := range slices.Chunk(wants, Chunk) {
			if err := r.fetchDB(ctx, r.Redis.DB(name), g, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetchNames resolves keys of rows through name maps, as for counters.
func (r Reader) fetchNames(ctx context.Context, db *swss.DB, g *tree.List, wants []*want) error {
	if !slices.ContainsFunc(wants, func(w *want) bool { return g.Rows[w.row].Map != "" }) {
		return nil
	}
	err := Pipelined(ctx, db, func(p redis.Pipeliner) error {
		for _, w := range wants {
			if m := g.Rows[w.row].Map; m != "" {
				w.name = p.HGet(ctx, m, w.key)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, w := range wants {
		if w.name != nil {
			w.key = w.name.Val()
		}
	}
	return nil
}

// Pipelined sends commands together. It fails if any of them does, except for missing keys and keys of the wrong type.
func Pipelined(ctx context.Context, db *swss.DB, add func(redis.Pipeliner) error) error {
	return failures(db.Client().Pipelined(ctx, add))
}

// failures returns the errors of commands that were sent together.
func failures(cmds []redis.Cmder, err error) error {
	errs := []error{err}
	for _, c := range cmds {
		errs = append(errs, c.Err())
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return tree.Unavailable(err)
		}
	}
	return nil
}

func (r Reader) fetchDB(ctx context.Context, db *swss.DB, g *tree.List, wants []*want) error {
	if err := r.fetchNames(ctx, db, g, wants); err != nil {
		return err
	}
	if err := r.fetchMade(ctx, g, wants); err != nil {
		return err
	}
	polled := slices.ContainsFunc(wants, func(w *want) bool { return g.Rows[w.row].PolledBy() != "" })
	send := db.Client().Pipelined
	if polled { // counters and the time of their collection are read together, as syncd writes them
		send = db.Client().TxPipelined
	}
	var collected *redis.MapStringStringCmd
	err := failures(send(ctx, func(p redis.Pipeliner) error {
		if polled {
			collected = p.HGetAll(ctx, schema.CountersCollected)
		}
		for _, w := range wants {
			r := g.Rows[w.row]
			switch key := r.Hash(db.Separator(), w.key); {
			case w.key == "", r.Source != "":
			case len(r.EachKeys) > 0 && r.Fold == nil:
				w.each = p.HGet(ctx, key, r.EachField(w.e.Keys))
			default:
				w.cmd = p.HGetAll(ctx, key)
			}
		}
		return nil
	}))
	if err != nil {
		return err
	}
	var times map[string]time.Time
	if polled {
		times = schema.CollectedTimes(collected.Val())
	}
	for _, w := range wants {
		w.e.Rows[w.row] = w.hash()
		if g.Rows[w.row].PolledBy() != "" {
			w.e.Polls = times
		}
	}
	return r.fetchCleared(ctx, db, g, wants)
}

// A Source makes rows that are in no database, and returns their fields by row key. It makes the rows of entries whose
// first key is first, or all rows for the wildcard. It may return additional rows.
type Source func(ctx context.Context, first string) (map[string]map[string]string, error)

// from returns the rows of a source, which is called once per request.
func (r Reader) from(ctx context.Context, name, first string) (map[string]map[string]string, error) {
	for _, k := range []string{tree.Wildcard, first} {
		if rows, ok := r.made[[2]string{name, k}]; ok {
			return rows, nil
		}
	}
	rows, err := r.Sources[name](ctx, first)
	if err == nil && r.made != nil {
		r.made[[2]string{name, first}] = rows
	}
	return rows, err
}

// fetchMade calls the sources of rows.
func (r Reader) fetchMade(ctx context.Context, g *tree.List, wants []*want) error {
	for _, w := range wants {
		name := g.Rows[w.row].Source
		if name == "" {
			continue
		}
		rows, err := r.from(ctx, name, tree.FirstKey(w.e.Keys))
		if err != nil {
			return err
		}
		w.made = rows[w.key]
	}
	return nil
}
