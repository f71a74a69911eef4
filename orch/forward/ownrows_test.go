package forward

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// The table becomes equal to the written rows. Rows of a former run are deleted. Within readPeriod, rows that another
// client deleted, changed or added are corrected.
func TestOwnRows(t *testing.T) {
	r, now := swsstest.Start(t), time.Unix(1000, 0)
	d := orch.NewDaemon("test", r, orch.Options{})
	t.Cleanup(func() { d.Close() })
	db := r.DB(swss.StateDB)
	table, rows := swss.NewTable(db, "T"), NewOwnRows(d, db, "T")
	want := map[string]swss.FieldValues{"a": {"x": "1"}, "b": {"x": "2"}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(what string, after time.Duration, same bool) {
		t.Helper()
		now = now.Add(after)
		_, err := d.Step(t.Context(), now)
		must(err)
		must(rows.Write(t.Context(), want))
		got, err := table.Dump(t.Context())
		if diff := cmp.Diff(want, got); err != nil || (diff == "") != same {
			t.Errorf("%s: -want +got\n%s%v", what, diff, err)
		}
	}
	must(table.Set(t.Context(), "former", swss.FieldValues{"x": "0"}))
	write("a former run left a row", 0, true)
	must(table.Del(t.Context(), "a"))
	if !rows.Differs("a", nil) || rows.Differs("b", swss.FieldValues{"x": "2", "other": "1"}) {
		t.Error("a deleted row does not differ, or one with a field of another client does")
	}
	write("a row was deleted", time.Second, false)
	must(table.Set(t.Context(), "b", swss.FieldValues{"x": "9"}))
	must(table.Set(t.Context(), "foreign", swss.FieldValues{"x": "9"}))
	write("a minute later", readPeriod, true)
	want = map[string]swss.FieldValues{"a": {"x": "1", "seldom": "3"}, "b": {"x": "2"}}
	write("a field was added", 0, true)
	want = map[string]swss.FieldValues{"a": {"x": "1"}, "b": {"x": "2"}}
	write("a field is gone", 0, true)
	must(db.Client().FlushDB(t.Context()).Err())
	rows.Forget()
	write("the database was emptied", 0, true)
}
