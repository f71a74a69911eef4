package amorch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// without makes a switch that cannot match time, with the session s on the flow group dscp8.
func without(t *testing.T, s altmark.Session) *bench {
	t.Helper()
	b := newBench(t, 0, 0)
	b.rule("dscp8", "DSCP", "8", "SRC_IP", "10.0.0.1")
	b.session("s1", "dscp8", s)
	b.Step()
	return b
}

// counters sets the two ACL counters of the session's entries.
func (b *bench) counters(c0, c1 uint64) {
	b.T.Helper()
	for colour, n := range []uint64{c0, c1} {
		oid, _, ok := b.acl.VariantCounter(b.am.Sessions["s1"].RowInASIC.Rule, featureName, colours[colour])
		if !ok {
			b.T.Fatal("no counter")
		}
		k := sai.Obj(sai.ObjectTypeACLCounter, oid)
		b.Fake.Poke(k, sai.Attr{ID: sai.ACLCounterAttrPackets, Value: sai.Uint(n)})
		b.Fake.Poke(k, sai.Attr{ID: sai.ACLCounterAttrBytes, Value: sai.Uint(100 * n)})
	}
}

// With standard SAI, step marking uses two entries, and one call for each period.
func TestScheduledCalls(t *testing.T) {
	b := without(t, initiator())
	b.wantSession("s1", "active")
	got := b.calls()
	want := []string{
		"C|ACL_ENTRY:acl_entry#0|TABLE_ID=acl_table#0|PRIORITY=101|ADMIN_STATE=false|ACTION_COUNTER=acl_counter#0|" +
			"FIELD_SRC_IP=10.0.0.1&mask:255.255.255.255|FIELD_DSCP=8&mask:0x3f|ACTION_SET_DSCP=9",
		"C|ACL_ENTRY:acl_entry#1|TABLE_ID=acl_table#0|PRIORITY=100|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#1|" +
			"FIELD_SRC_IP=10.0.0.1&mask:255.255.255.255|FIELD_DSCP=8&mask:0x3f|ACTION_SET_DSCP=8",
	}
	if got := slices.DeleteFunc(slices.Clone(got), func(l string) bool {
		return !strings.Contains(l, "ACL_ENTRY:")
	}); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	b.Pass(3 * time.Second)
	want = []string{"s|ACL_ENTRY:acl_entry#0|ADMIN_STATE=true", "s|ACL_ENTRY:acl_entry#0|ADMIN_STATE=false",
		"s|ACL_ENTRY:acl_entry#0|ADMIN_STATE=true"}
	if got := b.calls(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	b.rule("dscp8", "DSCP", "16", "SRC_IP", "10.0.0.1") // the flow gets another DSCP
	b.Step()
	b.wantSession("s1", "active")
	calls := strings.Join(b.calls(), "\n")
	if !strings.Contains(calls, "ACTION_SET_DSCP=17") || !strings.Contains(calls, "ACTION_SET_DSCP=16") {
		t.Errorf("calls:\n%s", calls)
	}
	b.Del(schema.AppTAMAltMark, "s1")
	b.Step()
	if left := b.left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Periods are the differences of the ACL counters. A change of colour that is later than the guard invalidates the
// period before it and the two periods after it.
func TestScheduledPeriods(t *testing.T) {
	b := without(t, initiator())
	for _, tt := range []struct {
		after    time.Duration
		c0, c1   uint64
		want     string
		switched string // lateness that TIMING contains
	}{
		{time.Second, 10, 0, "1700000000: 10 first", "0s"},
		{time.Second, 10, 7, "1700000001: 7", "0s"},
		{time.Second, 15, 7, "1700000002: 5", "0s"},
		{0, 0, 0, "", ""}, // the resulting period is checked below
		{time.Second, 15, 9, "1700000003: 2 out-of-window", "300ms"},
		{time.Second, 21, 9, "1700000004: 6 out-of-window", "300ms"},
		{time.Second, 21, 10, "1700000005: 1 out-of-window", "300ms"},
		{time.Second, 22, 10, "1700000006: 1", "300ms"},
	} {
		if tt.after == 0 { // the daemon is busy while period 4 begins
			b.Now = b.Now.Add(800 * time.Millisecond)
			b.Step()
			b.Now = b.Now.Add(-800 * time.Millisecond)
			continue
		}
		b.counters(tt.c0, tt.c1)
		b.Pass(tt.after)
		b.wantLast("s1", tt.want)
		if row := b.Row(swss.CountersDB, schema.CountersAltMark, "s1"); row["ENGINE"] != "orchestrator" ||
			!strings.Contains(row["TIMING"], "at most "+tt.switched+" late") {
			t.Errorf("%v", row)
		}
	}
}

// Periods that passed without a change of colour are flagged, because they had the colour of another period.
func TestMissedSwitchOvers(t *testing.T) {
	f := &flip{due: start, next: 11}
	f.note(0, 11, time.Unix(11, 0))
	f.next = 12
	f.note(0, 14, time.Unix(14, 1000))
	for k, want := range map[uint64]altmark.Flags{10: 0, 11: altmark.OutOfWindow, 12: altmark.OutOfWindow,
		13: altmark.OutOfWindow, 14: altmark.OutOfWindow} {
		if got := f.flags(initiator(), k); got != want {
			t.Errorf("period %d: %v, want %v", k, got, want)
		}
	}
	if f.worst != 2*time.Second+1000 {
		t.Errorf("the worst is %v", f.worst)
	}
}

// A terminator distinguishes the colours by the DSCP and restores it.
func TestScheduledTerminator(t *testing.T) {
	s := initiator()
	s.Role, s.Clear = altmark.Terminator, true
	b := without(t, s)
	b.wantSession("s1", "active")
	got := strings.Join(b.calls(), "\n")
	for _, want := range []string{"FIELD_DSCP=8&mask:0x3f|ACTION_SET_DSCP=8", "FIELD_DSCP=9&mask:0x3f|ACTION_SET_DSCP=8"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in\n%s", want, got)
		}
	}
	b.Pass(5 * time.Second)
	if got := b.calls(); len(got) > 0 {
		t.Errorf("there is nothing to switch: %v", got)
	}
	b.wantLast("s1", "1700000004: 0")
}

// orchagent refuses some sessions, with the reason.
func TestScheduledRefusals(t *testing.T) {
	with := func(f func(s *altmark.Session)) altmark.Session { s := initiator(); f(&s); return s }
	for _, tt := range []struct {
		s    altmark.Session
		rule []string
		want string
	}{
		{with(func(s *altmark.Session) { s.Method = altmark.Pulse }), []string{"DSCP", "8"},
			"orchestrator switches colours: method is pulse, want step"},
		{with(func(s *altmark.Session) { s.Mark = altmark.IPv4Reserved }), []string{"DSCP", "8"},
			"mark is ipv4-reserved, want dscp0 to dscp5"},
		{with(func(s *altmark.Session) { s.MeanDelay = true }), []string{"DSCP", "8"},
			"orchestrator switches colours: mean-delay is true, want false"},
		{initiator(), web, "flow group f does not say which: want a rule that matches one DSCP exactly"},
		{initiator(), []string{"DSCP", "9"}, "flow group f has DSCP 9, want one without dscp0"},
	} {
		b := newBench(t, 0, 0)
		b.rule("f", tt.rule...)
		b.session("s1", "f", tt.s)
		b.Step()
		b.wantSession("s1", tt.want)
		b.rule("f", "DSCP", "8")
		b.Step()
		if tt.s == initiator() {
			b.wantSession("s1", "active")
		}
	}
}

// If the switch supports neither method of marking, by the chip or by orchagent, the status reports this.
func TestUnsupported(t *testing.T) {
	b := newBench(t, 0, 0, func(b *bench) { b.chip.dumb = true })
	const reason = "the switch has no profiles of alternate marking, and its ingress ACLs do not have both actions " +
		"SET_DSCP and COUNTER"
	b.WantStatus(schema.StateTAMFeature, featureName, "UNSUPPORTED: "+reason)
	row := b.Row(swss.ApplDB, schema.AppSwitch, "switch")
	if row[schema.CapabilityField(featureName)] != "false" || row[schema.CapabilityReasonField(featureName)] != reason {
		t.Errorf("%v", row)
	}
	b.rule("f", "DSCP", "8")
	b.session("s1", "f", initiator())
	b.Step()
	b.wantSession("s1", "failed: "+reason)
}

// A switch whose ACL counters cannot be read marks and measures nothing. The status of the session reports this until
// the counters can be read. It is logged once, not in every period.
func TestUnreadableCounters(t *testing.T) {
	b := newBench(t, 0, 0, func(b *bench) { b.chip.uncounted = true })
	b.rule("dscp8", "DSCP", "8", "SRC_IP", "10.0.0.1")
	b.session("s1", "dscp8", initiator())
	b.Step()
	b.Pass(5 * time.Second)
	row := b.Row(swss.StateDB, schema.StateTAMAltMark, "s1")
	if want := "nothing is measured: its counters cannot be read"; row["status"] != "active" ||
		!strings.Contains(row["reason"], want) {
		t.Errorf("the session is %v, want it active and: %s", row, want)
	}
	if n := strings.Count(strings.Join(b.Logged, " "), "alternate marking is not read"); n != 1 {
		t.Errorf("logged %d times", n)
	}
	b.chip.uncounted = false
	b.Pass(2 * time.Second)
	if row := b.Row(swss.StateDB, schema.StateTAMAltMark, "s1"); row["status"] != "active" || row["reason"] != "" {
		t.Errorf("with counters the session is %v", row)
	}
}
