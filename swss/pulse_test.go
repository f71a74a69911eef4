package swss_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/swss"
)

// The pulse has the same numbers as the commands that it replaces, on a real and on the embedded server.
func TestPulse(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		ctx := t.Context()
		need(r.Claim(ctx, "d", "1", swss.StateDB, swss.ASICDB))(t)
		need(r.Claim(ctx, "e", "2", swss.StateDB))(t)
		noError(t, r.DB(swss.ConfigDB).SetInitialized(ctx, true))
		rows := map[string]swss.FieldValues{"a": {"f": "1"}, "b": nil}
		noError(t, swss.NewTable(r.DB(swss.StateDB), "T").SetMany(ctx, rows))
		noError(t, r.DB(swss.ASICDB).Client().RPush(ctx, "list", "x").Err())
		p := need(r.Pulse(ctx, swss.StateDB, swss.ASICDB))(t)
		want := map[swss.DBName]swss.Census{
			swss.ConfigDB: {Marks: map[string]string{}},
			swss.StateDB:  {Rows: 2, Marks: map[string]string{"d": "1", "e": "2"}},
			swss.ASICDB:   {Rows: 1, Marks: map[string]string{"d": "1"}},
		}
		if d := cmp.Diff(want, p.DBs); d != "" {
			t.Error(d)
		}
		if run := need(r.RunID(ctx))(t); p.Run != run {
			t.Errorf("run %q, want %q", p.Run, run)
		}
		noError(t, r.DB(swss.ASICDB).Client().FlushDB(ctx).Err())
		noError(t, r.DB(swss.StateDB).Client().Set(ctx, swss.KeyMark, "no hash", 0).Err())
		after := need(r.Pulse(ctx, swss.StateDB, swss.ASICDB))(t)
		if p.Run != "" && after.Emptied == p.Emptied {
			t.Errorf("after FLUSHDB: %q", after.Emptied)
		}
		want[swss.StateDB], want[swss.ASICDB] = swss.Census{Rows: 2}, swss.Census{Marks: map[string]string{}}
		if d := cmp.Diff(want, after.DBs); d != "" {
			t.Errorf("after FLUSHDB and SET: %s", d)
		}
		if mended := need(r.Mend(ctx))(t); len(mended) != 1 {
			t.Errorf("mended %q", mended)
		}
		// The connection still works on its own database.
		if n := need(r.DB(swss.ConfigDB).Client().DBSize(ctx).Result())(t); n != 1 {
			t.Errorf("CONFIG_DB has %d keys", n)
		}
	})
}
