package swss_test

import (
	"context"
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

// popAll syncs and pops.
func popAll(t *testing.T, l *swss.Listener, s swss.Source) []string {
	t.Helper()
	noError(t, l.Sync(t.Context()))
	items := need(s.Pops(t.Context()))(t)
	var out []string
	for _, i := range items {
		out = append(out, fmt.Sprint(i.Op, " ", i.Key, " ", i.FieldValues()))
	}
	return out
}

// TestSync: after Sync, everything that any client published before it has arrived.
func TestSync(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		l := swss.NewListener(r)
		defer l.Close()
		sub := swss.NewSubscriber(l, r.DB(swss.ConfigDB), "T")
		popAll(t, l, sub)
		raw := dialRaw(t, r.Addr())
		raw.do("SELECT", "4")
		for i := range 300 {
			raw.do("HSET", "T|k", "i", fmt.Sprint(i))
			want := []string{fmt.Sprintf("SET k map[i:%d]", i)}
			if diff := cmp.Diff(want, popAll(t, l, sub)); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// TestSubscriber: several events of a row are delivered as one entry with the whole row.
func TestSubscriber(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		l := swss.NewListener(r)
		defer l.Close()
		raw := dialRaw(t, r.Addr())
		raw.do("SELECT", "4")
		raw.do("HSET", "T|old", "f", "1")
		raw.do("HSET", "TX|other", "f", "1")
		sub := swss.NewSubscriber(l, r.DB(swss.ConfigDB), "T")
		steps := []struct {
			cmds [][]string
			want []string
		}{
			{nil, []string{"SET old map[f:1]"}},
			{nil, nil},
			{[][]string{{"HSET", "T|b", "f", "1"}, {"HSET", "T|a|x", "f@", "1"}, {"HSET", "T|b", "g", "2"}},
				[]string{"SET a|x map[f:1]", "SET b map[f:1 g:2]"}},
			{[][]string{{"HDEL", "T|b", "f"}}, []string{"SET b map[g:2]"}},
			{[][]string{{"HDEL", "T|b", "g"}}, []string{"DEL b map[]"}},
			{[][]string{{"DEL", "T|b"}, {"EXPIRE", "T|none", "1"}}, nil},
			{[][]string{{"DEL", "T|old"}, {"HSET", "T|old", "n", "2"}}, []string{"SET old map[n:2]"}},
			{[][]string{{"HSET", "T|short", "f", "1"}, {"DEL", "T|short"}}, nil}, // never seen
			{[][]string{{"HSET", "T|e", "NULL", "NULL"}}, []string{"SET e map[]"}},
			{[][]string{{"RENAME", "T|e", "T|f"}}, []string{"DEL e map[]", "SET f map[]"}},
			{[][]string{{"HSET", "TX|other", "f", "2"}, {"SET", "T", "x"}}, nil},
			{[][]string{{"MULTI"}, {"HSET", "T|m", "f", "1"}, {"DEL", "T|f"}, {"EXEC"}},
				[]string{"DEL f map[]", "SET m map[f:1]"}},
			{[][]string{{"EVAL", "redis.call('HSET', 'T|l', 'f', '1')", "0"}}, []string{"SET l map[f:1]"}},
		}
		for i, s := range steps {
			for _, cmd := range s.cmds {
				if err, ok := raw.do(cmd...).(error); ok {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(s.want, popAll(t, l, sub)); diff != "" {
				t.Errorf("step %d %v (-want +got):\n%s", i, s.cmds, diff)
			}
		}
	})
}

// TestReconnect: Redis is killed and returns with other data. Every source then delivers the existing rows and the
// deleted ones.
func TestReconnect(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	ctx := t.Context()
	l := swss.NewListener(r)
	defer l.Close()
	sub := swss.NewSubscriber(l, r.DB(swss.ConfigDB), "C")
	cons := swss.NewConsumerState(l, r.DB(swss.ApplDB), "A")
	queue := swss.NewConsumer(l, r.DB(swss.ASICDB), "Q")
	fill := func(keys ...string) {
		t.Helper()
		r := server.Open()
		for _, key := range keys {
			if err := errors.Join(
				swss.NewTable(r.DB(swss.ConfigDB), "C").Set(ctx, key, swss.FieldValues{"f": "1"}),
				swss.NewProducerState(r.DB(swss.ApplDB), "A").Set(ctx, key, []swss.Pair{{Field: "f", Value: "1"}}),
				swss.NewProducer(r.DB(swss.ASICDB), "Q").Set(ctx, key, nil, "create"),
			); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill("gone", "kept")
	for _, s := range []swss.Source{sub, cons} {
		if diff := cmp.Diff([]string{"SET gone map[f:1]", "SET kept map[f:1]"}, popAll(t, l, s)); diff != "" {
			t.Errorf("%s: %s", s.Name(), diff)
		}
	}
	popAll(t, l, queue)

	server.Kill()
	awaitSync(t, l, false)
	if _, err := sub.Pops(ctx); err != nil && !errors.Is(err, swss.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	drainReady(l)
	server.Start()
	fill("kept", "new")
	awaitSync(t, l, true)
	for _, s := range []swss.Source{sub, cons} {
		if diff := cmp.Diff([]string{"DEL gone map[]", "SET kept map[f:1]", "SET new map[f:1]"},
			popAll(t, l, s)); diff != "" {
			t.Errorf("%s (-want +got): %s", s.Name(), diff)
		}
		if diff := cmp.Diff([]string(nil), popAll(t, l, s)); diff != "" {
			t.Errorf("%s again: %s", s.Name(), diff)
		}
	}
	if diff := cmp.Diff([]string{"create kept map[]", "create new map[]"}, popAll(t, l, queue)); diff != "" {
		t.Errorf("queue: %s", diff)
	}
	// Events are enabled again after the restart of the server.
	fill("later")
	if diff := cmp.Diff([]string{"SET later map[f:1]"}, popAll(t, l, sub)); diff != "" {
		t.Error(diff)
	}
}

// TestRestart: Redis is stopped and returns with its data. All rows are delivered again, none as deleted.
func TestRestart(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	l := swss.NewListener(r)
	defer l.Close()
	sub := swss.NewSubscriber(l, r.DB(swss.ConfigDB), "C")
	if err := swss.NewTable(r.DB(swss.ConfigDB), "C").SetMany(t.Context(),
		map[string]swss.FieldValues{"a": {"f": "1"}, "b": nil}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if diff := cmp.Diff([]string{"SET a map[f:1]", "SET b map[]"}, popAll(t, l, sub)); diff != "" {
			t.Errorf("(-want +got): %s", diff)
		}
		server.Stop()
		awaitSync(t, l, false)
		server.Start()
		awaitSync(t, l, true)
	}
}

// awaitSync waits until the listener has a connection, or has none.
func awaitSync(t *testing.T, l *swss.Listener, up bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		err := l.Sync(ctx)
		if (err == nil) == up {
			return
		}
		if err != nil && !errors.Is(err, swss.ErrUnavailable) {
			t.Fatal(err)
		}
		select {
		case <-l.Ready(): // signals each change of the connection
		case <-ctx.Done():
			t.Fatal("the connection does not change")
		}
	}
}

func drainReady(l *swss.Listener) {
	select {
	case <-l.Ready():
	default:
	}
}

// TestReady: a message wakes the daemon.
func TestReady(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		l := swss.NewListener(r)
		defer l.Close()
		c := swss.NewConsumer(l, r.DB(swss.ASICDB), "Q")
		popAll(t, l, c)
		drainReady(l)
		p := swss.NewProducer(r.DB(swss.ASICDB), "Q")
		for i := range 50 {
			noError(t, p.Set(t.Context(), fmt.Sprint(i), nil, "get"))
			<-l.Ready()
			items, err := c.Pops(t.Context())
			if err != nil || len(items) != 1 {
				t.Fatalf("%v %v", items, err)
			}
		}
	})
}

func TestListenerCloses(t *testing.T) {
	r := swsstest.Start(t)
	l := swss.NewListener(r)
	l.Close()
	l.Close()
	if err := l.Sync(t.Context()); err == nil {
		t.Error("a closed listener is in sync")
	}
}

// TestRedisClosed: a listener whose Redis is closed ends.
func TestRedisClosed(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		l := swss.NewListener(r)
		noError(t, l.Sync(t.Context()))
		r.Close()
		for {
			if err := l.Sync(t.Context()); errors.Is(err, redis.ErrClosed) {
				break
			}
		}
		l.Close()
	})
}

// TestNotificationsLost: a consumer holds a limited number of messages. It reports once that others were lost, both
// when its queue was full and after an interruption of the connection. A new consumer has lost nothing.
func TestNotificationsLost(t *testing.T) {
	server := swsstest.StartServer(t)
	r, ctx := server.Open(), t.Context()
	l := swss.NewListener(r)
	defer l.Close()
	notes := swss.NewNotificationConsumer(l, r.DB(swss.ASICDB), "N")
	out := swss.NewNotificationProducer(r.DB(swss.ASICDB), "N")
	lost := func(when string, want bool) {
		t.Helper()
		noError(t, l.Sync(ctx))
		if got := need(notes.Lost(ctx))(t); got != want {
			t.Errorf("%s: messages were lost: %v, want %v", when, got, want)
		}
	}
	lost("new", false)
	const size = 1 << 20
	for i := range 10 {
		need(out.Send(ctx, "op", fmt.Sprint(i)+strings.Repeat("x", size), nil))(t)
	}
	noError(t, l.Sync(ctx))
	got := need(notes.Pops(ctx))(t)
	if len(got) == 0 || len(got) > 8 || got[0].Key[0] != '0' {
		t.Errorf("%d messages of 1 MiB are kept of 10", len(got))
	}
	lost("full", true)
	need(out.Send(ctx, "op", "again", nil))(t)
	if got := popAll(t, l, notes); len(got) != 1 {
		t.Errorf("received %v", got)
	}
	lost("empty", false)
	server.Stop()
	awaitSync(t, l, false)
	server.Start()
	awaitSync(t, l, true)
	lost("connected again", true)
	lost("afterwards", false)
}
