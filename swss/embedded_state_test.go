package swss_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/swss/swsstest"
)

// TestStateScripts: the embedded server runs the scripts of rows natively. It then replies, publishes and stores the
// same as the text in Lua, also if keys have the wrong type.
func TestStateScripts(t *testing.T) {
	names := []string{"state_set", "state_set_many", "state_del", "state_del_many", "state_pop"}
	texts := map[string]string{}
	for _, name := range names {
		text := need(os.ReadFile("scripts/" + name + ".lua"))(t)
		texts[name] = string(text)
	}
	randtest.Run(t, randtest.Cases{Count: 20, Short: 3}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		native, lua := newSide(t, swsstest.Start(t).Addr()), newSide(t, swsstest.Start(t).Addr())
		var history []string
		for range 200 {
			name := names[rnd.IntN(len(names))]
			args := stateArgs(rnd, name)
			one := append([]string{"EVALSHA", digestOf(texts[name])}, args...)
			two := append([]string{"EVAL", texts[name]}, args...)
			if rnd.IntN(40) == 0 {
				name = "HSET"
				args = []string{[]string{"T_KEY_SET", "T_DEL_SET", "T:k1"}[rnd.IntN(3)], "f", "v"}
				if rnd.IntN(2) == 0 {
					args = []string{"T_KEY_SET", "T_DEL_SET", "T:k1", "_T:k2"}
					name = "DEL"
				}
				one = append([]string{name}, args...)
				two = one
			}
			history = append(history, name+" "+strings.Join(args, " "))
			want, got := scriptReply(lua.cmd.do(two...)), scriptReply(native.cmd.do(one...))
			if want != got {
				t.Fatalf("reply %s, in Lua %s, after\n%s", got, want, strings.Join(tail(history), "\n"))
			}
			if diff := cmp.Diff(sortedCopy(lua.seen()), sortedCopy(native.seen())); diff != "" {
				t.Fatalf("messages differ (-Lua +native) after\n%s\n%s", strings.Join(tail(history), "\n"), diff)
			}
			if diff := cmp.Diff(lua.cmd.contents(0), native.cmd.contents(0)); diff != "" {
				t.Fatalf("contents differ (-Lua +native) after\n%s\n%s", strings.Join(tail(history), "\n"), diff)
			}
		}
	})
}

func digestOf(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// scriptReply makes replies comparable: Lua returns rows in any order, and words errors differently.
func scriptReply(reply any) string {
	switch r := reply.(type) {
	case error:
		return "error"
	case []any:
		return fmt.Sprint(strs(r))
	}
	return fmt.Sprint(reply)
}

// sortedCopy makes the events of rows comparable regardless of their order.
func sortedCopy(s []string) []string { return slices.Sorted(slices.Values(s)) }

// stateArgs returns keys and arguments of a call as the tables use them, on a small set of rows.
func stateArgs(rnd *rand.Rand, script string) []string {
	key := func() string { return fmt.Sprintf("k%d", rnd.IntN(4)) }
	fields := func() (out []string) {
		for range 1 + rnd.IntN(3) {
			out = append(out, fmt.Sprintf("f%d", rnd.IntN(3)), strings.Repeat("ü\r\n", rnd.IntN(3)))
		}
		return out
	}
	var keys, args []string
	switch script {
	case "state_set":
		k, f := key(), fields()
		keys, args = []string{"chan", "T_KEY_SET"}, append([]string{"G", k}, f...)
		for range len(f) / 2 {
			keys = append(keys, "_T:"+k)
		}
	case "state_set_many":
		keys, args = []string{"chan", "T_KEY_SET", "_T:"}, []string{"G"}
		for range rnd.IntN(3) {
			f := fields()
			keys, args = append(keys, key()), append(append(args, fmt.Sprint(len(f)/2)), f...)
		}
	case "state_del":
		k := key()
		keys, args = []string{"chan", "T_KEY_SET", "_T:" + k, "T_DEL_SET"}, []string{"G", k, "''", "''"}
	case "state_del_many":
		keys, args = []string{"chan", "T_KEY_SET", "_T:", "T_DEL_SET"}, []string{"G"}
		for range rnd.IntN(3) {
			keys = append(keys, key())
		}
	case "state_pop":
		keys, args = []string{"T_KEY_SET", "T:", "T_DEL_SET"}, []string{"8", "_"} // all rows
	}
	return slices.Concat([]string{fmt.Sprint(len(keys))}, keys, args)
}
