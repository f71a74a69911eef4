package device

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/sairedis"
	"tamtam/saisim/profile"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// Variables of the environment that make the test's binary a daemon: a process of its own, that can be killed.
const (
	daemonVariable = "TAMTAM_TEST_DAEMON"
	redisVariable  = "TAMTAM_TEST_REDIS"
	recordVariable = "TAMTAM_TEST_RECORD" // where it appends what it does
)

func TestMain(m *testing.M) {
	if name := os.Getenv(daemonVariable); name != "" {
		if err := beDaemon(name, os.Getenv(redisVariable), os.Getenv(recordVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beDaemon is the daemon's process; its log and its record of requests are appended to a file.
func beDaemon(name, addr, record string) error {
	ctx := context.Background()
	file, err := os.OpenFile(record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	c := Common{Log: slog.New(slog.NewTextHandler(file, nil)), Rec: file}
	cfg, err := swss.DefaultConfig(addr)
	if err != nil {
		return err
	}
	r, err := WaitRedis(ctx, cfg, c.Log)
	if err != nil {
		return err
	}
	switch name {
	case "syncd":
		return RunSyncd(ctx, r, ChipConfig{Profile: profile.Small()}, c)
	case "orchagent":
		return RunOrchagent(ctx, r, c)
	}
	return RunManagers(ctx, r, c)
}

// A chaos is a switch of processes, to which anything happens.
type chaos struct {
	*plant
	randomConfig
	dir    string               // what the processes record
	procs  map[string]*exec.Cmd // nil: killed
	frozen map[string]bool
	want   map[string]swss.FieldValues // the configuration, by key of CONFIG_DB
	log    []string                    // what happened
}

var mortals = []string{"syncd", "orchagent", "tammgrd"}

func startChaos(t *testing.T, seed uint64) *chaos {
	server := swsstest.StartServer(t)
	c := &chaos{
		plant:        &plant{T: t, server: server, redis: server.Open()},
		randomConfig: randomConfig{rand.New(rand.NewPCG(seed, 6))},
		dir:          t.ArtifactDir(),
		procs:        map[string]*exec.Cmd{}, frozen: map[string]bool{},
	}
	c.want = c.ground()
	c.want["DEVICE_METADATA|localhost"] = testMetadata["localhost"]
	t.Cleanup(func() {
		for _, name := range mortals {
			c.kill(name)
		}
		if t.Failed() {
			t.Logf("seed %d, what happened (-artifacts keeps what the processes recorded):\n%s", seed, strings.Join(c.log, "\n"))
		}
	})
	for _, name := range mortals {
		c.launch(name)
	}
	return c
}

func (c *chaos) launch(name string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), daemonVariable+"="+name, redisVariable+"="+c.server.Addr,
		recordVariable+"="+filepath.Join(c.dir, name+".log"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.procs[name] = cmd
}

func (c *chaos) kill(name string) {
	if cmd := c.procs[name]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		c.procs[name] = nil
	}
	delete(c.frozen, name)
}

func (c *chaos) signal(name string, s syscall.Signal) {
	if cmd := c.procs[name]; cmd != nil {
		_ = cmd.Process.Signal(s)
	}
}

// note notes what happened, and when.
func (c *chaos) note(what string) {
	c.log = append(c.log, time.Now().UTC().Format("15:04:05.000 ")+what)
}

// happens lets one thing happen to the switch. Where Redis is not well, it may not: what counts is what comes of it.
func (c *chaos) happens() string {
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	name, redis := c.pick(mortals...), c.redis.DB(swss.ConfigDB).Client()
	db := []swss.DBName{swss.ApplDB, swss.ASICDB, swss.StateDB, swss.CountersDB, swss.FlexCounterDB}[c.IntN(5)]
	switch c.IntN(16) {
	case 0, 1:
		c.kill(name)
		return "kill " + name
	case 2, 3:
		if c.procs[name] == nil {
			c.launch(name)
		}
		return "start " + name
	case 4:
		c.signal(name, syscall.SIGSTOP)
		c.frozen[name] = true
		return "stop " + name
	case 5:
		for name := range c.frozen {
			c.signal(name, syscall.SIGCONT)
		}
		clear(c.frozen)
		return "go on"
	case 6:
		c.server.Kill()
		c.server.Start()
		return "kill Redis, start it empty"
	case 7:
		redis.FlushAll(ctx)
		return "empty all databases"
	case 8:
		c.redis.DB(db).Client().FlushDB(ctx)
		return "empty " + string(db)
	case 9:
		redis.ConfigSet(ctx, "maxmemory", "1")
		return "Redis is full"
	case 10:
		redis.ConfigSet(ctx, "maxmemory", "0")
		return "Redis has room"
	case 11:
		redis.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes")
		return "cut all connections"
	case 12:
		redis.ClientPause(ctx, time.Duration(200+c.IntN(800))*time.Millisecond)
		return "Redis answers nobody for a while"
	case 13:
		keys := c.redis.DB(db).Client().Keys(ctx, "*").Val()
		if len(keys) == 0 {
			return "nothing"
		}
		key := keys[c.IntN(len(keys))]
		c.redis.DB(db).Client().Set(ctx, key, "garbage", 0)
		return fmt.Sprintf("garbage in %s %s", db, key)
	case 14:
		e := swss.Entry{Key: c.pick("INIT_VIEW", "APPLY_VIEW"), Body: "[]", Op: "Snotify"}
		_ = swss.NewQueue(c.redis.DB(swss.ASICDB), "ASIC_STATE").Push(ctx, e)
		return "somebody asks syncd for " + e.Key
	}
	c.pass(time.Duration(c.IntN(int(time.Second)))) // how much has become of it when the next thing happens is chance
	return "time passes"
}

// pass lets time pass.
func (c *chaos) pass(d time.Duration) {
	select {
	case <-c.Context().Done():
	case <-time.After(d):
	}
}

// change changes the configuration, and writes it if Redis takes it.
func (c *chaos) change() string {
	key, row := c.randomConfig.row()
	for strings.HasPrefix(key, schema.CfgTAMSwitch) { // a new switch id waits until no feature is active: history counts
		key, row = c.randomConfig.row()
	}
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	db := c.redis.DB(swss.ConfigDB).Client()
	db.Del(ctx, key)
	if c.IntN(4) == 0 {
		delete(c.want, key)
		return "delete " + key
	}
	c.want[key] = row
	db.HSet(ctx, key, row)
	return "set " + key
}

// mend undoes what was done to processes and to Redis, and loads the configuration.
func (c *chaos) mend() {
	for _, name := range mortals {
		c.signal(name, syscall.SIGCONT)
		if c.procs[name] == nil {
			c.launch(name)
		}
	}
	clear(c.frozen)
	db := c.redis.DB(swss.ConfigDB)
	c.until("the configuration is loaded", func() bool {
		ctx := c.Context()
		if db.Client().ConfigSet(ctx, "maxmemory", "0").Err() != nil {
			return false
		}
		keys, err := db.Client().Keys(ctx, "*").Result()
		if err != nil {
			return false
		}
		for _, key := range keys {
			if _, wanted := c.want[key]; !wanted {
				if db.Client().Del(ctx, key).Err() != nil {
					return false
				}
			}
		}
		for key, row := range c.want {
			is, err := db.Client().HGetAll(ctx, key).Result()
			if err == nil && maps.Equal(is, row) {
				continue
			}
			if db.Client().Del(ctx, key).Err() != nil || db.Client().HSet(ctx, key, row).Err() != nil {
				return false
			}
		}
		return true
	})
}

// freeSwitchID does what an operator has to: a switch id that comes while a feature is active waits until none is. After
// the loss of a configuration the order in which its rows come back is chance.
func (c *chaos) freeSwitchID() {
	status := func() string {
		return c.plant.row(swss.StateDB, schema.StateTAMSwitch, schema.TAMGlobalKey)["status"]
	}
	if status() != "pending" {
		return
	}
	db := c.redis.DB(swss.ConfigDB).Client()
	features := func(do func(key string, row swss.FieldValues)) {
		for key, row := range c.want {
			if strings.HasPrefix(key, schema.CfgTAMFeature+"|") {
				do(key, row)
			}
		}
	}
	features(func(key string, _ swss.FieldValues) { db.Del(c.Context(), key) })
	c.until("the switch id is taken", func() bool { return status() == schema.StatusActive })
	features(func(key string, row swss.FieldValues) { db.HSet(c.Context(), key, row) })
	c.steady()
}

// steady waits until all daemons have been ready for longer than it takes them to notice something.
func (c *chaos) steady() {
	for from := time.Now(); time.Since(from) < 3*beatPeriod; {
		for _, name := range mortals {
			if state, heard, err := ReadState(c.Context(), c.redis, name); err != nil || !heard || state.State != StateReady {
				c.ready()
				from = time.Now()
			}
		}
		c.pass(beatPeriod / 10)
	}
}

// statuses are what STATE_DB says of rows.
func statuses(t *testing.T, r *swss.Redis) map[string]string {
	all := map[string]string{}
	for _, table := range schema.StatusTables() {
		rows, err := swss.NewTable(r.DB(swss.StateDB), table.State).Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for key, row := range rows {
			all[table.State+"|"+key] = row[table.Status]
		}
	}
	return all
}

// counted are the names in the maps of COUNTERS_DB.
func counted(t *testing.T, r *swss.Redis) (names []string) {
	for _, m := range []string{
		schema.CountersPortNameMap, schema.CountersLAGNameMap, schema.CountersQueueNameMap, schema.CountersACLRuleMap,
	} {
		row, _, err := swss.NewTable(r.DB(swss.CountersDB), m).Get(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for name, oid := range row {
			vid := oid
			if r.DB(swss.ASICDB).Client().HExists(t.Context(), sairedis.KeyVIDToRID, vid).Val() {
				vid = "there"
			}
			names = append(names, m+" "+name+" "+vid)
		}
	}
	slices.Sort(names)
	return names
}

// check compares the switch with a fresh one that was given the same configuration.
func (c *chaos) check() {
	c.Helper()
	fresh := testSim(c.T, SimConfig{})
	for key, row := range c.want {
		fresh.Redis.DB(swss.ConfigDB).Client().HSet(c.Context(), key, row)
	}
	settle(c.T, fresh)
	want := strings.Split(viewOf(c.T, fresh.Redis), "\n")
	var diff string
	for range 100 { // a window through which an orch looks just now is in the view
		if diff = cmp.Diff(want, strings.Split(viewOf(c.T, c.redis), "\n")); diff == "" {
			break
		}
		c.pass(7 * time.Millisecond)
	}
	if diff != "" {
		c.Errorf("all daemons are ready, but the ASIC (+) is not as a fresh one (-):\n%s", diff)
	}
	if diff := cmp.Diff(statuses(c.T, fresh.Redis), statuses(c.T, c.redis)); diff != "" {
		c.Errorf("all daemons are ready, but STATE_DB (+) is not as of a fresh switch (-):\n%s", diff)
	}
	if diff := cmp.Diff(counted(c.T, fresh.Redis), counted(c.T, c.redis)); diff != "" {
		c.Errorf("all daemons are ready, but the maps of COUNTERS_DB (+) are not as of a fresh switch (-):\n%s", diff)
	}
}

// descriptors is how many files a process has open.
func descriptors(t *testing.T, pid int) int {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Skip(err)
	}
	return len(files)
}

// Daemons are killed and stopped, Redis is killed, emptied, full and slow, connections are cut, keys are spoilt, others
// ask syncd for views, while the configuration changes: whatever happened, in whatever order, as soon as all daemons say
// that they are ready the switch is as a fresh one with the same configuration. "make chaos" does it.
func TestChaos(t *testing.T) {
	if os.Getenv("TAMTAM_CASES") == "" {
		t.Skip("what comes of it is a matter of timing: see make chaos")
	}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 2}, func(t *testing.T, seed uint64) {
		t.Parallel()
		c := startChaos(t, seed)
		for range 2 {
			for range 12 {
				c.note(c.change())
				c.note(c.happens())
			}
			c.note("mend")
			c.mend()
			c.steady()
			c.freeSwitchID()
			c.check()
			if t.Failed() {
				return
			}
		}
		for name, cmd := range c.procs {
			if n := descriptors(t, cmd.Process.Pid); n > 100 {
				t.Errorf("%s has %d files open", name, n)
			}
		}
	})
}
