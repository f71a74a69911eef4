package swss_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// TestQueue: pushed entries, alone or in a transaction, are announced, and dequeued unchanged and in order. The last
// may be incomplete.
func TestQueue(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		ctx := t.Context()
		db := r.DB(swss.ASICDB)
		q := swss.NewQueue(db, "Q")
		sub := dialRaw(t, r.Addr())
		sub.do("SUBSCRIBE", q.Channel())
		noError(t, q.Load(ctx))
		var want []swss.Entry
		for i := range 2 * swss.PopSize {
			e := swss.Entry{Key: fmt.Sprint("k", i), Body: swss.EncodeFields([]swss.Pair{{Field: "f", Value: "\"\\\n\x01ü"}}),
				Op: "Sset"}
			want = append(want, e)
			var err error
			if i%3 != 0 {
				err = q.Push(ctx, e)
			} else {
				_, err = db.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
					p.HSet(ctx, "row", "f", i)
					q.PushIn(ctx, p, e)
					p.HDel(ctx, "row", "f")
					return nil
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			if m := fmt.Sprint(sub.read()); m != "[message Q_CHANNEL@1 G]" {
				t.Fatalf("told %s", m)
			}
		}
		raw := dialRaw(t, r.Addr())
		raw.do("SELECT", "1")
		raw.do("LPUSH", "Q_KEY_VALUE_OP_QUEUE", "half", "{}")
		want = append(want, swss.Entry{Key: "half", Body: "{}"})
		if n, err := q.Len(ctx); n != len(want) || err != nil {
			t.Errorf("length %d, %v; want %d", n, err, len(want))
		}
		var got []swss.Entry
		for {
			batch := need(q.Pop(ctx))(t)
			if got = append(got, batch...); len(batch) < swss.PopSize {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-pushed +taken):\n%s", diff)
		}
	})
}

// TestQueueModify: dequeuing applies the operations that change hashes, and leaves the others alone. An operation
// that cannot be applied affects no other.
func TestQueueModify(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		raw := dialRaw(t, r.Addr())
		raw.do("SELECT", "1")
		raw.do("SET", "Q:string", "x")
		push := func(words ...string) { raw.do(append([]string{"LPUSH", "Q_KEY_VALUE_OP_QUEUE"}, words...)...) }
		push("a", `["f","1"]`, "Screate", "b", `["f","1","g","2"]`, "SSET", "b", `["f","3"]`, "Sset")
		push("string", `["f","1"]`, "Sset", "bad", `["f"`, "Sset", "odd", `["f"]`, "Sset", "x", `[]`, "Sunheard", "", "", "")
		push("T:2", `["oid:1","a=1|b=x=y","oid:2","a=2"]`, "Sbulkcreate", "T:1", `["oid:2",""]`, "Sbulkremove")
		push("a", `{}`, "Dremove", "c", `["f","1"]`, "Sget", "d", `["f","1"]`, "Screate")
		got, err := swss.NewQueue(r.DB(swss.ASICDB), "Q", swss.WithModify()).Pop(t.Context())
		if err != nil || len(got) != 13 {
			t.Errorf("took %d: %v, want 13", len(got), err)
		}
		want := []string{"1 Q:T:oid:1 [a=1 b=x=y]", "1 Q:b [f=3 g=2]", "1 Q:d [f=1]", "1 Q:string x"}
		if diff := cmp.Diff(want, raw.contents(1)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestScriptsForgotten: scripts disappear all the time, as after restarts of Redis. Still every call is executed
// once, in order.
func TestScriptsForgotten(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	ctx := t.Context()
	stop, stopped := make(chan struct{}), make(chan struct{})
	flush := dialRaw(t, server.Addr)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				flush.do("SCRIPT", "FLUSH")
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	db := r.DB(swss.ASICDB)
	q := swss.NewQueue(db, "Q")
	count := swss.NewScript("return redis.call('INCR', KEYS[1])")
	var want, got []string
	take := func() {
		batch := need(q.Pop(ctx))(t)
		for _, e := range batch {
			got = append(got, e.Key)
		}
	}
	for i := range 500 {
		want = append(want, fmt.Sprint(i))
		noError(t, q.Push(ctx, swss.Entry{Key: fmt.Sprint(i), Body: "[]", Op: "Sset"}))
		if i%3 == 0 {
			take()
		}
		calls := []swss.Call{{Keys: []string{"n"}}, {Keys: []string{"n"}}, {Keys: []string{"n"}}}
		if _, err := db.RunMany(ctx, count, calls); err != nil {
			t.Fatal(err)
		}
	}
	take()
	take()
	if diff := cmp.Diff(strings.Join(want, " "), strings.Join(got, " ")); diff != "" {
		t.Errorf("(-pushed +taken):\n%s", diff)
	}
	if n := db.Client().Get(ctx, "n").Val(); n != "1500" {
		t.Errorf("%s calls were made, want 1500", n)
	}
}

// TestInbox: Wait returns an entry, even if its message was lost. It reports a connection that broke during the wait.
func TestInbox(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	ctx := t.Context()
	q := swss.NewQueue(r.DB(swss.ASICDB), "Q")
	in := swss.NewInbox(q)
	defer in.Close()
	e := swss.Entry{Key: "k", Body: "[]", Op: "Sset"}
	noError(t, q.Push(ctx, e))
	if old, err := in.Open(ctx); err != nil || len(old) != 1 {
		t.Errorf("before: %v, %v; want what was pushed before", old, err)
	}
	for _, how := range []string{"told", "not told"} {
		if how == "told" {
			q.Push(ctx, e)
		} else {
			raw := dialRaw(t, server.Addr)
			raw.do("SELECT", "1")
			raw.do("LPUSH", "Q_KEY_VALUE_OP_QUEUE", e.Key, e.Body, e.Op)
		}
		if got, err := in.Wait(ctx, time.Hour); err != nil || len(got) != 1 || got[0] != e {
			t.Errorf("%s: %v, %v", how, got, err)
		}
	}
	failed := make(chan error)
	go func() {
		_, err := in.Wait(ctx, time.Hour)
		failed <- err
	}()
	server.Kill()
	if err := <-failed; !errors.Is(err, swss.ErrUnavailable) {
		t.Errorf("Redis was killed: %v", err)
	}
	if _, err := in.Open(ctx); !errors.Is(err, swss.ErrUnavailable) {
		t.Errorf("Redis is away: %v", err)
	}
	server.Start()
	if old, err := in.Open(ctx); err != nil || len(old) != 0 {
		t.Errorf("Redis is back: %v, %v", old, err)
	}
	q.Push(ctx, e)
	if got, err := in.Wait(ctx, time.Hour); err != nil || len(got) != 1 {
		t.Errorf("Redis is back: %v, %v", got, err)
	}
}
