package swss_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A daemon detects changes of a database that it has claimed.
func TestClaim(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		ctx := t.Context()
		dbs := []swss.DBName{swss.ApplDB, swss.StateDB}
		for name, tt := range map[string]struct {
			change func() error
			taken  bool
		}{
			"emptied":        {func() error { return r.DB(swss.StateDB).Client().FlushDB(ctx).Err() }, false},
			"all emptied":    {func() error { return r.DB(swss.StateDB).Client().FlushAll(ctx).Err() }, false},
			"garbage":        {func() error { return r.DB(swss.ApplDB).Client().Set(ctx, swss.KeyMark, "x", 0).Err() }, false},
			"taken by other": {func() error { _, err := r.Claim(ctx, "d", "2", swss.ApplDB); return err }, true},
		} {
			t.Run(name, func(t *testing.T) {
				c, err := r.Claim(ctx, "d", "1", dbs...)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Check(ctx); err != nil {
					t.Fatalf("nothing has happened: %v", err)
				}
				if _, err := r.Claim(ctx, "other", "3", dbs...); err != nil || c.Check(ctx) != nil {
					t.Fatalf("a daemon of another name: %v, %v", err, c.Check(ctx))
				}
				noError(t, tt.change())
				var taken *swss.ClaimedError
				err = c.Check(ctx)
				if !errors.Is(err, swss.ErrReset) || errors.As(err, &taken) != tt.taken {
					t.Errorf("%v", err)
				}
				_, _ = r.Mend(ctx)
			})
		}
	})
}

// Redis is restarted with its saved data, which may be older than the last writes.
func TestClaimOfRestartedRedis(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	c := need(r.Claim(t.Context(), "d", "1", swss.StateDB))(t)
	server.Stop()
	if err := c.Check(t.Context()); !errors.Is(err, swss.ErrUnavailable) || errors.Is(err, swss.ErrReset) {
		t.Errorf("without Redis: %v", err)
	}
	server.Start()
	if err := c.Check(t.Context()); !errors.Is(err, swss.ErrReset) {
		t.Errorf("another Redis: %v", err)
	}
}

// Keys of the wrong type that commands and scripts found are deleted, and their daemons start again. Keys that no
// command found stay, and so do the keys of CONFIG_DB.
func TestMend(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		ctx := t.Context()
		appl, config := r.DB(swss.ApplDB), r.DB(swss.ConfigDB)
		for key, meet := range map[string]func() error{
			"T:row": func() error { return swss.NewTable(appl, "T").Set(ctx, "row", swss.FieldValues{"a": "b"}) },
			"T_KEY_SET": func() error {
				return swss.NewProducerState(appl, "T").Set(ctx, "k", []swss.Pair{{Field: "a", Value: "b"}})
			},
			"VIDCOUNTER": func() error { _, err := appl.Add(ctx, "VIDCOUNTER", 1); return err },
			"T_KEY_VALUE_OP_QUEUE": func() error {
				return swss.NewQueue(appl, "T").Push(ctx, swss.Entry{Key: "k", Body: "{}", Op: "Sset"})
			},
		} {
			t.Run(key, func(t *testing.T) {
				c := need(r.Claim(ctx, "d", "1", swss.ApplDB))(t)
				for _, set := range []error{
					appl.Client().Set(ctx, key, "garbage", 0).Err(), appl.Client().Set(ctx, "U:row", "garbage", 0).Err(),
					config.Client().Set(ctx, key, "garbage", 0).Err(),
				} {
					if set != nil {
						t.Fatal(set)
					}
				}
				if err := meet(); !swss.IsMisuse(err) {
					t.Fatalf("the garbage is not met: %v", err)
				}
				_ = swss.NewTable(config, "T").Set(ctx, "row", swss.FieldValues{"a": "b"})
				deleted, err := r.Mend(ctx)
				if err != nil || len(deleted) != 1 || !strings.HasPrefix(deleted[0], "APPL_DB "+key+": ") {
					t.Errorf("%q, %v", deleted, err)
				}
				if err := meet(); err != nil {
					t.Errorf("after mending: %v", err)
				}
				if err := c.Check(ctx); !errors.Is(err, swss.ErrReset) {
					t.Errorf("the daemon is not told: %v", err)
				}
				if n := config.Client().Exists(ctx, key).Val() + appl.Client().Exists(ctx, "U:row").Val(); n != 2 {
					t.Errorf("%d of 2 keys that nobody asked for are left", n)
				}
				appl.Client().FlushDB(ctx)
			})
		}
	})
}

// A row of the wrong type in a table that is handed over blocks the table only until Mend.
func TestMendHandedOverRow(t *testing.T) {
	eachServer(t, func(t *testing.T, r *swss.Redis) {
		ctx := t.Context()
		appl := r.DB(swss.ApplDB)
		l := swss.NewListener(r)
		defer l.Close()
		consumer := swss.NewConsumerState(l, appl, "T")
		noError(t, appl.Client().Set(ctx, "T:k", "garbage", 0).Err())
		noError(t, swss.NewProducerState(appl, "T").Set(ctx, "k", []swss.Pair{{Field: "a", Value: "b"}}))
		if _, err := consumer.Pops(ctx); !swss.IsMisuse(err) {
			t.Fatalf("the garbage is not met: %v", err)
		}
		if deleted, err := r.Mend(ctx); err != nil || len(deleted) != 1 {
			t.Fatalf("%q, %v", deleted, err)
		}
		noError(t, swss.NewProducerState(appl, "T").Set(ctx, "k", []swss.Pair{{Field: "a", Value: "c"}}))
		if rows, err := consumer.Pops(ctx); err != nil || len(rows) != 1 {
			t.Errorf("%v, %v", rows, err)
		}
	})
}

// A temporary fault of a database is described in words.
func TestWhy(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	db := r.DB(swss.StateDB)
	ctx := t.Context()
	set := func() error { return swss.NewTable(db, "T").Set(ctx, "k", swss.FieldValues{"a": "b"}) }
	hand := func() error {
		return swss.NewProducerState(db, "T").Set(ctx, "k", []swss.Pair{{Field: "a", Value: "b"}})
	}
	many := func() error { return swss.NewTable(db, "T").SetFor(ctx, "k", nil, time.Hour) }
	raw := dialRaw(t, server.Addr)
	for _, tt := range []struct {
		words         string
		before, after []string
	}{
		{"Redis is out of memory", []string{"config", "set", "maxmemory", "1"}, []string{"config", "set", "maxmemory", "0"}},
		{"Redis is read-only", []string{"replicaof", "127.0.0.1", "1"}, []string{"replicaof", "no", "one"}},
		{"Redis lacks replicas", []string{"config", "set", "min-replicas-to-write", "1"},
			[]string{"config", "set", "min-replicas-to-write", "0"}},
	} {
		raw.do(tt.before...)
		for i, write := range []func() error{set, hand, many} {
			if err := write(); !errors.Is(err, swss.ErrUnavailable) || !strings.HasPrefix(swss.Why(err), tt.words) {
				t.Errorf("%v, write %d: %v: %q", tt.before, i, err, swss.Why(err))
			}
		}
		raw.do(tt.after...)
	}
	server.Stop()
	if err := set(); !strings.HasPrefix(swss.Why(err), "Redis does not answer (") {
		t.Errorf("without Redis: %q", swss.Why(err))
	}
	for _, err := range []error{io.ErrNoProgress, fmt.Errorf("open a raw socket: %w", syscall.EPERM)} {
		if got := swss.Why(err); got != err.Error() {
			t.Errorf("something else: %q", got)
		}
	}
}

// If a connection is reset while a command waits, the fate of the command is unknown. The fault is temporary: a
// daemon that starts then waits. A refused connection proves that nothing was sent.
func TestConnectionReset(t *testing.T) {
	listener := need(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.(*net.TCPConn).SetLinger(0) // unread data makes Close send a reset
			_ = conn.Close()
		}
	}()
	cfg, err := swss.DefaultConfig(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = swss.Connect(t.Context(), cfg)
	if !errors.Is(err, swss.ErrUnavailable) || !strings.HasPrefix(swss.Why(err), "Redis does not answer (") ||
		swss.NothingSent(err) {
		t.Errorf("reset: %v: %q, nothing sent: %v", err, swss.Why(err), swss.NothingSent(err))
	}
	listener.Close()
	if _, err = swss.Connect(t.Context(), cfg); !errors.Is(err, swss.ErrUnavailable) || !swss.NothingSent(err) {
		t.Errorf("refused: %v, nothing sent: %v", err, swss.NothingSent(err))
	}
}
