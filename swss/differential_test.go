package swss_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A side is one of the two servers that must agree.
type side struct {
	cmd, events *rawConn
	mark        int
}

func newSide(t *testing.T, addr string) *side {
	s := &side{cmd: dialRaw(t, addr), events: dialRaw(t, addr)}
	s.events.do("PSUBSCRIBE", "__key*")
	s.events.do("SUBSCRIBE", "chan")
	return s
}

// seen returns the messages published so far.
func (s *side) seen() []string {
	s.mark++
	mark := fmt.Sprint(s.mark)
	s.events.send("PING", mark) // earlier messages arrive before the reply
	var out []string
	for {
		msg := s.events.read()
		list, _ := msg.([]any)
		if len(list) == 2 && list[0] == "pong" {
			if list[1] == mark {
				return out
			}
			continue
		}
		out = append(out, fmt.Sprint(msg))
	}
}

// normal makes replies comparable. It reduces errors to their first word, and ignores the order of members.
func normal(args []string, reply any) string {
	switch r := reply.(type) {
	case error:
		word, _, _ := strings.Cut(r.Error(), " ")
		if args[0] == "EVAL" {
			word = "in script" // miniredis words these differently
		}
		return "error " + word
	case []any:
		switch args[0] {
		case "SMEMBERS", "KEYS", "HKEYS", "SPOP":
			return fmt.Sprint(strs(r))
		case "HGETALL":
			return fmt.Sprint(strs(pairsOf(r)))
		}
		var items []string
		for _, item := range r {
			items = append(items, normal([]string{""}, item))
		}
		return fmt.Sprint(items)
	}
	return fmt.Sprint(reply)
}

func pairsOf(flat []any) []any {
	var out []any
	for i := 0; i+1 < len(flat); i += 2 {
		out = append(out, fmt.Sprintf("%v=%v", flat[i], flat[i+1]))
	}
	return out
}

// randomCommand returns a command on a small set of keys, so that commands often affect the same key.
func randomCommand(r *rand.Rand) []string {
	hash := fmt.Sprintf("h%d", r.IntN(3))
	set := fmt.Sprintf("s%d", r.IntN(3))
	list := fmt.Sprintf("l%d", r.IntN(2))
	str := fmt.Sprintf("t%d", r.IntN(2))
	any := []string{hash, set, list, str}[r.IntN(4)]
	f := func() string { return fmt.Sprintf("f%d", r.IntN(3)) }
	v := func() string { return fmt.Sprintf("v%d", r.IntN(3)) }
	cmds := [][]string{
		{"HSET", hash, f(), v()}, {"HSET", hash, f(), v(), f(), v()}, {"HSET", any, f(), v()}, {"HSET", hash, f()},
		{"HMSET", hash, f(), v()}, {"HSETNX", hash, f(), v()}, {"HINCRBY", hash, "n", "2"}, {"HDEL", hash, f()},
		{"HDEL", hash, f(), f(), "n"}, {"HDEL", any, f()}, {"HGETALL", hash}, {"HGET", hash, f()}, {"HMGET", hash, f(), f()},
		{"HLEN", hash}, {"HKEYS", hash}, {"HEXISTS", hash, f()}, {"HSTRLEN", hash, f()}, {"DBSIZE"}, {"TTL", any},
		{"EXISTS", any, any, hash},
		{"HGETALL", any}, {"HMGET", any, f()}, {"HSET", "wide", fmt.Sprint("f", r.IntN(99)), v()}, {"HGETALL", "wide"},
		{"HDEL", "wide", f()},
		{"DEL", any}, {"DEL", hash, set, hash}, {"UNLINK", any}, {"EXISTS", hash, set}, {"TYPE", any}, {"DEL"},
		{"SADD", set, v(), v()}, {"SREM", set, v(), v()}, {"SCARD", set}, {"SMEMBERS", set}, {"SPOP", set, "9"},
		{"SISMEMBER", set, v()},
		{"LPUSH", list, v(), v()}, {"RPUSH", list, v()}, {"LPOP", list}, {"RPOP", list}, {"LRANGE", list, "-3", "-1"},
		{"LTRIM", list, "0", "-3"}, {"LTRIM", list, "5", "9"}, {"LREM", list, "0", v()}, {"LLEN", list},
		{"LSET", list, "0", v()},
		{"SET", str, v()}, {"SET", str, v(), "NX"}, {"SET", str, v(), "EX", "100"}, {"SETNX", str, v()},
		{"SETEX", str, "100", v()},
		{"GET", str}, {"GETSET", str, v()}, {"GETDEL", str}, {"APPEND", str, v()}, {"INCR", "n0"}, {"INCRBY", "n0", "5"},
		{"DECR", "n0"},
		{"MSET", "t0", v(), "t1", v()}, {"EXPIRE", any, "100"}, {"EXPIRE", any, "-1"}, {"PERSIST", any},
		{"RENAME", hash, "h0"}, {"RENAMENX", hash, "h1"}, {"KEYS", "h*"}, {"PUBLISH", "chan", v()},
		{"SELECT", fmt.Sprint(r.IntN(2) * 4)},
		{"ZADD", "z", "1", v()}, {"ZREM", "z", v()}, {"PING"}, {"ECHO", v()},
		{"EVAL", "redis.call('HSET', KEYS[1], 'a', '1') redis.call('HDEL', KEYS[1], 'a') redis.call('PUBLISH', 'chan', " +
			"'lua') return redis.call('DEL', KEYS[1])", "1", hash},
		{"EVAL", "local x = redis.call('SADD', KEYS[1], ARGV[1]) redis.call('SREM', KEYS[1], ARGV[1]) return {x, ARGV[1]}",
			"1", set, v()},
		{"EVAL", "return redis.call('HGET', KEYS[1], 'nope')", "1", hash},
		{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}, {"CONFIG", "SET", "maxmemory", "0"},
		{"FLUSHDB"}, {"CLIENT", "PAUSE"}, {"CLIENT", "PAUSE", "soon"}, {"CLIENT", "UNPAUSE"},
		{"NOSUCHCOMMAND"}, {"CONFIG", "GET", "notify-keyspace-events"}, {"PUBSUB", "NUMSUB", "chan", "none"},
	}
	return cmds[r.IntN(len(cmds))]
}

// TestCommandsAgree: for all commands of plain clients, alone or in transactions, the embedded server replies,
// publishes and stores the same as a real one.
func TestCommandsAgree(t *testing.T) {
	real := newSide(t, swsstest.StartServer(t).Addr)
	randtest.Run(t, randtest.Cases{Count: 40, Short: 8}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		fake := newSide(t, swsstest.Start(t).Addr())
		real.cmd.do("DISCARD")
		real.cmd.do("CONFIG", "SET", "maxmemory", "0")
		real.cmd.do("FLUSHALL")
		real.cmd.do("SELECT", "0")
		real.seen()
		var history []string
		multi, full := false, false
		for range 400 {
			args := randomCommand(r)
			switch n := r.IntN(12); {
			case n == 0 && !multi:
				args, multi = []string{"MULTI"}, true
			case n == 0 && multi:
				args, multi = []string{"EXEC"}, false
			case n == 1 && multi && r.IntN(3) == 0:
				args, multi = []string{"DISCARD"}, false
			}
			if multi && slices.Contains([]string{"PUBSUB", "CONFIG", "EVAL", "FLUSHDB"}, args[0]) ||
				multi && args[len(args)-1] == "UNPAUSE" {
				continue
			}
			if args[0] == "CONFIG" && args[1] == "SET" {
				full = args[3] != "0"
			}
			if full && (len(args) == 1 && args[0] != "DBSIZE" && !isTx(args[0]) || args[0] == "HSET" && len(args) == 3 ||
				len(args) == 2 && args[0] == "CLIENT") {
				continue // which of two mistakes is reported does not matter
			}
			history = append(history, strings.Join(args, " "))
			want, got := normal(args, real.cmd.do(args...)), normal(args, fake.cmd.do(args...))
			if args[0] == "EXEC" {
				want, got = sortedInside(want), sortedInside(got)
			}
			if want != got {
				t.Fatalf("reply %s, want %s, after\n%s", got, want, strings.Join(tail(history), "\n"))
			}
			if diff := cmp.Diff(real.seen(), fake.seen()); diff != "" {
				t.Fatalf("messages differ (-want +got) after\n%s\n%s", strings.Join(tail(history), "\n"), diff)
			}
		}
		if multi {
			real.cmd.do("EXEC")
			fake.cmd.do("EXEC")
		}
		for _, db := range []int{0, 4} {
			if diff := cmp.Diff(real.cmd.contents(db), fake.cmd.contents(db)); diff != "" {
				t.Fatalf("contents differ (-want +got):\n%s", diff)
			}
		}
	})
}

func isTx(cmd string) bool { return slices.Contains([]string{"MULTI", "EXEC", "DISCARD"}, cmd) }

// sortedInside makes a transaction's replies comparable although members of hashes and sets have no order.
func sortedInside(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("[] ", r) })
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return strings.Join(strs(list), " ")
}

func tail(lines []string) []string { return lines[max(0, len(lines)-25):] }

// TestTablesAgree: the same random use of every kind of table leaves the same bytes in both servers, and delivers the
// same.
func TestTablesAgree(t *testing.T) {
	server := swsstest.StartServer(t)
	randtest.Run(t, randtest.Cases{Count: 10}, func(t *testing.T, seed uint64) {
		dialRaw(t, server.Addr).do("FLUSHALL")
		fake := swsstest.Start(t)
		want := playTables(t, server.Open(), seed)
		got := playTables(t, fake, seed)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-redis-server +embedded):\n%s", diff)
		}
	})
}

// playTables uses all kinds of tables at random. It returns what was delivered and the contents of the databases.
func playTables(t *testing.T, r *swss.Redis, seed uint64) []string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	ctx := t.Context()
	l := swss.NewListener(r)
	defer l.Close()
	appl, conf, asic := r.DB(swss.ApplDB), r.DB(swss.ConfigDB), r.DB(swss.ASICDB)
	state, queue, table := swss.NewProducerState(appl, "S"), swss.NewProducer(asic, "Q"), swss.NewTable(conf, "C")
	notes := swss.NewNotificationProducer(asic, "NOTES")
	sources := []swss.Source{
		swss.NewConsumerState(l, appl, "S"), swss.NewConsumer(l, asic, "Q", swss.WithModify()),
		swss.NewSubscriber(l, conf, "C"), swss.NewNotificationConsumer(l, asic, "NOTES"),
	}
	var out []string
	pop := func(s swss.Source) {
		noError(t, l.Sync(ctx))
		items := need(s.Pops(ctx))(t)
		out = append(out, fmt.Sprint(s.Name(), items))
	}
	for _, s := range sources {
		pop(s)
	}
	for range 200 {
		key := fmt.Sprintf("k%d", rnd.IntN(4))
		pairs := []swss.Pair{}
		for i := range rnd.IntN(4) {
			pairs = append(pairs, swss.Pair{Field: fmt.Sprintf("f%d", i), Value: strings.Repeat("ü\"\\\n", rnd.IntN(3))})
		}
		fv := swss.ToFieldValues(pairs)
		var err error
		switch rnd.IntN(13) {
		case 0, 1:
			err = state.Set(ctx, key, pairs)
		case 2:
			err = state.Del(ctx, key)
		case 3:
			err = state.SetMany(ctx, []swss.Row{{Key: "m1", Fields: pairs}, {Key: key}, {Key: "m2", Fields: pairs}})
		case 4:
			err = state.DelMany(ctx, []string{"m1", key})
		case 5:
			err = queue.Set(ctx, key, pairs, []string{"", "create", "set", "get"}[rnd.IntN(4)])
		case 6:
			err = queue.Del(ctx, key, []string{"", "remove"}[rnd.IntN(2)])
		case 7:
			err = table.Set(ctx, key, fv)
		case 8:
			err = table.Del(ctx, key)
		case 9:
			err = table.HDel(ctx, key, "f0", "f1", "NULL")
		case 10:
			_, err = notes.Send(ctx, "op", key, pairs)
		case 11:
			err = state.ApplyView(ctx, []swss.Row{{Key: "m1", Fields: pairs}, {Key: key, Fields: pairs}})
		case 12:
			pop(sources[rnd.IntN(len(sources))])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range sources {
		pop(s)
	}
	raw := dialRaw(t, r.Addr())
	for _, db := range []int{0, 1, 4} {
		out = append(out, raw.contents(db)...)
	}
	return out
}
