package recordorch

import (
	"context"
	"maps"
	"slices"

	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/record"
)

// books keep the rows of TAM_TABLERECORD_PLANS and TAM_TABLERECORD_COUNTERS.
type books struct {
	plans, counters page
}

// A page is a table of COUNTERS_DB, all rows of which have the same fields.
type page struct {
	table *swss.Table
	has   map[string]swss.FieldValues
	write map[string]swss.FieldValues
	gone  map[string]bool
}

// open removes the rows of a former life.
func (b *books) open(ctx context.Context, r *swss.Redis) error {
	for p, name := range map[*page]string{&b.plans: schema.CountersRecordPlan, &b.counters: schema.CountersRecord} {
		*p = page{
			table: swss.NewTable(r.DB(swss.CountersDB), name),
			has:   map[string]swss.FieldValues{}, write: map[string]swss.FieldValues{}, gone: map[string]bool{},
		}
		keys, err := p.table.Keys(ctx)
		if err != nil {
			return err
		}
		if err := p.table.DelMany(ctx, keys); err != nil {
			return err
		}
	}
	return nil
}

// begin has counters for a session.
func (b *books) begin(session string) { b.counters.put(session, schema.RecordCounters{}.Fields()) }

// plan notes the plan of a session.
func (b *books) plan(session string, p *record.Plan) error {
	fields, err := schema.RecordPlanFields(p)
	if err == nil {
		b.plans.put(session, fields)
	}
	return err
}

// count notes the counters of a session.
func (b *books) count(session string, words [record.CounterWords]uint64) {
	b.counters.put(session, schema.RecordCounters{Matched: words[0], NotSampled: words[1], Recorded: words[2], Lost: words[3]}.Fields())
}

// end deletes the rows of a session.
func (b *books) end(session string) {
	b.counters.drop(session)
	b.plans.drop(session)
}

// flush writes what has changed: the plan before the counters, so that who sees
// records counted finds what they mean.
func (b *books) flush(ctx context.Context) error {
	for _, p := range []*page{&b.plans, &b.counters} {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// put has a row say this.
func (p *page) put(key string, row swss.FieldValues) {
	delete(p.gone, key)
	if delete(p.write, key); !maps.Equal(p.has[key], row) {
		p.write[key] = row
	}
}

// drop deletes a row.
func (p *page) drop(key string) {
	delete(p.write, key)
	if p.has[key] != nil {
		p.gone[key] = true
	}
}

// flush writes what has changed. What could not be written is tried again with the next.
func (p *page) flush(ctx context.Context) error {
	if len(p.gone) > 0 {
		if err := p.table.DelMany(ctx, slices.Sorted(maps.Keys(p.gone))); err != nil {
			return err
		}
		for key := range p.gone {
			delete(p.has, key)
		}
		clear(p.gone)
	}
	if len(p.write) == 0 {
		return nil
	}
	if err := p.table.SetMany(ctx, p.write); err != nil {
		return err
	}
	maps.Copy(p.has, p.write)
	clear(p.write)
	return nil
}
