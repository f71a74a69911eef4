package qos

import (
	"strings"
	"testing"

	"tamtam/orch/forward/forwardtest"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// applied returns the row of trimming in APPL_DB.
func applied(b *forwardtest.Bench) string { return strings.Join(b.ApplOf(schema.AppTrimming), "; ") }

// What SWITCH_TRIMMING has set once can be changed, but not removed. A refused row leaves the former one in force,
// also after a restart of the manager.
func TestTrimmingStays(t *testing.T) {
	r := swsstest.Start(t)
	b := newBench(t, r)
	do := func(line, appl, status string) {
		t.Helper()
		b.Do(line)
		b.Step()
		if got := applied(b); got != appl {
			t.Errorf("%s: APPL_DB has %q, want %q", line, got, appl)
		}
		if got := b.Status(schema.AppTrimming + "|GLOBAL"); !strings.HasPrefix(got, status) {
			t.Errorf("%s: the outcome is %q, want %s", line, got, status)
		}
	}
	const first = "GLOBAL dscp_value=10 size=100"
	do("SWITCH_TRIMMING|GLOBAL size=100 dscp_value=10", first, "pending: waiting for orchagent")
	do("SWITCH_TRIMMING|GLOBAL size=-1 dscp_value=10", first,
		`failed: size "-1": want a number in 0..4294967295; the switch keeps size 100, dscp_value 10 (tammgrd)`)
	do("SWITCH_TRIMMING|GLOBAL dscp_value=10", first,
		"failed: size cannot be removed, only changed: want the row with size 100 (tammgrd)")
	do("-SWITCH_TRIMMING|GLOBAL", first,
		"failed: the row is gone, but trimming cannot be removed, only changed; the switch keeps size 100, dscp_value 10; "+
			"want the row again (tammgrd)")
	do("restart", first, "failed: the row is gone")
	const second = "GLOBAL dscp_value=from-tc queue_index=dynamic size=200 tc_value=5"
	do("SWITCH_TRIMMING|GLOBAL size=200 dscp_value=from-TC tc_value=5 queue_index=Dynamic", second, "pending: ")
	do("restart", second, "pending: ")
}

// Each bad field gives an error with the value, and with what would be right.
func TestTrimmingErrors(t *testing.T) {
	for row, want := range map[string]string{
		"size=_":             `size is empty: want a number in 0..4294967295`,
		"size=4294967296":    `size "4294967296": want a number in 0..4294967295`,
		"dscp_value=64":      `dscp_value "64": want a number in 0..63 or from-tc`,
		"dscp_value=dynamic": `dscp_value "dynamic": want a number in 0..63 or from-tc`,
		"tc_value=256":       `tc_value "256": want a number in 0..255`,
		"tc_value=from-tc":   `tc_value "from-tc": want a number in 0..255`,
		"queue_index=-1":     `queue_index "-1": want a number in 0..255 or dynamic`,
		"NULL=NULL":          `size is missing: want at least one of size, dscp_value, tc_value or queue_index`,
		"sise=9":             `sise "9": want a field of the table; the nearest is size`,
	} {
		fields := map[string]string{}
		for _, f := range strings.Fields(row) {
			name, value, _ := strings.Cut(f, "=")
			fields[name] = strings.TrimSuffix(value, "_")
		}
		_, err := schema.ParseSwitchTrimming(schema.TrimmingKey, fields)
		if got := schema.Reason(err); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
	}
}

// A profile that trims cannot be that of priority groups, nor in a list of profiles. The row that came later is
// refused, and what was in force stays, also after a restart. If both come at once, the profile is first, as in SONiC.
func TestTrimOnlyForQueues(t *testing.T) {
	const (
		pool, plain = "BUFFER_POOL|p type=both size=100000", "BUFFER_PROFILE|plain pool=p static_th=9"
		drop, trim  = "BUFFER_PROFILE|f pool=p static_th=9", "BUFFER_PROFILE|f pool=p static_th=9 packet_discard_action=trim"
	)
	for _, user := range []struct{ table, key, field, whom string }{
		{schema.CfgBufferPG, "Ethernet0|3", "profile", "priority groups"},
		{schema.CfgBufferIngress, "Ethernet0", "profile_list", "the ports' lists of profiles"},
		{schema.CfgBufferEgress, "Ethernet0", "profile_list", "the ports' lists of profiles"},
	} {
		uses := func(profile string) string { return user.table + "|" + user.key + " " + user.field + "=" + profile }
		r := swsstest.Start(t)
		b := newBench(t, r)
		do := func(what string, lines ...string) func(row string, profile bool, why string) {
			for _, line := range lines {
				b.Do(line)
			}
			b.Step()
			return func(row string, trims bool, why string) {
				t.Helper()
				if got := b.ApplOf(user.table + "_TABLE"); strings.Join(got, ";") != row {
					t.Errorf("%s, %s: the row is %q, want %q", user.table, what, got, row)
				}
				if got := strings.Join(b.ApplOf(schema.AppBufferProfile), ";"); strings.Contains(got, "=trim") != trims {
					t.Errorf("%s, %s: the profiles are %s", user.table, what, got)
				}
				states := strings.Join(b.States(user.table+"_TABLE", schema.AppBufferProfile), "\n")
				failed := strings.Count(states, "failed")
				if !strings.Contains(states, why) || failed > 1 || (failed > 0) != (why != "") {
					t.Errorf("%s, %s: %s, want %s", user.table, what, states, why)
				}
			}
		}
		row := func(profile string) string {
			return strings.Replace(user.key, "|", ":", 1) + " " + user.field + "=" + profile
		}
		attach := `buffer profile "f" has packet_discard_action trim: want one without for ` + user.whom
		edit := `packet_discard_action "trim": ` + user.table + "|" + user.key + " uses the profile, want drop"
		do("at first", port0, pool, plain, drop, uses("plain"))(row("plain"), false, "")
		do("attach", trim, uses("f"))(row("plain"), true, attach)
		do("attach, restarted", "restart")(row("plain"), true, attach)
		do("attach, no longer trims", drop)(row("f"), false, "")
		do("edit", trim)(row("f"), false, edit)
		do("edit, restarted", "restart")(row("f"), false, edit)
		do("edit, another profile", uses("plain"))(row("plain"), true, "")
		do("gone", "-"+user.table+"|"+user.key, "-BUFFER_PROFILE|f")("", false, "")
		do("at once", trim, uses("f"))("", true, attach)
	}
}
