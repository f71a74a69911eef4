package swss_test

import (
	"fmt"
	"testing"
	"time"

	"tamtam/swss/swsstest"
)

// bothServers runs a test on the embedded server and on a real one.
func bothServers(t *testing.T, f func(t *testing.T, addr string)) {
	t.Run("embedded", func(t *testing.T) { f(t, swsstest.Start(t).Addr()) })
	t.Run("redis-server", func(t *testing.T) { f(t, swsstest.StartServer(t).Addr) })
}

// CLIENT PAUSE blocks all commands for its duration, including CLIENT UNPAUSE. In a transaction it begins after the
// transaction, whose other commands still take effect.
func TestPause(t *testing.T) {
	bothServers(t, func(t *testing.T, addr string) {
		const long = 150 * time.Millisecond
		ms := fmt.Sprint(long.Milliseconds())
		pauser, other, heard := dialRaw(t, addr), dialRaw(t, addr), dialRaw(t, addr)
		heard.do("SUBSCRIBE", "c")
		began := time.Now()
		if got := pauser.do("CLIENT", "PAUSE", ms, "ALL"); got != "OK" {
			t.Fatal(got)
		}
		if got := other.do("CLIENT", "UNPAUSE"); got != "OK" || time.Since(began) < long {
			t.Errorf("UNPAUSE during a pause: %v after %v, want OK after %v", got, time.Since(began), long)
		}
		pauser.do("MULTI")
		pauser.do("CLIENT", "PAUSE", "3600000") // longer than the test
		pauser.do("PUBLISH", "c", "paused")
		if got := fmt.Sprint(pauser.do("EXEC")); got != "[OK 1]" {
			t.Fatal(got)
		}
		if got := fmt.Sprint(heard.read()); got != "[message c paused]" {
			t.Error(got)
		}
	})
}

// A pause that ends almost immediately blocks no command.
func TestShortPauses(t *testing.T) {
	c := dialRaw(t, swsstest.Start(t).Addr())
	for range 1000 {
		c.do("CLIENT", "PAUSE", "0")
	}
	if got := c.do("PING"); got != "PONG" {
		t.Error(got)
	}
}

// Closing a server ends all waits.
func TestCloseDuringPause(t *testing.T) {
	r := swsstest.Start(t)
	c := dialRaw(t, r.Addr())
	c.do("CLIENT", "PAUSE", "3600000")
	c.send("PING")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A full server refuses commands that need memory, also within scripts and transactions, and no others.
func TestFull(t *testing.T) {
	bothServers(t, func(t *testing.T, addr string) {
		c := dialRaw(t, addr)
		do := func(want string, args ...string) {
			t.Helper()
			if got := normal(args, c.do(args...)); got != want {
				t.Errorf("%q: %s, want %s", args, got, want)
			}
		}
		do("1", "HSET", "h", "f", "v")
		do("OK", "CONFIG", "SET", "maxmemory", "1")
		do("error OOM", "HSET", "h", "f", "w")
		do("error in script", "EVAL", "return redis.call('SADD', KEYS[1], 'a')", "1", "s")
		do("v", "HGET", "h", "f")
		do("0", "PUBLISH", "c", "m")
		do("1", "PEXPIRE", "h", "100000")
		do("1", "DEL", "h")
		do("OK", "MULTI")
		do("error OOM", "PING")
		do("error EXECABORT", "EXEC")
		do("OK", "CONFIG", "SET", "maxmemory", "0")
		do("1", "HSET", "h", "f", "w")
	})
}
