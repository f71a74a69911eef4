package swss_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

func TestTable(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		ctx := t.Context()
		table := swss.NewTable(r.DB(swss.ConfigDB), "ACL_TABLE")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		want := func(key string, want swss.FieldValues, wantFound bool) {
			t.Helper()
			got, found, err := table.Get(ctx, key)
			must(err)
			if diff := cmp.Diff(want, got); diff != "" || found != wantFound {
				t.Errorf("%s: found %v, (-want +got):\n%s", key, found, diff)
			}
		}
		want("T", swss.FieldValues{}, false)
		must(table.Set(ctx, "T", swss.FieldValues{"TYPE": "L3", "ports@": "Ethernet0,Ethernet4"}))
		want("T", swss.FieldValues{"TYPE": "L3", "ports": "Ethernet0,Ethernet4"}, true)
		must(table.Set(ctx, "T", swss.FieldValues{"STAGE": "INGRESS"})) // merges
		must(table.HDel(ctx, "T", "TYPE", "ports@"))
		want("T", swss.FieldValues{"STAGE": "INGRESS"}, true)
		must(table.Set(ctx, "EMPTY", nil))
		want("EMPTY", swss.FieldValues{}, true)
		must(table.SetMany(ctx, map[string]swss.FieldValues{"U|1": {"f": "ü \"\\\n"}, "U|2": {}}))
		keys, err := table.Keys(ctx)
		must(err)
		if diff := cmp.Diff([]string{"EMPTY", "T", "U|1", "U|2"}, keys); diff != "" {
			t.Error(diff)
		}
		rows, err := table.Dump(ctx)
		must(err)
		if diff := cmp.Diff(map[string]swss.FieldValues{"EMPTY": {}, "T": {"STAGE": "INGRESS"}, "U|1": {"f": "ü \"\\\n"},
			"U|2": {}}, rows); diff != "" {
			t.Error(diff)
		}
		must(table.Del(ctx, "T"))
		must(table.DelMany(ctx, []string{"U|1", "none"}))
		raw := dialRaw(t, r.Addr())
		if diff := cmp.Diff([]string{"4 ACL_TABLE|EMPTY [NULL=NULL]", "4 ACL_TABLE|U|2 [NULL=NULL]"},
			raw.contents(4)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestManyRows: thousands of rows need a small number of round trips, and all arrive.
func TestManyRows(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		ctx := t.Context()
		l := swss.NewListener(r)
		defer l.Close()
		const n = 5000
		rows := map[string]swss.FieldValues{}
		var list []swss.Row
		var keys []string
		for i := range n {
			key := fmt.Sprintf("k%04d", i)
			rows[key] = swss.FieldValues{"f": strings.Repeat("x", i%300), "g": key}
			list = append(list, swss.Row{Key: key, Fields: swss.Pairs(rows[key])})
			keys = append(keys, key)
		}
		check := func(s swss.Source, op string) {
			t.Helper()
			noError(t, l.Sync(ctx))
			items, err := s.Pops(ctx)
			if err != nil || len(items) != n {
				t.Fatalf("%s: %d items, %v", s.Name(), len(items), err)
			}
			for i, item := range items {
				if item.Key != keys[i] || item.Op != op || op == swss.OpSet && !cmp.Equal(rows[item.Key], item.FieldValues()) {
					t.Fatalf("item %d is %v", i, item)
				}
			}
		}
		table, sub := swss.NewTable(r.DB(swss.ConfigDB), "C"), swss.NewSubscriber(l, r.DB(swss.ConfigDB), "C")
		prod, cons := swss.NewProducerState(r.DB(swss.ApplDB), "P"), swss.NewConsumerState(l, r.DB(swss.ApplDB), "P")
		if items, err := sub.Pops(ctx); len(items) > 0 || err != nil {
			t.Fatal(items, err)
		}
		noError(t, errors.Join(table.SetMany(ctx, rows), prod.SetMany(ctx, list)))
		check(sub, swss.OpSet)
		check(cons, swss.OpSet)
		noError(t, errors.Join(table.DelMany(ctx, keys), prod.DelMany(ctx, keys)))
		check(sub, swss.OpDel)
		check(cons, swss.OpDel)
	})
}

func TestErrors(t *testing.T) {
	ctx := t.Context()
	r := swsstest.Start(t)
	raw := dialRaw(t, r.Addr())
	raw.do("SET", "T:k", "a string")
	err := swss.NewTable(r.DB(swss.ApplDB), "T").Set(ctx, "k", swss.FieldValues{"f": "v"})
	if err == nil || !strings.HasPrefix(err.Error(), "APPL_DB: set T:k: WRONGTYPE") ||
		errors.Is(err, swss.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if _, _, err := swss.NewTable(r.DB("NO_SUCH_DB"), "T").Get(ctx, "k"); err == nil {
		t.Error("a database that is not configured was read")
	}
	for _, addr := range []string{"127.0.0.1:1", "unix:/nonexistent/socket"} {
		if _, err := swss.Open(ctx, addr); !errors.Is(err, swss.ErrUnavailable) {
			t.Errorf("%s: error %v", addr, err)
		}
	}
	for _, addr := range []string{"localhost", "localhost:x", "localhost:99999"} {
		if _, err := swss.Open(ctx, addr); err == nil || errors.Is(err, swss.ErrUnavailable) {
			t.Errorf("%s: error %v", addr, err)
		}
	}
	r.Close()
	if err := r.DB(swss.ApplDB).Ping(ctx); !errors.Is(err, swss.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}
