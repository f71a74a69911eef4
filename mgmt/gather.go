package mgmt

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A row with {*} in its key is all rows that fit, as one: the VLANs that a port is in, the members of a port channel.

// shared are the keys that the row's key has, as one text: entries that agree in them share the row.
func (t template) shared(keys []string) string {
	var b strings.Builder
	for _, k := range t.keys {
		if k >= 0 {
			b.WriteString(keys[k])
			b.WriteByte(0)
		}
	}
	return b.String()
}

// sharers returns the entries that have the row, by what they share, and a pattern that all their keys fit.
func (r *row) sharers(entries []*entry) (of map[string][]*entry, pattern []string) {
	of = map[string][]*entry{}
	for _, e := range entries {
		if !r.serves(e.keys) {
			continue
		}
		id := r.key.shared(e.keys)
		of[id] = append(of[id], e)
		if pattern == nil {
			pattern = slices.Clone(e.keys)
		}
		for i, k := range e.keys {
			if pattern[i] != k {
				pattern[i] = wildcard
			}
		}
	}
	return of, pattern
}

// A gathered is one of the rows that are as one.
type gathered struct {
	key, id, part string
	value         *redis.StringCmd // nil: nothing of it is asked for
}

// fetchGathered reads the rows that fit a key with {*}.
func (r reader) fetchGathered(ctx context.Context, row *row, entries []*entry) error {
	of, pattern := row.sharers(entries)
	if len(of) == 0 {
		return nil
	}
	db := r.redis.DB(row.DB)
	prefix := row.Table + db.Separator()
	keys, err := db.Client().Keys(ctx, globEscape(prefix)+row.key.glob(pattern)).Result()
	if err != nil {
		return unavailable(err)
	}
	var parts []*gathered
	for _, k := range keys {
		m, part, ok := row.key.parse(strings.TrimPrefix(k, prefix), len(pattern))
		if !ok {
			continue
		}
		if id := row.key.shared(m); of[id] != nil {
			parts = append(parts, &gathered{key: k, id: id, part: part})
		}
	}
	for c := range slices.Chunk(parts, chunk) {
		err := pipelined(ctx, db, func(p redis.Pipeliner) error {
			for _, g := range c {
				if row.Of != "" {
					g.value = p.HGet(ctx, g.key, row.Of)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	row.giveParts(parts, of)
	return nil
}

// giveParts gives entries what was gathered for them.
func (r *row) giveParts(parts []*gathered, of map[string][]*entry) {
	found := map[string]map[string]string{}
	for _, g := range parts {
		if found[g.id] == nil {
			found[g.id] = map[string]string{}
		}
		found[g.id][g.part] = nullField
		if g.value != nil {
			found[g.id][g.part] = g.value.Val()
		}
	}
	for id, fields := range found {
		if r.Fold != nil {
			fields = r.Fold(fields)
		}
		for _, e := range of[id] {
			e.recs[r.index] = fields
		}
	}
}
