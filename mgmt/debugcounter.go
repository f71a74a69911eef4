package mgmt

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// debugCountedSince is the field of a row of COUNTERS that says since when it has the counts of debug counters.
const debugCountedSince = schema.FieldCountedSince + schema.FlexDebugCounter

// A debugCount is what a counter has counted.
type debugCount struct {
	Object string            `json:"object"` // of another one of its name it says nothing
	Life   string            `json:"life"`   // the mark of the syncd that counted
	Counts map[string]uint64 `json:"counts"` // by port; of the switch at ""
	Since  map[string]string `json:"since"`  // as Counts: when they began; "": not known
	At     string            `json:"at"`     // when the counter was cleared; of what is counted now ""
	stat   string
}

// debugCounts reads what all counters, or one, have counted since they were made.
func (r reader) debugCounts(ctx context.Context, only string) (map[string]*debugCount, error) {
	db := r.redis.DB(swss.CountersDB)
	hashes := map[string]swss.FieldValues{}
	for _, h := range []string{
		schema.CountersDebugOIDMap, schema.CountersDebugPortMap, schema.CountersDebugSwitchMap, schema.CountersPortNameMap,
		schema.CountersDebugSinceMap,
	} {
		row, _, err := swss.NewTable(db, h).Get(ctx, "")
		if err != nil {
			return nil, tree.Unavailable(err)
		}
		hashes[h] = row
	}
	marks, err := db.Client().HMGet(ctx, swss.KeyMark, countsMark).Result()
	if err != nil {
		return nil, tree.Unavailable(err)
	}
	life, _ := marks[0].(string)
	rows, out := map[string]swss.FieldValues{}, map[string]*debugCount{}
	read := func(c *debugCount, of, oid string) error {
		if rows[oid] == nil {
			row, _, err := swss.NewTable(db, schema.CountersTable).Get(ctx, oid)
			if err != nil {
				return tree.Unavailable(err)
			}
			rows[oid] = row
		}
		if n, err := strconv.ParseUint(rows[oid][c.stat], 10, 64); err == nil {
			c.Counts[of] = n
			c.Since[of] = later(hashes[schema.CountersDebugSinceMap][c.Object], rows[oid][debugCountedSince])
		}
		return nil
	}
	for name, objects := range hashes[schema.CountersDebugOIDMap] {
		if only != tree.Wildcard && name != only {
			continue
		}
		object, whole, _ := strings.Cut(objects, " ")
		c := &debugCount{Object: object, Life: life, Counts: map[string]uint64{}, Since: map[string]string{}}
		if c.stat = hashes[schema.CountersDebugSwitchMap][name]; c.stat != "" {
			if err := read(c, "", whole); err != nil {
				return nil, err
			}
		} else if c.stat = hashes[schema.CountersDebugPortMap][name]; c.stat != "" {
			for port, oid := range hashes[schema.CountersPortNameMap] {
				if err := read(c, port, oid); err != nil {
					return nil, err
				}
			}
		}
		out[name] = c
	}
	return out, nil
}

// debugRows is the source of what counters have counted since they were cleared.
func (r reader) debugRows(ctx context.Context, first string) (map[string]map[string]string, error) {
	now, err := r.debugCounts(ctx, first)
	if err != nil {
		return nil, err
	}
	was, _, err := swss.NewTable(r.redis.DB(swss.CountersDB), schema.CountersDebugCleared).Get(ctx, "")
	if err != nil {
		return nil, tree.Unavailable(err)
	}
	out := map[string]map[string]string{}
	for name, c := range now {
		var base debugCount
		if json.Unmarshal([]byte(was[name]), &base) != nil || base.Object != c.Object || base.Life != c.Life {
			base.Counts = nil
		}
		out[name] = map[string]string{"statistic": c.stat}
		for of, n := range c.Counts {
			since := c.Since[of]
			if from, cleared := base.Counts[of]; cleared && from <= n && base.Since[of] == since { // else it counts anew
				n -= from
				if since != "" {
					since = base.At
				}
			}
			packets := strconv.FormatUint(n, 10)
			if of == "" {
				out[name]["packets"], out[name]["since"] = packets, since
			} else {
				out[name+"|"+of] = map[string]string{"packets": packets, "since": since}
			}
		}
	}
	return out, nil
}

// clearDebug keeps what counters are, of one or of all, and at when that was.
func (s *keeping) clearDebug(ctx context.Context, name, at string) error {
	only := name
	if only == "" {
		only = tree.Wildcard
	}
	now, err := s.reader.debugCounts(ctx, only)
	if err != nil {
		return err
	}
	if name != "" && now[name] == nil {
		return status.Errorf(codes.NotFound, "%s: %s has no counters", debugKind, name)
	}
	table := swss.NewTable(s.reader.redis.DB(swss.CountersDB), schema.CountersDebugCleared)
	if name == "" { // what was kept of those that are no more goes
		was, _, err := table.Get(ctx, "")
		if err != nil {
			return tree.Unavailable(err)
		}
		var gone []string
		for n := range was {
			if now[n] == nil {
				gone = append(gone, n)
			}
		}
		if slices.Sort(gone); len(gone) > 0 {
			if err := table.HDel(ctx, "", gone...); err != nil {
				return tree.Unavailable(err)
			}
		}
	}
	kept := swss.FieldValues{}
	for n, c := range now {
		c.At = at
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		kept[n] = string(text)
	}
	if len(kept) == 0 {
		return nil
	}
	if err := table.Set(ctx, "", kept); err != nil {
		return tree.Unavailable(err)
	}
	return nil
}

// debugKind is what clear-counters calls debug counters.
const debugKind = "debug-counters"
