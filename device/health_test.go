package device

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/swsstest"
)

// A daemon is ready when what it compares is as it should be; it lives whatever it waits for.
func TestReadyAndLive(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	ask := func(live bool) string {
		answer, err := Health(t.Context(), Question{Name: "tammgrd", Addr: server.Addr, Live: live, Timeout: 10 * time.Second})
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
		List: func(context.Context) ([]string, error) { return []string{"object"}, nil },
		Look: func(context.Context, []string) ([]drift.Finding, error) {
			if is == "1" {
				return nil, nil
			}
			return []drift.Finding{{Key: "object", What: "is " + is}}, nil
		},
	})
	h := newHealth("tammgrd")
	h.tell("")
	h.lives(func(context.Context) error { return nil }, w)
	now := time.Unix(1000, 0)
	for _, tt := range []struct {
		passes   int
		is       string
		ready    string
		consists string
	}{
		{0, "1", "has not been compared with what is in force yet", drift.Checking},
		{1, "1", "", drift.Consistent},
		{1, "2", "", drift.Consistent}, // seen once
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

// A daemon is well while it says so; mgmtd must accept connections besides. What it waits for is told in its words, and
// that of Redis where nobody can write.
func TestHealth(t *testing.T) {
	server := swsstest.StartServer(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	health := func(name string) error {
		_, err := Health(t.Context(), Question{
			Name: name, Addr: server.Addr, GNMI: l.Addr().String(), Timeout: 10 * time.Second,
		})
		return err
	}
	r := server.Open()
	for _, name := range daemons {
		if health(name) == nil {
			t.Errorf("%s is well and was never heard of", name)
		}
		h := newHealth(name)
		for _, tt := range []struct{ reason, want string }{
			{"starting", name + " is not ready since "}, {"the moon is full", ": the moon is full"}, {"", ""},
		} {
			h.tell(tt.reason)
			h.renew(t.Context(), r)
			if err := health(name); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %q: %v", name, tt.reason, err)
			}
		}
		h.lives(func(context.Context) error { return errors.New("it hangs") }, nil)
		if err := swss.NewTable(r.DB(swss.StateDB), healthTable).Del(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if h.renew(t.Context(), r); health(name) == nil {
			t.Errorf("%s is well and hangs", name)
		}
		h.lives(nil, nil)
		if h.renew(t.Context(), r); health(name) != nil {
			t.Errorf("%s works again: %v", name, health(name))
		}
	}
	l.Close()
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

// The clock of Redis' host was set back by an hour: a row that nobody renews would live that long. Nothing is heard of its
// daemon until it renews it, and if it never does, the row goes as soon as any.
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
	if err := newAlarms(r).look(t.Context(), time.Unix(1_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	if d := left(); d > beatLife {
		t.Errorf("the row goes in %s", d)
	}
	renew()
	if !heard() {
		t.Error("nothing is heard of a daemon that has renewed its row")
	}
}
