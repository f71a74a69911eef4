package mgmt

import (
	"context"
	"fmt"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// checkSizes refuses rows that no daemon would read, and rows of a table that has as many as are taken.
func (t *tx) checkSizes(ctx context.Context, touched []*txEntry) error {
	more := map[string]int{} // rows that come, less those that go, of tables that are limited
	last := map[string]*txEntry{}
	for _, e := range touched {
		for i, r := range e.group.rows {
			if r.DB != swss.ConfigDB || !r.serves(e.keys) || !e.changed(i) || t.rowInDoubt(e, i) {
				continue
			}
			table, key := r.place(e.keys, e.own())
			switch is, was := e.recs[i] != nil, e.before[i] != nil; {
			case is && !was:
				more[table]++
				last[table] = e
			case was && !is:
				more[table]--
			}
			err := schema.CheckSize(table, key, e.recs[i], swss.MaxRow)
			t.faults.add(e.step, at(e.group.node, e.keys, err))
		}
	}
	for _, table := range sortedKeys(more) {
		if more[table] <= 0 || !schema.Limited(table) {
			continue
		}
		has, err := swss.NewTable(t.reader.redis.DB(swss.ConfigDB), table).AtLeast(ctx, schema.MaxRows-more[table]+1)
		if err != nil {
			return unavailable(err)
		}
		if e := last[table]; has {
			t.faults.add(e.step, at(e.group.node, e.keys,
				fmt.Errorf("%s would have more than %d rows, which are all that are taken", table, schema.MaxRows)))
		}
	}
	return nil
}
