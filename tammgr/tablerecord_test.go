package tammgr

import "testing"

// Recording sessions are forwarded with their flow group's rule, their collector's
// address and their sampler's rate, or say what they lack.
func TestRecordSessions(t *testing.T) {
	const (
		r1    = "TAM_STATE_TABLERECORD_TABLE|r1"
		r2    = "TAM_STATE_TABLERECORD_TABLE|r2"
		rest  = " collector-name=c encapsulation=udp identities=false mode=exec phv=16+16 probabilities=uniform "
		appl1 = "r1 acl-rule-name=F1 acl-table-name=TAM algorithm=greedy collector=10.0.0.5:4739" + rest +
			"sampling-rate=1 truncate=128"
		record2  = "TAM_TABLERECORD_TABLE|r2 flowgroup=F1 collector=c"
		inactive = "feature TABLERECORD is not active"
	)
	ready := func(more ...string) []string {
		return append([]string{group1, rule1, collector1, recordActive, recordCapable}, more...)
	}
	runRules(t, []ruleTest{
		{
			name: "a session with all it needs", do: append([]string{record1}, ready()...), table: "TAM_TABLERECORD_TABLE",
			want: []string{appl1},
			status: map[string]string{r1: pending,
				"TAM_STATE_FEATURES_TABLE|TABLERECORD": "INACTIVE: waiting for orchagent (orchagent)"},
		},
		{
			name: "a session with nothing", do: []string{record1 + " sampler=s"}, table: "TAM_TABLERECORD_TABLE",
			status: map[string]string{r1: `pending: flow group "F1" does not exist; ` + inactive +
				`; collector "c" does not exist; sampler "s" does not exist (tammgrd)`},
		},
		{
			name: "everything that can be said", do: ready("TAM_SAMPLINGRATE_TABLE|s sampling-rate=100",
				record1+" sampler=s phv=32 mode=exec+hit algorithm=greedy-restarts must-record=chip.fdb,chip.acl "+
					"probabilities=counted encapsulation=erspan truncate=0 source-ip=10.0.0.9 identities=true"),
			table: "TAM_TABLERECORD_TABLE",
			want: []string{
				"r1 acl-rule-name=F1 acl-table-name=TAM algorithm=greedy-restarts collector=10.0.0.5:4739 collector-name=c " +
					"encapsulation=erspan identities=true mode=exec+hit must-record=chip.acl,chip.fdb " +
					"phv=32 probabilities=counted sampler-name=s sampling-rate=100 source-ip=10.0.0.9 truncate=0"},
		},
		{name: "a session brings the table TAM", do: []string{record1}, table: "ACL_TABLE_TABLE", want: []string{tamACL}},
		{
			name: "the table TAM goes with the last session", do: []string{record1, "step", "-TAM_TABLERECORD_TABLE|r1"},
			table:  "ACL_TABLE_TABLE",
			status: map[string]string{"ACL_TABLE_TABLE|TAM": "", r1: ""},
		},
		{
			name: "a switch that cannot",
			do: ready("appl+:SWITCH_TABLE:switch tam-tablerecord-capable=false tam-tablerecord-reason=no-record-bits",
				record1),
			table: "TAM_TABLERECORD_TABLE",
			status: map[string]string{"TAM_STATE_FEATURES_TABLE|TABLERECORD": "UNSUPPORTED: no-record-bits (tammgrd)",
				r1: "pending: " + inactive + " (tammgrd)"},
		},
		{
			name: "deactivation purges", do: ready(record1, "step", "TAM_FEATURES_TABLE|TABLERECORD status=INACTIVE"),
			table:  "TAM_TABLERECORD_TABLE",
			status: map[string]string{r1: "pending: " + inactive + " (tammgrd)"},
		},
		{
			name: "a collector that goes", do: ready(record1, "step", "-TAM_COLLECTORS_TABLE|c"), table: "TAM_TABLERECORD_TABLE",
			status: map[string]string{r1: `pending: collector "c" does not exist (tammgrd)`},
		},
		{
			name: "a collector that moves", do: ready(record1, "step", "TAM_COLLECTORS_TABLE|c ipaddress=2001:db8::5 port=9"),
			table: "TAM_TABLERECORD_TABLE",
			want: []string{"r1 acl-rule-name=F1 acl-table-name=TAM algorithm=greedy collector=[2001:db8::5]:9" + rest +
				"sampling-rate=1 truncate=128"},
		},
		{
			name: "a collector that is wrong", do: ready(record1, "step", "TAM_COLLECTORS_TABLE|c ipaddress=10.0.0.5"),
			table:  "TAM_TABLERECORD_TABLE",
			status: map[string]string{r1: `pending: collector "c" is not valid (tammgrd)`},
		},
		{
			name: "a collector by TCP", do: ready(record1, "step", collector1+" protocol=TCP"), table: "TAM_TABLERECORD_TABLE",
			status: map[string]string{
				r1: `failed: collector "c": protocol "TCP": want UDP: records are sent as they are mirrored (tammgrd)`},
		},
		{
			name: "a source of another IP version", do: ready(record1 + " source-ip=2001:db8::1"),
			table: "TAM_TABLERECORD_TABLE",
			status: map[string]string{
				r1: `failed: source-ip "2001:db8::1": want an address of the same version as that of collector "c", 10.0.0.5 ` +
					`(tammgrd)`},
		},
		{
			name: "a sampler that changes", do: ready(record1+" sampler=s", "TAM_SAMPLINGRATE_TABLE|s sampling-rate=4", "step",
				"TAM_SAMPLINGRATE_TABLE|s sampling-rate=0"), table: "TAM_TABLERECORD_TABLE",
			status: map[string]string{r1: `pending: sampler "s" is not valid (tammgrd)`},
		},
		{
			name: "a session loses its flow group", do: ready(record1, "step", "-TAM_FLOWGROUP_TABLE|F1"),
			table:  "TAM_TABLERECORD_TABLE",
			status: map[string]string{r1: `pending: flow group "F1" does not exist (tammgrd)`},
		},
		{
			name: "an invalid new version withdraws the old one", do: ready(record1, "step", record1+" phv=17"),
			table: "TAM_TABLERECORD_TABLE",
			status: map[string]string{
				r1: `failed: phv "17": want widths of 8, 16 or 32 joined by +, as in 16+16, 1024 bits at most (tammgrd)`},
		},
		{
			name: "two sessions of one flow group: the smaller name has it", do: ready(record2, "step", record1),
			table: "TAM_TABLERECORD_TABLE", want: []string{appl1},
			status: map[string]string{r1: pending,
				r2: `failed: flow group "F1" is already recorded by session "r1": one session records a flow group here (tammgrd)`},
		},
		{
			name: "the flow group is free again", do: ready(record1, record2, "step", "-TAM_TABLERECORD_TABLE|r1"),
			status: map[string]string{r1: "", r2: pending},
		},
		{
			name: "a session that is not valid takes no flow group", do: ready(record1+" truncate=3", record2),
			status: map[string]string{r2: pending},
		},
		{
			name: "the other features go their own way", do: ready(record1, alt1, altActive, altCapable),
			table: "TAM_ALTMARK_TABLE", want: []string{alt1Appl},
			status: map[string]string{r1: pending},
		},
	})
}
