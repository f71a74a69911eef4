package swss_test

import (
	"fmt"
	"testing"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// All methods of a reading return rows until a database does not answer. From then on Err returns the first error.
func TestReading(t *testing.T) {
	r := swsstest.Start(t)
	noError(t, swss.NewTable(r.DB(swss.CountersDB), "A").Set(t.Context(), "x", swss.FieldValues{"f": "1"}))
	noError(t, swss.NewTable(r.DB(swss.CountersDB), "MAP").Set(t.Context(), "", swss.FieldValues{"x": "2"}))
	cfg, err := swss.DefaultConfig("127.0.0.1:1")
	noError(t, err)
	away := swss.Look(cfg)
	t.Cleanup(func() { away.Close() })
	const db = swss.CountersDB
	for _, c := range []struct {
		of   *swss.Reading
		want string
		fail bool
	}{
		{r.Reading(t.Context()), "map[x:map[f:1]] [x] map[x:2] map[f:1] -1ns [map[f:1] map[]]", false},
		{away.Reading(t.Context()), "map[] [] map[] map[] 0s [map[] map[]]", true},
	} {
		first := c.of.Row(db, "MAP", "")
		err := c.of.Err()
		row, left := c.of.RowFor(db, "A", "x")
		got := fmt.Sprint(c.of.Dump(db, "A"), " ", c.of.Keys(db, "A"), " ", first, " ", row, " ", left, " ",
			c.of.Rows(db, "A", []string{"x", "y"}))
		if got != c.want || (err != nil) != c.fail || c.of.Err() != err {
			t.Errorf("%s, want %s; errors %v, %v", got, c.want, err, c.of.Err())
		}
	}
}
