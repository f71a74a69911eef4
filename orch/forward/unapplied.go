package forward

import (
	"context"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// ReportUnapplied makes the daemon list in STATE_DB the contents of CONFIG_DB that no daemon applies, see
// [schema.StateUnapplied]. A table that the switch lacks has one row in the list. For other tables the list has one row
// for each row with unapplied parts.
func ReportUnapplied(d *orch.Daemon, r *swss.Redis) {
	u := &unapplied{
		config: r.DB(swss.ConfigDB), out: swss.NewTable(r.DB(swss.StateDB), schema.StateUnapplied),
		have: map[string]swss.FieldValues{}, rows: map[string]map[string]struct{}{},
	}
	d.Receive(func(l *swss.Listener) swss.Source {
		u.watch = swss.NewKeyWatch(l, u.config)
		return u.watch
	}, u.changed)
	d.OnFlush(u.watch.Distrust)
}

// An unapplied is the list as written.
type unapplied struct {
	config *swss.DB
	out    *swss.Table
	watch  *swss.KeyWatch
	have   map[string]swss.FieldValues    // by key of CONFIG_DB, with the table's name, or by table
	rows   map[string]map[string]struct{} // rows of tables that the switch lacks
}

// changed updates the list. After a failure the whole list is computed again.
func (u *unapplied) changed(ctx context.Context, _ swss.KeyOpFieldsValues) error {
	names, all := u.watch.Drain()
	err := u.update(ctx, names, all)
	if err != nil {
		u.watch.Distrust()
	}
	return err
}

func (u *unapplied) update(ctx context.Context, names []string, all bool) (err error) {
	if all {
		if names, err = u.config.AllKeys(ctx); err != nil {
			return err
		}
		if u.have, err = u.out.Dump(ctx); err != nil {
			return err
		}
		u.rows = map[string]map[string]struct{}{}
		slices.Sort(names)
	}
	want := map[string]swss.FieldValues{} // for rows that may have changed
	err = u.config.ReadRows(ctx, names, func(i int, row swss.FieldValues, size int64) {
		u.look(names[i], row, row != nil || size > 0, want)
	})
	if err != nil {
		return err
	}
	if all {
		for name := range u.have {
			if _, there := want[name]; !there {
				want[name] = nil
			}
		}
	}
	return u.write(ctx, want)
}

// look computes the list entry of a row.
func (u *unapplied) look(name string, row swss.FieldValues, there bool, want map[string]swss.FieldValues) {
	table, key, ok := u.config.Split(name)
	why, missing := schema.UnappliedTable(table)
	switch {
	case !ok:
		if want[name] = nil; there && name != swss.KeyMark {
			want[name] = swss.FieldValues{schema.UnappliedUnknown: "the key of a row is TABLE|key"}
		}
	case missing:
		if there {
			if u.rows[table] == nil {
				u.rows[table] = map[string]struct{}{}
			}
			u.rows[table][key] = struct{}{}
		} else if delete(u.rows[table], key); len(u.rows[table]) == 0 {
			delete(u.rows, table)
		}
		if want[table] = nil; len(u.rows[table]) > 0 {
			want[table] = swss.FieldValues{why.Kind: why.Reason}
		}
	case row == nil: // gone, or too large to be read, which its status row reports
		want[name] = nil
	default:
		want[name] = reasons(schema.UnappliedParts(table, key, row))
	}
}

// reasons joins the reasons of each kind. It returns nil if there are none.
func reasons(parts []schema.Unapplied) (fields swss.FieldValues) {
	for _, p := range parts {
		if fields == nil {
			fields = swss.FieldValues{}
		}
		if was := fields[p.Kind]; was != "" {
			p.Reason = was + "; " + p.Reason
		}
		fields[p.Kind] = p.Reason
	}
	return fields
}

// write writes the entries in want that differ from the written ones. A nil entry is deleted.
func (u *unapplied) write(ctx context.Context, want map[string]swss.FieldValues) error {
	set, gone := map[string]swss.FieldValues{}, []string{}
	for name, fields := range want {
		if have := u.have[name]; maps.Equal(have, fields) {
			continue
		} else if have != nil {
			gone = append(gone, name) // all fields of the entry are replaced
		}
		if fields != nil {
			set[name] = fields
		}
	}
	slices.Sort(gone)
	if err := u.out.DelMany(ctx, gone); err != nil {
		return err
	}
	if err := u.out.SetMany(ctx, set); err != nil {
		return err
	}
	for name, fields := range want {
		if fields == nil {
			delete(u.have, name)
		} else {
			u.have[name] = fields
		}
	}
	return nil
}
