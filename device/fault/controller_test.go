package fault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// servers runs a test with the embedded Redis and with a real one.
func servers(t *testing.T, f func(t *testing.T, r *swss.Redis)) {
	t.Run("embedded", func(t *testing.T) { f(t, swsstest.Start(t)) })
	t.Run("redis-server", func(t *testing.T) { f(t, swsstest.StartServer(t).Open()) })
}

// open starts the controller of a daemon, as the daemon does, and returns a function that ends it.
func open(t *testing.T, r *swss.Redis, daemon string, allowed bool) (*Controller, func()) {
	t.Helper()
	d := NewController(daemon, r, allowed, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	if allowed {
		until(t, "the desk is open", func() bool {
			accepting, err := Accepting(t.Context(), r)
			return err == nil && strings.Contains(fmt.Sprint(accepting), daemon)
		})
	}
	return d, stop
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 3000 {
		if ok() {
			return
		}
		select {
		case <-t.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("%s: not within half a minute", what)
}

func inject(t *testing.T, r *swss.Redis, f Fault) Injected {
	t.Helper()
	n, err := Inject(t.Context(), r, "", f)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// write writes a row, if Redis accepts it.
func write(t *testing.T, r *swss.Redis) error {
	return swss.NewTable(r.DB(swss.ApplDB), "T").Set(t.Context(), "k", swss.FieldValues{"f": "v"})
}

// A fault is in force when the request is answered, and is reported until it is cleared. Then no trace of it is left.
func TestInjectAndClear(t *testing.T) {
	servers(t, func(t *testing.T, r *swss.Redis) {
		d, _ := open(t, r, "syncd", true)
		n := inject(t, r, Fault{Kind: SAIFail, Op: sai.OpSet, For: time.Hour})
		if err := d.refuse(t.Context(), sai.OpSet, sai.ObjectTypePort); err == nil {
			t.Error("answered, and not in force")
		}
		until(t, "that it was met is told", func() bool {
			reported, unread, err := Reported(t.Context(), r)
			return err == nil && len(unread) == 0 && len(reported) == 1 && reported[0].ID == n.ID && reported[0].Hits == 1 &&
				reported[0].At == "syncd"
		})
		if text, since := d.InForce(); !strings.HasPrefix(text,
			"faults are injected on purpose: SAI set: SAI_STATUS_FAILURE, until ") || since.IsZero() {
			t.Error(text, since)
		}
		cleared, err := Clear(t.Context(), r)
		if err != nil || cleared["syncd"] != 1 || d.refuse(t.Context(), sai.OpSet, sai.ObjectTypePort) != nil {
			t.Error(cleared, err)
		}
		until(t, "that it is over is told", func() bool {
			reported, _, err := Reported(t.Context(), r)
			return err == nil && len(reported) == 1 && reported[0].Over == "cleared" && InWords(t.Context(), r) == ""
		})
	})
}

// Faults are rejected if the daemon does not allow them, does not run, or is of the wrong kind. The answer contains the
// reason, and no fault is reported.
func TestRefused(t *testing.T) {
	servers(t, func(t *testing.T, r *swss.Redis) {
		health := swss.NewTable(r.DB(swss.StateDB), schema.StateHealth)
		if err := health.Set(t.Context(), "orchagent", swss.FieldValues{"state": "ready"}); err != nil {
			t.Fatal(err)
		}
		_, gone := open(t, r, "syncd", true)
		gone()
		until(t, "the desk is closed", func() bool {
			accepting, err := Accepting(t.Context(), r)
			return err == nil && len(accepting) == 0
		})
		open(t, r, "orchagent", false)
		_, cleared := Clear(t.Context(), r)
		_, injected := Inject(t.Context(), r, "", Fault{Kind: SAIFail})
		_, named := Inject(t.Context(), r, "orchagent", Fault{Kind: RedisFull})
		for _, tt := range []struct {
			err  error
			want string
		}{
			{cleared, "(orchagent: started without --allow-faults; syncd, tammgrd, mgmtd: nothing was heard for 5 s)"},
			{injected, "(syncd: nothing was heard for 5 s)"},
			{named, "(orchagent: started without --allow-faults)"},
			{Check(t.Context(), r), "refused: no daemon injects this fault"},
		} {
			if !errors.Is(tt.err, ErrRefused) || !strings.Contains(tt.err.Error(), tt.want) {
				t.Errorf("%v, want %s", tt.err, tt.want)
			}
		}
		open(t, r, "tammgrd", true)
		for want, f := range map[string]Fault{
			"fault sai-fail: tammgrd does not do that, but syncd":   {Kind: SAIFail},
			"fault clock-step: tammgrd does not do that, but syncd": {Kind: ClockStep, Step: time.Second},
		} {
			if _, err := Inject(t.Context(), r, "tammgrd", f); !errors.Is(err, ErrRefused) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if reported, _, err := Reported(t.Context(), r); err != nil || len(reported) != 0 {
			t.Errorf("%+v, %v", reported, err)
		}
	})
}

// After any request, the controller continues to answer clients.
func TestHostileRequests(t *testing.T) {
	servers(t, func(t *testing.T, r *swss.Redis) {
		open(t, r, "syncd", true)
		db := r.DB(swss.StateDB)
		for _, text := range []string{"", "{}", "[]", `["inject"]`, `["inject","nobody"]`,
			`["inject","` + strings.Repeat("x", 100000) + `"]`, `["clear","` + answers + `"]`} {
			db.Client().Publish(t.Context(), channel("syncd"), text)
		}
		for _, tt := range []struct {
			op, want string
			fields   []swss.Pair
		}{
			{"explode", `"explode", want inject or clear`, nil},
			{opInject, `kind "", want one of`, nil},
			{opInject, `for "1e9h", want a time`, []swss.Pair{{Field: "kind", Value: "redis-full"},
				{Field: "for", Value: "1e9h"}}},
		} {
			if _, _, err := ask(t.Context(), r, "syncd", tt.op, tt.fields); !errors.Is(err, ErrRefused) ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %v: %v, want %s", tt.op, tt.fields, err, tt.want)
			}
		}
		swss.NewTable(db, Table).Set(t.Context(), "orchagent", swss.FieldValues{"1": "garbage",
			"2": `["kind","redis-full","until","soon"]`})
		reported, unread, err := Reported(t.Context(), r)
		if err != nil || len(reported) != 0 || len(unread) != 2 || !strings.Contains(fmt.Sprint(unread),
			`TAMTAM_FAULT|orchagent "2": until "soon", want a time`) {
			t.Errorf("%+v, %v, %v", reported, unread, err)
		}
	})
}

// While Redis is full, it rejects rows, an alarm is already written, and reported faults stay reported. A further
// fault that could not be reported is rejected. When the fault is cleared, Redis has its former limit.
func TestRedisFull(t *testing.T) {
	servers(t, func(t *testing.T, r *swss.Redis) {
		room := func() string {
			return r.DB(swss.ConfigDB).Client().ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]
		}
		r.DB(swss.ConfigDB).Client().ConfigSet(t.Context(), "maxmemory", "1000000000")
		open(t, r, "syncd", true)
		inject(t, r, Fault{Kind: RedisFull, For: time.Hour})
		if err := write(t, r); err == nil || !strings.HasPrefix(swss.Why(err), "Redis is out of memory") {
			t.Error(err)
		}
		alarm, _, err := swss.NewTable(r.DB(swss.StateDB), schema.StateAlarm).Get(t.Context(), "syncd-fault-injected")
		if err != nil || !strings.Contains(alarm[schema.AlarmText], "Redis is full") || alarm[schema.AlarmCreated] == "" {
			t.Error(alarm, err)
		}
		for _, want := range []string{"it cannot be reported, so it is not injected", "there is one already: Redis is full"} {
			f := Fault{Kind: SAIFail}
			if strings.Contains(want, "already") {
				f = Fault{Kind: RedisFull}
			}
			if _, err := Inject(t.Context(), r, "", f); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if text := InWords(t.Context(), r); !strings.Contains(text, "Redis is full, until ") {
			t.Error(text)
		}
		if _, err := Clear(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := write(t, r); err != nil || room() != "1000000000" {
			t.Errorf("%v; %s bytes", err, room())
		}
	})
}

// The fault of a full Redis also ends by itself.
func TestRedisFullEnds(t *testing.T) {
	servers(t, func(t *testing.T, r *swss.Redis) {
		open(t, r, "syncd", true)
		inject(t, r, Fault{Kind: RedisFull, For: time.Millisecond})
		until(t, "Redis takes rows", func() bool { return write(t, r) == nil })
	})
}

// A process that is killed leaves Redis full. The next process of the same daemon restores the limit, whether it
// accepts faults or not. A process of another daemon that accepts faults restores it after the fault's end.
func TestRedisLeftFull(t *testing.T) {
	servers(t, func(t *testing.T, r *swss.Redis) {
		for _, tt := range []struct {
			name    string
			allowed bool
			until   time.Duration
		}{{"syncd", true, time.Hour}, {"syncd", false, time.Hour}, {"tammgrd", true, -time.Minute}} {
			killed := NewController("syncd", r, true, slog.New(slog.DiscardHandler)) // its Run is never called
			n, err := killed.next(Fault{Kind: RedisFull, For: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			n.Until = time.Now().Add(tt.until)
			if err := killed.report(t.Context(), []Injected{n.Injected}); err != nil {
				t.Fatal(err)
			}
			if err := killed.fill(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			if write(t, r) == nil {
				t.Fatal("Redis is not full")
			}
			_, stop := open(t, r, tt.name, tt.allowed)
			until(t, "Redis takes rows", func() bool { return write(t, r) == nil })
			until(t, "nothing is told", func() bool {
				reported, _, err := Reported(t.Context(), r)
				return err == nil && (len(reported) == 0 || tt.name != "syncd")
			})
			stop()
		}
	})
}

// A Redis that evicts would lose rows when full, so it is not filled.
func TestRedisThatEvictsIsNotFilled(t *testing.T) {
	r := swsstest.StartServer(t).Open()
	r.DB(swss.ConfigDB).Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru")
	open(t, r, "syncd", true)
	if _, err := Inject(t.Context(), r, "", Fault{Kind: RedisFull}); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), `maxmemory-policy of Redis is "allkeys-lru"`) {
		t.Error(err)
	}
	if err := write(t, r); err != nil || InWords(t.Context(), r) != "" {
		t.Error(err, InWords(t.Context(), r))
	}
}

// A paused Redis answers no client before the end of the pause; then the fault ends too.
func TestRedisPause(t *testing.T) {
	servers(t, func(t *testing.T, r *swss.Redis) {
		open(t, r, "syncd", true)
		n := inject(t, r, Fault{Kind: RedisPause, For: 200 * time.Millisecond})
		if err := write(t, r); err != nil || time.Now().Before(n.Until) {
			t.Errorf("%v at %v, want an answer from %v on", err, time.Now(), n.Until)
		}
		until(t, "that it is over is told", func() bool { return InWords(t.Context(), r) == "" })
	})
}

// A slow Redis answers late, but finally answers every client.
func TestRedisSlow(t *testing.T) {
	servers(t, func(t *testing.T, r *swss.Redis) {
		open(t, r, "syncd", true)
		inject(t, r, Fault{Kind: RedisSlow, Delay: 100 * time.Millisecond, For: time.Hour})
		until(t, "an answer is late", func() bool {
			began := time.Now()
			return write(t, r) == nil && time.Since(began) > 30*time.Millisecond
		})
		if _, err := Clear(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
}

// Only the emptied database is empty, and the fault is reported although STATE_DB was emptied.
func TestRedisEmpty(t *testing.T) {
	servers(t, func(t *testing.T, r *swss.Redis) {
		open(t, r, "syncd", true)
		size := func(db swss.DBName) int64 { return r.DB(db).Client().DBSize(t.Context()).Val() }
		if err := write(t, r); err != nil {
			t.Fatal(err)
		}
		state := r.DB(swss.StateDB).Client()
		state.Set(t.Context(), "mine", "1", 0)
		n := inject(t, r, Fault{Kind: RedisEmpty, DB: swss.StateDB})
		if n.Until.After(n.From) || state.Exists(t.Context(), "mine").Val() != 0 || size(swss.ApplDB) != 1 {
			t.Errorf("%+v, %d keys in APPL_DB", n, size(swss.ApplDB))
		}
		until(t, "it is told", func() bool {
			reported, _, err := Reported(t.Context(), r)
			return err == nil && len(reported) == 1 && reported[0].Over == "it is done" &&
				reported[0].String() == "STATE_DB was emptied"
		})
		if inject(t, r, Fault{Kind: RedisEmpty, DB: AllDBs}); size(swss.ApplDB) != 0 {
			t.Error("APPL_DB is not empty")
		}
	})
}

// A face is a clock that records how it is set.
type face struct {
	mu     sync.Mutex
	ahead  time.Duration
	synced bool
}

func (f *face) StepClock(d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += d
	return nil
}

func (f *face) SetClockSynchronised(ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = ok
}

func (f *face) is(t *testing.T, ahead time.Duration, synced bool) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ahead != ahead || f.synced != synced {
		t.Errorf("%v ahead, synchronised: %t, want %v, %t", f.ahead, f.synced, ahead, synced)
	}
}

// A clock is set, and set back when the fault ends. Meanwhile it is not synchronised. The clock of a new chip is set
// too.
func TestClockStep(t *testing.T) {
	r := swsstest.Start(t)
	d, stop := open(t, r, "syncd", true)
	step := Fault{Kind: ClockStep, Step: -2 * time.Second, For: time.Hour}
	if _, err := Inject(t.Context(), r, "", step); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "there is no chip yet") {
		t.Error(err)
	}
	first, second := &face{synced: true}, &face{synced: true}
	if err := d.Drive(first); err != nil {
		t.Fatal(err)
	}
	inject(t, r, step)
	first.is(t, -2*time.Second, false)
	if _, err := Inject(t.Context(), r, "", step); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "there is one already") {
		t.Error(err)
	}
	inject(t, r, Fault{Kind: ClockStep, Step: time.Minute, Of: HostClock, For: time.Hour})
	if d.Ahead() != -62*time.Second {
		t.Errorf("the chip is %v ahead of the host, want -62s", d.Ahead())
	}
	if err := d.Drive(second); err != nil {
		t.Fatal(err)
	}
	second.is(t, -2*time.Second, false)
	stop()
	second.is(t, 0, true)
	if d.Ahead() != 0 {
		t.Errorf("the chip is %v ahead of the host", d.Ahead())
	}
}

// A nil controller, or a controller that accepts no faults, has no effect.
func TestNoController(t *testing.T) {
	var none *Controller
	for _, d := range []*Controller{none, NewController("syncd", swsstest.Start(t), false, nil)} {
		text, _ := d.InForce()
		if d.Accepts() || d.SAI(nil) != nil || d.Notified(sai.FDBEvent{}) != 1 || d.Disturb() != nil || text != "" ||
			d.Ahead() != 0 || d.Drive(nil) != nil {
			t.Errorf("%+v", d)
		}
	}
	if err := none.Run(t.Context()); err != nil {
		t.Error(err)
	}
}
