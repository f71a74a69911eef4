package orch

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// The embedded server stores the same as report.lua, whatever process writes and whatever the state of the rows.
func TestReportNatively(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 5}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		one := func(words ...string) string { return words[rnd.IntN(len(words))] }
		native, lua := swsstest.Start(t).DB(swss.StateDB), swsstest.Start(t).DB(swss.StateDB)
		inLua := swss.NewScript(reportText) // has no native version
		for n := range 100 {
			c := swss.Call{Args: []any{Manager, one(Manager, "orchagent"), fmt.Sprint(n)}}
			for range rnd.IntN(4) {
				c.Keys = append(c.Keys, one("T|a", "T|b", "T|c"))
				c.Args = append(c.Args, one("SET", "SET", "DEL"), one("status", "state"), one("active", "pending"), one("", "why"),
					one(Manager, "orchagent"), one("", "inactive"), one("", "-", "ok"))
			}
			if uncertain := one("T|a", "T|b", "T|c"); rnd.IntN(4) == 0 {
				for _, db := range []*swss.DB{native, lua} {
					if err := db.Client().HSet(t.Context(), uncertain, "status", "unknown", "was", "a note").Err(); err != nil {
						t.Fatal(err)
					}
				}
			}
			got, err := native.Run(t.Context(), reportScript, c.Keys, c.Args...)
			if err != nil {
				t.Fatal(err)
			}
			want, err := lua.Run(t.Context(), inLua, c.Keys, c.Args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("reply (-Lua +native):\n%s", diff)
			}
			rows := func(db *swss.DB) map[string]swss.FieldValues {
				all, err := swss.NewTable(db, "T").Dump(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			if diff := cmp.Diff(rows(lua), rows(native)); diff != "" {
				t.Fatalf("after %v (-Lua +native):\n%s", c, diff)
			}
		}
	})
}
