package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

const (
	// stockVariable names a program that is SONiC's syncd with a virtual SAI of 32 ports of four lanes. It is started
	// with HOST:PORT of a Redis as argument, runs in the foreground, and obeys SAI_VS_RESOURCE_LIMITER_FILE.
	stockVariable = "SONIC_SYNCD"
	// groupsVariable is the number of flow groups.
	groupsVariable = "TAMTAM_GROUPS"
)

// stockPatience is the time limit for every step on a stock syncd.
const stockPatience = 5 * time.Minute

// A stockSwitch is a switch of processes whose syncd is SONiC's.
type stockSwitch struct {
	*liveSwitch
	*rand.Rand
	syncd string
	env   []string // environment of syncd
	dir   string   // directory for the processes' records
	procs map[string]*exec.Cmd
	seen  int // bytes of orchagent's record that were already read
	// Constant state: statuses of rows, and objects of the ASIC.
	want    map[string]string
	objects []string
}

func startStock(t *testing.T, rnd *rand.Rand, config device.ConfigDB, env ...string) *stockSwitch {
	t.Helper()
	server := swsstest.StartServer(t)
	s := &stockSwitch{
		liveSwitch: &liveSwitch{T: t, server: server, redis: server.Open()}, Rand: rnd,
		syncd: os.Getenv(stockVariable), env: env, dir: t.ArtifactDir(), procs: map[string]*exec.Cmd{},
	}
	t.Cleanup(func() { s.kill(killable...) })
	s.load(config)
	begin := time.Now()
	s.launch(killable...)
	s.adopted("the first start", begin)
	s.steady()
	s.want, s.objects = s.statuses(), s.asicKeys()
	s.changes() // skips the requests of the start
	return s
}

func (s *stockSwitch) launch(names ...string) {
	for _, name := range names {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), daemonVariable+"="+name, redisVariable+"="+s.server.Addr, dirVariable+"="+s.dir)
		if name == "syncd" {
			cmd = exec.Command(s.syncd, s.server.Addr)
			cmd.Env = append(os.Environ(), s.env...)
		}
		log, err := os.OpenFile(filepath.Join(s.dir, name+".out"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			s.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = log, log
		devicetest.NoError(s.T, cmd.Start())
		_ = log.Close()
		s.procs[name] = cmd
	}
}

func (s *stockSwitch) kill(names ...string) {
	for _, name := range names {
		if cmd := s.procs[name]; cmd != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // the error reports that the process was killed
			delete(s.procs, name)
		}
	}
}

// adopted waits until orchagent has become ready since a given time, and tammgrd is ready. It returns the elapsed time
// since then, and the processor time that was used.
func (s *stockSwitch) adopted(what string, since time.Time) (took, cpu time.Duration) {
	s.Helper()
	s.within(stockPatience, what+": orchagent and tammgrd are ready", func() bool {
		for _, name := range []string{"orchagent", "tammgrd"} {
			state, heard, err := daemons.ReadState(s.Context(), s.redis, name)
			if err != nil || !heard || state.State != daemons.StateReady || name == "orchagent" && state.Since.Before(since) {
				return false
			}
		}
		return true
	})
	return time.Since(since), s.cpu("orchagent")
}

// cpu returns the processor time that a process has used so far.
func (s *stockSwitch) cpu(name string) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.procs[name].Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	var ticks int
	if words := strings.Fields(rest); len(words) > 12 {
		user, _ := strconv.Atoi(words[11])
		system, _ := strconv.Atoi(words[12])
		ticks = user + system
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// steady waits until the statuses no longer change, because some values are read only once per period.
func (s *stockSwitch) steady() {
	s.Helper()
	var last map[string]string
	since := time.Now()
	s.within(stockPatience, "the statuses stay as they are", func() bool {
		if now := s.statuses(); !cmp.Equal(now, last) {
			last, since = now, time.Now()
		}
		return time.Since(since) > 4*time.Second
	})
}

// statuses returns the statuses of rows in STATE_DB.
func (p *liveSwitch) statuses() map[string]string {
	all := map[string]string{}
	for _, t := range schema.StatusTables() {
		rows, err := swss.NewTable(p.redis.DB(swss.StateDB), t.State).Dump(p.Context())
		if err != nil {
			p.Fatal(err)
		}
		for key, row := range rows {
			all[t.State+"|"+key] = row[t.Status] + ": " + row["reason"]
		}
	}
	return all
}

// asicKeys returns the keys of the objects in ASIC_STATE.
func (s *stockSwitch) asicKeys() []string {
	keys, err := s.redis.DB(swss.ASICDB).Client().Keys(s.Context(), "ASIC_STATE:*").Result()
	if err != nil {
		s.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// changingLine matches the record's requests that change the ASIC. The colours of alternate marking change with time.
var (
	changingLine = regexp.MustCompile(`^[0-9.:-]+\|([csrCSR]\|.*|E\|.*)$`)
	colourLine   = regexp.MustCompile(`^s\|SAI_OBJECT_TYPE_ACL_ENTRY:\S+\|SAI_ACL_ENTRY_ATTR_ADMIN_STATE=`)
)

// changes returns the requests since the last call that have changed the ASIC.
func (s *stockSwitch) changes() []string {
	text, err := os.ReadFile(filepath.Join(s.dir, "orchagent.log"))
	if err != nil {
		s.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text[s.seen:])) {
		if m := changingLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil && !colourLine.MatchString(m[1]) {
			lines = append(lines, m[1])
		}
	}
	s.seen = len(text)
	return devicetest.Changes(lines)
}

// unchanged checks that nothing was changed, that rows in force are still in force, and that counters are read. It
// returns the number of requests that have changed the ASIC.
func (s *stockSwitch) unchanged(what string) (changed int) {
	s.Helper()
	s.unchangedStatuses(what)
	calls := s.changes()
	if len(calls) > 0 {
		s.Errorf("%s changes the ASIC %d times:\n%s", what, len(calls), strings.Join(calls[:min(len(calls), 20)], "\n"))
	}
	if diff := cmp.Diff(s.objects, s.asicKeys()); diff != "" {
		s.Errorf("%s changes which objects there are:\n%s", what, diff)
	}
	counters := s.redis.DB(swss.CountersDB).Client()
	keys := counters.Keys(s.Context(), "COUNTERS:oid:0x1000000*").Val()
	if len(keys) < 32 {
		s.Fatalf("%s: %d ports are counted", what, len(keys))
	}
	counters.Del(s.Context(), keys...)
	s.within(stockPatience, what+": the ports are counted", func() bool {
		return len(counters.Keys(s.Context(), "COUNTERS:oid:0x1000000*").Val()) == len(keys)
	})
	return len(calls)
}

// unknownAll waits until orchagent reports no row as in force.
func (s *stockSwitch) unknownAll() {
	s.Helper()
	s.until("orchagent says of nothing that it is in force", func() bool { return len(s.inForce()) == 0 })
}

// inForce lists the rows that orchagent reports as in force.
func (p *liveSwitch) inForce() (list []string) {
	for _, t := range schema.StatusTables() {
		rows, err := swss.NewTable(p.redis.DB(swss.StateDB), t.State).Dump(p.Context())
		if err != nil {
			p.Fatal(err)
		}
		for key, row := range rows {
			if row["by"] == schema.ByOrchAgent && t.Good != "" && row[t.Status] == t.Good {
				list = append(list, t.State+"|"+key)
			}
		}
	}
	return list
}

// pause waits for a random time up to most. A process that is killed afterwards is at a random point of its work.
func (s *stockSwitch) pause(most time.Duration) {
	select {
	case <-s.Context().Done():
	case <-time.After(time.Duration(s.Float64() * float64(most))):
	}
}

// happens kills daemons at random moments, and starts them again.
func (s *stockSwitch) happens(restart time.Duration) (what string) {
	switch s.IntN(7) {
	case 0:
		s.kill("tammgrd")
		s.launch("tammgrd")
		s.kill("orchagent")
		s.launch("orchagent")
		return "orchagent and tammgrd killed"
	case 1, 2:
		s.kill("orchagent")
		for range 1 + s.IntN(2) {
			s.launch("orchagent")
			s.pause(restart)
			s.kill("orchagent")
		}
		s.launch("orchagent")
		return "orchagent killed while it starts"
	case 3:
		s.kill("syncd")
		s.unknownAll()
		s.launch("syncd")
		return "syncd killed"
	case 4:
		s.kill("syncd")
		s.launch("syncd")
		return "syncd killed, and another at once"
	case 5:
		s.kill("syncd", "orchagent")
		s.launch("orchagent")
		s.unknownAll()
		s.launch("syncd")
		return "both killed, orchagent first"
	}
	s.kill("orchagent", "syncd")
	s.launch("syncd")
	s.pause(restart)
	s.launch("orchagent")
	return "both killed, syncd first"
}

func skipWithoutStock(t *testing.T) {
	t.Helper()
	if os.Getenv(stockVariable) == "" {
		t.Skip(stockVariable + " is not set: nothing is tried on SONiC's syncd")
	}
}

// stockGroups returns the number of flow groups.
func stockGroups() int {
	if n, err := strconv.Atoi(os.Getenv(groupsVariable)); err == nil {
		return n
	}
	return 2000
}

// restarts restarts orchagent, and logs the cost.
func (s *stockSwitch) restarts() (took time.Duration) {
	s.Helper()
	s.kill("orchagent")
	begin := time.Now()
	s.launch("orchagent")
	took, cpu := s.adopted("a restart of orchagent", begin)
	adopted := s.adoptedAt().Sub(begin)
	s.Logf("stock: groups %d objects %d adopted_ms %d ready_ms %d cpu_ms %d changes %d", stockGroups(), len(s.objects),
		adopted.Milliseconds(), took.Milliseconds(), cpu.Milliseconds(), s.unchanged("a restart of orchagent"))
	return took
}

var adoptedLine = regexp.MustCompile(`(?m)^time=(\S+) .*msg="the ASIC was adopted as it was"`)

// adoptedAt returns the time at which orchagent logged that it has adopted the ASIC. It searches only the part of the
// log that was not read before.
func (s *stockSwitch) adoptedAt() time.Time {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "orchagent.log"))
	if err != nil {
		s.Fatal(err)
	}
	m := adoptedLine.FindSubmatch(text[s.seen:])
	if m == nil {
		s.Fatal("the ASIC was not adopted")
	}
	at, err := time.Parse(time.RFC3339, string(m[1]))
	if err != nil {
		s.Fatal(err)
	}
	return at
}

// TestStockRestart measures a restart of orchagent on SONiC's syncd.
func TestStockRestart(t *testing.T) {
	skipWithoutStock(t)
	startStock(t, nil, devicetest.FullSwitch(t, stockGroups())).restarts()
}

// unchangedStatuses waits until all rows have their initial statuses.
func (s *stockSwitch) unchangedStatuses(what string) {
	s.Helper()
	what += ": the statuses are what they were"
	s.within(stockPatience, what, func() bool { return cmp.Equal(s.statuses(), s.want) })
}

// On SONiC's syncd, with its virtual SAI, a full configuration and many flow groups, orchagent, syncd and tammgrd are
// killed at random moments. No restart changes the ASIC. Rows that were in force are only reported as in force or
// unknown meanwhile, and counters are read again.
func TestStockRestarts(t *testing.T) {
	skipWithoutStock(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		s := startStock(t, rand.New(rand.NewPCG(seed, 11)), devicetest.FullSwitch(t, stockGroups()))
		restart := s.restarts()
		stop := s.watch()
		for range 6 {
			begin := time.Now()
			what := s.happens(2 * restart)
			took, _ := s.adopted(what, begin)
			t.Logf("%s: ready after %d ms", what, took.Milliseconds())
			s.unchanged(what)
		}
		stop()
	})
}

// watch continuously checks the statuses in STATE_DB. Rows that were in force are in force or unknown, and no row is
// missing.
func (s *stockSwitch) watch() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	r := s.server.Open()
	go func() {
		defer close(ended)
		at := &stockSwitch{liveSwitch: &liveSwitch{T: s.T, redis: r}}
		for n := 0; ; n++ {
			select {
			case <-end:
				s.Logf("looked %d times at all statuses", n)
				return
			case <-time.After(200 * time.Millisecond):
			}
			is := at.statuses()
			for key, want := range s.want {
				word, _, _ := strings.Cut(is[key], ":")
				if is[key] != want && !strings.EqualFold(word, schema.StatusUnknown) {
					s.Errorf("%s was %q, and is %q", key, want, is[key])
					return
				}
			}
		}
	}()
	return func() { close(end); <-ended }
}

// On SONiC's syncd, orchagent is killed at a random moment while it makes a view, and another client requests a view.
// Each time the configuration is in force again, with other ids.
func TestStockViews(t *testing.T) {
	skipWithoutStock(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		s := startStock(t, rand.New(rand.NewPCG(seed, 12)), devicetest.FullSwitch(t, 0))
		again := func(what string, since time.Time) {
			s.adopted(what, since)
			s.unchangedStatuses(what)
			if is := s.asicKeys(); len(is) != len(s.objects) {
				t.Errorf("%s: %d objects in ASIC_STATE, want %d", what, len(is), len(s.objects))
			}
			s.objects = s.asicKeys()
			s.changes()
		}
		for range 3 {
			begin := time.Now()
			devicetest.NoError(t, s.redis.DB(swss.StateDB).Client().Del(t.Context(), "TAMTAM_VIEW|asic").Err())
			for range 2 {
				s.kill("orchagent")
				s.launch("orchagent")
				s.pause(2 * time.Second)
			}
			again("orchagent was killed while it makes a view", begin)
		}
		begin := time.Now()
		forged := swss.Entry{Key: "INIT_VIEW", Body: "[]", Op: "Snotify"}
		devicetest.NoError(t, swss.NewQueue(s.redis.DB(swss.ASICDB), "ASIC_STATE").Push(t.Context(), forged))
		again("somebody asked for a view", begin)
		s.kill("orchagent")
		begin = time.Now()
		s.launch("orchagent")
		s.adopted("a restart after that", begin)
		s.unchanged("a restart after that")
	})
}

// On SONiC's syncd with its resource limiter, objects that do not fit report that, are tried again at a restart, and
// nothing else changes. An ACL entry that is rejected removes its counter, too.
func TestStockIsFull(t *testing.T) {
	skipWithoutStock(t)
	limits := filepath.Join(t.TempDir(), "limits.ini")
	devicetest.NoError(t, os.WriteFile(limits, []byte("SAI_OBJECT_TYPE_ACL_ENTRY=30\n"), 0o600))
	s := startStock(t, nil, devicetest.FullSwitch(t, 60), "SAI_VS_RESOURCE_LIMITER_FILE="+limits)
	waits := 0
	for key, status := range s.want {
		if strings.HasPrefix(key, schema.StateTAMTailStamp+"|") && strings.HasPrefix(status, schema.StatusPending) {
			waits++
		}
	}
	if waits < 20 || waits >= 60 {
		t.Fatalf("%d sessions wait for room, want most of 60: %v", waits, s.want)
	}
	for _, what := range []string{"orchagent", "syncd", "orchagent"} {
		s.kill(what)
		begin := time.Now()
		s.launch(what)
		s.adopted("a restart of "+what, begin)
		s.unchangedStatuses("at last")
		for _, call := range s.changes() {
			for _, key := range s.objects {
				id := strings.TrimPrefix(key, "ASIC_STATE:")
				if strings.HasPrefix(call, "r|"+id) || strings.HasPrefix(call, "s|"+id) {
					t.Errorf("a restart of %s changes what was there: %s", what, call)
				}
			}
		}
		if diff := cmp.Diff(s.objects, s.asicKeys()); diff != "" {
			t.Errorf("a restart of %s changes which objects there are:\n%s", what, diff)
		}
	}
}
