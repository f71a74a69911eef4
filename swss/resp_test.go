package swss_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// eachServer runs a test on the embedded server and on a real redis-server.
func eachServer(t *testing.T, f func(t *testing.T, r *swss.Redis)) {
	t.Run("embedded", func(t *testing.T) { f(t, swsstest.Start(t)) })
	t.Run("redis-server", func(t *testing.T) { f(t, swsstest.StartServer(t).Open()) })
}

// A rawConn speaks RESP as redis-cli does, without a client library.
type rawConn struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
}

func dialRaw(t testing.TB, addr string) *rawConn {
	t.Helper()
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	conn := need(net.Dial(network, addr))(t)
	t.Cleanup(func() { conn.Close() })
	return &rawConn{t: t, conn: conn, r: bufio.NewReader(conn)}
}

func (c *rawConn) send(args ...string) {
	c.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		c.t.Fatal(err)
	}
}

// do sends a command and returns its reply: string, int, error, nil or []any.
func (c *rawConn) do(args ...string) any {
	c.t.Helper()
	c.send(args...)
	return c.read()
}

func (c *rawConn) read() any {
	c.t.Helper()
	line, err := c.r.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '+':
		return line[1:]
	case '-':
		return fmt.Errorf("%s", line[1:])
	case ':':
		return n
	case '$':
		if n < 0 {
			return nil
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(c.r, b); err != nil {
			c.t.Fatal(err)
		}
		return string(b[:n])
	case '*':
		if n < 0 {
			return nil
		}
		out := make([]any, n)
		for i := range out {
			out[i] = c.read()
		}
		return out
	}
	c.t.Fatalf("reply %q", line)
	return nil
}

// strs returns a reply that is a list of strings, sorted.
func strs(reply any) []string {
	list, _ := reply.([]any)
	var out []string
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	slices.Sort(out)
	return out
}

// contents returns everything in a database, one line per key.
func (c *rawConn) contents(db int) []string {
	c.t.Helper()
	c.do("SELECT", strconv.Itoa(db))
	var out []string
	for _, key := range strs(c.do("KEYS", "*")) {
		var v any
		switch kind := c.do("TYPE", key); kind {
		case "hash":
			flat, _ := c.do("HGETALL", key).([]any)
			var pairs []any
			for i := 0; i+1 < len(flat); i += 2 {
				pairs = append(pairs, fmt.Sprintf("%v=%v", flat[i], flat[i+1]))
			}
			v = strs(pairs)
		case "set":
			v = strs(c.do("SMEMBERS", key))
		case "list":
			v = c.do("LRANGE", key, "0", "-1")
		case "string":
			v = c.do("GET", key)
		case "zset":
			v = c.do("ZRANGE", key, "0", "-1", "WITHSCORES")
		default:
			v = kind
		}
		out = append(out, fmt.Sprintf("%d %s %v", db, key, v))
	}
	return out
}

// noError ends a test on an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// need returns a function that returns v, or ends the test if err is not nil.
func need[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		noError(t, err)
		return v
	}
}
