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
			Name: "a session with all it needs", Do: append([]string{record1}, ready()...), Table: "TAM_TABLERECORD_TABLE",
			Want: []string{appl1},
			Status: map[string]string{r1: pending,
				"TAM_STATE_FEATURES_TABLE|TABLERECORD": "INACTIVE: waiting for orchagent (orchagent)"},
		},
		{
			Name: "a session with nothing", Do: []string{record1 + " sampler=s"}, Table: "TAM_TABLERECORD_TABLE",
			Status: map[string]string{r1: `pending: flow group "F1" does not exist; ` + inactive +
				`; collector "c" does not exist; sampler "s" does not exist (tammgrd)`},
		},
		{
			Name: "everything that can be said", Do: ready("TAM_SAMPLINGRATE_TABLE|s sampling-rate=100",
				record1+" sampler=s phv=32 mode=exec+hit algorithm=greedy-restarts must-record=chip.fdb,chip.acl "+
					"probabilities=counted encapsulation=erspan truncate=0 source-ip=10.0.0.9 identities=true"),
			Table: "TAM_TABLERECORD_TABLE",
			Want: []string{
				"r1 acl-rule-name=F1 acl-table-name=TAM algorithm=greedy-restarts collector=10.0.0.5:4739 collector-name=c " +
					"encapsulation=erspan identities=true mode=exec+hit must-record=chip.acl,chip.fdb " +
					"phv=32 probabilities=counted sampler-name=s sampling-rate=100 source-ip=10.0.0.9 truncate=0"},
		},
		{Name: "a session brings the table TAM", Do: []string{record1}, Table: "ACL_TABLE_TABLE", Want: []string{tamACL}},
		{
			Name: "the table TAM goes with the last session", Do: []string{record1, "step", "-TAM_TABLERECORD_TABLE|r1"},
			Table:  "ACL_TABLE_TABLE",
			Status: map[string]string{"ACL_TABLE_TABLE|TAM": "", r1: ""},
		},
		{
			Name: "a switch that cannot",
			Do: ready("appl+:SWITCH_TABLE:switch tam-tablerecord-capable=false tam-tablerecord-reason=no-record-bits",
				record1),
			Table: "TAM_TABLERECORD_TABLE",
			Status: map[string]string{"TAM_STATE_FEATURES_TABLE|TABLERECORD": "UNSUPPORTED: no-record-bits (tammgrd)",
				r1: "pending: " + inactive + " (tammgrd)"},
		},
		{
			Name: "deactivation purges", Do: ready(record1, "step", "TAM_FEATURES_TABLE|TABLERECORD status=INACTIVE"),
			Table:  "TAM_TABLERECORD_TABLE",
			Status: map[string]string{r1: "pending: " + inactive + " (tammgrd)"},
		},
		{
			Name: "a collector that goes", Do: ready(record1, "step", "-TAM_COLLECTORS_TABLE|c"), Table: "TAM_TABLERECORD_TABLE",
			Status: map[string]string{r1: `pending: collector "c" does not exist (tammgrd)`},
		},
		{
			Name: "a collector that moves", Do: ready(record1, "step", "TAM_COLLECTORS_TABLE|c ipaddress=2001:db8::5 port=9"),
			Table: "TAM_TABLERECORD_TABLE",
			Want: []string{"r1 acl-rule-name=F1 acl-table-name=TAM algorithm=greedy collector=[2001:db8::5]:9" + rest +
				"sampling-rate=1 truncate=128"},
		},
		{
			Name: "a collector that is wrong", Do: ready(record1, "step", "TAM_COLLECTORS_TABLE|c ipaddress=10.0.0.5"),
			Table:  "TAM_TABLERECORD_TABLE",
			Status: map[string]string{r1: `pending: collector "c" is not valid (tammgrd)`},
		},
		{
			Name: "a collector by TCP", Do: ready(record1, "step", collector1+" protocol=TCP"), Table: "TAM_TABLERECORD_TABLE",
			Status: map[string]string{
				r1: `failed: collector "c": protocol "TCP": want UDP: records are sent as they are mirrored (tammgrd)`},
		},
		{
			Name: "a source of another IP version", Do: ready(record1 + " source-ip=2001:db8::1"),
			Table: "TAM_TABLERECORD_TABLE",
			Status: map[string]string{
				r1: `failed: source-ip "2001:db8::1": want an address of the same version as that of collector "c", 10.0.0.5 ` +
					`(tammgrd)`},
		},
		{
			Name: "a sampler that changes", Do: ready(record1+" sampler=s", "TAM_SAMPLINGRATE_TABLE|s sampling-rate=4", "step",
				"TAM_SAMPLINGRATE_TABLE|s sampling-rate=0"), Table: "TAM_TABLERECORD_TABLE",
			Status: map[string]string{r1: `pending: sampler "s" is not valid (tammgrd)`},
		},
		{
			Name: "a session loses its flow group", Do: ready(record1, "step", "-TAM_FLOWGROUP_TABLE|F1"),
			Table:  "TAM_TABLERECORD_TABLE",
			Status: map[string]string{r1: `pending: flow group "F1" does not exist (tammgrd)`},
		},
		{
			Name: "an invalid new version withdraws the old one", Do: ready(record1, "step", record1+" phv=17"),
			Table: "TAM_TABLERECORD_TABLE",
			Status: map[string]string{
				r1: `failed: phv "17": want widths of 8, 16 or 32 joined by +, as in 16+16, 1024 bits at most (tammgrd)`},
		},
		{
			Name: "two sessions of one flow group: the smaller name has it", Do: ready(record2, "step", record1),
			Table: "TAM_TABLERECORD_TABLE", Want: []string{appl1},
			Status: map[string]string{r1: pending,
				r2: `failed: flow group "F1" is already recorded by session "r1": one session records a flow group here (tammgrd)`},
		},
		{
			Name: "the flow group is free again", Do: ready(record1, record2, "step", "-TAM_TABLERECORD_TABLE|r1"),
			Status: map[string]string{r1: "", r2: pending},
		},
		{
			Name: "a session that is not valid takes no flow group", Do: ready(record1+" truncate=3", record2),
			Status: map[string]string{r2: pending},
		},
		{
			Name: "the other features go their own way", Do: ready(record1, alt1, altActive, altCapable),
			Table: "TAM_ALTMARK_TABLE", Want: []string{alt1Appl},
			Status: map[string]string{r1: pending},
		},
	})
}
