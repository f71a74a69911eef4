package swss_test

import (
	"fmt"
	"testing"

	"tamtam/swss/swsstest"
)

// TestRowStore: a client finds a row with all its properties, wherever the embedded server stores it.
func TestRowStore(t *testing.T) {
	addr := swsstest.Start(t).Addr()
	c, other := dialRaw(t, addr), dialRaw(t, addr)
	want := func(want any, args ...string) {
		t.Helper()
		if got := c.do(args...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v: %v, want %v", args, got, want)
		}
	}
	want(2, "HSET", "h", "a", "1", "b", "2")
	want("[0 [h]]", "EVAL", "return redis.call('SCAN', 0)", "0")
	want("[1 2]", "HMGET", "h", "a", "b")

	want(2, "HSET", "two", "a", "1", "b", "2")
	want(1, "HSET", "one", "a\x00b", "1")
	want("[a\x00b 1]", "HGETALL", "one")

	want(1, "HSET", "timed", "a", "1")
	want(1, "EXPIRE", "timed", "100")
	want("OK", "MULTI")
	want("QUEUED", "HSET", "timed", "b", "2")
	want("QUEUED", "SELECT", "4")
	want("QUEUED", "EVAL", "return redis.call('HSET', 'made', 'a', '1')", "0")
	want("QUEUED", "HGETALL", "made")
	want("[1 OK 1 [a 1]]", "EXEC")
	want("[a 1]", "HGETALL", "made")
	want("OK", "SELECT", "0")
	want(100, "TTL", "timed")

	want(1, "HSET", "swapped", "a", "0")
	want("OK", "SWAPDB", "0", "4")
	want(0, "EXISTS", "swapped")
	want("OK", "SELECT", "4")
	want(1, "EXISTS", "swapped")
	want(1, "MOVE", "swapped", "0")
	want("OK", "SELECT", "0")

	for i := range 200 {
		want(1, "HSET", "wide", fmt.Sprint(i), "")
	}
	want(200, "HLEN", "wide")
	want(1, "HSET", "watched", "a", "1")
	want("OK", "WATCH", "watched", "fresh")
	want("OK", "MULTI")
	want("QUEUED", "HSET", "watched", "a", "3")
	if got := other.do("HSET", "fresh", "a", "2"); fmt.Sprint(got) != "1" {
		t.Fatal(got)
	}
	want("<nil>", "EXEC")
	want("1", "HGET", "watched", "a")
}
