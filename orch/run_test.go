package orch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// live runs a daemon that sends every task on CONFIG_DB's table T.
func live(t *testing.T, r *swss.Redis, opts orch.Options) (*orch.Daemon, <-chan string) {
	t.Helper()
	tasks := make(chan string, 100)
	d := orch.NewDaemon("d", r, opts)
	d.Consume(func(l *swss.Listener) swss.Source { return swss.NewSubscriber(l, r.DB(swss.ConfigDB), "T") }, "T",
		orch.Each(func(_ context.Context, task orch.Task) error {
			tasks <- fmt.Sprint(task.Op, " ", task.Key)
			return nil
		}), orch.Reporting{StateTable: "S"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return d, tasks
}

// expect waits for tasks in this order.
func expect(t *testing.T, tasks <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-tasks:
			if got != w {
				t.Fatalf("task %q, want %q", got, w)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no task %q", w)
		}
	}
}

func TestRun(t *testing.T) {
	r := swsstest.Start(t)
	table := swss.NewTable(r.DB(swss.ConfigDB), "T")
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(table.Set(ctx, "a", swss.FieldValues{"f": "1"}))
	d, tasks := live(t, r, orch.Options{})
	expect(t, tasks, "SET a")
	must(table.Set(ctx, "b", nil))
	expect(t, tasks, "SET b")
	must(table.Del(ctx, "a"))
	expect(t, tasks, "DEL a")
	ran := false
	must(d.Do(ctx, func() { ran = true }))
	if !ran {
		t.Error("Do returned before its function had run")
	}
}

func TestRunFiresTimers(t *testing.T) {
	d := orch.NewDaemon("d", swsstest.Start(t), orch.Options{})
	fired := make(chan struct{}, 1)
	d.Every(func() time.Duration { return time.Millisecond }, func(context.Context, time.Time) error {
		select {
		case fired <- struct{}{}:
		default:
		}
		return errors.New("an error does not end the timer")
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- d.Run(ctx) }()
	for range 3 {
		<-fired
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestDoGivesUp(t *testing.T) {
	d := orch.NewDaemon("d", swsstest.Start(t), orch.Options{})
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	err := d.Do(t.Context(), func() {
		cancel()
		if err := d.Do(ctx, func() { t.Error("two at once") }); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRunSurvivesRedis: Redis is killed and returns with other data. The daemon reports the outage once, and then
// receives all rows, and a delete for each row that no longer exists.
func TestRunSurvivesRedis(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	ctx := t.Context()
	table := swss.NewTable(r.DB(swss.ConfigDB), "T")
	var logs lockedBuffer
	set := func(key string) {
		if err := table.Set(ctx, key, swss.FieldValues{"f": "1"}); err != nil {
			t.Fatal(err)
		}
	}
	set("kept")
	_, tasks := live(t, r, orch.Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	expect(t, tasks, "SET kept") // when the row arrives, the daemon is subscribed
	set("lost")
	expect(t, tasks, "SET lost")
	server.Kill()
	server.Start()
	raw := swss.NewTable(server.Open().DB(swss.ConfigDB), "T")
	if err := raw.SetMany(ctx, map[string]swss.FieldValues{"kept": {"f": "1"}, "new": {"f": "1"}}); err != nil {
		t.Fatal(err)
	}
	// The daemon may find the server empty before the rows are written.
	got := map[string]string{}
	deadline := time.After(20 * time.Second)
	for got["kept"] != "SET" || got["new"] != "SET" || got["lost"] != "DEL" {
		select {
		case task := <-tasks:
			op, key, _ := strings.Cut(task, " ")
			got[key] = op
		case <-deadline:
			t.Fatalf("told only %v", got)
		}
	}
	if n := strings.Count(logs.String(), "redis is away"); n > 1 {
		t.Errorf("%d complaints:\n%s", n, logs.String())
	}
}

// TestTaskSurvivesRedis: a task whose handler could not reach Redis is handled again.
func TestTaskSurvivesRedis(t *testing.T) {
	x := newBench(t, "d")
	away := true
	x.answer = func(task orch.Task) error {
		if task.Key == "b" && away {
			return fmt.Errorf("forward: %w", swss.ErrUnavailable)
		}
		return nil
	}
	for _, key := range []string{"a", "b", "c"} {
		x.set(x.a, key, "f", "1")
	}
	_, err := x.d.Step(t.Context(), x.now)
	if !errors.Is(err, swss.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff([]string{"A b SET"}, x.d.Dump().Pending); diff != "" {
		t.Error(diff)
	}
	away = false
	x.log = nil
	x.want(x.step(), "SET A:b f=1")
	if got := x.state("STATE_A", "a"); !strings.HasPrefix(got, "active|") {
		t.Errorf("a is %q", got)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// BenchmarkRows measures rows from a producer through a daemon to STATE_DB.
func BenchmarkRows(b *testing.B) {
	for _, n := range []int{10000, 30000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := swsstest.Start(b)
			appl := r.DB(swss.ApplDB)
			d := orch.NewDaemon("orchagent", r, orch.Options{})
			defer d.Close()
			done := 0
			d.Consume(func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, "T") }, "T",
				orch.HandlerFunc(func(_ context.Context, tasks []orch.Task) []error {
					done += len(tasks)
					return make([]error, len(tasks))
				}), orch.Reporting{StateTable: "S"})
			rows := make([]swss.Row, n)
			for i := range rows {
				rows[i] = swss.Row{Key: fmt.Sprintf("session%05d", i), Fields: []swss.Pair{{Field: "acl-table-name", Value: "TAM"},
					{Field: "acl-rule-name", Value: "r"}}}
			}
			p := swss.NewProducerState(appl, "T")
			for b.Loop() {
				if err := p.SetMany(b.Context(), rows); err != nil {
					b.Fatal(err)
				}
				if _, err := d.Step(b.Context(), start); err != nil {
					b.Fatal(err)
				}
			}
			if done != n*b.N {
				b.Fatalf("%d rows handled, want %d", done, n*b.N)
			}
			b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkReport measures the writing of outcomes to STATE_DB.
func BenchmarkReport(b *testing.B) {
	const n = 30000
	r := swsstest.Start(b)
	d := orch.NewDaemon("orchagent", r, orch.Options{})
	defer d.Close()
	words := []string{"active", "pending"}
	for i := 0; b.Loop(); i++ {
		err := d.Do(b.Context(), func() {
			for k := range n {
				d.Report(b.Context(), "S", fmt.Sprintf("session%05d", k), words[i%2], "")
			}
		})
		if err == nil {
			_, err = d.Step(b.Context(), start)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// A daemon is busy while it waits for the result of its database check, so it does not count as working.
func TestBusyWhileItChecks(t *testing.T) {
	r := swsstest.Start(t)
	claim, err := r.Claim(t.Context(), "d", "1", swss.StateDB)
	if err != nil {
		t.Fatal(err)
	}
	asked, answer := make(chan struct{}), make(chan struct{})
	r.DB(swss.ConfigDB).Client().AddHook(&slow{asked: sync.OnceFunc(func() { close(asked) }), answer: answer})
	d, _ := live(t, r, orch.Options{Claim: claim})
	<-asked
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Do(over, func() {}); err == nil {
		t.Error("it has a turn for others while it waits")
	}
	close(answer)
	if err := d.Do(t.Context(), func() {}); err != nil {
		t.Error(err)
	}
}

// A slow server executes scripts once answer is closed. It calls asked for each.
type slow struct {
	asked  func()
	answer <-chan struct{}
}

func (s *slow) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			s.asked()
			<-s.answer
		}
		return next(ctx, cmd)
	}
}
