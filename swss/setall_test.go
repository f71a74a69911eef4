package swss_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// onTransaction is a hook that intercepts the first transaction.
type onTransaction struct {
	f    func(run func() error) error
	seen *bool
}

func (h onTransaction) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h onTransaction) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h onTransaction) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if *h.seen {
			return next(ctx, cmds)
		}
		*h.seen = true
		err := h.f(func() error { return next(ctx, cmds) })
		if err == io.EOF {
			for _, c := range cmds {
				c.SetErr(err)
			}
		}
		return err
	}
}

// Rows of many tables are all written or none, and the error reports which, even if the answer is lost.
func TestSetAll(t *testing.T) {
	rows := map[string]map[string]swss.FieldValues{"A": {"1": {"f": "v"}, "2": {}}, "B": {"1": {"f": "v"}}}
	for _, tt := range []struct {
		name string
		f    func(s *swsstest.Server, conf swss.Client, run func() error) error
		want string // the error; "" if the rows are written
	}{
		{"it goes well", func(_ *swsstest.Server, _ swss.Client, run func() error) error { return run() }, ""},
		{"the answer is lost", func(_ *swsstest.Server, _ swss.Client, run func() error) error { _ = run(); return io.EOF },
			""},
		{"the request is lost", func(*swsstest.Server, swss.Client, func() error) error { return io.EOF },
			"no row was written"},
		{"Redis is killed", func(s *swsstest.Server, _ swss.Client, run func() error) error {
			_ = run()
			s.Kill()
			s.Start()
			return io.EOF
		}, "no row was written"},
		{"Redis is full", func(_ *swsstest.Server, conf swss.Client, run func() error) error {
			conf.ConfigSet(t.Context(), "maxmemory", "1")
			defer conf.ConfigSet(t.Context(), "maxmemory", "0")
			return run()
		}, "no row was written: OOM"},
		{"a key is no hash", func(_ *swsstest.Server, conf swss.Client, run func() error) error {
			conf.Set(t.Context(), "A|2", "garbage", 0)
			return run()
		}, "keys that are no hashes, and were not written: A|2; all other rows were"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := swsstest.StartServer(t)
			db := server.Open().DB(swss.ConfigDB)
			db.Client().AddHook(onTransaction{seen: new(bool), f: func(run func() error) error {
				return tt.f(server, db.Client(), run)
			}})
			err := db.SetAll(t.Context(), rows)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			n, err := db.Client().Exists(t.Context(), "A|1", "A|2", "B|1").Result()
			if want := int64(3); err != nil || strings.HasPrefix(tt.want, "no row") == (n == want) || n != 0 && n != want {
				t.Errorf("%d rows are there, %v", n, err)
			}
		})
	}
}

// An emptied database has no revision, and its marks do not count as rows.
func TestTurn(t *testing.T) {
	for name, r := range map[string]*swss.Redis{"embedded": swsstest.Start(t), "Redis": swsstest.StartServer(t).Open()} {
		t.Run(name, func(t *testing.T) {
			db := r.DB(swss.ConfigDB)
			check := func(when string, taken, empty bool) {
				t.Helper()
				turn, err := db.Turn(t.Context())
				if err != nil || (turn != "") != taken {
					t.Errorf("%s: the turn is %q, %v", when, turn, err)
				}
				if got, err := db.Empty(t.Context()); err != nil || got != empty {
					t.Errorf("%s: empty: %t, %v", when, got, err)
				}
			}
			check("at the beginning", false, true)
			if taken, err := db.ConfirmTurn(t.Context(), "mine"); err != nil || taken {
				t.Errorf("a turn that nobody took was taken: %t, %v", taken, err)
			}
			check("when it is settled", true, true)
			noError(t, db.SetAll(t.Context(), map[string]map[string]swss.FieldValues{"A": {"1": {}}}))
			turn, _ := db.Turn(t.Context())
			if taken, err := db.ConfirmTurn(t.Context(), turn); err != nil || !taken {
				t.Errorf("the turn was taken: %t, %v", taken, err)
			}
			check("with a row", true, false)
		})
	}
}
