package set

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/swsstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The embedded server commits or refuses exactly as commit.lua does, whatever the rows are and whatever was read.
func TestCommitNatively(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4, Short: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		native, lua := swsstest.Start(t).DB(swss.ConfigDB), swsstest.Start(t).DB(swss.ConfigDB)
		inLua := swss.NewScript(commitText) // without a native implementation
		rows := map[string]map[string]string{}
		turn, committed, refused := "", 0, 0
		row := func() map[string]string {
			if r.IntN(4) == 0 {
				return nil
			}
			out := map[string]string{}
			for range r.IntN(4) {
				out[fmt.Sprint("f", r.IntN(3))] = []string{"", "1", "two: 2", "\x00\r\n"}[r.IntN(4)]
			}
			if r.IntN(20) == 0 {
				for i := range 1200 {
					out[fmt.Sprint("g", i)] = "x"
				}
			}
			return out
		}
		for n := range 60 {
			began := turn
			if r.IntN(8) == 0 {
				began = "another"
			}
			next := fmt.Sprint("turn", n)
			packed := pack(nil, "MARK", began, next)
			after := map[string]map[string]string{}
			stale := began != turn
			for range r.IntN(4) {
				key := fmt.Sprint("T|", r.IntN(4))
				if _, twice := after[key]; twice {
					continue
				}
				read := rows[key]
				if r.IntN(12) == 0 {
					read = row()
					stale = stale || !cmp.Equal(read, rows[key], cmpopts.EquateEmpty())
				}
				packed = packRead(packed, key, read)
				after[key] = row()
				packed = packWrite(packed, read, after[key])
			}
			got, err := native.Run(t.Context(), commitScript, nil, packed)
			if err != nil {
				t.Fatal(err)
			}
			want, err := lua.Run(t.Context(), inLua, nil, packed)
			if err != nil {
				t.Fatal(err)
			}
			a, b := allHashes(t, native), allHashes(t, lua)
			if got != want || !cmp.Equal(a, b) {
				t.Fatalf("%q: %v, in Lua %v; rows (-Lua +native):\n%s", packed, got, want, cmp.Diff(b, a))
			}
			rows = a
			if turn = a["MARK"]["turn"]; turn == next {
				committed++
			} else {
				refused++
			}
			delete(rows, "MARK")
			if stale != (got != "") {
				t.Fatalf("%q: %v, and what was read is stale: %v", packed, got, stale)
			}
		}
		if committed < 10 || refused < 2 {
			t.Errorf("%d were committed, %d refused", committed, refused)
		}
	})
}

// allHashes returns all rows of a database.
func allHashes(t *testing.T, db *swss.DB) map[string]map[string]string {
	t.Helper()
	keys, err := db.Client().Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for _, k := range keys {
		if out[k], err = db.Client().HGetAll(t.Context(), k).Result(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// No argument makes the server fail. An argument that is not packed rows is passed to Lua.
func FuzzCommit(f *testing.F) {
	f.Add("4:MARK0:2:t13:T|a1:01:11:f1:v1:0")
	f.Add("4:MARK0:2:t13:T|a1:02:-11:0")
	f.Add("99999999999999999999:")
	f.Fuzz(func(t *testing.T, text string) {
		u := unpacker{rest: text}
		for u.rest != "" && !u.bad {
			before := len(u.rest)
			u.words(u.number())
			if !u.bad && len(u.rest) >= before {
				t.Fatalf("%q: nothing was taken", text)
			}
		}
	})
}
