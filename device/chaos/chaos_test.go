package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/device/fault"
	"tamtam/host/cpuport"
	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// Environment variables that make the test's binary a daemon: a process of its own, which can be killed.
const (
	daemonVariable = "TAMTAM_TEST_DAEMON"
	redisVariable  = "TAMTAM_TEST_REDIS"
	dirVariable    = "TAMTAM_TEST_DIR" // directory for the process's record
	// wiresVariable has PORT=INTERFACE for each wired port of a chip. Without it, the chip is driven by its process.
	wiresVariable = "TAMTAM_TEST_WIRES"
	// cpuVariable is the socket of the CPU port, for a chip that receives only frames that it drops.
	cpuVariable = "TAMTAM_TEST_CPU"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(daemonVariable); name != "" {
		if err := beDaemon(name, os.Getenv(redisVariable), os.Getenv(dirVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beDaemon runs a daemon as this process. In dir it appends its log and its record of requests to a file, and writes
// its vitals. In syncd, frames pass through the chips.
func beDaemon(name, addr, dir string) error {
	ctx := context.Background()
	file, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	c := daemons.Common{Log: slog.New(slog.NewTextHandler(file, nil)), Rec: file, AllowFaults: true}
	cfg, err := swss.DefaultConfig(addr)
	if err != nil {
		return err
	}
	r, err := device.WaitRedis(ctx, cfg, c.Log)
	if err != nil {
		return err
	}
	g := &generator{dir: dir}
	go g.writeVitals(name)
	switch name {
	case "syncd":
		chip := daemons.ChipConfig{Profile: profile.Small(), Drive: g.drive, Wires: map[string]string{}}
		for _, wire := range strings.Fields(os.Getenv(wiresVariable)) {
			port, name, _ := strings.Cut(wire, "=")
			chip.Wires[port], chip.Drive = name, nil
		}
		if socket := os.Getenv(cpuVariable); socket != "" {
			chip.CPU, chip.CPUPort, chip.Devices = cpuport.New(), socket, noKernel{}
			chip.Drive = dropping(r, chip.CPU, c)
		}
		return daemons.RunSyncd(ctx, r, chip, c)
	case "orchagent":
		return daemons.RunOrchagent(ctx, r, c)
	case "hostifd":
		return daemons.RunHostIfdOn(ctx, r, noKernel{}, os.Getenv(cpuVariable), c)
	}
	c.StaticLAGs = true // no daemon speaks LACP here
	return daemons.RunManagers(ctx, r, c)
}

// A chaos is a switch of processes that suffers arbitrary faults.
type chaos struct {
	*turmoil
	dir     string               // directory for the processes' records
	env     []string             // additional environment of the processes
	procs   map[string]*exec.Cmd // processes by daemon; nil means killed
	frozen  map[string]bool
	proxies map[string]*swsstest.Proxy // connection of each daemon to Redis
	// failed is the time at which the last fault that makes SAI calls fail ends. It is zero if orchagent started after
	// the fault.
	failed time.Time
}

var killable = []string{"syncd", "orchagent", "tammgrd"}

// startChaos starts the processes of a switch on a Redis, with additional environment.
func startChaos(t *testing.T, server *swsstest.Server, rnd *rand.Rand, env ...string) *chaos {
	c := &chaos{
		turmoil: newTurmoil(&liveSwitch{T: t, server: server, redis: server.Open()}, rnd),
		dir:     t.ArtifactDir(),
		env:     env,
		procs:   map[string]*exec.Cmd{}, frozen: map[string]bool{}, proxies: map[string]*swsstest.Proxy{},
	}
	for _, name := range killable {
		c.proxies[name] = swsstest.StartProxy(t, server.Addr)
	}
	t.Cleanup(func() {
		for _, name := range killable {
			c.kill(name)
		}
	})
	for _, name := range killable {
		c.launch(name)
	}
	return c
}

func (c *chaos) launch(name string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), daemonVariable+"="+name, redisVariable+"="+c.proxies[name].Addr,
		dirVariable+"="+c.dir)
	cmd.Env = append(cmd.Env, c.env...)
	cmd.Stderr = os.Stderr
	devicetest.NoError(c.T, cmd.Start())
	c.procs[name] = cmd
}

func (c *chaos) kill(name string) {
	if cmd := c.procs[name]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error reports that the process was killed
		c.procs[name] = nil
	}
	delete(c.frozen, name)
}

func (c *chaos) signal(name string, s syscall.Signal) {
	if cmd := c.procs[name]; cmd != nil {
		_ = cmd.Process.Signal(s)
	}
}

// happens applies one random fault to the switch. It may fail while Redis is unusable, since only the result counts.
func (c *chaos) happens() string {
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	name, redis := c.Pick(killable...), c.redis.DB(swss.ConfigDB).Client()
	db := []swss.DBName{swss.ApplDB, swss.ASICDB, swss.StateDB, swss.CountersDB, swss.FlexCounterDB}[c.IntN(5)]
	switch c.IntN(24) {
	case 16, 17, 18, 19:
		return c.injects(ctx)
	case 20, 21:
		return c.parts(name)
	case 22:
		large := swss.FieldValues{"id": strings.Repeat("1", c.IntN(1<<17))}
		return c.write("TAM_FLOWGROUP_TABLE|F"+c.Pick("1", "large"), large)
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
		c.goOn()
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
		e := swss.Entry{Key: c.Pick("INIT_VIEW", "APPLY_VIEW"), Body: "[]", Op: "Snotify"}
		_ = swss.NewQueue(c.redis.DB(swss.ASICDB), "ASIC_STATE").Push(ctx, e)
		return "somebody asks syncd for " + e.Key
	}
	c.pass(time.Duration(c.IntN(int(time.Second)))) // a random part of the fault's effect happens before the next fault
	return "time passes"
}

// injects makes the daemons inject a random fault.
func (c *chaos) injects(ctx context.Context) string {
	f := fault.Fault{
		Kind: []fault.Kind{
			fault.SAIFail, fault.SAIFail, fault.SAIFail, fault.SAIDelay,
			fault.NotificationsLose, fault.NotificationsDouble, fault.ClockStep,
		}[c.IntN(7)],
		For: time.Duration(1+c.IntN(3000)) * time.Millisecond,
	}
	at := ""
	switch f.Kind {
	case fault.SAIFail:
		c.failed = time.Now().Add(f.For)
		f.Count, f.Every = c.IntN(20), 1+c.IntN(3)
		f.Op = []sai.Op{0, sai.OpCreate, sai.OpRemove, sai.OpSet}[c.IntN(4)]
		f.Status = []sai.Status{
			sai.StatusFailure, sai.StatusTableFull, sai.StatusNotSupported, sai.StatusInsufficientResources,
		}[c.IntN(4)]
	case fault.SAIDelay:
		f.Delay = time.Duration(1+c.IntN(200)) * time.Millisecond
	case fault.ClockStep:
		f.Step = time.Duration(c.IntN(7200)-3600) * time.Second
	default:
		at = c.Pick("syncd", "orchagent", "tammgrd")
	}
	if _, err := fault.Inject(ctx, c.redis, at, f); err != nil {
		return fmt.Sprintf("%s at %s: %v", f.Kind, at, err)
	}
	return fmt.Sprintf("%+v at %s", f.Row(), at)
}

// parts cuts the network between a daemon and Redis, restores it, or makes it forget connections.
func (c *chaos) parts(name string) string {
	switch proxy := c.proxies[name]; c.IntN(4) {
	case 0, 1:
		proxy.Part()
		return "no network to " + name
	case 2:
		proxy.Forget()
		return "the connections of " + name + " are forgotten"
	default:
		c.join()
		return "all have a network"
	}
}

// join restores the network.
func (c *chaos) join() {
	for _, proxy := range c.proxies {
		proxy.Heal()
	}
}

// goOn resumes the stopped processes.
func (c *chaos) goOn() {
	for name := range c.frozen {
		c.signal(name, syscall.SIGCONT)
	}
	clear(c.frozen)
}

// mend undoes the faults of processes and of Redis, and loads the configuration.
func (c *chaos) mend() {
	for _, name := range killable {
		c.signal(name, syscall.SIGCONT)
		if c.procs[name] == nil {
			c.launch(name)
		}
	}
	clear(c.frozen)
	c.join()
	c.reload()
	if c.failed.IsZero() {
		return
	}
	// An object that a fault made fail stays failed until it is written again, or orchagent starts again.
	c.until("the faults are over", func() bool {
		ctx, cancel := context.WithTimeout(c.Context(), time.Second)
		defer cancel()
		all, _, err := fault.Reported(ctx, c.redis)
		return err == nil && len(all) == 0 && time.Now().After(c.failed) // the row may be lost with the database
	})
	c.kill("orchagent")
	c.launch("orchagent")
	c.failed = time.Time{}
}

// While the configuration changes, many faults occur. Daemons are killed and stopped, and Redis is killed, emptied,
// full and slow. Connections and the network are cut, keys are corrupted, and other clients request views from syncd.
// Calls to the chip fail or are late, notifications are lost or doubled, clocks are set, and rows are too large. The
// order is random. As soon as all daemons report that they are ready, the switch equals a new one with the same
// configuration. The gate runs this for a minute; see "make chaos".
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("processes: nothing for the race detector")
	}
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		t.Parallel()
		c := startChaos(t, swsstest.StartServer(t), rand.New(rand.NewPCG(seed, 6)))
		// longest time between two faults
		pace := []time.Duration{0, 50 * time.Millisecond, time.Second}[c.IntN(3)]
		for range 2 {
			for range 12 {
				c.note(c.change())
				c.happened(c.happens())
				c.pass(time.Duration(c.Float64() * float64(pace)))
			}
			c.note("mend")
			c.mend()
			c.healed()
			c.freeSwitchID()
			c.check()
			if t.Failed() {
				return
			}
		}
		c.holdsLittle()
	})
}
