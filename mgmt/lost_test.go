package mgmt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/swsstest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A guarded bed is a server on a real Redis that watches its databases, as mgmtd does.
type guarded struct {
	*bed
	real     *swsstest.Server
	mu       sync.Mutex
	reported []string // why it was not ready, and "" each time that it was ready again
	news     chan struct{}
}

func newGuarded(t *testing.T, patience time.Duration) *guarded {
	real := swsstest.StartServer(t)
	g := &guarded{real: real, bed: newBedOn(t, real.Open(), nil), news: make(chan struct{}, 1)}
	g.server.gate.patience = patience
	ctx, stop := context.WithCancel(g.ctx)
	done := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-done
	})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			claim, err := g.redis.Claim(ctx, "mgmtd", "this", Databases()...)
			if err == nil {
				err = g.server.Live(ctx, claim, g.report)
			}
			if err != nil {
				g.report(swss.Why(err))
				_, _ = g.redis.Mend(ctx)
			}
		}
	}()
	g.until("it is ready", func(reported []string) bool { return slices.Contains(reported, "") })
	return g
}

func (g *guarded) report(reason string) {
	g.server.Refuse(reason)
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.reported); n == 0 || g.reported[n-1] != reason {
		g.reported = append(g.reported, reason)
	}
	select {
	case g.news <- struct{}{}:
	default:
	}
}

// until waits until ok accepts the reports since forget.
func (g *guarded) until(what string, ok func(reported []string) bool) {
	g.t.Helper()
	for {
		g.mu.Lock()
		reported := slices.Clone(g.reported)
		g.mu.Unlock()
		if ok(reported) {
			return
		}
		select {
		case <-g.news:
		case <-g.ctx.Done():
			g.t.Fatalf("%s: never; told were %q", what, reported)
		}
	}
}

func (g *guarded) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reported = nil
}

// says waits for the report that the server is not ready for the reason, and for the report that it is ready again.
func (g *guarded) says(reason string) {
	g.t.Helper()
	g.until("not ready, "+reason+"; and ready again", func(reported []string) bool {
		i := slices.IndexFunc(reported, func(s string) bool { return strings.Contains(s, reason) })
		return i >= 0 && slices.Contains(reported[i:], "")
	})
}

// The nodes that a subscriber gets from two rows, one of CONFIG_DB and one of STATE_DB.
const (
	configured = "/tam/samplers/sampler[name=a]/config/sampling-rate"
	inForce    = "/tam/tailstamping-sessions/tailstamping-session[name=s1]/state/status"
)

func theTwo(rate, status string) map[string]string {
	return map[string]string{
		"CONFIG_DB TAM_SAMPLINGRATE_TABLE|a":       "sampling-rate=" + rate,
		"CONFIG_DB TAM_TAILSTAMPING_TABLE|s1":      "flowgroup=f1",
		"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|s1": "status=" + status,
	}
}

// A last holds the newest values that a subscriber has received, by path.
type last map[string]string

func (l last) apply(lines []string) {
	for _, line := range lines {
		kind, rest, _ := strings.Cut(line, " ")
		path, value, _ := strings.Cut(rest, " ")
		value, _, _ = strings.Cut(value, " +") // the number of changes in one update
		switch kind {
		case "D":
			for p := range l {
				if strings.HasPrefix(p, path) {
					delete(l, p)
				}
			}
		case "U":
			l[path] = value
		}
	}
}

// Whatever happens to the databases, a subscriber's values soon equal their content. Deletes are sent for vanished
// rows, and updates for rows that return.
func TestSubscribersOfLostDatabases(t *testing.T) {
	const rate, status = `1`, `"active"`
	gone := last{}
	for _, tt := range []struct {
		name string
		do   func(g *guarded)
		says string // reason why the server is not ready meanwhile; empty if no report is required
		want last   // the values of a subscriber afterwards
	}{
		{"all emptied", func(g *guarded) { g.conf().FlushAll(g.ctx) }, "_DB was emptied", gone},
		{"CONFIG_DB emptied", func(g *guarded) { g.conf().FlushDB(g.ctx) }, "CONFIG_DB was emptied",
			last{inForce: status}},
		{"STATE_DB emptied", func(g *guarded) { g.redis.DB(swss.StateDB).Client().FlushDB(g.ctx) },
			"STATE_DB was emptied", last{configured: rate}},
		{"exchanged", func(g *guarded) { // exchanged for a database without these rows
			if err := redis.NewClient(&redis.Options{Addr: g.real.Addr}).Do(g.ctx, "swapdb", 4, 40).Err(); err != nil {
				g.t.Fatal(err)
			}
		}, "CONFIG_DB was emptied", last{inForce: status}},
		{"killed without persistence", func(g *guarded) { g.real.Kill(); g.real.Start() }, "Redis was started again", gone},
		{"restarted", func(g *guarded) { g.real.Stop(); g.real.Start() }, "Redis was started again",
			last{configured: rate, inForce: status}},
		{"connections killed", func(g *guarded) {
			g.rows(map[string]string{"CONFIG_DB TAM_SAMPLINGRATE_TABLE|a": "sampling-rate=7"})
			for range 20 { // so that some cut the connection while the row is read
				g.conf().ClientKillByFilter(g.ctx, "TYPE", "normal", "SKIPME", "yes")
				g.conf().ClientKillByFilter(g.ctx, "TYPE", "pubsub", "SKIPME", "yes")
			}
		}, "", last{configured: "7", inForce: status}},
		{"paused", func(g *guarded) {
			g.rows(map[string]string{"CONFIG_DB TAM_SAMPLINGRATE_TABLE|a": "sampling-rate=7"})
			g.conf().ClientPause(g.ctx, 200*time.Millisecond)
		}, "", last{configured: "7", inForce: status}},
		{"a mark of another type", func(g *guarded) {
			g.conf().Set(g.ctx, swss.KeyMark, "garbage", 0)
		}, "CONFIG_DB was emptied", last{configured: rate, inForce: status}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, time.Hour)
			g.rows(theTwo("1", "active"))
			s := g.subscribe(streamOf(subOf(onChange, configured), subOf(onChange, inForce)))
			s.want("U "+configured+" "+rate, "U "+inForce+" "+status, "S")
			believes := last{configured: rate, inForce: status}
			g.forget()
			tt.do(g)
			if tt.says != "" {
				g.says(tt.says)
			}
			for !mapsEqual(believes, tt.want) {
				believes.apply(s.next())
			}
			g.until("it is ready", func(reported []string) bool { return len(reported) == 0 || reported[len(reported)-1] == "" })
			g.rows(theTwo("9", "pending"))
			for !mapsEqual(believes, last{configured: `9`, inForce: `"pending"`}) {
				believes.apply(s.next())
			}
			got, err := g.get(configured)
			for refused(err) { // a cut connection is not noticed immediately
				got, err = g.get(configured)
			}
			if err != nil || got != "9" {
				t.Errorf("Get says %s, %v", got, err)
			}
		})
	}
}

// refused reports whether the server refuses all clients at present.
func refused(err error) bool { return status.Code(err) == codes.Unavailable }

func mapsEqual(a, b last) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func (g *guarded) conf() swss.Client { return g.redis.DB(swss.ConfigDB).Client() }

// failNext makes the next commands fail as if the connection had been cut.
type failNext struct{ left *atomic.Int32 }

func (h failNext) fails() bool {
	for n := h.left.Load(); n > 0; n = h.left.Load() {
		if h.left.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

func (h failNext) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h failNext) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.fails() {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	}
}

func (h failNext) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if h.fails() {
			for _, c := range cmds {
				c.SetErr(io.EOF)
			}
			return io.EOF
		}
		return next(ctx, cmds)
	}
}

// Whichever of the reads after a change fails, the subscriber gets the change. This also holds for a server without a
// claim.
func TestReadingFails(t *testing.T) {
	b := newBed(t, nil)
	b.server.gate.patience = time.Hour
	b.rows(samplers("9", ""))
	s := b.subscribe(streamOf(subOf(onChange, rates)))
	s.want("U "+rateA+" 9", "S")
	writer, err := swss.Open(b.ctx, b.redis.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	hook := failNext{new(atomic.Int32)}
	b.redis.DB(swss.ConfigDB).Client().AddHook(hook)
	for n := range int32(4) {
		hook.left.Store(n)
		row := swss.FieldValues{"sampling-rate": fmt.Sprint(n + 1)}
		if err := swss.NewTable(writer.DB(swss.ConfigDB), "TAM_SAMPLINGRATE_TABLE").Set(b.ctx, "a", row); err != nil {
			t.Fatal(err)
		}
		s.want(fmt.Sprintf("U %s %d", rateA, n+1))
	}
}

// While Redis does not answer, every RPC fails with that reason. A subscriber's RPC ends, so that it does not keep
// stale values.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(g *guarded){
		"it is killed": func(g *guarded) { g.real.Kill() },
		"it hangs":     func(g *guarded) { g.conf().ClientPause(g.ctx, time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, streamPatience)
			g.rows(theTwo("1", "active"))
			s := g.subscribe(streamOf(subOf(onChange, configured)))
			s.want("U "+configured+" 1", "S")
			g.forget()
			do(g)
			g.until("it says so", func(reported []string) bool { return len(reported) > 0 && reported[0] != "" })
			_, err := g.get(configured)
			wantErr(t, err, "Unavailable", "Redis does not answer")
			_, err = g.client.Set(g.ctx, &gpb.SetRequest{Update: []*gpb.Update{update(configured, "2")}})
			wantErr(t, err, "Unavailable", "Redis does not answer")
			g.subscribe(streamOf(subOf(onChange, configured))).wantEnd("Unavailable", "Redis does not answer")
			s.wantEnd("Unavailable", "Redis does not answer")
			if _, err := g.client.Capabilities(g.ctx, &gpb.CapabilityRequest{}); err != nil {
				t.Errorf("Capabilities need no database: %v", err)
			}
		})
	}
}

// Data read partly before and partly after a database was emptied is not returned.
func TestGetDuringFlush(t *testing.T) {
	g := newGuarded(t, streamPatience)
	g.rows(theTwo("1", "active"))
	h := &afterRead{key: "TAM_SAMPLINGRATE_TABLE|a", f: func() { g.conf().FlushAll(g.ctx) }}
	g.conf().AddHook(h)
	_, err := g.get("/tam")
	wantErr(t, err, "Unavailable", "CONFIG_DB was emptied")
}

// If another server has claimed the databases of a server, the latter reports that, to subscribers too.
func TestAnotherServer(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	s := b.subscribe(streamOf(subOf(onChange, "/tam/samplers")))
	s.want("S")
	b.server.Refuse("STATE_DB is of another mgmtd")
	_, err := b.get("/tam")
	wantErr(t, err, "Unavailable", "not ready: STATE_DB is of another mgmtd")
	s.wantEnd("Unavailable", "not ready: STATE_DB is of another mgmtd")
	b.server.Refuse("")
	_, err = b.get("/tam")
	wantErr(t, err, "NotFound")
}

// An atCommit intercepts the commands of a commit.
type atCommit struct {
	f func(commit func() error) error
}

func (h atCommit) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h atCommit) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h atCommit) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if text, ok := args[len(args)-1].([]byte); !ok || !bytes.Contains(text, []byte(swss.KeyMark)) {
			return next(ctx, cmd)
		}
		err := h.f(func() error { return next(context.WithoutCancel(ctx), cmd) })
		cmd.SetErr(err)
		return err
	}
}

// A Set whose commit gets no response is done as a whole or not at all, and the client gets the true outcome. A delayed
// request is not executed later.
func TestSetCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		f    func(g *guarded, commit func() error) error
		want string // part of the error; empty if the Set was done
		late bool
	}{
		{"the answer is lost", func(_ *guarded, commit func() error) error { _ = commit(); return io.EOF }, "", false},
		{"the request is lost", func(_ *guarded, _ func() error) error { return io.EOF }, "nothing was changed", false},
		{"the request is late", func(_ *guarded, _ func() error) error { return io.EOF }, "nothing was changed", true},
		{"and all data are", func(g *guarded, commit func() error) error {
			_ = commit()
			g.conf().FlushAll(g.ctx)
			return io.EOF
		},
			"nothing was changed", false},
		{"Redis is full", func(g *guarded, commit func() error) error {
			g.conf().ConfigSet(g.ctx, "maxmemory", "1")
			defer g.conf().ConfigSet(g.ctx, "maxmemory", "0")
			return commit()
		}, "Redis is out of memory and takes no writes", false},
		{"Redis is read-only", func(g *guarded, commit func() error) error {
			g.conf().SlaveOf(g.ctx, "127.0.0.1", "1")
			defer g.conf().SlaveOf(g.ctx, "no", "one")
			return commit()
		}, "Redis is read-only", false},
		{"Redis is gone", func(g *guarded, commit func() error) error { _ = commit(); g.real.Kill(); return io.EOF },
			"it is not known whether the configuration was changed", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, streamPatience)
			var commit func() error
			var once sync.Once
			set := &gpb.SetRequest{Update: []*gpb.Update{
				update("/tam/samplers/sampler[name=a]", `{"name":"a","config":{"sampling-rate":1}}`),
				update("/tam/samplers/sampler[name=b]", `{"name":"b","config":{"sampling-rate":2}}`),
			}}
			g.mustSet(&gpb.SetRequest{Update: []*gpb.Update{
				// Redis then has the script.
				update("/tam/samplers/sampler[name=c]", `{"name":"c","config":{"sampling-rate":3}}`)}})
			g.conf().AddHook(atCommit{func(run func() error) (err error) {
				err, now := nil, false
				once.Do(func() { commit, now, err = run, true, tt.f(g, run) })
				if !now {
					err = run()
				}
				return err
			}})
			_, err := g.client.Set(g.ctx, set)
			if tt.want == "" && err != nil {
				t.Fatal(err)
			}
			if tt.want != "" {
				wantErr(t, err, "Unavailable", tt.want)
			}
			if tt.name == "Redis is gone" {
				return
			}
			if tt.late {
				_ = commit()
			}
			for _, key := range []string{"a", "b"} {
				if there := g.row("TAM_SAMPLINGRATE_TABLE|"+key) != ""; there != (tt.want == "") {
					t.Errorf("row %s is there: %t", key, there)
				}
			}
		})
	}
}

// Sets of two servers have the same effect as if one server had executed them in order. A flow group is not deleted if
// the other server begins to use it at the last moment.
func TestSetsOfTwoServers(t *testing.T) {
	real := swsstest.StartServer(t)
	a, b := newBedOn(t, real.Open(), nil), newBedOn(t, real.Open(), nil)
	a.rows(someSwitch())
	a.rows(map[string]string{"CONFIG_DB TAM_TAILSTAMPING_TABLE|s1": ""})
	session := &gpb.SetRequest{Update: []*gpb.Update{update("/tam/tailstamping-sessions/tailstamping-session[name=s2]",
		`{"name":"s2","config":{"name":"s2","flowgroup":"f1"}}`)}}
	var once sync.Once
	a.redis.DB(swss.ConfigDB).Client().AddHook(atCommit{func(commit func() error) error {
		once.Do(func() { b.mustSet(session) })
		return commit()
	}})
	_, err := a.client.Set(a.ctx, &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/flowgroups/flowgroup[name=f1]")}})
	wantErr(t, err, "FailedPrecondition", "in use by tailstamping-session s2")
}
