package ports

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// The embedded server has the same effect on a row as the script.
func TestOperNatively(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 3}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		one := func(words ...string) string { return words[rnd.IntN(len(words))] }
		native, lua := swsstest.Start(t).DB(swss.ApplDB), swsstest.Start(t).DB(swss.ApplDB)
		scripts := map[*swss.DB]swss.Script{
			native: swss.NewScript(writeOper).Natively(operNatively), lua: swss.NewScript(writeOper),
		}
		for n := range 60 {
			key, put := one("T:a", "T:b"), one("", "oper_status", "mtu", "DEL")
			value := one("unknown", "up", "down")
			args := []any{one("up", "down"), one("", fmt.Sprint(n)), one("", "turned"), one("", "then"),
				one("", "0", "100000"), one("", "99")}
			rows := map[*swss.DB]map[string]string{}
			for db, script := range scripts {
				switch c := db.Client(); put {
				case "DEL":
					c.Del(t.Context(), key)
				case "oper_status", "mtu":
					c.HSet(t.Context(), key, put, value)
				}
				if _, err := db.Run(t.Context(), script, []string{key}, args...); err != nil {
					t.Fatal(err)
				}
				rows[db] = db.Client().HGetAll(t.Context(), key).Val()
			}
			if diff := cmp.Diff(rows[lua], rows[native]); diff != "" {
				t.Fatalf("%v (-Lua +native):\n%s", args, diff)
			}
		}
	})
}
