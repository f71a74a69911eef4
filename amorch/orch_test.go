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
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

var web = []string{"SRC_IP", "10.0.0.1", "L4_DST_PORT", "80"}

// The profile of a session is created before the entries, and removed after them.
func TestOrderOfObjects(t *testing.T) {
	b := newBench(t, 8, 100)
	b.am.Running = false // no readings take place
	b.rule("web", web...)
	b.session("s1", "web", initiator())
	b.Step()
	if calls := b.Calls(); !strings.HasPrefix(calls[0], "c|GENERIC_PROGRAMMABLE:") {
		t.Errorf("the first call is %s", calls[0])
	}
	b.Del(schema.AppTAMAltMark, "s1")
	b.Step()
	calls := b.Calls()
	profile := slices.Index(calls, "r|GENERIC_PROGRAMMABLE:generic_programmable#0")
	if profile < 0 || slices.ContainsFunc(calls[profile:], func(l string) bool {
		return strings.HasPrefix(l, "R|ACL_ENTRY:")
	}) {
		t.Errorf("the profile must be removed after the entries:\n%s", strings.Join(calls, "\n"))
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
