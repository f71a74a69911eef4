package beside

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// Rows are replaced, except those that are or will be tammgrd's; a row that tammgrd is about to delete is replaced,
// too. That holds on both kinds of server, and for more than one batch.
func TestPut(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { put(t, swsstest.Start(t)) })
	t.Run("redis-server", func(t *testing.T) { put(t, swsstest.StartServer(t).Open()) })
}

func put(t *testing.T, r *swss.Redis) {
	ctx, table := t.Context(), Table{DB: r.DB(swss.ApplDB), Name: "T"}
	l := swss.NewListener(r)
	defer l.Close()
	orchagent, tammgrd := swss.NewConsumerState(l, table.DB, "T"), swss.NewProducerState(table.DB, "T")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	theirs := []swss.Pair{{Field: "config_key", Value: "k"}, {Field: "a", Value: "theirs"}}
	must(tammgrd.Set(ctx, "is", theirs))
	must(tammgrd.Set(ctx, "goes", theirs))
	must(tammgrd.Set(ctx, "old", []swss.Pair{{Field: "a", Value: "1"}, {Field: "b", Value: "2"}}))
	must(l.Sync(ctx))
	_, err := orchagent.Pops(ctx)
	must(err)
	must(tammgrd.Del(ctx, "goes"))
	must(tammgrd.Set(ctx, "comes", theirs))
	rows := []Row{{Key: "gone"}}
	for _, key := range []string{"is", "comes", "goes", "old", "new"} {
		rows = append(rows, Row{key, []swss.Pair{{Field: "a", Value: "ours"}}})
	}
	for i := range 2 * batch {
		rows = append(rows, Row{fmt.Sprintf("n%03d", i), []swss.Pair{{Field: "a", Value: "ours"}}})
	}
	rows = append(rows, Row{Key: "is"})
	got, err := table.Put(ctx, rows)
	must(err)
	var left []int
	for i, is := range got {
		if is {
			left = append(left, i)
		}
	}
	if want := []int{1, 2, len(rows) - 1}; !slices.Equal(left, want) {
		t.Errorf("left as they are: rows %v, want %v", left, want)
	}
	before, err := table.Found(ctx)
	must(err)
	for { // orchagent consumes everything
		must(l.Sync(ctx))
		taken, err := orchagent.Pops(ctx)
		must(err)
		if len(taken) == 0 {
			break
		}
	}
	after, err := swss.NewTable(table.DB, "T").Dump(ctx)
	must(err)
	if d := cmp.Diff(after, before); d != "" {
		t.Errorf("what was found is not what came of it: %s", d)
	}
	if n := 2*batch + 5; len(after) != n {
		t.Errorf("%d rows, want %d", len(after), n)
	}
	for key, want := range map[string]string{
		"is": "map[a:theirs config_key:k]", "comes": "map[a:theirs config_key:k]", "goes": "map[a:ours]",
		"old": "map[a:ours]",
		"new": "map[a:ours]", "gone": "map[]", "n255": "map[a:ours]",
	} {
		if got := fmt.Sprint(after[key]); got != want {
			t.Errorf("row %s is %s, want %s", key, got, want)
		}
	}
}
