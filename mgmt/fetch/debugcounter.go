package fetch

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// debugCountedSince is the field of a row of COUNTERS with the time since which it has counts of debug counters.
const debugCountedSince = schema.FieldCountedSince + schema.FlexDebugCounter

// A debugCount is the values of a debug counter.
type debugCount struct {
	// Object is the counter's SAI object. Values of another object of the same name are ignored.
	Object string            `json:"object"`
	Run    string            `json:"life"`   // the mark of the syncd run that counted
	Counts map[string]uint64 `json:"counts"` // counts by port; the switch's own count is at ""
	Since  map[string]string `json:"since"`  // when each of Counts began; "" if unknown
	At     string            `json:"at"`     // when the counter was cleared; "" for present values
	stat   string
}

// DebugCounts returns the values of one counter, or of all counters (the wildcard), since their creation.
func (r Reader) DebugCounts(ctx context.Context, only string) (map[string]*debugCount, error) {
	t := r.Redis.Reading(ctx)
	hash := func(table string) swss.FieldValues { return t.Row(swss.CountersDB, table, "") }
	counters, ofPorts := hash(schema.CountersDebugOIDMap), hash(schema.CountersDebugPortMap)
	ofSwitch, ports := hash(schema.CountersDebugSwitchMap), hash(schema.CountersPortNameMap)
	began, run := hash(schema.CountersDebugSinceMap), hash(swss.KeyMark)[CountsMark]
	rows, out := map[string]swss.FieldValues{}, map[string]*debugCount{}
	read := func(c *debugCount, of, oid string) {
		if rows[oid] == nil {
			rows[oid] = t.Row(swss.CountersDB, schema.CountersTable, oid)
		}
		if n, err := strconv.ParseUint(rows[oid][c.stat], 10, 64); err == nil {
			c.Counts[of] = n
			c.Since[of] = later(began[c.Object], rows[oid][debugCountedSince])
		}
	}
	for name, objects := range counters {
		if only != tree.Wildcard && name != only {
			continue
		}
		object, whole, _ := strings.Cut(objects, " ")
		c := &debugCount{Object: object, Run: run, Counts: map[string]uint64{}, Since: map[string]string{}}
		if c.stat = ofSwitch[name]; c.stat != "" {
			read(c, "", whole)
		} else if c.stat = ofPorts[name]; c.stat != "" {
			for port, oid := range ports {
				read(c, port, oid)
			}
		}
		out[name] = c
	}
	if err := t.Err(); err != nil {
		return nil, tree.Unavailable(err)
	}
	return out, nil
}

// DebugRows returns the values of debug counters since they were cleared. It is a [Source].
func (r Reader) DebugRows(ctx context.Context, first string) (map[string]map[string]string, error) {
	now, err := r.DebugCounts(ctx, first)
	if err != nil {
		return nil, err
	}
	was, _, err := swss.NewTable(r.Redis.DB(swss.CountersDB), schema.CountersDebugCleared).Get(ctx, "")
	if err != nil {
		return nil, tree.Unavailable(err)
	}
	out := map[string]map[string]string{}
	for name, c := range now {
		var base debugCount
		if json.Unmarshal([]byte(was[name]), &base) != nil || base.Object != c.Object || base.Run != c.Run {
			base.Counts = nil
		}
		out[name] = map[string]string{"statistic": c.stat}
		for of, n := range c.Counts {
			since := c.Since[of]
			// Otherwise the counter has restarted.
			if from, cleared := base.Counts[of]; cleared && from <= n && base.Since[of] == since {
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
	return out, r.dropStats(ctx, out)
}

// dropStats adds, to the rows of counters at ports, what is known of their persistent drops.
func (r Reader) dropStats(ctx context.Context, rows map[string]map[string]string) error {
	var tables []string
	var of []map[string]string
	for key, row := range rows {
		if counter, port, ofPort := strings.Cut(key, "|"); ofPort {
			table, _ := schema.DropStats(counter, port)
			tables, of = append(tables, table), append(of, row)
		}
	}
	err := r.Redis.DB(swss.CountersDB).ReadRows(ctx, tables, func(i int, stats swss.FieldValues, _ int64) {
		if stats[schema.FieldLastCount] == "" {
			return
		}
		of[i][schema.FieldAlerts] = cmp.Or(stats[schema.FieldAlerts], "0")
		of[i][schema.FieldIncidents] = stats[schema.FieldIncidents]
		if at, ok := unixTime(stats[schema.FieldLastAlert]); ok {
			of[i][schema.FieldLastAlert] = at
		}
	})
	if err != nil {
		return tree.Unavailable(err)
	}
	return nil
}

// DropAlerts returns the alerts of persistent drops, by counter and time. It is a [Source].
func (r Reader) DropAlerts(ctx context.Context, first string) (map[string]map[string]string, error) {
	t := r.Redis.Reading(ctx)
	hash := t.Row(swss.CountersDB, schema.CountersDropAlerts, "")
	if err := t.Err(); err != nil {
		return nil, tree.Unavailable(err)
	}
	out := map[string]map[string]string{}
	for name, text := range hash {
		counter, seconds, _ := strings.Cut(name, "|")
		if at, ok := unixTime(seconds); ok && (first == tree.Wildcard || first == counter) {
			out[counter+"|"+at] = map[string]string{"text": text}
		}
	}
	return out, nil
}

// unixTime returns a time of seconds since 1970 as in RFC 3339.
func unixTime(seconds string) (string, bool) {
	n, err := strconv.ParseInt(seconds, 10, 40)
	if err != nil {
		return "", false
	}
	return time.Unix(n, 0).UTC().Format(time.RFC3339), true
}
