package flymonorch

import (
	"context"
	"maps"
	"slices"

	"tamtam/schema"
	"tamtam/swss"
)

// books keep the rows of COUNTERS_DB.
type books struct {
	place, groups, results, flows, sizes, answers page
}

// A page is a table of COUNTERS_DB: what it has, and what it is to have.
type page struct {
	table *swss.Table
	has   map[string][]string         // fields of the rows that were written
	write map[string]swss.FieldValues // rows to be written, whole
	gone  map[string]bool             // rows to be deleted
}

// open removes the rows of a former life.
func (b *books) open(ctx context.Context, r *swss.Redis) error {
	db := r.DB(swss.CountersDB)
	for p, name := range map[*page]string{
		&b.place: schema.CountersFlyMonPlace, &b.groups: schema.CountersFlyMonGroup, &b.results: schema.CountersFlyMonResult,
		&b.flows: schema.CountersFlyMonFlows, &b.sizes: schema.CountersFlyMonSizes, &b.answers: schema.CountersFlyMonAnswer,
	} {
		*p = page{table: swss.NewTable(db, name), has: map[string][]string{}, write: map[string]swss.FieldValues{}, gone: map[string]bool{}}
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

// put has a row say this and nothing else.
func (p *page) put(key string, row swss.FieldValues) {
	p.write[key] = row
	delete(p.gone, key)
}

// drop deletes a row.
func (p *page) drop(key string) {
	delete(p.write, key)
	if p.has[key] != nil {
		p.gone[key] = true
	}
}

// forget deletes the rows of a task.
func (b *books) forget(task string) {
	for _, p := range []*page{&b.place, &b.results, &b.flows, &b.sizes} {
		p.drop(task)
	}
}

// flush writes what has changed: answers before the results of their epoch, so that
// who sees a new epoch finds them there. What could not be written is tried again with
// the next.
func (b *books) flush(ctx context.Context) error {
	for _, p := range []*page{&b.groups, &b.place, &b.flows, &b.sizes, &b.answers, &b.results} {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

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
	stale := map[string][]string{}
	for key, row := range p.write {
		for _, field := range p.has[key] {
			if _, ok := row[field]; !ok {
				stale[key] = append(stale[key], field)
			}
		}
	}
	rows := maps.Clone(p.write)
	maps.DeleteFunc(rows, func(_ string, row swss.FieldValues) bool { return len(row) == 0 })
	if err := p.table.SetMany(ctx, rows); err != nil {
		return err
	}
	for key, row := range rows {
		p.has[key] = append(slices.Collect(maps.Keys(row)), stale[key]...)
	}
	if err := p.table.HDelMany(ctx, stale); err != nil {
		return err
	}
	for key, row := range p.write {
		p.has[key] = slices.Collect(maps.Keys(row))
		if len(row) == 0 {
			delete(p.has, key)
		}
	}
	clear(p.write)
	return nil
}
