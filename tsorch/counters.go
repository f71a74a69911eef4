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

// ClearChannel is the channel of APPL_DB for requests to clear counters. The op is the feature. The data is a session,
// or "" for all sessions.
const ClearChannel = "TAM_CLEAR_COUNTERS"

// Indices of a sample. The numbers have the same order as the fields of TAM_TAILSTAMPING_COUNTERS.
const (
	fromACL    = 0 // packets and bytes, from the ACL counter or from the read object if there is one
	fromWindow = 2
	fromClamp  = fromWindow + tailstamp.WordMatched // counters of the session's clamp, in the order of SYNCount
	sampleSize = fromClamp + int(tailstamp.NumSYNCounts)
)

// A sample contains the counters of a session at one time.
type sample [sampleSize]uint64

// counters contains the rows of TAM_TAILSTAMPING_COUNTERS.
type counters struct {
	acl       *swss.DB // COUNTERS_DB
	rows      feature.Rows
	hasWindow bool
	hasSYNs   bool              // true if the chip has the read object of clamps
	cleared   map[string]sample // values of the counters when they were last cleared
}

// open finds out whether the chip has the read objects.
func (c *counters) open(ctx context.Context, cfg Config) error {
	c.acl = cfg.Redis.DB(swss.CountersDB)
	c.rows.Table, c.rows.Clears, c.cleared = schema.CountersTailStamp, true, map[string]sample{}
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
func (o *Orch) PollCounters(ctx context.Context) error {
	names := o.bound()
	samples, err := o.sample(ctx, names)
	if err != nil {
		return fmt.Errorf("counters of tail-stamping: %w", err)
	}
	return o.write(ctx, names, samples)
}

// write writes the rows of sessions.
func (o *Orch) write(ctx context.Context, names []string, samples []sample) error {
	for i, name := range names {
		o.counters.rows.Put(name, o.counters.row(name, samples[i], o.Sessions[name].InASIC.clamp.There()))
	}
	return o.Flush(ctx)
}

// row formats a sample, relative to the last clear. clamps reports whether the session has a clamp.
func (c *counters) row(name string, s sample, clamps bool) swss.FieldValues {
	base := c.cleared[name]
	row := swss.FieldValues{}
	for i, f := range schema.CountersIn(schema.CountersTailStamp) {
		if i >= fromWindow && i < fromClamp && !c.hasWindow || i >= fromClamp && !(clamps && c.hasSYNs) {
			continue
		}
		if s[i] < base[i] { // the counter was reset
			base[i] = 0
		}
		row[f.Name] = strconv.FormatUint(s[i]-base[i], 10)
	}
	if base != c.cleared[name] {
		c.cleared[name] = base
	}
	return row
}

// sample reads the counters of sessions.
func (o *Orch) sample(ctx context.Context, names []string) ([]sample, error) {
	samples := make([]sample, len(names))
	oids, labels := make([]sai.OID, len(names)), make([]string, len(names))
	for i, name := range names {
		counter, label, _ := o.rules.Counter(o.Sessions[name].RowInASIC.Rule, featureName)
		oids[i], labels[i] = o.rules.PublicID(counter), label
	}
	if err := o.sampleSYNs(ctx, names, samples); err != nil {
		return nil, err
	}
	if !o.counters.hasWindow {
		return samples, o.counters.readMatched(ctx, oids, samples)
	}
	words, err := o.readLabels(ctx, tailstamp.ObjectCounters, labels, tailstamp.CounterWords)
	if err != nil {
		return nil, err
	}
	for i := range samples {
		w := words[labels[i]]
		copy(samples[i][fromACL:fromWindow], w[tailstamp.WordMatched:])
		copy(samples[i][fromWindow:], w[:tailstamp.WordMatched])
	}
	return samples, nil
}

// sampleSYNs reads the counters of sessions' clamps, at an instant that differs from that of other counters.
func (o *Orch) sampleSYNs(ctx context.Context, names []string, samples []sample) error {
	var labels []string
	for _, name := range names {
		if o.counters.hasSYNs && o.Sessions[name].InASIC.clamp.There() {
			labels = append(labels, clampLabel(name))
		}
	}
	words, err := o.readLabels(ctx, tailstamp.ObjectSYNs, labels, int(tailstamp.NumSYNCounts))
	if err != nil {
		return err
	}
	for i, name := range names {
		copy(samples[i][fromClamp:], words[clampLabel(name)])
	}
	return nil
}

// beginSYNs makes the SYN counters of a session's new clamp start from zero.
func (c *counters) beginSYNs(name string) {
	if base, ok := c.cleared[name]; ok {
		clear(base[fromClamp:])
		c.cleared[name] = base
	}
}

// counted describes the read objects of an extension with n words for each label.
func counted(object string, n int) feature.Counted {
	return feature.Counted{Name: object, Labels: tailstamp.AttrLabels, Counters: tailstamp.AttrCounters, Words: n}
}

// readLabels reads n words for each label through read objects of an extension. Each object exists only during its
// read.
func (o *Orch) readLabels(ctx context.Context, object string, labels []string, n int) (map[string][]uint64, error) {
	distinct := slices.Compact(slices.Sorted(slices.Values(labels)))
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

// readMatched reads ACL counters as syncd wrote them. A counter that is not written yet is zero.
func (c *counters) readMatched(ctx context.Context, oids []sai.OID, samples []sample) error {
	const batch = 1000
	fields := []string{sai.ACLCounterAttrPackets.String(), sai.ACLCounterAttrBytes.String()}
	for at := 0; at < len(oids); at += batch {
		end := min(at+batch, len(oids))
		pipe := c.acl.Client().Pipeline()
		var results []func() ([]any, error)
		for _, oid := range oids[at:end] {
			key := schema.CountersTable + c.acl.Separator() + oid.String()
			results = append(results, pipe.HMGet(ctx, key, fields...).Result)
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
				if text, ok := v.(string); ok {
					samples[at+i][j], _ = strconv.ParseUint(text, 10, 64)
				}
			}
		}
	}
	return nil
}

// Clear restarts the counters of a session from zero; "" means all sessions.
func (o *Orch) Clear(ctx context.Context, name string) error {
	names := o.bound()
	if name != "" {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no active tail-stamping session %q", name)
		}
		names = []string{name}
	}
	samples, err := o.sample(ctx, names)
	if err != nil {
		return fmt.Errorf("clear the counters of tail-stamping: %w", err)
	}
	for i, n := range names {
		o.counters.cleared[n] = samples[i]
		o.counters.rows.Restart(n)
	}
	return o.write(ctx, names, samples)
}

// clearRequest handles a message of ClearChannel.
func (o *Orch) clearRequest(ctx context.Context, m swss.KeyOpFieldsValues) error {
	if m.Op != featureName {
		return nil
	}
	if err := o.Clear(ctx, m.Key); err != nil {
		if errors.Is(err, swss.ErrUnavailable) {
			return err
		}
		o.Log.Warn("clear", "err", err)
	}
	return nil
}
