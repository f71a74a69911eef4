package orch

import (
	"context"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Poller makes syncd read counters of objects into COUNTERS_DB. The client of sairedis implements it.
type Poller interface {
	// SetGroup sets whether the counters of a group are read, and how often.
	SetGroup(ctx context.Context, group string, interval time.Duration, enabled bool) error
	StartPoll(ctx context.Context, group, field string, ids []string, objs ...sai.OID) error
	StopPoll(ctx context.Context, group string, objs ...sai.OID) error
	// Public returns the id of an object in the databases, or false if it is not known yet.
	Public(sai.OID) (sai.OID, bool)
}

// PublicID does the same as [Poller.Public]. Without a poller objects have only one id.
func PublicID(p Poller, o sai.OID) (sai.OID, bool) {
	if p == nil {
		return o, true
	}
	return p.Public(o)
}

// A FlexGroup is a group of counters that syncd reads. A row of FLEX_COUNTER_TABLE sets whether and how often. An
// invalid row is ignored.
type FlexGroup struct {
	Row     string        // key of FLEX_COUNTER_TABLE
	Name    string        // syncd's name of the group
	Default time.Duration // the default interval, as in SONiC

	interval time.Duration // configured interval; 0 means Default
	disabled bool
	sent     bool // true if syncd has these settings
}

// Interval returns the interval at which the counters are read, or 0 if they are not read.
func (g *FlexGroup) Interval() time.Duration {
	switch {
	case g.disabled:
		return 0
	case g.interval == 0:
		return g.Default
	}
	return g.interval
}

// Sent reports whether syncd has the settings.
func (g *FlexGroup) Sent() bool { return g.sent }

// Send sends the settings, unless syncd has them.
func (g *FlexGroup) Send(ctx context.Context, p Poller) error {
	if g.sent || p == nil {
		return nil
	}
	interval := g.interval
	if interval == 0 {
		interval = g.Default
	}
	if err := p.SetGroup(ctx, g.Name, interval, !g.disabled); err != nil {
		return err
	}
	g.sent = true
	return nil
}

// apply applies the group's row. nil means that there is none.
func (g *FlexGroup) apply(fields swss.FieldValues) error {
	was := *g
	g.interval, g.disabled = 0, false
	var err error
	if fields != nil {
		var row schema.FlexCounter
		if row, err = schema.ParseFlexCounter(g.Row, fields); err == nil {
			g.interval, g.disabled = row.Interval, row.Given && !row.Enabled
		}
	}
	g.sent = was.sent && g.interval == was.interval && g.disabled == was.disabled
	return err
}

// RefuseFlexGroups reports the rows of FLEX_COUNTER_TABLE of groups that the switch does not have.
func RefuseFlexGroups(d *Daemon) {
	d.Consume(flexRows(d), schema.CfgFlexCounter, Each(func(ctx context.Context, t Task) error {
		err := schema.RefusedKey(schema.CfgFlexCounter, t.Key)
		switch {
		case err == nil:
		case t.Op == Del:
			d.Unreport(ctx, schema.StateFlexCounter, t.Key)
		default:
			status, reason := d.Verdict(schema.StateFlexCounter, err)
			d.Report(ctx, schema.StateFlexCounter, t.Key, status, reason)
		}
		return nil
	}), Reporting{StateTable: schema.StateFlexCounter, None: true})
}

// flexRows returns the source of the rows of FLEX_COUNTER_TABLE.
func flexRows(d *Daemon) func(*swss.Listener) swss.Source {
	return func(l *swss.Listener) swss.Source {
		return swss.NewSubscriber(l, d.redis.DB(swss.ConfigDB), schema.CfgFlexCounter)
	}
}

// ConsumeFlexGroups consumes the rows of FLEX_COUNTER_TABLE of these groups, reports whether they are valid, and then
// calls changed.
func ConsumeFlexGroups(d *Daemon, changed func(context.Context) error, groups ...*FlexGroup) {
	d.Consume(flexRows(d), schema.CfgFlexCounter, Each(func(ctx context.Context, t Task) error {
		for _, g := range groups {
			if g.Row != t.Key {
				continue
			}
			if t.Op == Del {
				_ = g.apply(nil) // the absence of a row is always valid
				d.Unreport(ctx, schema.StateFlexCounter, g.Row)
			} else {
				status, reason := d.Verdict(schema.StateFlexCounter, g.apply(t.Fields))
				d.Report(ctx, schema.StateFlexCounter, g.Row, status, reason)
			}
			return changed(ctx)
		}
		return nil
	}), Reporting{StateTable: schema.StateFlexCounter, None: true})
}
