package mgmt

import (
	"context"
	"slices"
	"strings"

	"tamtam/swss"

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
	values        *redis.SliceCmd // nil: nothing of it is asked for
	text          string
}

// fetchGathered reads the rows that fit a key with {*}.
func (r reader) fetchGathered(ctx context.Context, row *row, entries []*entry) error {
	of, pattern := row.sharers(entries)
	found, err := r.gather(ctx, row, of, pattern)
	if err != nil {
		return err
	}
	for id, fields := range found {
		for _, e := range of[id] {
			if len(row.each) > 0 {
				e.recs[row.index] = jsonFields(fields[row.eachField(e.keys)])
			} else {
				e.recs[row.index] = fields
			}
		}
	}
	return nil
}

// gather reads what entries with the same keys share.
func (r reader) gather(
	ctx context.Context, row *row, of map[string][]*entry, pattern []string,
) (map[string]map[string]string, error) {
	if len(of) == 0 {
		return nil, nil
	}
	parts, kept := r.keptParts(row, of, len(pattern))
	if !kept {
		var err error
		if parts, err = r.readGathered(ctx, row, of, pattern); err != nil {
			return nil, err
		}
	}
	found := map[string]map[string]string{}
	for _, g := range parts {
		if found[g.id] == nil {
			found[g.id] = map[string]string{}
		}
		found[g.id][g.part] = g.text
	}
	for id, fields := range found {
		found[id] = row.folded(fields)
	}
	return found, nil
}

// readGathered reads the rows, with what is asked for of them.
func (r reader) readGathered(
	ctx context.Context, row *row, of map[string][]*entry, pattern []string,
) (parts []*gathered, err error) {
	db := r.redis.DB(row.DB)
	prefix := row.Table + db.Separator()
	var keys []string
	if row.Map != "" {
		keys, err = db.Client().HKeys(ctx, row.Map).Result()
		prefix = ""
	} else {
		keys, err = db.Client().Keys(ctx, globEscape(prefix)+row.key.glob(pattern)).Result()
	}
	if err != nil {
		return nil, unavailable(err)
	}
	for _, k := range keys {
		m, part, ok := row.key.parse(strings.TrimPrefix(k, prefix), len(pattern))
		if !ok {
			continue
		}
		if id := row.key.shared(m); of[id] != nil {
			parts = append(parts, &gathered{key: k, id: id, part: part, text: nullField})
		}
	}
	if row.Of == "" {
		return parts, nil
	}
	return parts, readParts(ctx, db, parts, strings.Fields(row.Of))
}

// readParts reads some fields of rows.
func readParts(ctx context.Context, db *swss.DB, parts []*gathered, fields []string) error {
	for c := range slices.Chunk(parts, chunk) {
		err := pipelined(ctx, db, func(p redis.Pipeliner) error {
			for _, g := range c {
				g.values = p.HMGet(ctx, g.key, fields...)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, g := range parts {
		var texts []string
		for _, v := range g.values.Val() {
			text, _ := v.(string)
			texts = append(texts, text)
		}
		g.text = strings.Join(texts, "|") // with a bar between
	}
	return nil
}

// folded is what codecs get of a row.
func (r *row) folded(fields map[string]string) map[string]string {
	if r.Fold == nil {
		return fields
	}
	return r.Fold(fields)
}
