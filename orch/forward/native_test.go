package forward

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// The embedded server has the same effect on rows, and the same reply, as the script.
func TestUpdateNatively(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 5}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		word := func(of ...string) string { return of[rnd.IntN(len(of))] }
		native, lua := swsstest.Start(t).DB(swss.ApplDB), swsstest.Start(t).DB(swss.ApplDB)
		scripts := map[*swss.DB]swss.Script{native: updateScript, lua: swss.NewScript(updateText)}
		for range 30 {
			keys := []string{"T_CHANNEL@0", "T_KEY_SET", "T_DEL_SET", "T:", "_T:"}
			args := []any{"G"}
			for range rnd.IntN(4) {
				keys = append(keys, word("a", "b", "c"))
				lost := rnd.IntN(4) - 1
				args = append(args, strconv.Itoa(lost))
				for range max(0, lost) {
					args = append(args, word("f", "g", "h"))
				}
				fields := rnd.IntN(3)
				args = append(args, strconv.Itoa(fields))
				for range fields {
					args = append(args, word("f", "g", "h"), word("1", "2"))
				}
			}
			final, field := word("T:a", "T:b", "_T:c"), word("f", "g", "h")
			pop := rnd.IntN(4) == 0
			type outcome struct {
				Reply any
				Rows  map[string]map[string]string
				Sets  map[string][]string
			}
			got := map[*swss.DB]outcome{}
			for db, script := range scripts {
				db.Client().HSet(t.Context(), final, field, "0")
				if pop {
					db.Client().Del(t.Context(), "T_KEY_SET", "T_DEL_SET")
				}
				reply, err := db.Run(t.Context(), script, keys, args...)
				if err != nil {
					t.Fatal(err)
				}
				o := outcome{reply, map[string]map[string]string{}, map[string][]string{}}
				for _, key := range []string{"T:a", "T:b", "T:c", "_T:a", "_T:b", "_T:c"} {
					o.Rows[key] = db.Client().HGetAll(t.Context(), key).Val()
				}
				for _, set := range []string{"T_KEY_SET", "T_DEL_SET"} {
					o.Sets[set] = db.Client().SMembers(t.Context(), set).Val()
				}
				got[db] = o
			}
			if diff := cmp.Diff(got[lua], got[native]); diff != "" {
				t.Fatalf("%v %v (-Lua +native):\n%s", keys, args, diff)
			}
		}
	})
}

// Arguments that do not fit together are left to the script, which reports the error.
func TestUpdateArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"0"}, {"x", "0"}, {"0", "1", "f"}, {"2", "f", "0"}, {"0", "0", "0"}} {
		if list, ok := updatesIn(args, 1); ok {
			t.Errorf("%q: %v", args, list)
		}
	}
}
