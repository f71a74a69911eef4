package swss_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// TestEmbeddedListens: clients reach the server at the requested address.
func TestEmbeddedListens(t *testing.T) {
	dir := need(os.MkdirTemp("", "swss"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "redis.sock")
	for _, tt := range []struct{ open, addr string }{
		{"embedded", "127.0.0.1:"}, {"embedded:127.0.0.1:0", "127.0.0.1:"}, {"embedded:" + socket, "unix:" + socket},
	} {
		r := need(swss.Open(t.Context(), tt.open))(t)
		if !strings.HasPrefix(r.Addr(), tt.addr) {
			t.Errorf("%s listens at %s", tt.open, r.Addr())
		}
		dialRaw(t, r.Addr()).do("HSET", "T:k", "f", "v")
		other := need(swss.Open(t.Context(), r.Addr()))(t)
		for _, r := range []*swss.Redis{r, other} {
			if fv, _, err := swss.NewTable(r.DB(swss.ApplDB), "T").Get(t.Context(), "k"); err != nil || fv["f"] != "v" {
				t.Errorf("%s: %v %v", tt.open, fv, err)
			}
		}
		other.Close()
		r.Close()
	}
	if _, err := swss.Open(t.Context(), "embedded:/nonexistent/dir/socket"); err == nil {
		t.Error("it listens in a directory that is not there")
	}
}

// TestEmbeddedConfig: CONFIG GET returns the settings, and events follow them.
func TestEmbeddedConfig(t *testing.T) {
	c := dialRaw(t, swsstest.Start(t).Addr())
	get := func(want string) {
		t.Helper()
		if got := fmt.Sprint(c.do("CONFIG", "GET", "notify-*")); got != "[notify-keyspace-events "+want+"]" {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	get("AKE")
	for _, flags := range [][2]string{{"KEA", "AKE"}, {"Kgh", "ghK"}, {"", ""}, {"Elg$", "g$lE"}} {
		c.do("CONFIG", "SET", "notify-keyspace-events", flags[0])
		get(flags[1])
	}
	for _, cmd := range [][]string{{"CONFIG", "SET", "notify-keyspace-events", "Q"}, {"CONFIG", "SET", "nonsense", "1"},
		{"CONFIG", "SET", "databases", "2"}, {"CONFIG", "SET", "x"}, {"CONFIG"}} {
		if _, ok := c.do(cmd...).(error); !ok {
			t.Errorf("%v was accepted", cmd)
		}
	}
	c.do("CONFIG", "SET", "notify-keyspace-events", "Eh")
	s := dialRaw(t, c.conn.RemoteAddr().String())
	s.do("PSUBSCRIBE", "__key*")
	c.do("SADD", "s", "m")
	c.do("HSET", "h", "f", "v")
	if got := fmt.Sprint(s.read()); got != "[pmessage __key* __keyevent@0__:hset h]" {
		t.Errorf("with flags Eh: %s", got)
	}
	if got := fmt.Sprint(c.do("CONFIG", "GET", "databases", "save")); got != "[databases 64 save ]" {
		t.Errorf("got %s", got)
	}
}

// TestEmbeddedOtherClients: the server supports a client that uses RESP3, and one that reads nothing during a long
// write.
func TestEmbeddedOtherClients(t *testing.T) {
	r := swsstest.Start(t)
	ctx := t.Context()
	c := redis.NewClient(&redis.Options{Addr: r.Addr(), DB: 20})
	defer c.Close()
	sub := c.PSubscribe(ctx, "__keyspace@20__:*")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	noError(t, c.HSet(ctx, "k", "f", "v").Err())
	if m, err := sub.ReceiveMessage(ctx); err != nil || m.Channel != "__keyspace@20__:k" || m.Payload != "hset" {
		t.Errorf("%v %v", m, err)
	}
	cmds, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, "k", "g", "w")
		p.HGetAll(ctx, "k")
		p.HDel(ctx, "k", "f", "g")
		p.Exists(ctx, "k")
		return nil
	})
	if err != nil || fmt.Sprint(cmds[1].(*redis.MapStringStringCmd).Val(),
		cmds[3].(*redis.IntCmd).Val()) != "map[f:v g:w] 0" {
		t.Errorf("%v %v", cmds, err)
	}
	if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "hset" {
		t.Errorf("%v %v", m, err)
	}

	raw := dialRaw(t, r.Addr())
	big := strings.Repeat("x", 100_000)
	raw.do("SET", "big", big)
	const n = 500
	for range n {
		raw.send("GET", "big")
	}
	for range n {
		if got := raw.read(); got != big {
			t.Fatalf("reply %.20v", got)
		}
	}
}

// TestEmbeddedSubscriber: a subscribed connection may use only some commands.
func TestEmbeddedSubscriber(t *testing.T) {
	c := dialRaw(t, swsstest.Start(t).Addr())
	for _, tt := range []struct{ cmd, want string }{
		{"SUBSCRIBE a", "[subscribe a 1]"}, {"PSUBSCRIBE b*", "[psubscribe b* 2]"}, {"PING x", "[pong x]"},
		{"SUBSCRIBE a", "[subscribe a 2]"},
		{"GET x", "ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in " +
			"this context"},
		{"UNSUBSCRIBE none", "[unsubscribe none 2]"}, {"UNSUBSCRIBE", "[unsubscribe a 1]"},
		{"PUNSUBSCRIBE", "[punsubscribe b* 0]"},
		{"UNSUBSCRIBE", "[unsubscribe <nil> 0]"}, {"PING", "PONG"},
		{"SUBSCRIBE", "ERR wrong number of arguments for 'subscribe' command"},
		{"PUBLISH a x", "0"}, {"PUBSUB NUMPAT", "0"}, {"PUBSUB CHANNELS", "[]"}, {"COMMAND", "[]"}, {"COMMAND DOCS", "[]"},
		{"SELECT 64", "ERR DB index is out of range"}, {"SELECT 63", "OK"}, {"CLIENT SETINFO LIB-NAME x", "OK"},
	} {
		if got := fmt.Sprint(c.do(strings.Fields(tt.cmd)...)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.cmd, got, tt.want)
		}
	}
	if got := c.do("QUIT"); got != "OK" {
		t.Errorf("QUIT: %v", got)
	}
	if _, err := c.r.ReadByte(); err != io.EOF {
		t.Errorf("after QUIT: %v", err)
	}
}

// TestRedisCLI: the real redis-cli works with the embedded server, also when it reads commands from standard input.
func TestRedisCLI(t *testing.T) {
	path, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("redis-cli is not installed")
	}
	r := swsstest.Start(t)
	host, port, _ := strings.Cut(r.Addr(), ":")
	cmd := exec.CommandContext(t.Context(), path, "-h", host, "-p", port, "-n", "4")
	cmd.Stdin = strings.NewReader("hset PORT|Ethernet0 speed 100000\nhgetall PORT|Ethernet0\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff("1\nspeed\n100000\n", string(out)); diff != "" {
		t.Error(diff)
	}
}
