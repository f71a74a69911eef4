package tammgr

import "testing"

// Tasks are forwarded with the match of their flow group as filter, or say what they
// lack.
func TestFlyMonTasks(t *testing.T) {
	const (
		t1    = "TAM_STATE_FLYMON_TASK_TABLE|t1"
		t2    = "TAM_STATE_FLYMON_TASK_TABLE|t2"
		q1    = "TAM_STATE_FLYMON_QUERY_TABLE|q1"
		rest  = " key=src-ip memory=49152 pinned=false plan=false readout=banked share=1 threshold=0 translation=tcam"
		appl1 = "t1 algorithm=auto allocation=accurate attribute=frequency change-threshold=0 epoch=1000 filter=any" + rest
	)
	applOf := func(filter string) string {
		return "t2 algorithm=auto allocation=accurate attribute=frequency change-threshold=0 epoch=1000 filter=" + filter +
			" flowgroup=F1" + rest
	}
	ready := func(more ...string) []string { return append([]string{flyActive, flyCapable}, more...) }
	runRules(t, []ruleTest{
		{
			Name: "a task with all it needs", Do: ready(task1), Table: "TAM_FLYMON_TASK_TABLE", Want: []string{appl1},
			Status: map[string]string{t1: pending, "ACL_TABLE_TABLE|TAM": ""},
		},
		{Name: "a feature that is not active", Do: []string{task1}, Table: "TAM_FLYMON_TASK_TABLE",
			Status: map[string]string{t1: "pending: feature FLYMON is not active (tammgrd)"}},
		{
			Name: "a switch that cannot",
			Do: []string{flyActive, "appl+:SWITCH_TABLE:switch tam-flymon-capable=false tam-flymon-reason=no-CMU-groups",
				task1}, Table: "TAM_FLYMON_TASK_TABLE",
			Status: map[string]string{t1: "pending: feature FLYMON is not active (tammgrd)",
				"TAM_STATE_FEATURES_TABLE|FLYMON": "UNSUPPORTED: no-CMU-groups (tammgrd)"},
		},
		{
			Name: "deactivation purges", Do: ready(task1, "step", "TAM_FEATURES_TABLE|FLYMON status=INACTIVE"),
			Table:  "TAM_FLYMON_TASK_TABLE",
			Status: map[string]string{t1: "pending: feature FLYMON is not active (tammgrd)"},
		},
		{
			Name: "an invalid new version withdraws the old one", Do: ready(task1, "step", task1+" memory=0"),
			Table:  "TAM_FLYMON_TASK_TABLE",
			Status: map[string]string{t1: `failed: memory "0": want a number in 1..67108864 (tammgrd)`},
		},
		{
			Name:  "a flow group's match is the filter",
			Do:    ready(group1, task2, "ACL_RULE|TAM|F1 SRC_IP=10.0.0.0/8 L4_DST_PORT_RANGE=80-90 IP_PROTOCOL=6"),
			Table: "TAM_FLYMON_TASK_TABLE", Want: []string{applOf("src-ip=10.0.0.0/8,dst-port=80-90,protocol=6")},
		},
		{
			Name: "the match changes", Do: ready(group1, task2, rule1, "step", "ACL_RULE|TAM|F1 DST_IPV6=2001:db8::/32"),
			Table: "TAM_FLYMON_TASK_TABLE", Want: []string{applOf("dst-ip=2001:db8::/32")},
		},
		{
			Name: "an EtherType", Do: ready(group1, task2, "ACL_RULE|TAM|F1 ETHER_TYPE=0x86dd"), Table: "TAM_FLYMON_TASK_TABLE",
			Want: []string{applOf("ip=6")},
		},
		{
			Name: "a match that filters do not have", Do: ready(group1, task2, "ACL_RULE|TAM|F1 SRC_IP=10.0.0.1 DSCP=46"),
			Table: "TAM_FLYMON_TASK_TABLE",
			Status: map[string]string{
				t2: `failed: flow group "F1": DSCP "46": want no such match: the filter of a task has addresses, ports, the ` +
					`protocol and the IP version (tammgrd)`},
		},
		{
			Name: "no flow group", Do: ready(task2), Table: "TAM_FLYMON_TASK_TABLE",
			Status: map[string]string{t2: `pending: flow group "F1" does not exist (tammgrd)`},
		},
		{
			Name: "no rule", Do: ready(group1, task2), Table: "TAM_FLYMON_TASK_TABLE",
			Status: map[string]string{t2: `pending: flow group "F1": no ACL rule TAM|F1 (tammgrd)`},
		},
		{
			Name: "two tasks of one flow group", Do: ready(group1, rule1, task1+" filter=all", task2),
			Table: "TAM_FLYMON_TASK_TABLE",
			Want:  []string{applOf("src-ip=10.0.0.1/32")},
			Status: map[string]string{
				t1: `failed: filter "all": want "any", or with commas between: src-ip=PREFIX, dst-ip=PREFIX, src-port=N or N-M, ` +
					`dst-port=N or N-M, protocol=N, ip=4 or 6 (tammgrd)`},
		},
		{
			Name: "a query", Do: []string{"TAM_FLYMON_QUERY_TABLE|q1 task=t1 flow=10.0.0.1"}, Table: "TAM_FLYMON_QUERY_TABLE",
			Want: []string{"q1 flow=10.0.0.1 task=t1"}, Status: map[string]string{q1: pending},
		},
		{
			Name: "a query of nothing", Do: []string{"TAM_FLYMON_QUERY_TABLE|q1 flow=10.0.0.1"}, Table: "TAM_FLYMON_QUERY_TABLE",
			Status: map[string]string{q1: "failed: task is missing: want the name of a task (tammgrd)"},
		},
	})
}
