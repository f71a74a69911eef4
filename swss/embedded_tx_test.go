package swss_test

import "testing"

// Transactions begin, are refused, are discarded and never block, as in Redis. A blocking pop receives what another
// client pushes.
func TestTransactions(t *testing.T) {
	bothServers(t, func(t *testing.T, addr string) {
		c, other := dialRaw(t, addr), dialRaw(t, addr)
		do := func(want string, args ...string) {
			t.Helper()
			if got := normal(args, c.do(args...)); got != want {
				t.Errorf("%q: %s, want %s", args, got, want)
			}
		}
		for _, cmd := range []string{"EXEC", "DISCARD"} {
			do("error ERR", cmd)
		}
		do("error ERR", "MULTI", "x")
		do("OK", "MULTI")
		do("error ERR", "MULTI")
		do("QUEUED", "BLPOP", "l", "0")
		do("QUEUED", "LPUSH", "l", "a", "b")
		do("QUEUED", "BLPOP", "l", "0")
		do("QUEUED", "EVALSHA", "nope", "0")
		do("[<nil> 2 [l b] error NOSCRIPT]", "EXEC")
		do("OK", "MULTI")
		do("error ERR", "HSET", "h")
		do("error EXECABORT", "EXEC")
		do("OK", "WATCH", "h")
		do("OK", "MULTI")
		do("OK", "DISCARD")
		do("OK", "MULTI")
		other.do("HSET", "h", "f", "v")
		do("QUEUED", "HGET", "h", "f")
		do("QUEUED", "CLIENT", "PAUSE", "soon")
		do("[v error ERR]", "EXEC") // no longer watched

		other.do("DEL", "l")
		c.send("BLPOP", "l", "0")
		other.do("RPUSH", "l", "x")
		if got := normal([]string{""}, c.read()); got != "[l x]" {
			t.Errorf("a pop that waited: %s", got)
		}
	})
}
