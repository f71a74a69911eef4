package tsorch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/saisim/tailstamp"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Indices of the session's numbers in the fields of TAM_TAILSTAMPING_COUNTERS.
const (
	fromACL    = 0 // packets and bytes, from the ACL counter or from the read object if there is one
	fromWindow = 2
	fromClamp  = fromWindow + tailstamp.WordMatched // counters of the session's clamp, in the order of SYNCount
)

// counters contains the rows of TAM_TAILSTAMPING_COUNTERS.
type counters struct {
	acl       *swss.DB // COUNTERS_DB
	rows      feature.Rows
	hasWindow bool
	hasSYNs   bool // true if the chip has the read object of clamps
}

// open finds out whether the chip has the read objects.
func (c *counters) open(ctx context.Context, cfg Config) error {
	c.acl = cfg.Redis.DB(swss.CountersDB)
	c.rows.Table, c.rows.Clears = schema.CountersTailStamp, true
	left, err := feature.Room(ctx, cfg.SAI, tailstamp.ObjectCounters)
	if err != nil {
		return err
	}
	c.hasWindow = left > 0
	left, err = feature.Room(ctx, cfg.SAI, tailstamp.ObjectSYNs)
	c.hasSYNs = left > 0
	return err
}

// bound returns the names of the bound sessions, sorted.
func (o *Orch) bound() []string {
	var names []string
	for name, s := range o.Sessions {
		if s.InASIC != nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, schema.CompareNames)
	return names
}

// PollCounters reads the counters of all sessions and writes their rows to COUNTERS_DB. All numbers of a session are
// from the same instant. On silicon without the read object there are only the ACL counters, as syncd last wrote them.
// A number that cannot be read has no field. If the ASIC returns nothing at all, the rows stay, and the status of the
// sessions reports it.
func (o *Orch) PollCounters(ctx context.Context) error {
	names := o.bound()
	rows, err := o.read(ctx, names)
	if errors.Is(err, swss.ErrUnavailable) {
		return fmt.Errorf("counters of tail-stamping: %w", err)
	}
	o.CountersRead(ctx, err)
	if err == nil {
		for i, name := range names {
			o.counters.rows.Put(name, rows[i])
		}
	}
	return o.Flush(ctx)
}

// put stores numbers in a row. from is the index of the first one's field.
func put(row swss.FieldValues, from int, numbers []uint64) {
	fields := schema.CountersIn(schema.CountersTailStamp)
	for i, n := range numbers {
		row[fields[from+i].Name] = strconv.FormatUint(n, 10)
	}
}

// read reads the counters of sessions.
func (o *Orch) read(ctx context.Context, names []string) ([]swss.FieldValues, error) {
	rows := make([]swss.FieldValues, len(names))
	counter, labels := make([]string, len(names)), make([]string, len(names))
	for i, name := range names {
		rows[i] = swss.FieldValues{}
		if oid, label, ok := o.rules.Counter(o.Sessions[name].RowInASIC.Rule, featureName); ok {
			counter[i], labels[i] = o.rules.PublicID(oid).String(), label
		}
	}
	if err := o.readSYNs(ctx, names, rows); err != nil {
		return nil, err
	}
	if !o.counters.hasWindow {
		return rows, o.counters.readMatched(ctx, counter, rows)
	}
	words, err := o.readLabels(ctx, tailstamp.ObjectCounters, labels, tailstamp.CounterWords)
	if err != nil {
		return nil, err
	}
	for i, label := range labels {
		if w := words[label]; w != nil {
			put(rows[i], fromACL, w[tailstamp.WordMatched:])
			put(rows[i], fromWindow, w[:tailstamp.WordMatched])
		}
	}
	return rows, nil
}

// readSYNs reads the counters of sessions' clamps, at an instant that differs from that of other counters.
func (o *Orch) readSYNs(ctx context.Context, names []string, rows []swss.FieldValues) error {
	labels := make([]string, len(names))
	for i, name := range names {
		if o.counters.hasSYNs && o.Sessions[name].InASIC.clamp.There() {
			labels[i] = clampLabel(name)
		}
	}
	words, err := o.readLabels(ctx, tailstamp.ObjectSYNs, labels, int(tailstamp.NumSYNCounts))
	if err != nil {
		return err
	}
	for i, label := range labels {
		put(rows[i], fromClamp, words[label])
	}
	return nil
}

// counted describes the read objects of an extension with n words for each label.
func counted(object string, n int) feature.Counted {
	return feature.Counted{Name: object, Labels: tailstamp.AttrLabels, Counters: tailstamp.AttrCounters, Words: n}
}

// readLabels reads n words for each label through read objects of an extension. Each object exists only during its
// read. The empty label is none.
func (o *Orch) readLabels(ctx context.Context, object string, labels []string, n int) (map[string][]uint64, error) {
	distinct := slices.Compact(slices.Sorted(slices.Values(labels)))
	if len(distinct) > 0 && distinct[0] == "" {
		distinct = distinct[1:]
	}
	words := make(map[string][]uint64, len(distinct))
	for chunk := range slices.Chunk(distinct, tailstamp.MaxLabels) {
		values, err := o.Windows.Words(ctx, counted(object, n), chunk)
		o.Windows.Close(ctx)
		if err != nil {
			return nil, err
		}
		for i, l := range chunk {
			words[l] = values[i]
		}
	}
	return words, nil
}

// readMatched reads ACL counters as syncd wrote them, by their ids in COUNTERS_DB. A counter that is not written has no
// value, and neither has one without an id.
func (c *counters) readMatched(ctx context.Context, ids []string, rows []swss.FieldValues) error {
	const batch = 1000
	stats := []string{sai.ACLCounterAttrPackets.String(), sai.ACLCounterAttrBytes.String()}
	fields := schema.CountersIn(schema.CountersTailStamp)
	for at := 0; at < len(ids); at += batch {
		end := min(at+batch, len(ids))
		pipe := c.acl.Client().Pipeline()
		var results []func() ([]any, error)
		for _, id := range ids[at:end] {
			results = append(results, pipe.HMGet(ctx, schema.CountersTable+c.acl.Separator()+id, stats...).Result)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return &swss.Error{DB: c.acl.Name(), Op: "read ACL counters", Err: err}
		}
		for i, result := range results {
			values, err := result()
			if err != nil {
				return &swss.Error{DB: c.acl.Name(), Op: "read ACL counters", Err: err}
			}
			for j, v := range values {
				text, _ := v.(string)
				if _, err := strconv.ParseUint(text, 10, 64); err == nil {
					rows[at+i][fields[fromACL+j].Name] = text
				}
			}
		}
	}
	return nil
}
