package mgmt

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/mgmt/configfile"
	"tamtam/mgmt/fetch"
	"tamtam/swss"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A keeper is a switch that saves configurations, on a clock that the test moves.
type keeper struct {
	*bed
	dir   string
	clock *keptClock
}

// A keptClock fires its timers when the test moves it.
type keptClock struct {
	mu     sync.Mutex
	t      time.Time
	timers []keptTimer
}

type keptTimer struct {
	at time.Time
	c  chan time.Time
}

func (c *keptClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *keptClock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := keptTimer{c.t.Add(d), make(chan time.Time, 1)}
	c.timers = append(c.timers, t)
	return t.c
}

// pass advances the clock.
func (c *keptClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
	c.timers = slices.DeleteFunc(c.timers, func(t keptTimer) bool {
		if t.at.After(c.t) {
			return false
		}
		t.c <- c.t
		return true
	})
}

func newKeeper(t *testing.T) *keeper {
	k := &keeper{dir: t.TempDir(), clock: &keptClock{t: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)}}
	k.bed = newBed(t, k.edit)
	return k
}

func (k *keeper) edit(c *Config) { c.Keep, c.Clock, c.After = k.dir, k.clock.now, k.clock.after }

// operate requests an operation as gNMI does.
func (k *keeper) operate(name, input string) error {
	path := &gpb.Path{Elem: []*gpb.PathElem{{Name: "operations"}, {Name: name}}}
	val := &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(input)}}
	_, err := k.client.Set(k.ctx, &gpb.SetRequest{Update: []*gpb.Update{{Path: path, Val: val}}})
	return err
}

func (k *keeper) must(name, input string) {
	k.t.Helper()
	if err := k.operate(name, input); err != nil {
		k.t.Fatalf("%s %s: %v", name, input, err)
	}
}

// sampler configures a sampler.
func (k *keeper) sampler(name string, rate int) {
	k.rows(map[string]string{"CONFIG_DB TAM_SAMPLINGRATE_TABLE|" + name: fmt.Sprintf("sampling-rate=%d", rate)})
}

// rate returns the row of a sampler, or "" if there is none.
func (k *keeper) rate(name string) string { return k.row("TAM_SAMPLINGRATE_TABLE|" + name) }

// eventually waits for the effect of a goroutine of the server.
func (k *keeper) eventually(what string, is func() bool) {
	k.t.Helper()
	for range 10000 {
		if is() {
			return
		}
		select {
		case <-k.ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	k.t.Fatalf("%s does not come to be", what)
}

// history returns the kinds of the saved configurations, the newest first.
func (k *keeper) history() (kinds []string) {
	notes, err := k.server.kept.archive().List()
	if err != nil {
		k.t.Fatal(err)
	}
	for _, n := range notes {
		kinds = append(kinds, n.Kind)
	}
	return kinds
}

// The saved file is a config_db.json with all of CONFIG_DB once the operation is done, and the former file until then.
func TestSave(t *testing.T) {
	k := newKeeper(t)
	k.sampler("a", 1)
	k.must("copy", `{"source": "running", "destination": "startup"}`)
	saved, err := configfile.Read(filepath.Join(k.dir, "config_db.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := configfile.Rows{"TAM_SAMPLINGRATE_TABLE": {"a": {"sampling-rate": "1"}}}
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
	k.sampler("a", 2)
	k.server.cfg.Startup = filepath.Join(k.dir, "gone", "config_db.json")
	err = k.operate("copy", `{"source": "running", "destination": "startup"}`)
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "nothing was saved") {
		t.Errorf("into a directory that is not there: %v", err)
	}
	if again, err := configfile.Read(filepath.Join(k.dir, "config_db.json")); err != nil || !cmp.Equal(again, want) {
		t.Errorf("the old one became %v, %v", again, err)
	}
	files, err := filepath.Glob(filepath.Join(k.dir, ".*"))
	if err != nil || len(files) > 0 {
		t.Errorf("left behind: %v %v", files, err)
	}
}

// A saved or committed configuration can be restored by its number. The running one is archived first, so that it can
// be restored later.
func TestRollback(t *testing.T) {
	k := newKeeper(t)
	k.sampler("a", 1)
	k.must("commit", `{"comment": "one"}`)
	k.sampler("a", 2)
	k.sampler("b", 2)
	k.must("copy", `{"source": "0", "destination": "running"}`)
	if got := k.redis.DB(swss.ConfigDB).Client().Get(t.Context(), swss.KeyInitialized).Val(); got != "1" {
		t.Errorf("%s is %q behind a configuration that was restored", swss.KeyInitialized, got)
	}
	if k.rate("a") != "sampling-rate=1" || k.rate("b") != "" {
		t.Errorf("behind the rollback: a %q, b %q", k.rate("a"), k.rate("b"))
	}
	if diff := cmp.Diff([]string{"before", "commit"}, k.history()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	k.must("copy", `{"source": "0", "destination": "running"}`)
	if k.rate("a") != "sampling-rate=2" || k.rate("b") != "sampling-rate=2" {
		t.Errorf("back again: a %q, b %q", k.rate("a"), k.rate("b"))
	}
	for i := range 2 * mostKept {
		k.sampler("a", i+10)
		k.must("commit", `{}`)
	}
	if n := len(k.history()); n != mostKept {
		t.Errorf("%d are kept, want %d", n, mostKept)
	}
	k.must("commit", `{}`)
	if n := len(k.history()); n != mostKept || k.history()[0] != "commit" {
		t.Errorf("the same again is kept twice: %v", k.history())
	}
}

// A commit that is not confirmed in time is undone, with the changes after it. A confirmed one stays.
func TestUnconfirmed(t *testing.T) {
	k := newKeeper(t)
	k.sampler("a", 1)
	k.must("commit", `{}`)
	k.must("commit", `{"confirmed": 60}`)
	k.sampler("a", 2)
	k.clock.pass(59 * time.Second)
	k.sampler("b", 2)
	k.clock.pass(time.Second)
	k.eventually("the undone configuration", func() bool { return k.rate("a") == "sampling-rate=1" && k.rate("b") == "" })
	k.eventually("the end of the trial", func() bool { return k.server.kept.onTrial.Load() == nil })
	k.eventually("the end of its file", func() bool {
		_, err := os.Stat(k.server.kept.trialFile())
		return os.IsNotExist(err)
	})

	k.must("commit", `{"confirmed": 60}`)
	k.sampler("a", 3)
	k.must("commit", `{}`)
	k.clock.pass(time.Hour)
	if k.rate("a") != "sampling-rate=3" || k.history()[0] != "commit" {
		t.Errorf("a confirmed commit: %q, %v", k.rate("a"), k.history())
	}

	k.must("commit", `{"confirmed": 60}`)
	k.sampler("a", 4)
	k.must("cancel-commit", `{}`)
	if k.rate("a") != "sampling-rate=3" {
		t.Errorf("a cancelled commit: %q", k.rate("a"))
	}
}

// A server that starts after a crash continues an unconfirmed commit, whether or not its time is over. A switch that
// starts from the saved configuration has nothing to undo.
func TestUnconfirmedOutlivesTheServer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pass  time.Duration
		fresh bool
		want  string
	}{
		{"in time", 59 * time.Second, false, "sampling-rate=2"},
		{"too late", time.Hour, false, "sampling-rate=1"},
		{"started anew", time.Hour, true, "sampling-rate=2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKeeper(t)
			k.sampler("a", 1)
			k.must("commit", `{}`)
			k.must("commit", `{"confirmed": 60}`)
			k.sampler("a", 2)
			k.server.Close()
			k.clock.pass(tt.pass)
			k.bed = newBedOn(t, k.redis, k.edit)
			if err := k.server.Begin(k.ctx, "test", tt.fresh, nil); err != nil {
				t.Fatal(err)
			}
			if got := k.rate("a"); got != tt.want {
				t.Errorf("behind the start: %q, want %q", got, tt.want)
			}
			if tt.name != "in time" {
				return
			}
			k.clock.pass(time.Second)
			k.eventually("the undone configuration", func() bool { return k.rate("a") == "sampling-rate=1" })
			if got := k.history()[0]; got != "before" {
				t.Errorf("when the time is over, the newest is %q", got)
			}
		})
	}
}

// If the archive cannot be written, a rollback loses no configuration, and a save reports the files that it wrote. An
// unconfirmed commit is still undone, and the switch starts.
func TestNoRoomInTheHistory(t *testing.T) {
	k := newKeeper(t)
	k.sampler("a", 1)
	k.must("commit", `{}`)
	k.must("commit", `{"confirmed": 60}`)
	k.sampler("a", 2)
	archive := k.server.kept.archive()
	// This is the name of the next archive file.
	if err := os.Mkdir(filepath.Join(archive.Dir, "000000000001.config"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := k.operate("copy", `{"source": "0", "destination": "running"}`)
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") || k.rate("a") != "sampling-rate=2" {
		t.Errorf("a rollback: %v; %s", err, k.rate("a"))
	}
	err = k.operate("copy", `{"source": "running", "destination": "startup"}`)
	if err == nil || !strings.Contains(err.Error(), "was saved to") || !strings.Contains(err.Error(), "history") {
		t.Errorf("saved: %v", err)
	}
	if _, err := configfile.Read(filepath.Join(k.dir, "config_db.json")); err != nil {
		t.Error(err)
	}
	if err := k.server.Begin(k.ctx, "test", false, configfile.Rows{"T": {"k": {"f": "v"}}}); err != nil {
		t.Errorf("a start: %v", err)
	}
	k.clock.pass(time.Minute)
	k.eventually("the undone configuration", func() bool { return k.rate("a") == "sampling-rate=1" })
}

// A server starts even if the file of a trial is damaged, or the configuration to return to is missing. A client that
// cancels such a trial is informed that it is not undone.
func TestTrialCannotReturn(t *testing.T) {
	k := newKeeper(t)
	k.sampler("a", 1)
	k.must("commit", `{}`)
	k.must("commit", `{"confirmed": 60}`)
	if err := os.RemoveAll(k.server.kept.archive().Dir); err != nil {
		t.Fatal(err)
	}
	if err := k.operate("cancel-commit", `{}`); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("cancelled: %v", err)
	}
	for name, text := range map[string]string{
		"damaged": `{"id":`, "no way back": `{"id":"","until":"2026-11-26T11:00:00Z","back":7,"user":"u"}`,
	} {
		if err := os.WriteFile(k.server.kept.trialFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := k.server.Begin(k.ctx, "test", false, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(k.server.kept.trialFile()); err == nil || k.server.kept.onTrial.Load() != nil {
			t.Errorf("%s: it is on trial still", name)
		}
	}
	k.must("commit", `{}`)
}

// The content that CONFIG_DB had before a switch was started from another source is archived.
func TestWhatWasFoundIsKept(t *testing.T) {
	k := newKeeper(t)
	k.sampler("a", 2)
	found := configfile.Rows{"TAM_SAMPLINGRATE_TABLE": {"a": {"sampling-rate": "1"}}}
	if err := k.server.Begin(k.ctx, "a file", true, found); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"start", "before"}, k.history()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	k.must("copy", `{"source": "1", "destination": "running"}`)
	if k.rate("a") != "sampling-rate=1" {
		t.Errorf("what was found: %q", k.rate("a"))
	}
}

// gNMI's commit-confirmed follows its specification: https://github.com/openconfig/reference, gnmi-commit-confirmed.
func TestCommitExtension(t *testing.T) {
	k := newKeeper(t)
	k.sampler("a", 1)
	seconds := func(n int64) *durationpb.Duration { return &durationpb.Duration{Seconds: n} }
	commit := func(id string, d *durationpb.Duration) *gnmi_ext.Commit {
		return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Commit{Commit: &gnmi_ext.CommitRequest{RollbackDuration: d}}}
	}
	confirm := func(id string) *gnmi_ext.Commit {
		return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Confirm{Confirm: &gnmi_ext.CommitConfirm{}}}
	}
	cancel := func(id string) *gnmi_ext.Commit {
		return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Cancel{Cancel: &gnmi_ext.CommitCancel{}}}
	}
	longer := func(id string, n int64) *gnmi_ext.Commit {
		return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_SetRollbackDuration{
			SetRollbackDuration: &gnmi_ext.CommitSetRollbackDuration{RollbackDuration: seconds(n)}}}
	}
	for i, step := range []struct {
		ext  *gnmi_ext.Commit
		rate int // 0 means no change
		pass time.Duration
		want codes.Code
		then string // the rate of sampler a afterwards
	}{
		{confirm("x"), 0, 0, codes.FailedPrecondition, "1"}, // no commit waits to be confirmed
		{commit("", nil), 2, 0, codes.InvalidArgument, "1"}, // a commit needs an id
		{commit("x", seconds(0)), 2, 0, codes.InvalidArgument, "1"},
		{commit("x", seconds(10)), 2, 0, codes.OK, "2"},
		{nil, 3, 0, codes.FailedPrecondition, "2"}, // another Set is refused meanwhile
		{commit("y", nil), 3, 0, codes.FailedPrecondition, "2"},
		{confirm("y"), 0, 0, codes.InvalidArgument, "2"}, // another commit's id
		{confirm("x"), 3, 0, codes.InvalidArgument, "2"}, // it cannot be amended
		{longer("x", 0), 0, 0, codes.InvalidArgument, "2"},
		{longer("x", 30), 0, 29 * time.Second, codes.OK, "2"},
		{confirm("x"), 0, time.Hour, codes.OK, "2"},
		{nil, 4, 0, codes.OK, "4"},
		{commit("z", nil), 5, 0, codes.OK, "5"},
		{cancel("z"), 0, 0, codes.OK, "4"},
		{commit("w", nil), 6, 10 * time.Minute, codes.OK, "4"}, // the default
		{commit("bad", seconds(10)), -1, time.Hour, codes.InvalidArgument, "4"},
		{nil, 7, 0, codes.OK, "7"}, // a failed Set leaves no trial
	} {
		req := &gpb.SetRequest{}
		if step.ext != nil {
			req.Extension = []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{Commit: step.ext}}}
		}
		if step.rate != 0 {
			req.Update = []*gpb.Update{{
				Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "tam"}, {Name: "samplers"},
					{Name: "sampler", Key: map[string]string{"name": "a"}}}},
				Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: fmt.Appendf(nil,
					`{"config": {"sampling-rate": %d}}`, step.rate)}},
			}}
		}
		_, err := k.client.Set(k.ctx, req)
		if status.Code(err) != step.want {
			t.Fatalf("step %d: %v, want %s", i, err, step.want)
		}
		k.clock.pass(step.pass)
		k.eventually(fmt.Sprintf("step %d: sampler a %s", i, step.then),
			func() bool { return k.rate("a") == "sampling-rate="+step.then })
		if step.pass > 0 && step.want == codes.OK {
			k.eventually("the end", func() bool {
				return step.ext.GetSetRollbackDuration() != nil ||
					k.server.kept.onTrial.Load() == nil
			})
		}
	}
}

// An invalid operation is refused with what would be valid, and changes nothing.
func TestOperationRefused(t *testing.T) {
	k := newKeeper(t)
	k.sampler("a", 1)
	for _, tt := range []struct {
		name, input string
		code        codes.Code
		want        string
	}{
		{"reboot", `{}`, codes.NotFound,
			"there is no such operation, want one of cancel-commit, clear-counters, commit, copy, list-drops, ping, " +
				"trace-packet, traceroute, why-flow"},
		{"copy", `{}`, codes.InvalidArgument, "copy: destination is missing"},
		{"copy", `{"destination": "running"}`, codes.InvalidArgument, "copy: source is missing"},
		{"copy", `{"source": "running", "destination": "moon"}`, codes.InvalidArgument,
			`destination is "moon", want running or startup`},
		{"copy", `{"source": "../etc/passwd", "destination": "running"}`, codes.InvalidArgument,
			`"../etc/passwd" names no configuration: want running, startup or the number of an earlier one`},
		{"copy", `{"source": "startup", "destination": "running"}`, codes.NotFound,
			"nothing was saved: there is no " + filepath.Join(k.dir, "config_db.json")},
		{"copy", `{"source": "3", "destination": "running"}`, codes.NotFound,
			"there is no earlier configuration 3, there are 0, from 0"},
		{"copy", `{"source": "running", "destination": "running"}`, codes.InvalidArgument,
			"source and destination are both running"},
		{"copy", `{"source": 1, "destination": "running"}`, codes.InvalidArgument, "source: number, want string"},
		{"copy", `{"source": "running", "destination": "startup", "force": true}`, codes.InvalidArgument,
			`unknown field "force"`},
		{"copy", `[`, codes.InvalidArgument, "want a JSON object"},
		{"commit", `{"Confirmed": 60}`, codes.InvalidArgument, `unknown field "Confirmed"`},
		{"commit", `{"confirmed": 60, "confirmed": 600}`, codes.InvalidArgument, `"confirmed" is there twice`},
		{"commit", `{"confirmed": 60, "tamtam-operations:confirmed": 600}`, codes.InvalidArgument,
			"confirmed is there twice"},
		{"commit", `{"confirmed": 0}`, codes.InvalidArgument, "time to confirm of 0s: want 1s to 24h0m0s"},
		{"commit", `{"confirmed": -1}`, codes.InvalidArgument, "confirmed"},
		{"commit", `{"confirmed": 5}`, codes.FailedPrecondition,
			"nothing was committed yet: there is nothing to come back to"},
		{"cancel-commit", `{}`, codes.FailedPrecondition, "no commit waits to be confirmed"},
		{"clear-counters", `{"kind": "moons"}`, codes.InvalidArgument, `kind is "moons", want all or one of acl, copp`},
		{"clear-counters", `{"kind": "interfaces", "name": "Ethernet0"}`, codes.NotFound,
			"interfaces: Ethernet0 has no counters"},
	} {
		err := k.operate(tt.name, tt.input)
		if status.Code(err) != tt.code || !strings.Contains(status.Convert(err).Message(), tt.want) {
			t.Errorf("%s %s: %v, want %s and %q", tt.name, tt.input, err, tt.code, tt.want)
		}
	}
	two := &gpb.SetRequest{Delete: []*gpb.Path{{Elem: []*gpb.PathElem{{Name: "tam"}}}}, Update: []*gpb.Update{{
		Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "operations"}, {Name: "commit"}}}}}}
	if _, err := k.client.Set(k.ctx, two); status.Code(err) != codes.InvalidArgument || k.rate("a") == "" {
		t.Errorf("an operation beside something else: %v", err)
	}
	if n := len(k.history()); n != 0 {
		t.Errorf("%d configurations were kept by it", n)
	}
}

// A configuration is restored exactly, whatever it and the former one contain.
func TestRestoredToTheLetter(t *testing.T) {
	k := newKeeper(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 30, Short: 10}, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		roll := func() configfile.Rows {
			rows := configfile.Rows{}
			for range rng.IntN(30) {
				table, key := fmt.Sprintf("T%d", rng.IntN(4)), []string{"a", "b|c", "*", "ü", "x y", ":"}[rng.IntN(6)]
				if rows[table] == nil {
					rows[table] = map[string]swss.FieldValues{}
				}
				f := swss.FieldValues{}
				for range rng.IntN(4) {
					f[[]string{"f", "g@", "h i", "NULL2"}[rng.IntN(4)]] = []string{"1", "a,b", "", "\n"}[rng.IntN(4)]
				}
				if len(f) == 0 {
					f["NULL"] = "NULL"
				}
				rows[table][key] = f
			}
			return rows
		}
		first, second := roll(), roll()
		k.server.setting.Lock()
		defer k.server.setting.Unlock()
		for _, rows := range []configfile.Rows{first, second, first} {
			if err := k.server.kept.replaceRows(k.ctx, rows, func(configfile.Rows) error { return nil }); err != nil {
				t.Fatal(err)
			}
			now, err := k.server.stored(k.ctx)
			if err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(rows, func(_ string, r map[string]swss.FieldValues) bool { return len(r) == 0 })
			if diff := cmp.Diff(rows, now); diff != "" {
				t.Fatalf("CONFIG_DB (-want +got):\n%s", diff)
			}
			text, err := rows.JSON()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := configfile.Parse(text); err != nil || !cmp.Equal(rows, again) {
				t.Fatalf("its file is read as %v, %v; want %v", again, err, rows)
			}
		}
	})
}

// Cleared counters count from zero for clients, and continue in COUNTERS_DB. If the chip restarts its counters, or is
// replaced, nothing is subtracted.
func TestClearCounters(t *testing.T) {
	k := newKeeper(t)
	count := func(n int) {
		k.rows(map[string]string{
			"COUNTERS_DB COUNTERS_PORT_NAME_MAP": "Ethernet0=oid:0x1", "CONFIG_DB PORT|Ethernet0": "lanes=1 speed=1",
			"COUNTERS_DB COUNTERS:oid:0x1": fmt.Sprintf("SAI_PORT_STAT_IF_IN_OCTETS=%d SAI_PORT_STAT_IF_IN_ERRORS=x", n)})
	}
	read := func() string {
		got, err := k.client.Get(k.ctx, &gpb.GetRequest{Encoding: gpb.Encoding_JSON_IETF,
			Path: []*gpb.Path{{Elem: []*gpb.PathElem{
				{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": "Ethernet0"}}, {Name: "state"},
				{Name: "counters"}, {Name: "in-octets"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(got.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
	}
	want := func(when, n string) {
		t.Helper()
		if got := read(); got != `"`+n+`"` {
			t.Errorf("%s: %s, want %s", when, got, n)
		}
	}
	k.rows(map[string]string{"COUNTERS_DB TAMTAM_MARK": "syncd=first"})
	count(100)
	want("before", "100")
	k.must("clear-counters", `{"kind": "interfaces", "name": "Ethernet0"}`)
	want("cleared", "0")
	count(130)
	want("later", "30")
	k.must("clear-counters", `{"kind": "all"}`)
	want("cleared again", "0")
	count(10)
	want("counted anew", "10")
	count(140)
	k.must("clear-counters", `{"kind": "interfaces"}`)
	k.rows(map[string]string{"COUNTERS_DB TAMTAM_MARK": "syncd=second"})
	count(150)
	want("another chip", "150")

	wire := func(received, dropped int) {
		k.rows(map[string]string{"STATE_DB TAMTAM_WIRE|Ethernet0": fmt.Sprintf(
			"interface=eth1 status=up mtu=1500 late-ns=70 received=%d dropped-ttl=%d", received, dropped)})
	}
	wire(100, 7)
	k.must("clear-counters", `{"kind": "interfaces", "name": "Ethernet0"}`)
	wire(104, 9)
	got, err := k.client.Get(k.ctx, &gpb.GetRequest{Encoding: gpb.Encoding_JSON_IETF,
		Path: []*gpb.Path{path("/interfaces/interface[name=Ethernet0]/wire/state")}})
	if err != nil {
		t.Fatal(err)
	}
	text := string(got.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
	for _, want := range []string{`:received":"4"`, `:dropped-ttl":"2"`, `:mtu":1500`, `:late-ns":"70"`} {
		if !strings.Contains(text, want) {
			t.Errorf("a wire: no %s in %s", want, text)
		}
	}
	db := k.redis.DB(swss.CountersDB).Client()
	// The port no longer exists.
	if err := db.HSet(k.ctx, fetch.ClearedKey, "COUNTERS:oid:0x99", "{}").Err(); err != nil {
		t.Fatal(err)
	}
	k.must("clear-counters", `{"kind": "all"}`)
	if left := db.HKeys(k.ctx, fetch.ClearedKey).Val(); len(left) != 3 {
		t.Errorf("what was cleared of what is gone stays: %v", left)
	}
}

// A row of any table can be written, and is checked as the daemons read it. A replace of the root keeps tables that it
// does not name.
func TestConfigRows(t *testing.T) {
	k := newKeeper(t)
	set := func(table, key, fields string, replace bool) error {
		u := &gpb.Update{
			Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "config-rows"},
				{Name: "row", Key: map[string]string{"table": table, "key": key}}}},
			Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: fmt.Appendf(nil, `{"config": {"field": [%s]}}`,
				fields)}},
		}
		req := &gpb.SetRequest{Update: []*gpb.Update{u}}
		if replace {
			req = &gpb.SetRequest{Replace: []*gpb.Update{u}}
		}
		_, err := k.client.Set(k.ctx, req)
		return err
	}
	for _, tt := range []struct {
		table, key, fields string
		replace            bool
		want, then         string // part of the error, or the row
	}{
		{"SCHEDULER", "s", `"type=DWRR", "weight=5"`, false, "", "type=DWRR weight=5"},
		{"SCHEDULER", "s", `"weight=7"`, false, "", "type=DWRR weight=7"},
		{"SCHEDULER", "s", `"weight=8"`, true, "", "weight=8"},
		{"SCHEDULER", "s", `"weight=800"`, true, `SCHEDULER|s: weight "800": want a number in 1..100`, "weight=8"},
		// Its table does not exist yet, so it cannot be checked.
		{"ACL_RULE", "gone|r", `"PRIORITY=1"`, true, "", "PRIORITY=1"},
		{"ACL_TABLE", "t", `"type=L3"`, true, "", "type=L3"},
		{"ACL_RULE", "t|r", `"PRIORITY=1", "SRC_IPV6=2001:db8::1", "PACKET_ACTION=DROP"`, true, "SRC_IPV6", ""},
		{"NTP_SERVER", "a|b", ``, true, "", "NULL=NULL"},
		{"NTP_SERVER", "a|b", `"=x"`, true, `"=x"`, "NULL=NULL"},
		{"A|B", "c", `"f=v"`, true, "table", ""},
		{"FOO", "lines", `"f=one\ntwo"`, true, "", "f=one\ntwo"},
	} {
		err := set(tt.table, tt.key, tt.fields, tt.replace)
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s|%s %s: %v, want %q", tt.table, tt.key, tt.fields, err, tt.want)
		}
		if got := k.row(tt.table + "|" + tt.key); got != tt.then {
			t.Errorf("%s|%s %s: the row is %q, want %q", tt.table, tt.key, tt.fields, got, tt.then)
		}
	}
	odd := map[string]any{"": "x", "=": "y", "a=b": "z", "plain": "one\ntwo"}
	if err := k.redis.DB(swss.ConfigDB).Client().HSet(k.ctx, "FOO|odd", odd).Err(); err != nil {
		t.Fatal(err)
	}
	at := path("/config-rows/row[table=FOO][key=odd]")
	got, err := k.client.Get(k.ctx, &gpb.GetRequest{Path: []*gpb.Path{at}, Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		t.Fatal(err)
	}
	text := string(got.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
	for _, want := range []string{`"field":["plain=one\ntwo"]`, `which no leaf can show`} {
		if !strings.Contains(text, want) {
			t.Errorf("a row with odd names: no %s in %s", want, text)
		}
	}
	k.sampler("a", 1)
	root := &gpb.Update{Path: &gpb.Path{}, Val: &gpb.TypedValue{
		Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`{}`)}}}
	if _, err := k.client.Set(k.ctx, &gpb.SetRequest{Replace: []*gpb.Update{root}}); err != nil {
		t.Fatal(err)
	}
	if k.rate("a") != "" || k.row("SCHEDULER|s") == "" {
		t.Errorf("behind a replace of the root: sampler %q, scheduler %q", k.rate("a"), k.row("SCHEDULER|s"))
	}
	both := &gpb.SetRequest{Update: []*gpb.Update{
		{Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "tam"}, {Name: "samplers"},
			{Name: "sampler", Key: map[string]string{"name": "b"}}}},
			Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`{"config": {"sampling-rate": 5}}`)}}},
		{Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "config-rows"},
			{Name: "row", Key: map[string]string{"table": "TAM_SAMPLINGRATE_TABLE", "key": "b"}}}},
			Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(
				`{"config": {"field": ["sampling-rate=6"]}}`)}}}}}
	if _, err := k.client.Set(k.ctx, both); status.Code(err) != codes.InvalidArgument || k.rate("b") != "" {
		t.Errorf("one row in two places: %v, then %q", err, k.rate("b"))
	}
}

// Any input of an operation is either accepted or refused with a code.
func FuzzOperation(f *testing.F) {
	k := &archiver{Server: &Server{}}
	all := operations()
	delete(all, "clear-counters") // it would need counters
	// These would need other daemons.
	for _, name := range []string{"trace-packet", "why-flow", "list-drops", "ping", "traceroute"} {
		delete(all, name)
	}
	for _, s := range []string{`{"source":"running","destination":"startup"}`,
		`{"tamtam-operations:input":{"kind":"all"}}`, `{"confirmed":1e9}`, `[]`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for op, x := range all {
			if _, err := x.do(k, t.Context(), "fuzz", input); err == nil {
				t.Errorf("%s %q is done without a place to keep anything", op, input)
			}
		}
	})
}
