package chaos

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/sai"
	"tamtam/sai/redis/sairedistest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
	"tamtam/tam/altmark"
)

// A liveSwitch is the daemons of a switch on a real Redis. Each daemon runs independently, but in this process.
type liveSwitch struct {
	*testing.T
	server *swsstest.Server
	redis  *swss.Redis // the test's connection; every daemon has its own
	stops  map[string]func()
	chips  atomic.Int32 // number of syncd's chips so far
	chip   atomic.Pointer[saisim.Chip]
	faults bool // whether the daemons accept faults
	kernel func() altmark.KernelClock
	// backend, if set, wraps syncd's chip.
	backend atomic.Pointer[func(sai.API) sai.API]
	ended   atomic.Int32               // number of orchagent's runs that ended
	via     map[string]*swsstest.Proxy // proxy to Redis, by daemon
}

// patience is the time after which a switch counts as never recovering.
const patience = 3 * time.Minute

// bareplant returns a liveSwitch that has a Redis but no daemons.
func bareplant(t *testing.T) *liveSwitch { return barePlantOn(t, swsstest.StartServer(t)) }

func barePlantOn(t *testing.T, server *swsstest.Server) *liveSwitch {
	return &liveSwitch{T: t, server: server, redis: server.Open(), stops: map[string]func(){}}
}

func startPlant(t *testing.T) *liveSwitch { return bareplant(t).started() }

// startPlantOn starts a liveSwitch on a server. Some daemons reach Redis through a proxy.
func startPlantOn(t *testing.T, server *swsstest.Server, via map[string]*swsstest.Proxy) *liveSwitch {
	p := barePlantOn(t, server)
	p.via = via
	return p.started()
}

// started starts the daemons.
func (p *liveSwitch) started() *liveSwitch {
	t := p.T
	t.Cleanup(func() {
		for _, stop := range p.stops {
			stop()
		}
	})
	for _, name := range []string{"syncd", "orchagent", "tammgrd"} {
		p.stops[name] = p.start(name)
	}
	return p
}

// start starts a daemon and returns a function that ends it.
func (p *liveSwitch) start(name string) (stop func()) {
	r := p.server.Open()
	if proxy := p.via[name]; proxy != nil {
		var err error
		if r, err = swss.Open(p.Context(), proxy.Addr); err != nil {
			p.Fatal(err)
		}
		p.Cleanup(func() { r.Close() })
	}
	run := map[string]func(context.Context) error{
		"syncd": func(ctx context.Context) error {
			return daemons.RunSyncd(ctx, r, daemons.ChipConfig{Profile: profile.Small(), Kernel: p.kernel},
				daemons.Common{AllowFaults: p.faults, Backend: func(chip sai.API) sai.API {
					p.chips.Add(1)
					p.chip.Store(chip.(*saisim.Chip))
					if layer := p.backend.Load(); layer != nil {
						chip = (*layer)(chip)
					}
					return chip
				}})
		},
		"orchagent": func(ctx context.Context) error {
			return daemons.RunOrchagent(ctx, r, daemons.Common{AllowFaults: p.faults, Log: slog.New(restartCounter{&p.ended})})
		},
		"tammgrd": func(ctx context.Context) error {
			return daemons.RunManagers(ctx, r, daemons.Common{AllowFaults: p.faults, StaticLAGs: true})
		},
		"mgmtd": daemons.NewAlarms(r).Run, // the part of mgmtd that watches the other daemons
	}[name]
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			p.Errorf("%s ended: %v", name, err)
		}
	})
}

// restartCounter is a log handler that counts how often a daemon started again.
type restartCounter struct{ n *atomic.Int32 }

func (restartCounter) Enabled(context.Context, slog.Level) bool { return true }

func (e restartCounter) WithAttrs([]slog.Attr) slog.Handler { return e }

func (e restartCounter) WithGroup(string) slog.Handler { return e }

func (e restartCounter) Handle(_ context.Context, r slog.Record) error {
	if strings.HasSuffix(r.Message, " starts again") {
		e.n.Add(1)
	}
	return nil
}

// load writes a configuration, as soon as Redis accepts it.
func (p *liveSwitch) load(c device.ConfigDB) {
	p.Helper()
	devicetest.NoError(p.T, c.Load(p.Context(), p.redis))
}

// until waits until ok returns true. It calls ok ten times per second: a call at every change of a database would
// cost as much as the daemons do.
func (p *liveSwitch) until(what string, ok func() bool) {
	p.Helper()
	p.within(patience, what, ok)
}

// within acts like until, with another time limit.
func (p *liveSwitch) within(patience time.Duration, what string, ok func() bool) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	tick := time.NewTicker(time.Second / 10)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.Fatalf("%s: not within %s\n%s", what, patience, p.states())
		}
	}
}

// states returns the states that the daemons report, for a failure.
func (p *liveSwitch) states() string {
	var out strings.Builder
	for _, name := range daemons.Daemons() {
		state, heard, err := daemons.ReadState(context.Background(), p.redis, name)
		out.WriteString(name + ": " + state.State + " " + state.Reason)
		if !heard || err != nil {
			out.WriteString("not heard of")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func (p *liveSwitch) row(db swss.DBName, table, key string) swss.FieldValues {
	row, _, err := swss.NewTable(p.redis.DB(db), table).Get(p.Context(), key)
	if err != nil {
		return nil // Redis is unusable, so the result is not known yet
	}
	return row
}

func (p *liveSwitch) active(session string) bool {
	return p.row(swss.StateDB, schema.StateTAMTailStamp, session)["status"] == schema.StatusActive
}

// ready waits until all daemons report that they are ready.
func (p *liveSwitch) ready() {
	p.Helper()
	p.until("all daemons are ready", func() bool {
		for _, name := range []string{"syncd", "orchagent", "tammgrd"} {
			if state, heard, err := daemons.ReadState(p.Context(), p.redis, name); err != nil || !heard ||
				state.State != daemons.StateReady {
				return false
			}
		}
		return true
	})
}

// unknown lists the rows of STATE_DB whose status is unknown.
func (p *liveSwitch) unknown() (list []string) {
	p.Helper()
	for _, t := range append(schema.StatusTables(), schema.Table{State: schema.StateLAG}) {
		rows, err := swss.NewTable(p.redis.DB(swss.StateDB), t.State).Dump(p.Context())
		if err != nil {
			p.Fatal(err)
		}
		for key, row := range rows {
			if t.Unknown != "" && row[t.Status] == t.Unknown || row[schema.FieldOperStatus] == schema.OperUnknown {
				list = append(list, t.State+"|"+key)
			}
		}
	}
	return list
}

// hang makes the chip hang during its work until goOn is called.
func (p *liveSwitch) hang() (goOn func()) {
	p.Helper()
	chip, hangs, released := p.chip.Load(), make(chan struct{}), make(chan struct{})
	var once sync.Once
	chip.SetObserver(func(saisim.Moment) {
		once.Do(func() { close(hangs) })
		<-released
	})
	id, ok := chip.PortByName("Ethernet0")
	if !ok {
		p.Fatal("the chip has no Ethernet0")
	}
	go func() { _ = chip.Inject(id, saisim.Frame{Data: trafficFrame(10, 0)}) }()
	select {
	case <-hangs:
	case <-time.After(patience):
		p.Fatal("nothing was observed of a frame")
	}
	return func() { close(released) }
}

// same checks that the ASIC equals that of an empty switch with the configuration.
func (p *liveSwitch) same(c device.ConfigDB) {
	p.Helper()
	s := devicetest.NewServedSim(p.T, device.SimConfig{Config: c})
	devicetest.RunUntilIdle(p.T, s)
	want, got := devicetest.View(p.T, s), ""
	defer func() {
		if got != want {
			p.Logf("the ASIC (-), and that of the configuration (+):\n%s",
				cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")))
		}
	}()
	p.until("the ASIC is that of the configuration", func() bool {
		var err error
		got, err = sairedistest.CanonicalView(p.Context(), p.redis)
		return err == nil && got == want
	})
}

// more returns the rows of a further session.
func more(name string) device.ConfigDB {
	return device.ConfigDB{
		schema.CfgTAMFlowGroup: {name: {"id": "77"}},
		schema.CfgACLRule:      {"TAM|" + name: {"IP_PROTOCOL": "17", "L4_DST_PORT": "7"}},
		schema.CfgTAMTailStamp: {name: {"flowgroup": name}},
	}
}

// A mishap is a fault of a running switch that has the session s. Afterwards the configuration is loaded again, with
// a further session.
type mishap struct {
	name  string
	fresh bool // whether it requires a new chip; otherwise traffic continues
	f     func(p *liveSwitch)
}

// heal applies mishaps to one switch, one after the other. After each mishap, the configuration is loaded again.
// Without any restart, the switch then matches it, and every daemon reports that it is ready.
func heal(t *testing.T, mishaps []mishap) {
	t.Parallel()
	p := startPlant(t)
	config := devicetest.TwoPorts()
	p.load(config)
	p.until("the session", func() bool { return p.active("s") })
	for _, m := range mishaps {
		t.Run(m.name, func(sub *testing.T) {
			p.T = sub
			defer func() { p.T = t }()
			before := p.chips.Load()
			m.f(p)
			p.until("Redis answers", func() bool { return p.redis.DB(swss.ConfigDB).Ping(p.Context()) == nil })
			p.load(devicetest.Merge(config, more("new")))
			p.until("the new session", func() bool { return p.active("new") && p.active("s") })
			p.ready()
			p.same(devicetest.Merge(config, more("new")))
			p.until("it is known what became of all rows", func() bool { return len(p.unknown()) == 0 })
			if n := p.chips.Load() - before; n > 0 != m.fresh {
				sub.Errorf("syncd has had %d chips more; it needed a fresh one: %t", n, m.fresh)
			}
			p.until("the switch and its ports are told to be there", func() bool {
				return len(p.row(swss.ApplDB, schema.AppPort, schema.PortInitDone)) > 0 &&
					p.row(swss.StateDB, schema.StateSwitch, schema.SwitchKey)["status"] == schema.StatusActive
			})
			for table, rows := range more("new") {
				for key := range rows {
					p.redis.DB(swss.ConfigDB).Client().Del(p.Context(), table+"|"+key)
				}
			}
			p.until("the new session is gone", func() bool { return p.status("new")["status"] == "" })
		})
	}
}

// healApart runs two groups of mishaps in parallel: those that require a new chip, and all others.
func healApart(t *testing.T, mishaps []mishap) {
	t.Helper()
	for name, fresh := range map[string]bool{"a fresh chip": true, "the chip goes on": false} {
		some := slices.DeleteFunc(slices.Clone(mishaps), func(m mishap) bool { return m.fresh != fresh })
		t.Run(name, func(t *testing.T) { heal(t, some) })
	}
}

func (p *liveSwitch) flush(names ...swss.DBName) {
	for _, name := range names {
		devicetest.NoError(p.T, p.redis.DB(name).Client().FlushDB(p.Context()).Err())
	}
}

// set changes a setting of Redis.
func (p *liveSwitch) set(name, value string) {
	p.Helper()
	devicetest.NoError(p.T, p.redis.DB(swss.ConfigDB).Client().ConfigSet(p.Context(), name, value).Err())
}

// unhealthy waits until the health of a daemon has a reason.
func (p *liveSwitch) unhealthy(name, reason string) {
	p.Helper()
	p.until(name+" says: "+reason, func() bool {
		_, err := daemons.Health(p.Context(), daemons.Question{Name: name, Addr: p.server.Addr, Timeout: patience})
		return err != nil && strings.Contains(err.Error(), reason)
	})
}

func TestLostDatabases(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	healApart(t, []mishap{
		{"killed without persistence", true, func(p *liveSwitch) {
			p.server.Kill()
			p.server.Start()
			p.unhealthy("tammgrd", "CONFIG_DB is empty")
		}},
		{"restarted", false, func(p *liveSwitch) { p.server.Stop(); p.server.Start() }},
		{"all emptied", true, func(p *liveSwitch) { p.redis.DB(swss.ConfigDB).Client().FlushAll(p.Context()) }},
		{"APPL_DB emptied", false, func(p *liveSwitch) { p.flush(swss.ApplDB) }},
		{"ASIC_DB emptied", true, func(p *liveSwitch) { p.flush(swss.ASICDB) }},
		{"STATE_DB emptied", false, func(p *liveSwitch) { p.flush(swss.StateDB) }},
		{"COUNTERS_DB emptied", false, func(p *liveSwitch) { p.flush(swss.CountersDB, swss.FlexCounterDB) }},
		{"an older state", true, func(p *liveSwitch) {
			devicetest.NoError(p.T, p.redis.DB(swss.ConfigDB).Client().Save(p.Context()).Err())
			p.load(more("gone"))
			p.until("the session", func() bool { return p.active("gone") })
			p.server.Kill()
			p.server.Start()
		}},
	})
}

func TestUnwellDatabases(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	healApart(t, []mishap{
		{"full", false, func(p *liveSwitch) {
			p.set("maxmemory", "1")
			p.unhealthy("orchagent", "Redis is out of memory")
			p.set("maxmemory", "0")
		}},
		{"full while syncd starts", true, func(p *liveSwitch) {
			p.set("maxmemory", "1")
			p.stops["syncd"]()
			p.stops["syncd"] = p.start("syncd")
			p.unhealthy("syncd", "Redis is out of memory")
			p.set("maxmemory", "0")
		}},
		{"read-only", false, func(p *liveSwitch) {
			devicetest.NoError(p.T, p.redis.DB(swss.ConfigDB).Client().SlaveOf(p.Context(), "127.0.0.1", "1").Err())
			p.unhealthy("tammgrd", "Redis is read-only")
			devicetest.NoError(p.T, p.redis.DB(swss.ConfigDB).Client().SlaveOf(p.Context(), "no", "one").Err())
		}},
		{"keys of other types", false, func(p *liveSwitch) {
			for db, keys := range map[swss.DBName][]string{
				swss.ApplDB:        {"ACL_RULE_TABLE_KEY_SET", "PORT_TABLE_DEL_SET", "TAM_APPL_TAILSTAMPING_TABLE:s"},
				swss.ASICDB:        {"GETRESPONSE_KEY_VALUE_OP_QUEUE", "ASIC_STATE_KEY_VALUE_OP_QUEUE", "VIDCOUNTER", "VIDTORID"},
				swss.StateDB:       {"TAM_STATE_TAILSTAMPING_TABLE|new", "TAMTAM_HEALTH|syncd"},
				swss.FlexCounterDB: {"FLEX_COUNTER_TABLE_KEY_VALUE_OP_QUEUE"},
				swss.CountersDB:    {"COUNTERS_PORT_NAME_MAP"},
			} {
				for _, key := range keys {
					devicetest.NoError(p.T, p.redis.DB(db).Client().Set(p.Context(), key, "garbage", 0).Err())
				}
			}
		}},
		{"a forged view", false, func(p *liveSwitch) {
			e := swss.Entry{Key: "INIT_VIEW", Body: "[]", Op: "Snotify"}
			devicetest.NoError(p.T, swss.NewQueue(p.redis.DB(swss.ASICDB), "ASIC_STATE").Push(p.Context(), e))
		}},
		{"syncd gone", true, func(p *liveSwitch) {
			p.stops["syncd"]()
			p.unhealthy("orchagent", "syncd is gone: no process accepts requests")
			p.stops["syncd"] = p.start("syncd")
		}},
		{"a chip that hangs", false, func(p *liveSwitch) {
			goOn := p.hang()
			p.unhealthy("syncd", "syncd has not been heard of")
			p.unhealthy("orchagent", "syncd has not been heard of")
			goOn()
		}},
		{"a failed ASIC", false, func(p *liveSwitch) {
			n := swss.NewNotificationProducer(p.redis.DB(swss.ASICDB), "NOTIFICATIONS")
			if _, err := n.Send(p.Context(), "switch_shutdown_request", `{"switch_id":"oid:0x21000000000000"}`,
				nil); err != nil {
				p.Fatal(err)
			}
		}},
		{"two of a kind", false, func(p *liveSwitch) {
			owner := func() string {
				state, _, _ := daemons.ReadState(p.Context(), p.redis, "tammgrd")
				return state.Owner
			}
			first := owner()
			stop := p.start("tammgrd")
			p.until("the second works", func() bool { return owner() != first && owner() != "" })
			stop()
			p.until("the first works again", func() bool { return owner() == first })
		}},
	})
}
