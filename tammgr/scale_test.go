package tammgr

import (
	"fmt"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// fill writes n flow groups with their rules and sessions into CONFIG_DB.
func fill(t testing.TB, r *swss.Redis, n int) {
	groups, rules, sessions := map[string]swss.FieldValues{}, map[string]swss.FieldValues{}, map[string]swss.FieldValues{}
	for i := range n {
		name := fmt.Sprintf("flow%05d", i)
		groups[name] = swss.FieldValues{"id": fmt.Sprint(i + 1)}
		rules["TAM|"+name] = swss.FieldValues{
			"PRIORITY": "100", "SRC_IP": fmt.Sprintf("10.%d.%d.1/32", i/256, i%256), "DST_IP": "192.0.2.1/32",
			"IP_PROTOCOL": "6", "L4_DST_PORT": "236",
		}
		sessions["s"+name] = swss.FieldValues{"flowgroup": name}
	}
	for table, rows := range map[string]map[string]swss.FieldValues{
		schema.CfgTAMFlowGroup: groups, schema.CfgACLRule: rules, schema.CfgTAMTailStamp: sessions,
	} {
		if err := swss.NewTable(r.DB(swss.ConfigDB), table).SetMany(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
}

// The cost of one change among many rows depends only on the rows that it affects.
func TestOneChangeAmongMany(t *testing.T) {
	b := newBench(t, swsstest.Start(t))
	fill(t, b.Redis(), 1000)
	b.Do(metadata, capable, active)
	b.Appl(applTables...)
	b.Do("ACL_RULE|TAM|flow00007 SRC_IP=10.0.0.9")
	if n := b.Pending(applTables...); n != 1 {
		t.Errorf("%d rows forwarded, want 1", n)
	}
	if got, want := b.Status("TAM_STATE_FLOWGROUP_TABLE|flow00007"), "active (tammgrd)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Deciding on a row allocates memory only for its result, and nothing that all rows of a kind share.
func TestDecidingMakesLittle(t *testing.T) {
	r := swsstest.Start(t)
	d := orch.NewDaemon(orch.Manager, r, orch.Options{})
	t.Cleanup(func() { d.Close() })
	m := New(d, r)
	m.flowGroup("web", swss.FieldValues{"id": "7"})
	m.handler(kindSession)("sla", swss.FieldValues{"flowgroup": "web"})
	if err := m.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { m.decide(kindSession, "sla") }); n > 20 {
		t.Errorf("a session takes %v allocations", n)
	}
}

// benchServers runs f on the embedded server and on a real one.
func benchServers(b *testing.B, f func(b *testing.B, r *swss.Redis)) {
	b.Run("embedded", func(b *testing.B) { f(b, swsstest.Start(b)) })
	b.Run("redis", func(b *testing.B) { f(b, swsstest.StartServer(b).Open()) })
}

const flows = 10_000

// BenchmarkFill measures 10,000 flow groups with their rules and sessions, from CONFIG_DB to APPL_DB and STATE_DB.
func BenchmarkFill(b *testing.B) {
	benchServers(b, func(b *testing.B, r *swss.Redis) {
		m := newBench(b, r)
		m.Do(metadata, capable, active)
		for b.Loop() {
			b.StopTimer()
			if err := r.DB(swss.ConfigDB).Client().FlushDB(b.Context()).Err(); err != nil {
				b.Fatal(err)
			}
			m.Do(metadata, active, "restart")
			m.Appl(applTables...)
			fill(b, r, flows)
			b.StartTimer()
			m.Step()
			b.StopTimer()
			if n := m.Pending(schema.AppACLRule, schema.AppTAMTailStamp); n != 2*flows {
				b.Fatalf("%d rows forwarded, want %d", n, 2*flows)
			}
			b.StartTimer()
		}
	})
}

// BenchmarkRestart measures a start of tammgrd on the rows of BenchmarkFill.
func BenchmarkRestart(b *testing.B) {
	benchServers(b, func(b *testing.B, r *swss.Redis) {
		m := filled(b, r)
		for b.Loop() {
			m.Restart()
			m.Step()
		}
	})
}

// BenchmarkChange measures one HSET among the rows of BenchmarkFill.
func BenchmarkChange(b *testing.B) {
	benchServers(b, func(b *testing.B, r *swss.Redis) {
		m := filled(b, r)
		rules := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgACLRule)
		var worst time.Duration
		for i := 0; b.Loop(); i++ {
			start := time.Now()
			if err := rules.Set(b.Context(), "TAM|flow00007", swss.FieldValues{
				"L4_DST_PORT": fmt.Sprint(1 + i%60000)}); err != nil {
				b.Fatal(err)
			}
			m.Step()
			worst = max(worst, time.Since(start))
		}
		b.ReportMetric(float64(worst.Microseconds()), "max-us")
	})
}

func filled(b *testing.B, r *swss.Redis) *forwardtest.Bench {
	m := newBench(b, r)
	fill(b, r, flows)
	m.Do(metadata, capable, active)
	m.Appl(applTables...)
	return m
}
