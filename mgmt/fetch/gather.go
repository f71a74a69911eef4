package fetch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"

	"github.com/redis/go-redis/v9"
)

// A gathered is one of several rows that are combined into one row.
type gathered struct {
	key, id, part string
	values        *redis.SliceCmd // nil if none of its fields is needed
	text          string
}

// fetchGathered reads the rows that match a key with {*}.
func (r Reader) fetchGathered(ctx context.Context, row *tree.ListRow, entries []*tree.Entry) error {
	of, pattern := row.Sharers(entries)
	found, err := r.gather(ctx, row, of, pattern)
	if err != nil {
		return err
	}
	for id, fields := range found {
		for _, e := range of[id] {
			if len(row.EachKeys) > 0 {
				e.Rows[row.Index] = tree.JSONFields(fields[row.EachField(e.Keys)])
			} else {
				e.Rows[row.Index] = fields
			}
		}
	}
	return nil
}

// gather returns the combined row of each group of entries that share a row.
func (r Reader) gather(
	ctx context.Context, row *tree.ListRow, of map[string][]*tree.Entry, pattern []string,
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
		found[id] = row.Folded(fields)
	}
	return found, nil
}

// readGathered reads the rows, with their needed fields.
func (r Reader) readGathered(
	ctx context.Context, row *tree.ListRow, of map[string][]*tree.Entry, pattern []string,
) (parts []*gathered, err error) {
	db := r.Redis.DB(row.DB)
	keys, err := r.keysOf(ctx, row, row.Template.Glob(pattern))
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		m, part, ok := row.Template.Parse(k, len(pattern))
		if !ok {
			continue
		}
		if id := row.Template.Shared(m); of[id] != nil {
			key := row.Table + db.Separator() + k
			parts = append(parts, &gathered{key: key, id: id, part: part, text: tree.NullField})
		}
	}
	switch row.Of {
	case "":
		return parts, nil
	case tree.AllFields:
		keys = make([]string, len(parts))
		for i, g := range parts {
			keys[i] = g.key
		}
		rows, err := Hashes(ctx, db, keys)
		for i := range rows {
			parts[i].text = allFields(rows[i])
		}
		return parts, err
	}
	return parts, readParts(ctx, db, parts, strings.Fields(row.Of))
}

// allFields returns the fields of a row as JSON.
func allFields(fields map[string]string) string {
	text, err := json.Marshal(fields)
	if err != nil {
		return "{}" // cannot happen: strings can be encoded
	}
	return string(text)
}

// readParts reads some fields of rows.
func readParts(ctx context.Context, db *swss.DB, parts []*gathered, fields []string) error {
	for c := range slices.Chunk(parts, Chunk) {
		err := Pipelined(ctx, db, func(p redis.Pipeliner) error {
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
		g.text = strings.Join(texts, "|") // separated by bars
	}
	return nil
}
