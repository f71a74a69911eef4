package device

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// Variables of the environment that make the test's binary a daemon: a process of its own, that can be killed.
const (
	daemonVariable = "TAMTAM_TEST_DAEMON"
	redisVariable  = "TAMTAM_TEST_REDIS"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(daemonVariable); name != "" {
		if err := beDaemon(name, os.Getenv(redisVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beDaemon(name, addr string) error {
	ctx := context.Background()
	cfg, err := swss.DefaultConfig(addr)
	if err != nil {
		return err
	}
	r, err := WaitRedis(ctx, cfg, logOf(Common{}))
	if err != nil {
		return err
	}
	switch name {
	case "syncd":
		return RunSyncd(ctx, r, ChipConfig{Profile: profile.Small()}, Common{})
	case "orchagent":
		return RunOrchagent(ctx, r, Common{})
	}
	return RunManagers(ctx, r, Common{})
}

// A chaos is a switch of processes, to which anything happens.
type chaos struct {
	*turmoil
	procs  map[string]*exec.Cmd // nil: killed
	frozen map[string]bool
}

var mortals = []string{"syncd", "orchagent", "tammgrd"}

func startChaos(t *testing.T, seed uint64) *chaos {
	server := swsstest.StartServer(t)
	c := &chaos{
		turmoil: newTurmoil(&plant{T: t, server: server, redis: server.Open()}, rand.New(rand.NewPCG(seed, 6))),
		procs:   map[string]*exec.Cmd{}, frozen: map[string]bool{},
	}
	t.Cleanup(func() {
		for _, name := range mortals {
			c.kill(name)
		}
	})
	for _, name := range mortals {
		c.launch(name)
	}
	return c
}

func (c *chaos) launch(name string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), daemonVariable+"="+name, redisVariable+"="+c.server.Addr)
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

// mend undoes what was done to processes and to Redis, and loads the configuration.
func (c *chaos) mend() {
	for _, name := range mortals {
		c.signal(name, syscall.SIGCONT)
		if c.procs[name] == nil {
			c.launch(name)
		}
	}
	clear(c.frozen)
	c.reload()
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
				c.log = append(c.log, c.change(), c.happens())
			}
			c.log = append(c.log, "mend")
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
