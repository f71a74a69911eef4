package fetch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	"github.com/redis/go-redis/v9"
)

// Cleared counters continue to count in the chip and in COUNTERS_DB, where other programs read them too. The values at
// the time of clearing are saved in COUNTERS_DB, and this server returns the difference. Nothing is subtracted after
// syncd has started with another chip, because the new chip counts from zero. Nothing is subtracted either from a
// statistic that is below its saved value.

// Names of the saved values of cleared counters.
const (
	ClearedKey = schema.CountersCleared // the hash, by row
	ClearedAt  = "at"                   // the field with the time of the clearing
	ClearedRun = "life"                 // the field with the mark of the syncd run that counted
	CountsMark = "syncd"                // the field in COUNTERS_DB that identifies the syncd run
)

// fetchCleared subtracts from counters the values that were saved when they were cleared.
func (r Reader) fetchCleared(ctx context.Context, db *swss.DB, g *tree.List, wants []*want) error {
	of := slices.DeleteFunc(slices.Clone(wants), func(w *want) bool {
		row := g.Rows[w.row]
		return !row.Counter || w.cmd == nil || len(w.e.Rows[w.row]) == 0 ||
			db.Name() != swss.CountersDB && row.Table != schema.StateWire
	})
	if len(of) == 0 {
		return nil
	}
	separator := db.Separator()
	db = r.Redis.DB(swss.CountersDB)
	run, err := db.Client().HGet(ctx, ClearedKey, ClearedRun).Result()
	if err == redis.Nil {
		return nil
	}
	if err != nil {
		return tree.Unavailable(err)
	}
	bases := make([]*redis.StringCmd, len(of))
	var mark *redis.StringCmd
	err = Pipelined(ctx, db, func(p redis.Pipeliner) error {
		mark = p.HGet(ctx, swss.KeyMark, CountsMark)
		for i, w := range of {
			bases[i] = p.HGet(ctx, ClearedKey, g.Rows[w.row].Hash(separator, w.key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	now := mark.Val()
	if mark.Err() == redis.Nil {
		now = fmt.Sprint(nil)
	}
	if now != run {
		return nil
	}
	for i, w := range of {
		w.e.Rows[w.row], w.e.Cleared = since(bases[i].Val(), w.e.Rows[w.row])
	}
	return nil
}

// later returns the later of two times, or "" if one is unknown.
func later(a, b string) string {
	at, err := time.Parse(time.RFC3339Nano, a)
	bt, errB := time.Parse(time.RFC3339Nano, b)
	switch {
	case err != nil || errB != nil:
		return ""
	case at.After(bt):
		return a
	}
	return b
}

// since returns a row of counters minus their saved values. A statistic below its saved value has restarted, while the
// object's other statistics continue. If the counting-since time of a group differs from the saved one, the whole group
// has restarted. at is the time of the clearing.
func since(was string, is map[string]string) (row map[string]string, at time.Time) {
	var base map[string]string
	if was == "" || json.Unmarshal([]byte(was), &base) != nil {
		return is, time.Time{}
	}
	at, _ = time.Parse(time.RFC3339Nano, base[ClearedAt]) // zero if it is not known
	out := maps.Clone(is)
	out[tree.ClearedField] = base[ClearedAt]
	anew := map[bool]bool{} // true for a kind of statistics that has restarted, by isDebug
	for f, v := range base {
		group, ok := strings.CutPrefix(f, schema.FieldCountedSince)
		switch {
		case !ok:
		case is[f] != v:
			anew[group == schema.FlexDebugCounter] = true
		default:
			out[f] = base[ClearedAt]
		}
	}
	for f, v := range base {
		from, err := strconv.ParseUint(v, 10, 64)
		now, errNow := strconv.ParseUint(is[f], 10, 64)
		if err != nil || errNow != nil || anew[isDebug(f)] {
			continue
		}
		if now >= from {
			out[f] = strconv.FormatUint(now-from, 10)
			continue
		}
		group := schema.GroupPort
		if isDebug(f) {
			group = schema.FlexDebugCounter
		}
		delete(out, schema.FieldCountedSince+group) // the group's other statistics continue, so there is no single time
	}
	return out, at
}

// isDebug reports whether a statistic belongs to a debug counter.
func isDebug(stat string) bool { return strings.Contains(stat, "DROP_REASON") }
