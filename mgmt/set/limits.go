package set

import (
	"context"
	"fmt"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// checkSizes refuses rows that are too large for the daemons, and new rows of a table that is full.
func (t *Tx) checkSizes(ctx context.Context, touched []*txEntry) error {
	more := map[string]int{} // number of added rows minus number of deleted rows, by limited table
	last := map[string]*txEntry{}
	for _, e := range touched {
		for i, r := range e.List.Rows {
			if r.DB != swss.ConfigDB || !r.Serves(e.Keys) || !e.changed(i) || t.rowUnknown(e, i) {
				continue
			}
			table, key := r.Place(e.Keys, e.Own())
			switch is, was := e.Rows[i] != nil, e.before[i] != nil; {
			case is && !was:
				more[table]++
				last[table] = e
			case was && !is:
				more[table]--
			}
			err := schema.CheckSize(table, key, e.Rows[i], swss.MaxRow)
			t.faults.add(e.step, at(e.List.Node, e.Keys, err))
		}
	}
	for _, table := range tree.SortedKeys(more) {
		if more[table] <= 0 || !schema.Limited(table) {
			continue
		}
		has, err := swss.NewTable(t.Reader.Redis.DB(swss.ConfigDB), table).AtLeast(ctx, schema.MaxRows-more[table]+1)
		if err != nil {
			return tree.Unavailable(err)
		}
		if e := last[table]; has {
			t.faults.add(e.step, at(e.List.Node, e.Keys,
				fmt.Errorf("%s would have more than %d rows, which are all that are taken", table, schema.MaxRows)))
		}
	}
	return nil
}
