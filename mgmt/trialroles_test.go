package mgmt

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/mgmt/configfile"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A trialBed is a switch with users, a clock that the test moves, and an audit trail.
type trialBed struct {
	*keeper
	audit *bytes.Buffer
}

func newTrialBed(t *testing.T, lines string) *trialBed {
	k := &trialBed{keeper: &keeper{dir: t.TempDir(), clock: &keptClock{t: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)}},
		audit: &bytes.Buffer{}}
	k.bed = newBed(t, func(c *Config) {
		k.edit(c)
		c.Users, c.Roles, c.Audit = staff, "r none /\n"+lines, slog.NewJSONHandler(k.audit, nil)
	})
	return k
}

func (k *trialBed) do(name, operation, input string) error {
	_, err := k.server.Operate(k.as(name), operation, []byte(input))
	return err
}

func (k *trialBed) mustDo(name, operation, input string) {
	k.t.Helper()
	if err := k.do(name, operation, input); err != nil {
		k.t.Fatalf("%s: %s %s: %v", name, operation, input, err)
	}
}

// set writes a row directly, or a sampler.
func (k *trialBed) set(name, table, key, field string, ext ...*gnmi_ext.Extension) error {
	at := fmt.Sprintf("/config-rows/row[table=%s][key=%s]/config/field", table, key)
	val := fmt.Sprintf("[%q]", field)
	if table == "TAM_SAMPLINGRATE_TABLE" {
		_, rate, _ := strings.Cut(field, "=")
		at, val = "/tam/samplers/sampler[name="+key+"]/config/sampling-rate", rate
	}
	_, err := k.server.Set(k.as(name), &gpb.SetRequest{Update: []*gpb.Update{update(at, val)}, Extension: ext})
	return err
}

func (k *trialBed) mustSet(name, table, key, field string) {
	k.t.Helper()
	if err := k.set(name, table, key, field); err != nil {
		k.t.Fatalf("%s: %s|%s: %v", name, table, key, err)
	}
}

// expire lets the time to confirm pass, and waits for the end of the trial.
func (k *trialBed) expire(d time.Duration) {
	k.t.Helper()
	k.clock.pass(d)
	k.eventually("the end of the trial", func() bool { return k.server.kept.onTrial.Load() == nil })
	k.server.setting.Lock() // all is written once the lock is free
	defer k.server.setting.Unlock()
}

const samplerTable = "TAM_SAMPLINGRATE_TABLE"

// An expired commit reverts the rows that its user may write, and names the rows that stay.
func TestExpiryWithinRights(t *testing.T) {
	for _, user := range []string{"op", "u"} {
		t.Run(user, func(t *testing.T) {
			k := newTrialBed(t, "r write /tam/samplers\nr write /operations/commit\n")
			k.rows(map[string]string{"CONFIG_DB TACPLUS_SERVER|h": "passkey=old",
				"CONFIG_DB " + samplerTable + "|a": "sampling-rate=1"})
			k.mustDo("root", "commit", `{}`)
			k.mustSet("root", "TACPLUS_SERVER", "h", "passkey=new")
			k.mustSet(user, samplerTable, "a", "sampling-rate=2")
			k.mustDo(user, "commit", `{"confirmed": 60}`)
			k.mustSet("root", samplerTable, "b", "sampling-rate=7")
			k.mustSet(user, samplerTable, "c", "sampling-rate=3")
			k.expire(time.Minute)
			if got := k.row("TACPLUS_SERVER|h"); got != "passkey=new" {
				t.Errorf("the server's key is %q", got)
			}
			if a, c := k.rate("a"), k.rate("c"); a != "sampling-rate=1" || c != "" {
				t.Errorf("what the user changed is %q and %q, want it undone", a, c)
			}
			if got := k.rate("b"); got != "sampling-rate=7" {
				t.Errorf("what another changed meanwhile is %q", got)
			}
			trail := k.audit.String()
			line := trail[strings.LastIndex(trail[:len(trail)-1], "\n")+1:]
			for _, want := range []string{
				`"user":"` + user + `"`, "undo of an unconfirmed commit", "TACPLUS_SERVER|h (role",
				samplerTable + "|b (changed by root)",
			} {
				if !strings.Contains(line, want) {
					t.Errorf("the audit trail has no %s: %s", want, line)
				}
			}
		})
	}
}

// Only its user and an admin may end a commit on trial, within the time that the role permits.
func TestWhoEndsATrial(t *testing.T) {
	k := newTrialBed(t, "r write /tam/samplers\nr write /operations/commit\nr write /operations/cancel-commit\n")
	k.mustDo("root", "commit", `{}`)
	k.mustSet("op", samplerTable, "a", "sampling-rate=1")
	wantErr(t, k.do("op", "commit", `{"confirmed": 3601}`), "InvalidArgument", "1h0m0s")
	k.mustDo("op", "commit", `{"confirmed": 3600}`)
	k.clock.pass(time.Minute)
	wantErr(t, k.do("op", "commit", `{"confirmed": 3600}`), "InvalidArgument", "59m0s")
	wantErr(t, k.do("u", "commit", `{}`), "PermissionDenied", "op or an admin")
	wantErr(t, k.do("u", "commit", `{"confirmed": 10}`), "PermissionDenied", "op or an admin")
	wantErr(t, k.do("u", "cancel-commit", `{}`), "PermissionDenied", "op or an admin")
	k.mustDo("root", "commit", `{"confirmed": 86400}`)
	k.mustDo("root", "cancel-commit", `{}`)
	if got := k.rate("a"); got != "" {
		t.Errorf("what an admin cancelled is %q", got)
	}
	wait := func(id string) *gnmi_ext.Extension {
		return &gnmi_ext.Extension{Ext: &gnmi_ext.Extension_Commit{Commit: &gnmi_ext.Commit{Id: id,
			Action: &gnmi_ext.Commit_Commit{Commit: &gnmi_ext.CommitRequest{RollbackDuration: durationpb.New(time.Minute)}}}}}
	}
	if err := k.set("u", samplerTable, "a", "sampling-rate=1", wait("x")); err != nil {
		t.Fatal(err)
	}
	wantErr(t, k.set("op", samplerTable, "a", "sampling-rate=2"), "FailedPrecondition", `commit "x" of u`)
	if err := k.set("op", samplerTable, "b", "sampling-rate=2"); err != nil {
		t.Errorf("a Set of another row waits for the commit of one: %v", err)
	}
	k.expire(time.Minute)
	if a, b := k.rate("a"), k.rate("b"); a != "" || b != "sampling-rate=2" {
		t.Errorf("behind the end of the commit: %q, %q", a, b)
	}
}

// Whatever is written while a commit waits, its end changes no row that its user may not write, and no row that another
// user has changed. All other rows return to their former content.
func TestRandomTrials(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 12, Short: 4}, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		k := newTrialBed(t, "r write /tam/samplers\nr write /operations/commit\n")
		may := map[string]func(table string) bool{
			"root": func(string) bool { return true },
			"op":   func(table string) bool { return table != "TACPLUS_SERVER" },
			"u":    func(table string) bool { return table == samplerTable },
		}
		tables := map[string]string{samplerTable: "sampling-rate=", "SCHEDULER": "weight=", "TACPLUS_SERVER": "passkey="}
		names, users := tree.SortedKeys(tables), tree.SortedKeys(may)
		change := func(user string) (row string, done bool) {
			table, key := names[rng.IntN(len(names))], string(rune('a'+rng.IntN(3)))
			if !may[user](table) {
				return "", false
			}
			before := k.row(table + "|" + key)
			k.mustSet(user, table, key, tables[table]+fmt.Sprint(1+rng.IntN(9)))
			return table + "|" + key, k.row(table+"|"+key) != before
		}
		for range 6 {
			change("root")
		}
		k.mustDo("root", "commit", `{}`)
		back := rowsOf(k)
		for range rng.IntN(8) {
			change(users[rng.IntN(len(users))])
		}
		who := users[rng.IntN(len(users))]
		k.mustDo(who, "commit", `{"confirmed": 60}`)
		others := map[string]bool{}
		began := rowsOf(k)
		for i := range rng.IntN(12) {
			by := users[rng.IntN(len(users))]
			row, done := "", true
			if rng.IntN(5) == 0 { // written directly in the database, with a content that no row had before
				table := names[rng.IntN(len(names))]
				row, by = table+"|"+string(rune('a'+rng.IntN(3))), ""
				k.rows(map[string]string{"CONFIG_DB " + row: fmt.Sprint(tables[table], 100+i)})
			} else {
				row, done = change(by)
			}
			if by != who && done {
				others[row] = true
			}
			if rng.IntN(8) == 0 {
				restart(k)
			}
		}
		now := rowsOf(k)
		k.expire(time.Minute)
		got := rowsOf(k)
		for _, row := range tree.SortedKeys(anyOf(back, began, now)) {
			table, _, _ := strings.Cut(row, "|")
			want := now[row]
			if !others[row] && may[who](table) {
				want = back[row]
			}
			if got[row] != want {
				t.Errorf("%s: %q at the end of %s's commit; committed %q, then %q, at the end %q, changed by others: %v",
					row, got[row], who, back[row], began[row], now[row], others[row])
			}
		}
	})
}

// restart replaces the server with a new one.
func restart(k *trialBed) {
	k.t.Helper()
	k.server.Close()
	k.bed = newBedOn(k.t, k.redis, func(c *Config) {
		k.edit(c)
		c.Users, c.Roles, c.Audit = staff, k.server.cfg.Roles, slog.NewJSONHandler(k.audit, nil)
	})
	if err := k.server.Begin(context.Background(), "test", false, nil); err != nil {
		k.t.Fatal(err)
	}
}

func rowsOf(k *trialBed) map[string]string {
	k.t.Helper()
	rows, err := configfile.Stored(k.ctx, k.redis)
	if err != nil {
		k.t.Fatal(err)
	}
	out := map[string]string{}
	for table, keys := range rows {
		for key := range keys {
			out[table+"|"+key] = k.row(table + "|" + key)
		}
	}
	return out
}

func anyOf(maps ...map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, m := range maps {
		for k := range m {
			out[k] = true
		}
	}
	return out
}
