package tammgr

import (
	"flag"
	"fmt"
	"testing"

	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

const (
	metadata = "DEVICE_METADATA|localhost mac=52:54:00:12:34:56"
	port0    = "PORT|Ethernet0 lanes=0 speed=1000 alias=Eth1"
	port4    = "PORT|Ethernet4 lanes=4 speed=1000 alias=Eth2"
	capable  = "state:SWITCH_CAPABILITY|switch tam-tailstamping-capable=true"
	active   = "TAM_FEATURES_TABLE|TAILSTAMPING status=ACTIVE"
	inactive = "TAM_FEATURES_TABLE|TAILSTAMPING status=INACTIVE"
	group1   = "TAM_FLOWGROUP_TABLE|F1 id=1"
	rule1    = "ACL_RULE|TAM|F1 SRC_IP=10.0.0.1"
	session1 = "TAM_TAILSTAMPING_TABLE|s1 flowgroup=F1"
	clamp1   = session1 + " clamp-mss=2"

	altCapable = "state+:SWITCH_CAPABILITY|switch tam-altmark-capable=true"
	altActive  = "TAM_FEATURES_TABLE|ALTMARK status=ACTIVE"
	alt1       = "TAM_ALTMARK_TABLE|a1 flowgroup=F1 role=initiator method=step interval=0 mark=dscp0"

	flyCapable = "state+:SWITCH_CAPABILITY|switch tam-flymon-capable=true"
	flyActive  = "TAM_FEATURES_TABLE|FLYMON status=ACTIVE"
	task1      = "TAM_FLYMON_TASK_TABLE|t1 key=src-ip attribute=frequency"
	task2      = "TAM_FLYMON_TASK_TABLE|t2 flowgroup=F1 key=src-ip attribute=frequency"

	recordCapable = "state+:SWITCH_CAPABILITY|switch tam-tablerecord-capable=true"
	recordActive  = "TAM_FEATURES_TABLE|TABLERECORD status=ACTIVE"
	record1       = "TAM_TABLERECORD_TABLE|r1 flowgroup=F1 collector=c"
	collector1    = "TAM_COLLECTORS_TABLE|c ipaddress=10.0.0.5 port=4739"

	pending = "pending: waiting for orchagent (orchagent)"
	tamACL  = "TAM POLICY_DESC=TAM flow groups PORTS= STAGE=INGRESS TYPE=TAM"
)

// A deleted rule whose key names no rule leaves the implicit table of the other rules.
func TestInvalidKeyOfDeletedRule(t *testing.T) {
	b := fresh(t)
	b.Do(rule1, "ACL_RULE|TAM|a|b SRC_IP=10.0.0.2")
	b.Do("-ACL_RULE|TAM|a|b")
	if got := b.ApplOf(schema.AppACLTable); len(got) != 1 {
		t.Errorf("ACL_TABLE_TABLE has %q, want the table TAM for rule F1", got)
	}
}

// If a flow group has more rules than a session can have, the reason contains its name. With fewer rules the session
// succeeds.
func TestTooManyDropRules(t *testing.T) {
	rows := []string{"state:SWITCH_CAPABILITY|switch tam-dropmonitor-capable=true",
		"TAM_COLLECTOR|c dst_ip=10.0.0.5 dst_port=4739",
		"TAM_SESSION|s type=drop-monitor collector=c flow_group=G", "TAM_FLOW_GROUP|G"}
	for i := range schema.MaxDropRules + 1 {
		rows = append(rows, fmt.Sprintf("TAM_FLOW_GROUP|G|R%d src_ip_prefix=10.%d.%d.0/24 dst_ip_prefix=::/0", i, i/256,
			i%256))
	}
	want := fmt.Sprintf(`failed: flow group "G" has %d rules: want at most %d (tammgrd)`, schema.MaxDropRules+1,
		schema.MaxDropRules)
	b := newBench(t, swsstest.Start(t))
	b.Do(rows...)
	if got := b.Status("TAM_DROP_MONITOR_SESSION_TABLE|s"); got != want || len(b.ApplOf("TAM_SESSION_TABLE")) > 0 {
		t.Errorf("got %s, want %s", got, want)
	}
}

var update = flag.Bool("update", false, "write the results into the transcripts")

// The outcomes of rows are in testdata/*.rows.
func TestRules(t *testing.T) {
	forwardtest.Transcript{
		Managers: func(d *orch.Daemon, r *swss.Redis) { New(d, r) },
		Appl:     applTables, State: stateTables, Update: *update,
	}.Run(t)
}
