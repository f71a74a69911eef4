package daemons

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"tamtam/mgmt"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A daemon is ready if the rows that it compares are consistent. It is live even while it waits for something.
func TestReadyAndLive(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	ask := func(live bool) string {
		answer, err := Health(t.Context(), Question{Name: "tammgrd", Addr: server.Addr, Live: live,
			Timeout: 10 * time.Second})
		if err != nil {
			return "no: " + err.Error()
		}
		return answer
	}
	if got := ask(true); !strings.HasPrefix(got, "no: tammgrd has not been heard of") {
		t.Errorf("a daemon that is not there lives: %s", got)
	}
	is, w := "1", drift.NewWatch()
	w.Add(drift.Stage{Name: "STAGE",
		List: func(context.Context, drift.Keys) ([]string, error) { return []string{"object"}, nil },
		Look: func(context.Context, []string) ([]drift.Finding, error) {
			if is == "1" {
				return nil, nil
			}
			return []drift.Finding{{Key: "object", What: "is " + is}}, nil
		},
	})
	h := newHealth("tammgrd")
	claimAs(t, r, h)
	h.report("")
	h.attach(func(context.Context) error { return nil }, nil, w)
	now := time.Unix(1000, 0)
	for _, tt := range []struct {
		passes   int
		is       string
		ready    string
		consists string
	}{
		{0, "1", "has not been compared with what is in force yet", drift.Checking},
		{1, "1", "", drift.Consistent},
		{1, "2", "", drift.Consistent}, // the difference was seen only once
		{1, "2", "STAGE object is 2", drift.Differs},
		{1, "1", "", drift.Consistent},
	} {
		is = tt.is
		for range tt.passes {
			now = now.Add(time.Second)
			if err := w.Pass(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
		h.renew(t.Context(), r)
		got := ask(false)
		if (got == "ok") != (tt.ready == "") || !strings.Contains(got, tt.ready) {
			t.Errorf("after %s: ready: %s, want %q", now, got, tt.ready)
		}
		if got := ask(true); !strings.HasPrefix(got, "ok") || !strings.Contains(got, tt.ready) {
			t.Errorf("after %s: live: %s", now, got)
		}
		row, _, err := swss.NewTable(r.DB(swss.StateDB), drift.Table).Get(t.Context(), "tammgrd")
		if err != nil || row[drift.FieldState] != tt.consists {
			t.Errorf("after %s: %v, %v", now, row, err)
		}
	}
}

// claimAs sets the marks of a daemon in the databases.
func claimAs(t *testing.T, r *swss.Redis, h *health) {
	t.Helper()
	if _, err := r.Claim(t.Context(), h.name, h.owner, swss.StateDB, swss.CountersDB); err != nil {
		t.Fatal(err)
	}
}

// Text written by hand into the row of a daemon that has ended does not count as the daemon's. A process whose mark was
// lost is live, but not ready until it has set the mark again.
func TestForgedHealth(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	h := newHealth("orchagent")
	claimAs(t, r, h)
	h.report("")
	rows, client := swss.NewTable(r.DB(swss.StateDB), healthTable), r.DB(swss.StateDB).Client()
	forged := swss.FieldValues{fieldState: StateReady, fieldOwner: h.owner}
	for _, tt := range []struct {
		name        string
		do          func() error
		ready, live string // part of the error of Ready and Live; "" means ok
	}{
		{"it is there", func() error { return nil }, "", ""},
		{"a row by hand", func() error {
			return errors.Join(rows.Del(t.Context(), h.name), rows.Set(t.Context(), h.name, forged))
		},
			"its row in STATE_DB does not end by itself: no daemon wrote it",
			"its row in STATE_DB does not end by itself: no daemon wrote it"},
		{"that ends late", func() error { return rows.SetFor(t.Context(), h.name, forged, time.Hour) },
			"orchagent has not been heard of", "orchagent has not been heard of"},
		{"of nobody", func() error {
			return rows.SetFor(t.Context(), h.name, swss.FieldValues{fieldState: StateReady, fieldOwner: "me"}, beatTTL)
		}, `its row of process "me"`, ""},
		{"the mark is lost", func() error { return client.Del(t.Context(), swss.KeyMark).Err() },
			"STATE_DB has no mark of it", ""},
	} {
		h.renew(t.Context(), r)
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		for live, want := range map[bool]string{false: tt.ready, true: tt.live} {
			_, err := Health(t.Context(), Question{Name: h.name, Addr: server.Addr, Live: live, Timeout: 10 * time.Second})
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, live %t: %v, want %q", tt.name, live, err, want)
			}
		}
	}
}

// A daemon that fails repeatedly is not ready in between: it must work for a while first.
func TestFlappingIsNotReady(t *testing.T) {
	r, now := swsstest.Start(t), time.Unix(1000, 0)
	h := newHealth("tammgrd")
	h.clock = func() time.Time { return now }
	says := func(want string) {
		t.Helper()
		if err := h.renew(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		state, _, err := ReadState(t.Context(), r, "tammgrd")
		if got := state.State + " " + state.Reason; err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", now.UTC().Format("05.000"), got, err, want)
		}
	}
	says("waiting starting")
	h.report("")
	says("ready ") // immediately after the start
	for range 5 {
		h.report("it fails")
		h.report("")
		says("waiting it fails")
		now = now.Add(beatPeriod)
		says("waiting it fails")
	}
	now = now.Add(debounceTime)
	says("ready ")
}

// serveMgmt serves gNMI with a Redis. The returned function ends that, and reports a server that failed.
func serveMgmt(t *testing.T, redis *swsstest.Server) (*mgmt.Server, func()) {
	t.Helper()
	l, err := mgmt.NewServer(mgmt.Config{Redis: redis.Open(), Addr: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- l.Serve(ctx) }()
	return l, func() {
		t.Helper()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// A daemon is healthy while it reports so; mgmtd must also answer gNMI. The answer contains the reason why the daemon
// waits, and Redis' error if no client can write.
func TestHealth(t *testing.T) {
	server := swsstest.StartServer(t)
	l, stop := serveMgmt(t, server)
	health := func(name string) error {
		_, err := Health(t.Context(), Question{
			Name: name, Addr: server.Addr, GNMI: l.Addr(), Timeout: 10 * time.Second,
		})
		return err
	}
	r := server.Open()
	for _, name := range daemons {
		if health(name) == nil {
			t.Errorf("%s is well and was never heard of", name)
		}
		h := newHealth(name)
		claimAs(t, r, h)
		for _, tt := range []struct{ reason, want string }{
			{"starting", name + " is not ready since "}, {"the moon is full", ": the moon is full"}, {"", ""},
		} {
			h.report(tt.reason)
			h.renew(t.Context(), r)
			if err := health(name); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %q: %v", name, tt.reason, err)
			}
		}
		h.attach(nil, func(context.Context) error { return errors.New("it is deaf") }, nil)
		h.renew(t.Context(), r)
		if health(name) == nil || !strings.Contains(health(name).Error(), "connection for notifications") {
			t.Errorf("%s hears of no changes: %v", name, health(name))
		}
		h.attach(func(context.Context) error { return errors.New("it hangs") }, nil, nil)
		if err := swss.NewTable(r.DB(swss.StateDB), healthTable).Del(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if h.renew(t.Context(), r); health(name) == nil {
			t.Errorf("%s is well and hangs", name)
		}
		h.attach(nil, nil, nil)
		if h.renew(t.Context(), r); health(name) != nil {
			t.Errorf("%s works again: %v", name, health(name))
		}
	}
	stop()
	if health("mgmtd") == nil {
		t.Error("mgmtd is well and takes no connection")
	}
	if health("syncd") != nil {
		t.Error("syncd needs no connection")
	}
	config := r.DB(swss.ConfigDB).Client()
	if err := errors.Join(r.DB(swss.StateDB).Client().FlushDB(t.Context()).Err(),
		config.ConfigSet(t.Context(), "maxmemory", "1").Err()); err != nil {
		t.Fatal(err)
	}
	if err := health("syncd"); err == nil || !strings.Contains(err.Error(), "Redis is out of memory") {
		t.Errorf("Redis is full: %v", err)
	}
}

// The text of healthy daemons is "ok". It names failing outputs with mgmtd, the reason why a live daemon is not ready,
// and in the answer for several daemons only those with more than "ok".
func TestTextOfHealth(t *testing.T) {
	server := swsstest.StartServer(t)
	l, stop := serveMgmt(t, server)
	r := server.Open()
	report := func(h *health, reason string) {
		t.Helper()
		h.report(reason)
		if err := h.renew(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	manager, syncd := newHealth("mgmtd"), newHealth("syncd")
	for _, h := range []*health{manager, syncd} {
		claimAs(t, r, h)
		report(h, "")
	}
	alarms := swss.NewTable(r.DB(swss.StateDB), schema.StateAlarm)
	raise := func(kind, resource, text string) {
		t.Helper()
		row := swss.FieldValues{schema.AlarmType: kind, schema.AlarmResource: resource, schema.AlarmText: text}
		if err := alarms.Set(t.Context(), resource, row); err != nil {
			t.Fatal(err)
		}
	}
	says := func(want string, live bool, names ...string) {
		t.Helper()
		q := Question{Addr: server.Addr, GNMI: l.Addr(), Live: live, Timeout: 10 * time.Second}
		if got, err := HealthOf(t.Context(), q, names); err != nil || got != want {
			t.Errorf("health of %v: %q, %v, want %q", names, got, err, want)
		}
	}
	says("ok", false, "mgmtd")
	says("ok", false, "mgmtd", "syncd", "redis")
	raise(schema.AlarmSilent, "web", "is failed")
	raise(schema.AlarmOutput, "syslog-x", "messages are refused: 400")
	raise(schema.AlarmOutput, "otlp-a", "nothing was delivered")
	const failing = "ok; outputs that fail: otlp-a: nothing was delivered; syslog-x: messages are refused: 400"
	says(failing, false, "mgmtd")
	says("mgmtd: "+failing, false, "syncd", "mgmtd")
	says("ok", false, "syncd")
	report(syncd, "the chip is cold")
	says("ok, not ready: the chip is cold", true, "syncd")
	says("mgmtd: "+failing+"; syncd: ok, not ready: the chip is cold", true, "mgmtd", "syncd")
	if err := r.DB(swss.StateDB).Client().Set(t.Context(), schema.StateAlarm+"|odd", "no hash", 0).Err(); err != nil {
		t.Fatal(err)
	}
	says(failing, false, "mgmtd") // the alarms that can be read
	stop()
}

// Redis is ready if it accepts writes, and live if it answers.
func TestHealthOfRedis(t *testing.T) {
	t.Parallel()
	server := swsstest.StartServer(t)
	redis := server.Open().DB(swss.ConfigDB).Client()
	ask := func(live bool) string {
		q := Question{Name: "redis", Addr: server.Addr, Live: live, Timeout: 2 * time.Second}
		answer, err := Health(t.Context(), q)
		if err != nil {
			return "no: " + err.Error()
		}
		return answer
	}
	if ready, alive := ask(false), ask(true); ready != "ok" || alive != "ok" {
		t.Errorf("ready: %s, lives: %s", ready, alive)
	}
	redis.ConfigSet(t.Context(), "maxmemory", "1")
	if got := ask(false); !strings.HasPrefix(got, "no: ") || !strings.Contains(got,
		"Redis is out of memory and takes no writes") {
		t.Errorf("ready, and full: %s", got)
	}
	if got := ask(true); !strings.HasPrefix(got, "ok, not ready: Redis is out of memory") {
		t.Errorf("lives, and full: %s", got)
	}
	server.Signal(syscall.SIGSTOP)
	ready, alive := ask(false), ask(true)
	server.Signal(syscall.SIGCONT)
	if !strings.HasPrefix(ready, "no: ") || !strings.HasPrefix(alive, "no: ") {
		t.Errorf("it hangs, and is ready: %s, lives: %s", ready, alive)
	}
	server.Kill()
	if ready, alive := ask(false), ask(true); !strings.HasPrefix(ready, "no: ") || !strings.HasPrefix(alive, "no: ") {
		t.Errorf("it is gone, and is ready: %s, lives: %s", ready, alive)
	}
}

// The clock of Redis' host was set back by an hour, so a row that is not renewed would live that long. The daemon
// counts as silent until it renews its row. If it never does, the row expires as soon as any other row.
func TestClockOfRedisIsSetBack(t *testing.T) {
	r := swsstest.Start(t)
	h := newHealth("orchagent")
	renew := func() {
		t.Helper()
		if err := h.renew(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	heard := func() bool {
		t.Helper()
		_, heard, err := ReadState(t.Context(), r, "orchagent")
		if err != nil {
			t.Fatal(err)
		}
		return heard
	}
	left := func() time.Duration {
		return r.DB(swss.StateDB).Client().PTTL(t.Context(), "TAMTAM_HEALTH|orchagent").Val()
	}
	renew()
	if !heard() {
		t.Error("nothing is heard of a daemon that has just said how it is")
	}
	if err := r.DB(swss.StateDB).Client().PExpire(t.Context(), "TAMTAM_HEALTH|orchagent", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if heard() {
		t.Error("what the daemon said an hour from now counts")
	}
	if err := NewAlarms(r).Look(t.Context(), time.Unix(1_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	if d := left(); d > beatTTL {
		t.Errorf("the row goes in %s", d)
	}
	renew()
	if !heard() {
		t.Error("nothing is heard of a daemon that has renewed its row")
	}
}
