package calibration

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A watcher reads COUNTERS_DB after every command that a daemon executes there. It checks that no initial row and no
// initial field is ever missing, and that no counter decreases.
type watcher struct {
	t     *testing.T
	db    *swss.DB
	rows  map[string]map[string]string
	looks int
}

type watching struct{}

func watchCounters(t *testing.T, s *device.Sim) *watcher {
	t.Helper()
	w := &watcher{t: t, db: s.Redis.DB(swss.CountersDB)}
	w.rows = w.read(t.Context())
	w.db.Client().(interface{ AddHook(redis.Hook) }).AddHook(w)
	return w
}

func (w *watcher) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *watcher) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		w.look(ctx, cmd)
		return err
	}
}

func (w *watcher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		w.look(ctx, cmds...)
		return err
	}
}

func (w *watcher) read(ctx context.Context) map[string]map[string]string {
	ctx = context.WithValue(ctx, watching{}, true)
	rows := map[string]map[string]string{}
	keys := w.db.Client().Keys(ctx, "*").Val()
	for _, key := range keys {
		rows[key] = w.db.Client().HGetAll(ctx, key).Val()
	}
	return rows
}

func (w *watcher) look(ctx context.Context, cmds ...redis.Cmder) {
	reads := func(c redis.Cmder) bool {
		return slices.Contains([]string{"keys", "hgetall", "hmget", "hget", "scan"}, c.Name())
	}
	if ctx.Value(watching{}) != nil || !slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return !reads(c) }) {
		return
	}
	w.looks++
	now := w.read(ctx)
	for key, was := range w.rows {
		table, _, _ := strings.Cut(key, ":")
		if now[key] == nil {
			w.t.Errorf("after %v: %s is missing", cmds, key)
			continue
		}
		for field, value := range was {
			is, there := now[key][field]
			switch {
			case perEpoch(table, field):
			case !there:
				w.t.Errorf("after %v: %s has no %s", cmds, key, field)
			case counts(table, field) && whole(is) < whole(value):
				w.t.Errorf("after %v: %s %s goes back from %s to %s", cmds, key, field, value, is)
			}
		}
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
	for key := range w.rows { // rows that appear later are not checked
		maps.Copy(w.rows[key], now[key])
		maps.DeleteFunc(w.rows[key], func(field, _ string) bool { _, there := now[key][field]; return !there })
	}
}

// perEpoch reports whether a field appears and disappears with the content of an epoch or a period.
func perEpoch(table, field string) bool {
	switch table {
	case schema.CountersFlyMonFlows, schema.CountersFlyMonSizes, schema.CountersAltMarkPast:
		return true
	case schema.CountersAltMark:
		return field == "TIMESTAMP" || field == "DIGEST"
	}
	return false
}

// counts reports whether a field may only grow.
func counts(table, field string) bool {
	switch table {
	case schema.CountersTable:
		return !strings.Contains(field, "OCCUPANCY") && !strings.Contains(field, "WATERMARK") &&
			!strings.Contains(field, "QLEN")
	case schema.CountersTailStamp, schema.CountersRecord:
		return true
	}
	return field == "EPOCH" || field == "PERIOD" || field == "END"
}

func whole(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// A restart of orchagent is invisible to readers of COUNTERS_DB: no row is missing at any time, and no counter
// decreases.
func TestReadersDoNotSeeARestart(t *testing.T) {
	racetest.Stepped(t)
	s := &sketched{T: t, Sim: devicetest.NewSim(t, device.SimConfig{Config: devicetest.AllFeatures(), Start: sketchStart,
		Profile: profile.Small()})}
	devicetest.RunUntilIdle(t, s.Sim)
	for i := range 4000 {
		at := s.at(1000, 0.5) + saisim.Cycle(i)*(s.at(1001, 0)-s.at(1000, 0))/20
		devicetest.NoError(t, s.Chip.Receive(0, at+1, saisim.Frame{Data: sketchFrame(t, i%20, 1000, 80)}))
	}
	s.advance(1080, 0.3)
	devicetest.NoError(t, s.Poll(t.Context()))
	w := watchCounters(t, s.Sim)
	for _, table := range []string{
		schema.CountersTailStamp, schema.CountersAltMark, schema.CountersAltMarkPast, schema.CountersRecord,
		schema.CountersRecordPlan,
		schema.CountersFlyMonResult, schema.CountersFlyMonFlows, schema.CountersFlyMonAnswer, schema.CountersFlyMonPlace,
		schema.CountersTable, schema.CountersACLRuleMap, schema.CountersPortNameMap, schema.CountersQueueNameMap,
	} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(w.rows)), func(key string) bool {
			return strings.HasPrefix(key, table)
		}) {
			t.Errorf("no row of %s: the test shows little", table)
		}
	}
	for i := range 3 {
		devicetest.NoError(t, s.RestartOrchagent(t.Context()))
		devicetest.RunUntilIdle(t, s.Sim)
		for tenth := range 25 {
			s.advance(1081+3*i+tenth/10, float64(tenth%10)/10)
		}
	}
	if w.looks < 10 {
		t.Errorf("%d looks", w.looks)
	}
}
