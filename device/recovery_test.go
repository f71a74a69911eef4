package device

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/sairedis"
	"tamtam/saisim/profile"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A plant is the daemons of a switch on a real Redis, each as it runs alone but in this process.
type plant struct {
	*testing.T
	server *swsstest.Server
	redis  *swss.Redis // of the test; every daemon has its own
}

// patience is how long a plant may take to heal: a bound for a switch that never does.
const patience = time.Minute

func startPlant(t *testing.T) *plant {
	server := swsstest.StartServer(t)
	ctx, cancel := context.WithCancel(context.Background())
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(*swss.Redis) error{
		func(r *swss.Redis) error { return RunSyncd(ctx, r, ChipConfig{Profile: profile.Small()}, Common{}) },
		func(r *swss.Redis) error { return RunOrchagent(ctx, r, Common{}) },
		func(r *swss.Redis) error { return RunManagers(ctx, r, Common{}) },
	} {
		r := server.Open()
		g.Go(func() error { return run(r) })
	}
	t.Cleanup(func() {
		cancel()
		if err := g.Wait(); err != nil {
			t.Errorf("a daemon ended: %v", err)
		}
	})
	return &plant{t, server, server.Open()}
}

// load writes a configuration, as soon as Redis takes it.
func (p *plant) load(c ConfigDB) {
	p.Helper()
	if err := c.Load(p.Context(), p.redis); err != nil {
		p.Fatal(err)
	}
}

// until returns when ok does, which is asked whenever STATE_DB changes.
func (p *plant) until(what string, ok func() bool) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	events := p.redis.DB(swss.StateDB).Subscribe(ctx)
	defer events.Close()
	if err := events.PSubscribe(ctx, "__keyspace@*"); err != nil {
		p.Fatal(err)
	}
	for !ok() {
		if _, err := events.Receive(ctx); err != nil {
			p.Fatalf("%s: not within %s: %v\n%s", what, patience, err, p.states())
		}
	}
}

// states are what the daemons say of themselves, for a failure.
func (p *plant) states() string {
	var out strings.Builder
	for _, name := range daemons {
		state, heard, err := ReadState(context.Background(), p.redis, name)
		out.WriteString(name + ": " + state.State + " " + state.Reason)
		if !heard || err != nil {
			out.WriteString("not heard of")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func (p *plant) row(db swss.DBName, table, key string) swss.FieldValues {
	row, _, err := swss.NewTable(p.redis.DB(db), table).Get(p.Context(), key)
	if err != nil {
		return nil // Redis is not well: nothing is so yet
	}
	return row
}

func (p *plant) active(session string) bool {
	return p.row(swss.StateDB, schema.StateTAMTailStamp, session)["status"] == schema.StatusActive
}

// ready waits until all daemons say that they are.
func (p *plant) ready() {
	p.Helper()
	p.until("all daemons are ready", func() bool {
		for _, name := range []string{"syncd", "orchagent", "tammgrd"} {
			if state, heard, err := ReadState(p.Context(), p.redis, name); err != nil || !heard || state.State != StateReady {
				return false
			}
		}
		return true
	})
}

// same checks that the ASIC is what the configuration makes of an empty switch.
func (p *plant) same(c ConfigDB) {
	p.Helper()
	s := testSim(p.T, SimConfig{Config: c})
	settle(p.T, s)
	want := view(p.T, s)
	p.until("the ASIC is that of the configuration", func() bool {
		got, err := sairedis.CanonicalView(p.Context(), p.redis)
		return err == nil && got == want
	})
}

// more is one session more.
func more(name string) ConfigDB {
	return ConfigDB{
		schema.CfgTAMFlowGroup: {name: {"id": "77"}}, schema.CfgACLRule: {"TAM|" + name: {"IP_PROTOCOL": "17", "L4_DST_PORT": "7"}},
		schema.CfgTAMTailStamp: {name: {"flowgroup": name}},
	}
}

// both are the rows of two configurations.
func both(a, b ConfigDB) ConfigDB {
	all := ConfigDB{}
	for _, c := range []ConfigDB{a, b} {
		for table, rows := range c {
			if all[table] == nil {
				all[table] = map[string]swss.FieldValues{}
			}
			maps.Copy(all[table], rows)
		}
	}
	return all
}

// What happens to the databases of a running switch, and the switch afterwards: with its configuration loaded again it is
// the switch that the configuration makes, without a restart of anything, and every daemon is ready.
func TestDatabasesAreLost(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	flush := func(names ...swss.DBName) func(p *plant) {
		return func(p *plant) {
			for _, name := range names {
				if err := p.redis.DB(name).Client().FlushDB(p.Context()).Err(); err != nil {
					p.Fatal(err)
				}
			}
		}
	}
	for name, lose := range map[string]func(p *plant){
		"killed without persistence": func(p *plant) { p.server.Kill(); p.server.Start() },
		"restarted":                  func(p *plant) { p.server.Stop(); p.server.Start() },
		"all emptied":                func(p *plant) { p.redis.DB(swss.ConfigDB).Client().FlushAll(p.Context()) },
		"APPL_DB emptied":            flush(swss.ApplDB),
		"ASIC_DB emptied":            flush(swss.ASICDB),
		"STATE_DB emptied":           flush(swss.StateDB),
		"COUNTERS_DB emptied":        flush(swss.CountersDB, swss.FlexCounterDB),
		"an older state": func(p *plant) {
			if err := p.redis.DB(swss.ConfigDB).Client().Save(p.Context()).Err(); err != nil {
				p.Fatal(err)
			}
			p.load(more("gone"))
			p.until("the session", func() bool { return p.active("gone") })
			p.server.Kill()
			p.server.Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPlant(t)
			config := twoPorts()
			p.load(config)
			p.until("the session", func() bool { return p.active("s") })
			lose(p)
			p.until("Redis answers", func() bool { return p.redis.DB(swss.ConfigDB).Ping(p.Context()) == nil })
			p.load(both(config, more("new")))
			p.until("the new session", func() bool { return p.active("new") && p.active("s") })
			p.ready()
			p.same(both(config, more("new")))
			p.until("the switch and its ports are told to be there", func() bool {
				return len(p.row(swss.ApplDB, schema.AppPort, schema.PortInitDone)) > 0 &&
					p.row(swss.StateDB, schema.StateSwitch, schema.SwitchKey)["status"] == schema.StatusActive
			})
		})
	}
}
