package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"tamtam/swss"

	"github.com/redis/go-redis/v9"
)

// fetch reads rows of the entries: first those that make up the entries, from which keys and
// counter maps follow, then the others that are needed.
func (r reader) fetch(ctx context.Context, g *group, entries []*entry, need []bool) error {
	first := make([]bool, len(g.rows))
	rest := make([]bool, len(g.rows))
	for i, row := range g.rows {
		first[i] = row.Entry || len(g.derive) > 0 && row.Map == ""
		rest[i] = !first[i] && (need == nil || need[i])
	}
	if err := r.fetchRows(ctx, g, entries, first); err != nil {
		return err
	}
	there := slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return !e.exists() })
	if err := r.fetchRows(ctx, g, there, rest); err != nil {
		return err
	}
	if len(there) < len(entries) {
		gone := slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.exists() })
		if err := r.fetchLeft(ctx, g, gone, rest); err != nil {
			return err
		}
	}
	return r.resolvePorts(ctx, g, there)
}

// A want is a hash to be read.
type want struct {
	e    *entry
	row  int
	key  string
	cmd  *redis.MapStringStringCmd
	name *redis.StringCmd  // of a Map
	each *redis.StringCmd  // of a row with Each
	made map[string]string // of a row with Source
}

// hash returns what was read; nil if there is nothing.
func (w *want) hash() map[string]string {
	if w.made != nil {
		return w.made
	}
	if w.each != nil {
		return jsonFields(w.each.Val())
	}
	if r := w.e.group.rows[w.row]; len(r.each) > 0 && w.cmd != nil {
		return jsonFields(r.folded(w.cmd.Val())[r.eachField(w.e.keys)])
	}
	if w.cmd == nil || len(w.cmd.Val()) == 0 {
		return nil
	}
	fields := w.cmd.Val()
	if !w.e.group.rows[w.row].its(w.e, fields) {
		return nil
	}
	if inner := w.e.group.rows[w.row].JSON; fields[inner] != "" {
		maps.Copy(fields, jsonFields(fields[inner]))
	}
	return fields
}

// jsonFields returns the members of a JSON object that are strings, numbers or booleans; nil if
// text is not an object.
func jsonFields(text string) map[string]string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || members == nil {
		return nil
	}
	fields := make(map[string]string, len(members))
	for name, raw := range members {
		var s string
		switch raw[0] {
		case '"':
			if json.Unmarshal(raw, &s) == nil {
				fields[name] = s
			}
		case '{', '[', 'n':
		default:
			fields[name] = string(raw)
		}
	}
	return fields
}

func (r reader) fetchRows(ctx context.Context, g *group, entries []*entry, which []bool) error {
	byDB := map[swss.DBName][]*want{}
	for i, row := range g.rows {
		if !which[i] {
			continue
		}
		if row.key.gather >= 0 {
			if err := r.fetchGathered(ctx, row, entries); err != nil {
				return err
			}
			continue
		}
		for _, e := range r.fetchKept(row, entries) {
			if !row.serves(e.keys) {
				continue
			}
			byDB[row.DB] = append(byDB[row.DB], &want{e: e, row: i, key: row.key.expand(e.keys, e.own())})
		}
	}
	for name, wants := range byDB {
		for c := range slices.Chunk(wants, chunk) {
			if err := r.fetchDB(ctx, r.redis.DB(name), g, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetchNames finds the keys of rows that are known by another name: those of counters, in their maps.
func (r reader) fetchNames(ctx context.Context, db *swss.DB, g *group, wants []*want) error {
	if !slices.ContainsFunc(wants, func(w *want) bool { return g.rows[w.row].Map != "" }) {
		return nil
	}
	err := pipelined(ctx, db, func(p redis.Pipeliner) error {
		for _, w := range wants {
			if m := g.rows[w.row].Map; m != "" {
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

// pipelined sends commands at once. It fails if any of them does, but for keys that are not there or not what was asked
// for.
func pipelined(ctx context.Context, db *swss.DB, add func(redis.Pipeliner) error) error {
	cmds, err := db.Client().Pipelined(ctx, add)
	errs := []error{err}
	for _, c := range cmds {
		errs = append(errs, c.Err())
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return unavailable(err)
		}
	}
	return nil
}

func (r reader) fetchDB(ctx context.Context, db *swss.DB, g *group, wants []*want) error {
	if err := r.fetchNames(ctx, db, g, wants); err != nil {
		return err
	}
	if err := r.fetchMade(ctx, g, wants); err != nil {
		return err
	}
	err := pipelined(ctx, db, func(p redis.Pipeliner) error {
		for _, w := range wants {
			r := g.rows[w.row]
			switch key := r.hash(db.Separator(), w.key); {
			case w.key == "", r.Source != "":
			case len(r.each) > 0 && r.Fold == nil:
				w.each = p.HGet(ctx, key, r.eachField(w.e.keys))
			default:
				w.cmd = p.HGetAll(ctx, key)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, w := range wants {
		w.e.recs[w.row] = w.hash()
	}
	return r.fetchCleared(ctx, db, g, wants)
}

// A source makes rows that are in no database: fields by row key, of the entries whose first key is first, or of all if
// that is a wildcard. It may make more.
type source func(ctx context.Context, first string) (map[string]map[string]string, error)

// from returns the rows of a source, which is asked once for a request.
func (r reader) from(ctx context.Context, name, first string) (map[string]map[string]string, error) {
	for _, k := range []string{wildcard, first} {
		if rows, ok := r.made[[2]string{name, k}]; ok {
			return rows, nil
		}
	}
	rows, err := r.sources[name](ctx, first)
	if err == nil && r.made != nil {
		r.made[[2]string{name, first}] = rows
	}
	return rows, err
}

// firstKey is that of an entry; what is in no list has none.
func firstKey(keys []string) string {
	if len(keys) == 0 {
		return wildcard
	}
	return keys[0]
}

// fetchMade asks the sources of rows.
func (r reader) fetchMade(ctx context.Context, g *group, wants []*want) error {
	for _, w := range wants {
		name := g.rows[w.row].Source
		if name == "" {
			continue
		}
		rows, err := r.from(ctx, name, firstKey(w.e.keys))
		if err != nil {
			return err
		}
		w.made = rows[w.key]
	}
	return nil
}
