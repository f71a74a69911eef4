package amorch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

var web = []string{"SRC_IP", "10.0.0.1", "L4_DST_PORT", "80"}

// A session consists of a profile, and two entries that distinguish its lane's colours.
func TestCalls(t *testing.T) {
	b := newBench(t, 8, 100)
	b.am.Running = false // no readings take place
	b.rule("web", web...)
	b.session("s1", "web", initiator())
	b.Step()
	b.wantSession("s1", "active")
	got := b.calls()
	want := []string{
		`c|GENERIC_PROGRAMMABLE:generic_programmable#0|OBJECT_NAME=`,
		`C|ACL_COUNTER`, `C|ACL_COUNTER`,
		`FIELD_ACL_USER_META=8&mask:0x9|ACTION_SET_ACL_META_DATA=2684354560`,
		`FIELD_ACL_USER_META=9&mask:0x9|ACTION_SET_ACL_META_DATA=2692743168`,
	}
	if len(got) != len(want) {
		t.Fatalf("calls:\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("call %d: %s, want %s", i, got[i], want[i])
		}
	}
	b.Del(schema.AppTAMAltMark, "s1")
	b.Step()
	b.wantSession("s1", "")
	got = b.calls()
	if len(got) != 5 || !strings.Contains(got[4], "r|GENERIC_PROGRAMMABLE") {
		t.Errorf("the profile goes after the entries:\n%s", strings.Join(got, "\n"))
	}
	if left := b.left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// The status of a session names what the session lacks. The session is active once nothing is lacking.
func TestWithdrawnAndBack(t *testing.T) {
	for _, tt := range []struct {
		name     string
		del, set func(b *bench)
		status   string
	}{
		{"rule", func(b *bench) { b.Del(schema.AppACLRule, "TAM:web") }, func(b *bench) { b.rule("web", web...) },
			"pending: no ACL rule TAM|web"},
		{"table", func(b *bench) { b.Del(schema.AppACLTable, "TAM") },
			func(b *bench) { b.Set(schema.AppACLTable, "TAM", "TYPE", "TAM", "STAGE", "INGRESS", "PORTS", "") },
			"pending: ACL rule TAM|web: no ACL table TAM"},
		{"feature", func(b *bench) { b.Del(schema.AppTAMFeature, featureName) },
			func(b *bench) { b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE") },
			"pending: feature ALTMARK is not active"},
		{"session", func(b *bench) { b.Del(schema.AppTAMAltMark, "s1") },
			func(b *bench) { b.session("s1", "web", initiator()) }, ""},
		{"row", func(b *bench) { b.Set(schema.AppTAMAltMark, "s1", "acl-table-name", "TAM", "acl-rule-name", "web") },
			func(b *bench) { b.session("s1", "web", initiator()) }, "failed: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, 8, 100)
			b.rule("web", web...)
			b.session("s1", "web", initiator())
			b.Step()
			objects := len(b.left())
			tt.del(b)
			b.Step()
			b.wantSession("s1", tt.status)
			if left := b.left(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			for _, table := range []string{schema.CountersAltMark, schema.CountersAltMarkPast} {
				if row := b.Row(swss.CountersDB, table, "s1"); len(row) > 0 {
					t.Errorf("%s:s1 is still there: %v", table, row)
				}
			}
			tt.set(b)
			b.Step()
			b.wantSession("s1", "active")
			if n := len(b.left()); n != objects {
				t.Errorf("%d objects, want %d: %v", n, objects, b.left())
			}
		})
	}
}

// variation returns the n-th session, which differs from all others.
func variation(n int) altmark.Session {
	s := initiator()
	s.ClockError += time.Duration(n)
	return s
}

// Sessions with equal settings share one profile. If the settings of a session would need a ninth profile, the session
// waits for a lane and its status reports this. It uses the first lane that becomes free.
func TestLanes(t *testing.T) {
	b := newBench(t, 8, 100)
	for i := range 9 {
		for _, twin := range []string{"a", "b"} {
			name := fmt.Sprintf("s%d%s", i, twin)
			b.rule(name, "L4_DST_PORT", fmt.Sprint(10*i+len(name)), "SRC_IP",
				map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"}[twin])
			b.session(name, name, variation(i))
		}
	}
	b.Step()
	if n := len(b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable)); n != 8 {
		t.Errorf("%d profiles", n)
	}
	b.wantSession("s7b", "active")
	b.wantSession("s8a",
		"the switch has 8 profiles of alternate marking (role, method, interval, mark, guard), and all are in use")
	b.WantStatus(schema.StateTAMFeature, featureName,
		"INSUFFICIENT_RESOURCES: 2 of 18 sessions do not fit into the switch, the first is s8a: ")
	b.Del(schema.AppTAMAltMark, "s3a")
	b.Step()
	b.wantSession("s8a", "pending: ")
	b.Del(schema.AppTAMAltMark, "s3b")
	b.Step()
	b.wantSession("s8a", "active")
	b.wantSession("s8b", "active")
	b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
	if lane := b.am.Sessions["s8a"].InASIC.profile.settings.Lane; lane != 3 {
		t.Errorf("lane %d, want 3, the one that was free", lane)
	}
}

// A switch with two flows has indices for two sessions. The third session gets the index of a removed session.
func TestIndices(t *testing.T) {
	b := newBench(t, 8, 2)
	for i := range 3 {
		b.rule(fmt.Sprint("r", i), "L4_DST_PORT", fmt.Sprint(i+1))
		b.session(fmt.Sprint("s", i), fmt.Sprint("r", i), initiator())
	}
	b.Step()
	b.wantSession("s2", "pending: the switch marks 2 flows at most")
	b.Del(schema.AppTAMAltMark, "s1")
	b.Step()
	b.wantSession("s2", "active")
	if x := b.am.Sessions["s2"].InASIC.index; x != 1 {
		t.Errorf("index %d, want 1", x)
	}
}

// If the settings of a session change, it gets another profile and its measurement starts again.
func TestSettingsChange(t *testing.T) {
	b := newBench(t, 8, 100)
	b.rule("web", web...)
	b.session("s1", "web", initiator())
	b.Step()
	b.Pass(3 * time.Second)
	b.wantLast("s1", "1700000002: 0")
	s := initiator()
	s.Method, s.Mark2 = altmark.Double, altmark.DSCP1
	b.session("s1", "web", s)
	b.Step()
	b.wantSession("s1", "active")
	b.wantLast("s1", "chip")
	if p := b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable); len(p) != 1 {
		t.Errorf("profiles: %v", p)
	}
}

// Whichever call fails, the calls before it are undone, the status contains the reason, and the next attempt succeeds.
func TestEveryFailureIsUndone(t *testing.T) {
	for _, engine := range []struct {
		lanes, flows uint64
		dscp         string
	}{{8, 100, "8/0x3e"}, {0, 0, "8"}} {
		for _, status := range []sai.Status{sai.StatusFailure, sai.StatusTableFull} {
			for n := 1; ; n++ {
				b := newBench(t, engine.lanes, engine.flows)
				b.am.Running = false // no readings take place
				b.rule("web", append(web, "DSCP", engine.dscp)...)
				b.Step()
				b.Rec.FailAt(n, status)
				b.session("s1", "web", initiator())
				b.Step()
				if b.Status(schema.StateTAMAltMark+"|s1") == "active" {
					if n < 7 {
						t.Errorf("only %d calls", n-1)
					}
					break
				}
				if left := b.left(); len(left) > 0 {
					t.Errorf("%s at call %d: left %v", status, n, left)
				}
				b.wantSession("s1", map[bool]string{true: "pending: ", false: "failed: "}[status == sai.StatusTableFull])
				b.wantSession("s1", status.String())
				b.Rec.FailAt(0, 0)
				b.session("s1", "web", initiator())
				b.Step()
				b.wantSession("s1", "active")
				b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
			}
		}
	}
}

// Whichever call of a change or a removal fails, the orch still has a record of every object. Once calls succeed,
// everything is removed.
func TestEveryFailureOfChangesAndRemovals(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t, 8, 100)
		b.am.Running = false
		b.rule("web", web...)
		b.session("s1", "web", initiator())
		b.Step()
		b.Rec.FailAt(n, sai.StatusFailure)
		b.session("s1", "web", variation(1))
		b.Step()
		b.Del(schema.AppTAMAltMark, "s1")
		b.Step()
		done := b.Rec.Changes() < n
		b.Rec.FailAt(0, 0)
		b.session("s1", "web", initiator())
		b.Step()
		b.wantSession("s1", "active")
		b.Del(schema.AppTAMAltMark, "s1")
		b.Step()
		b.Del(schema.AppACLRule, "TAM:web")
		b.Step()
		if left := b.left(); len(left) > 0 {
			t.Errorf("call %d failed, and these stay: %v", n, left)
		}
		featuretest.Empty(b.Bench, b.am.Feature)
		if done {
			break
		}
	}
}

// A session that could not be removed from the ASIC is removed a second later, even if nothing else happens.
func TestStuckSession(t *testing.T) {
	b := newBench(t, 8, 100)
	b.am.Running = false
	b.rule("web", web...)
	b.session("s1", "web", initiator())
	b.Step()
	b.Rec.FailAt(1, sai.StatusFailure)
	b.Del(schema.AppTAMAltMark, "s1")
	b.Step()
	if len(b.left()) == 0 {
		t.Fatal("nothing failed")
	}
	b.Pass(time.Second)
	if left := b.left(); len(left) > 0 {
		t.Errorf("these stay: %v", left)
	}
}

// With random rows and some failing SAI calls, profiles match the sessions that are bound, indices are unique, and
// nothing is left at the end.
func TestRandomSessions(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 8}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		b := newBench(t, 3, 5)
		for range 150 {
			name, rule := fmt.Sprint("s", r.IntN(8)), fmt.Sprint("r", r.IntN(7))
			switch r.IntN(12) {
			case 0:
				b.Set(schema.AppTAMFeature, featureName, "status", []string{"ACTIVE", "ACTIVE", "INACTIVE"}[r.IntN(3)])
			case 1:
				b.Del(schema.AppACLRule, "TAM:"+rule)
			case 2, 3, 4:
				b.rule(rule, "L4_DST_PORT", fmt.Sprint(1+r.IntN(70000)))
			case 5, 6:
				b.Del(schema.AppTAMAltMark, name)
			case 7:
				b.Pass(time.Duration(r.IntN(3_000_000_000)))
			case 8:
				b.am.Running = false // a failed reading would be reported as an error of the step
				b.Rec.FailAt(1+r.IntN(8), []sai.Status{sai.StatusFailure, sai.StatusTableFull}[r.IntN(2)])
			default:
				b.session(name, rule, variation(r.IntN(5)))
			}
			b.Step()
			b.Rec.FailAt(0, 0)
			b.am.Running = true
			b.consistent()
		}
		b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE")
		for i := range 8 {
			b.Del(schema.AppTAMAltMark, fmt.Sprint("s", i))
			b.Del(schema.AppACLRule, fmt.Sprint("TAM:r", i))
		}
		b.Step()
		b.rule("r0", "L4_DST_PORT", "9") // failed calls are tried again
		b.session("s0", "r0", variation(9))
		b.Step()
		b.wantSession("s0", "active")
		b.Del(schema.AppTAMAltMark, "s0")
		b.Step()
		if left := b.left(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		featuretest.Empty(b.Bench, b.am.Feature)
		if len(b.am.classes) > 0 {
			t.Errorf("intervals of nobody: %v", b.am.classes)
		}
	})
}

// consistent checks that the data of the orch is consistent in itself and with the ASIC.
func (b *bench) consistent() {
	b.T.Helper()
	featuretest.Whole(b.Bench, b.am.Feature)
	users, used := map[*profile]int{}, map[uint32]string{}
	for name, s := range b.am.Sessions {
		if s.InASIC == nil {
			continue
		}
		users[s.InASIC.profile]++
		if other := used[s.InASIC.index]; other != "" {
			b.T.Errorf("%s and %s have index %d", name, other, s.InASIC.index)
		}
		used[s.InASIC.index] = name
		if slices.Contains(b.am.indices.free, s.InASIC.index) {
			b.T.Errorf("the index of %s is free", name)
		}
		want := s.RowInASIC.Session.ChipProfile()
		want.Lane = s.InASIC.profile.settings.Lane
		if s.InASIC.profile.settings != want || b.am.lanes[want.Lane] != s.InASIC.profile {
			b.T.Errorf("%s has another's profile", name)
		}
	}
	for _, p := range b.am.lanes {
		if p != nil && p.sessions != users[p] {
			b.T.Errorf("the profile in lane %d has %d sessions, the books have %d", p.settings.Lane, users[p], p.sessions)
		}
	}
	if len(b.am.Snapshot().Again) == 0 && len(maps.Collect(maps.All(users))) != len(
		b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable)) {
		b.T.Errorf("%d profiles are in use, the ASIC has %v", len(users), b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable))
	}
}

// A session with a FlowMonID has an object for its index, as long as its entries exist. A chip without support for
// FlowMonIDs refuses the session. Other indices are not affected.
func TestFlowMonIDs(t *testing.T) {
	s := initiator()
	s.FlowMonID = altmark.FlowMonID{Given: true, ID: 0}
	plain := newBench(t, 8, 100)
	plain.rule("web", "L4_DST_PORT", "80")
	plain.session("s1", "web", s)
	plain.Step()
	plain.wantSession("s1", "failed: flow-mon-id is given, but the switch does not match FlowMonIDs")
	b := newBench(t, 8, 2, func(b *bench) { b.chip.Room[altmark.ObjectFlow] = 2 })
	b.rule("web", "L4_DST_PORT", "80")
	b.rule("dns", "L4_DST_PORT", "53")
	b.rule("ssh", "L4_DST_PORT", "22")
	objects := func(what string, want int) {
		t.Helper()
		if n := len(b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable)); n != want {
			t.Errorf("%s: %d objects, want %d", what, n, want)
		}
	}
	for range 3 { // a released index is used again
		b.session("s1", "web", s)
		b.session("s2", "dns", initiator())
		b.Step()
		b.wantSession("s1", "active")
		b.wantSession("s2", "active")
		objects("two sessions", 2)
		b.session("s3", "ssh", s)
		b.Step()
		b.wantSession("s3", "the switch marks 2 flows at most")
		objects("a third", 2)
		b.Del(schema.AppTAMAltMark, "s1")
		b.Step()
		b.wantSession("s3", "active")
		objects("the third instead of the first", 2)
		b.Del(schema.AppTAMAltMark, "s2")
		b.Del(schema.AppTAMAltMark, "s3")
		b.Step()
		objects("none", 0)
	}
	// After a change of the FlowMonID, the session has the object of the new one. Without a FlowMonID it has none.
	b.session("s1", "web", s)
	b.Step()
	s.FlowMonID.ID = 7
	b.session("s1", "web", s)
	b.Step()
	objects("changed", 2)
	b.session("s1", "web", initiator())
	b.Del(schema.AppTAMAltMark, "s1")
	b.session("s1", "web", initiator())
	b.Step()
	objects("without", 1)
}
