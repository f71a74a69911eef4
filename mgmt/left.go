package mgmt

import (
	"context"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// An entry whose rows of CONFIG_DB were deleted may still be in force: the managers have not heard
// of it yet, or orchagent has not taken it out of the switch. Until then its row of APPL_DB
// remains, or orchagent's report in STATE_DB. Because of these traces such an entry stays in its
// list, without config. To a Set, and to requests for config, it is gone.

// tracesOfDeleted returns the rows by which a group's deleted entries are found; nil if it is not a list.
func (g *group) tracesOfDeleted() []bool {
	if g.parent == nil {
		return nil
	}
	traces := make([]bool, len(g.rows))
	for i, r := range g.rows {
		traces[i] = r.Wanted != nil || r.DB == swss.StateDB
	}
	return traces
}

// tracedKeys finds the keys of entries that may be deleted but in force.
func (r reader) tracedKeys(ctx context.Context, g *group, pattern []string) ([][]string, error) {
	if !r.left || len(g.traces) == 0 {
		return nil, nil
	}
	if !slices.Contains(pattern, wildcard) {
		return [][]string{slices.Clone(pattern)}, nil
	}
	var found [][]string
	for i, row := range g.rows {
		if !g.traces[i] {
			continue
		}
		if kept, ok := r.keptKeys(g, matching{row, true}, pattern); ok {
			found = union(found, kept)
			continue
		}
		db := r.redis.DB(row.DB)
		prefix := row.Table + db.Separator()
		keys, err := db.Client().Keys(ctx, globEscape(prefix)+row.key.withDefaults().glob(pattern)).Result()
		if err != nil {
			return nil, unavailable(err)
		}
		for _, k := range keys {
			k = strings.TrimPrefix(k, prefix)
			m, ok := row.key.match(k, len(g.keys))
			if ok && matches(m, pattern) && row.key.expand(m, nil) == k && (row.Fits == nil || row.Fits(m)) {
				found = append(found, m)
			}
		}
	}
	return found, nil
}

// withDefaults is the template for entries that no longer have a row of their own.
func (t template) withDefaults() template {
	t.parts = slices.Clone(t.parts)
	for i, p := range t.parts {
		if p.key == partField {
			t.parts[i] = part{text: p.value, key: partText}
		}
	}
	return t
}

// fetchLeft reads the traces of entries that are not configured, and, for those that may be in
// force, the other rows that are needed.
func (r reader) fetchLeft(ctx context.Context, g *group, gone []*entry, rest []bool) error {
	if !r.left || len(g.traces) == 0 {
		return nil
	}
	traces, rest := slices.Clone(g.traces), slices.Clone(rest)
	for i, row := range g.rows {
		config := row.DB == swss.ConfigDB
		traces[i] = traces[i] || config && !row.Entry
		rest[i] = rest[i] && !traces[i] && !config
	}
	if err := r.fetchRows(ctx, g, gone, traces); err != nil {
		return err
	}
	var left []*entry
	for _, e := range gone {
		if e.left = e.leaves(); e.left {
			left = append(left, e)
		}
	}
	return r.fetchRows(ctx, g, left, rest)
}

// leaves reports whether the traces of an entry that is not configured say that it may be in force.
// If the ACL rule of a flow group is configured, the rule is not a trace: it is in force by itself.
func (e *entry) leaves() bool {
	ruled, traced := false, false
	for i, r := range e.group.rows {
		if r.DB == swss.ConfigDB && e.recs[i] != nil {
			ruled, e.recs[i] = true, nil
		}
	}
	for i, r := range e.group.rows {
		if !e.group.traces[i] || e.recs[i] == nil {
			continue
		}
		row := Record{Fields: e.recs[i]}
		switch {
		case r.Behind != "":
			traced = traced || !ruled
		case row.Field(schema.FieldBy) == schema.ByOrchAgent ||
			strings.EqualFold(row.Field(schema.FieldStatus), schema.StatusActive):
			traced = true
		}
	}
	return traced
}

// leftBehind says what is known of a deleted entry that is still in force.
func (e *entry) leftBehind() string {
	status, reason := "", ""
	for i, r := range e.group.rows {
		if r.DB == swss.StateDB && e.recs[i] != nil && status == "" {
			row := Record{Fields: e.recs[i]}
			status, reason = strings.ToLower(schema.StatusIn(r.Table, e.recs[i])), row.Field(schema.FieldReason)
		}
	}
	switch {
	case status == schema.StatusActive:
		return "it is deleted, and in force still"
	case status == "":
		return "it is deleted, and may be in force still"
	case reason == "":
		return "it is deleted, and may be in force still: it is " + status
	}
	return "it is deleted, and may be in force still: it is " + status + ": " + reason
}
