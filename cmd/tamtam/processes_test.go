package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/internal/racetest"
	"tamtam/sai/redis/sairedistest"
	"tamtam/saisim/profile"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// If asTamtam is set, the test binary runs as tamtam, so that daemons are real processes.
const asTamtam = "TAMTAM_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asTamtam) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A process is a daemon in a separate process.
type process struct {
	t    *testing.T
	args []string
	cmd  *exec.Cmd
	log  bytes.Buffer
}

func startProcess(t *testing.T, args ...string) *process {
	p := &process{t: t, args: args}
	p.start()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%v:\n%s", args, p.log.String())
		}
	})
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(os.Args[0], p.args...)
	p.cmd.Env = append(os.Environ(), asTamtam+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// kill sends SIGKILL, and waits for the end.
func (p *process) kill() {
	p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// A fleet is the daemons of one switch on a real Redis.
type fleet struct {
	redis   *swss.Redis
	addr    string
	daemons map[string]*process
}

func startFleet(t *testing.T) *fleet {
	server := swsstest.StartServer(t)
	r := server.Open()
	f := &fleet{redis: r, addr: server.Addr, daemons: map[string]*process{}}
	for _, name := range []string{"syncd", "orchagent", "tammgrd"} {
		f.daemons[name] = startProcess(t, "run", name, "--redis", server.Addr)
	}
	return f
}

// wait returns when the row of a table of STATE_DB satisfies ok.
func (f *fleet) wait(t *testing.T, table, key string, ok func(swss.FieldValues) bool) {
	t.Helper()
	f.waitIn(t, swss.StateDB, table, key, ok)
}

func (f *fleet) waitIn(t *testing.T, db swss.DBName, table, key string, ok func(swss.FieldValues) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := swss.NewListener(f.redis)
	defer l.Close()
	rows := swss.NewSubscriber(l, f.redis.DB(db), table)
	last := swss.FieldValues{}
	for {
		items, err := rows.Pops(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			if i.Key == key {
				last = i.FieldValues()
			}
		}
		if ok(last) {
			return
		}
		select {
		case <-l.Ready():
		case <-ctx.Done():
			t.Fatalf("%s|%s is still %v", table, key, last)
		}
	}
}

func active(row swss.FieldValues) bool { return row["status"] == schema.StatusActive }

// groups returns n flow groups with a session each.
func groups(n int) device.ConfigDB {
	c := device.ConfigDB{schema.CfgTAMFlowGroup: {}, schema.CfgACLRule: {}, schema.CfgTAMTailStamp: {}}
	for i := range n {
		name := fmt.Sprintf("F%04d", i)
		c[schema.CfgTAMFlowGroup][name] = swss.FieldValues{"id": fmt.Sprint(i + 1)}
		c[schema.CfgACLRule]["TAM|"+name] = swss.FieldValues{"SRC_IP": fmt.Sprintf("10.%d.%d.0/24", i>>8, i&0xff),
			"IP_PROTOCOL": "17"}
		c[schema.CfgTAMTailStamp][name] = swss.FieldValues{"flowgroup": name}
	}
	return c
}

// expected returns the ASIC state that the configuration gives if it is applied at once.
func expected(t *testing.T, config ...device.ConfigDB) string {
	t.Helper()
	profile := profile.Default()
	s, err := device.NewSim(t.Context(), device.SimConfig{Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range config {
		if err := c.Load(t.Context(), s.Redis); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return canonical(t, s.Redis)
}

// withoutTasks returns the demo's configuration without the tasks of FlyMon. Reading these tasks creates and removes
// objects in the ASIC.
func withoutTasks(t *testing.T) device.ConfigDB {
	c, err := device.ParseConfigDB(demoConfig)
	if err != nil {
		t.Fatal(err)
	}
	delete(c, schema.CfgTAMFlyMonTask)
	return c
}

func canonical(t *testing.T, r *swss.Redis) string {
	t.Helper()
	v, err := sairedistest.CanonicalView(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Every daemon runs in a separate process, and each is killed in the middle of a large configuration. In the end the
// ASIC matches the configuration.
func TestKillInTheMiddle(t *testing.T) {
	if testing.Short() {
		t.Skip("other processes: nothing for the race detector")
	}
	base := withoutTasks(t)
	const n = 600
	want := expected(t, base, groups(n))
	for _, victim := range []string{"tammgrd", "orchagent", "syncd"} {
		t.Run(victim, func(t *testing.T) {
			f := startFleet(t)
			if err := base.Load(t.Context(), f.redis); err != nil {
				t.Fatal(err)
			}
			f.wait(t, schema.StateTAMTailStamp, "web-latency", active)
			if err := groups(n).Load(t.Context(), f.redis); err != nil {
				t.Fatal(err)
			}
			f.daemons[victim].kill()
			f.daemons[victim].start()
			for i := range n {
				if i%100 == 99 || i == 0 {
					f.wait(t, schema.StateTAMTailStamp, fmt.Sprintf("F%04d", i), active)
				}
			}
			f.settled(t, n)
			if got := canonical(t, f.redis); got != want {
				t.Errorf("the ASIC differs from the one that the configuration makes at once (%d and %d bytes)", len(got),
					len(want))
			}
		})
	}
}

// settled returns when all n sessions are active.
func (f *fleet) settled(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		row, _, err := swss.NewTable(f.redis.DB(swss.StateDB), schema.StateTAMTailStamp).Get(t.Context(),
			fmt.Sprintf("F%04d", i))
		if err != nil {
			t.Fatal(err)
		}
		if !active(row) {
			f.wait(t, schema.StateTAMTailStamp, fmt.Sprintf("F%04d", i), active)
		}
	}
}

// Redis stops and restarts with its data, and the daemons continue.
func TestRedisComesBack(t *testing.T) {
	racetest.Live(t)
	server := swsstest.StartServer(t)
	for _, name := range []string{"syncd", "orchagent", "tammgrd"} {
		startProcess(t, "run", name, "--redis", server.Addr)
	}
	base := withoutTasks(t)
	f := &fleet{redis: server.Open()}
	if err := base.Load(t.Context(), f.redis); err != nil {
		t.Fatal(err)
	}
	f.wait(t, schema.StateTAMTailStamp, "web-latency", active)
	server.Stop()
	server.Start()
	f.redis = server.Open()
	more := device.ConfigDB{
		schema.CfgTAMFlowGroup: {"new": {"id": "99"}},
		schema.CfgACLRule:      {"TAM|new": {"IP_PROTOCOL": "17", "L4_DST_PORT": "7"}},
		schema.CfgTAMTailStamp: {"new": {"flowgroup": "new"}},
	}
	if err := more.Load(t.Context(), f.redis); err != nil {
		t.Fatal(err)
	}
	f.wait(t, schema.StateTAMTailStamp, "new", active)
	if got, want := canonical(t, f.redis), expected(t, base, more); got != want {
		t.Errorf("the ASIC is\n%s\nwant\n%s", got, want)
	}
}

// Commands print the expected output, with the expected exit code.
func TestCommands(t *testing.T) {
	racetest.Stepped(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("config_db.json", string(demoConfig))
	pcap := write("client.pcap", string(demoClient))
	broken := write("broken.json", "{\n\"PORT\": {\"Ethernet0\": {\"lanes\": {}}}}")
	cut := write("cut.pcap", string(demoClient[:len(demoClient)-3]))
	for _, tt := range []struct {
		args string
		code int
		out  string // part of stdout
		err  string // part of stderr
	}{
		{"", 2, "Usage:", "which command?"},
		{"--version", 0, "tamtam version", ""},
		{"fly", 2, "", `unknown command "fly"`},
		{"sim", 2, "", "--config, --in and --out are required"},
		{"sim --nonsense", 2, "", "unknown flag"},
		{"sim --config " + good + " --in Ethernet0 --out " + dir + "/o", 2, "", "want PORT=FILE"},
		{"sim --config " + broken + " --in Ethernet0=" + pcap + " --out " + dir + "/o", 1, "",
			`PORT|Ethernet0: field "lanes": want a string or a list of strings`},
		{"sim --config " + good + " --in Ethernet12=" + pcap + " --out " + dir + "/o", 1, "",
			`no port "Ethernet12"; it has [Ethernet0 Ethernet4 Ethernet8]`},
		{"sim --config " + good + " --in Ethernet0=" + cut + " --out " + dir + "/o", 1, "", "cut.pcap: packet "},
		{"sim --config " + good + " --in Ethernet0=" + dir + "/none.pcap --out " + dir + "/o", 1, "", "no such file"},
		{"sim --profile huge --config " + good + " --in Ethernet0=" + pcap + " --out " + dir + "/o", 2, "",
			`--profile: profile "huge": want one of access48, default, fixed, rmt12, rmt20, small, or a file`},
		{"sim --start yesterday --config " + good + " --in Ethernet0=" + pcap + " --out " + dir + "/o", 2, "",
			"want RFC 3339"},
		{"sim --format json --config " + good + " --in Ethernet0=" + pcap + " --out " + dir + "/sim", 0, `"stamped": 101`,
			""},
		{"decode tailstamp " + dir + "/sim/Ethernet4.pcap", 0, "148 stamped", ""},
		{"decode tailstamp --format json " + dir + "/sim/Ethernet4.pcap", 0, `"stamped": 148`, ""},
		{"decode tailstamp " + cut, 1, "", "cut.pcap: packet "},
		{"decode record x.pcap", 2, "", ""},
		{"run", 2, "", "want a daemon:"},
		{"run tammgrd --redis embedded", 2, "", "the other daemons must reach the Redis"},
		{"up --port Ethernet0", 2, "", "want PORT=INTERFACE"},
		{"up --port Ethernet0=eth1 --port Ethernet4=eth1", 2, "", "Ethernet0 is wired to eth1 already"},
		{"up --port Ethernet0=sixteen-letters-", 2, "", "is not a valid name of an interface"},
		{"up --port Ethernet0=a/b", 2, "", "is not a valid name of an interface"},
		{"health nobody", 2, "", "no such daemon"},
		{"health redis --redis 127.0.0.1:1 --timeout 5s", 1, "", "127.0.0.1:1"},
		{"flush now", 2, "", "unknown command"},
		{"flush --redis embedded --now", 2, "", "want host:port"},
		{"profile", 2, "", "want list, show NAME"},
		{"profile list", 0, "small     for tests", ""},
		{"profile show small", 0, `"clock_hz": 1250000000`, ""},
		{"profile check " + write("slow.json", `{"base": "rmt12", "name": "slow", "clock_hz": 1}`), 0,
			`profile "slow" is good`, ""},
		{"profile check " + write("bad.json", `{"base": "rmt12", "clock": 1}`), 1, "",
			"bad.json: clock: there is no such field"},
		{"profile graph small", 0, `"init": "chip.port"`, ""},
		{"profile graph small --program " + write("none.json", `{"name": "p", "table": 1}`), 1, "",
			`none.json: program: JSON near byte`},
		{"profile graph small --program " +
			write("late.json", `{"name": "p", "ingress": {"tables": [{"name": "t", "stage": 9, "match": "always"}]}}`), 1, "",
			`table "t": stage is 9, the pipe has 4`},
		{"bench flight", 2, "", "want config"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := run(t.Context(), strings.Fields(tt.args), strings.NewReader(""), &out, &errOut)
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errOut.String(), tt.err) {
				t.Errorf("exit code %d, want %d\nstdout (want %q): %.400s\nstderr (want %q): %.400s", code, tt.code, tt.out,
					out.String(), tt.err, errOut.String())
			}
		})
	}
}

func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("a lab: nothing for the race detector that the tests of ./lab have not")
	}
	code, out := tamtam(t, "demo", "--out", t.TempDir())
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for _, want := range []string{"What leaf1 did (switch id 2020)", "What spine1 did (switch id 2021)",
		"148 stamped with 296 records", "208 packets: 208 with an exact path"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not say %q:\n%s", want, out)
		}
	}
}
