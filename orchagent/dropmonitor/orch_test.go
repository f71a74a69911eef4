package dropmonitor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/dropreport"
)

const (
	oneCollector = "TAM=1 TAM_COLLECTOR=1 TAM_EVENT=1 TAM_EVENT_ACTION=1 TAM_INT=1 TAM_REPORT=1 TAM_TRANSPORT=1"
	byManagement = "HOSTIF_TRAP_GROUP=1 HOSTIF_USER_DEFINED_TRAP=1 POLICER=1 "
)

// pieces returns functions that add and remove each part of a session. The session has a flow group and two collectors.
func (b *bench) pieces() (come, gone []func()) {
	rule := func(n int) (func(), func()) {
		key := fmt.Sprint("TAM_FLOW_GROUP_G:R", n)
		return func() { b.Set(schema.AppACLRule, key, "PRIORITY", "100", "SRC_IP", fmt.Sprintf("10.%d.0.0/16", n)) },
			func() { b.Del(schema.AppACLRule, key) }
	}
	for _, piece := range [][2]func(){
		{func() { b.collector("c1", "10.9.0.1") }, func() { b.Del(schema.AppTAMDestination, "c1") }},
		{func() { b.collector("c2", "10.8.0.1", "vrf", "mgmt") }, func() { b.Del(schema.AppTAMDestination, "c2") }},
		{func() { b.way("10.9.0.1", 2) }, func() { b.noWay("10.9.0.1") }},
		{func() {
			b.session("s", "c1,c2", "acl-table-name", "TAM_FLOW_GROUP_G", "acl-rule-names", "R1,R2", "flow_group", "G")
		},
			func() { b.Del(schema.AppTAMSession, "s") }},
	} {
		come, gone = append(come, piece[0]), append(gone, piece[1])
	}
	for n := 1; n <= 2; n++ {
		c, g := rule(n)
		come, gone = append(come, c), append(gone, g)
	}
	return come, gone
}

// In whatever order the parts are added, the session is then complete in the ASIC. In whatever order they are removed,
// nothing is left at the end.
func TestAnyOrder(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 30, Short: 10}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		b := newBench(t, saitest.Options{})
		come, gone := b.pieces()
		for _, i := range []int{2, 4, 5} { // parts that a bench already has
			gone[i]()
		}
		b.Step()
		for _, i := range rnd.Perm(len(come)) {
			come[i]()
			b.Step()
			b.whole()
		}
		b.want("s", "active")
		want := "ACL_ENTRY=2 " + byManagement + strings.ReplaceAll(strings.ReplaceAll(oneCollector, "COLLECTOR=1",
			"COLLECTOR=2"),
			"TRANSPORT=1", "TRANSPORT=2")
		if got := b.objects(); got != want {
			t.Errorf("in the ASIC: %s, want %s", got, want)
		}
		for _, i := range rnd.Perm(len(gone)) {
			gone[i]()
			b.Step()
			b.whole()
		}
		b.empty()
	})
}

// Invalid rows are refused with the field, its value, and what would be valid. They create nothing in the ASIC.
func TestBadRows(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.collector("c1", "10.9.0.1")
	for _, tt := range []struct{ fields, want string }{
		{"", `failed: collector is missing`},
		{"collector=c1 drop_type=often", `failed: drop_type "often": want stateless or stateful`},
		{"collector=c1 sampling-rate=0", `failed: sampling-rate "0": want `},
		{"collector=c1 acl-table-name=T", `failed: acl-rule-names is missing: want rules and their table, or neither`},
		{"collector=c1 max_report_burst=5", `failed: max_report_burst "5": want max_report_rate beside it`},
		{"collector=c1 aging_interval=9999999", `failed: aging_interval "9999999": want `},
		{"collector=nobody", `pending: no collector can be reached: collector "nobody" does not exist`},
		{"collector=" + strings.Repeat("c1,", 2000) + "c1", ""},
		{"collector=c1 acl-table-name=NONE acl-rule-names=R1", `pending: no ACL rule NONE|R1`},
	} {
		var fields []string
		for _, f := range strings.Fields(tt.fields) {
			name, value, _ := strings.Cut(f, "=")
			fields = append(fields, name, value)
		}
		b.Set(schema.AppTAMSession, "s", append(fields, "x", "y")...)
		b.Step()
		b.whole()
		if got := b.Status(schema.StateTAMDropMonitor + "|s"); tt.want != "" && !strings.HasPrefix(got, tt.want) {
			t.Errorf("%.60s: %s, want %s", tt.fields, got, tt.want)
		}
		if row := b.Row(swss.StateDB, schema.StateTAMDropMonitor, "s"); tt.want != "" &&
			(row["status"] != "inactive" || row["status_detail"] != row["reason"]) {
			t.Errorf("%.60s: what SONiC's fields say: %v", tt.fields, row)
		}
		if tt.want != "" && b.objects() != "" {
			t.Errorf("%.60s: in the ASIC: %s", tt.fields, b.objects())
		}
		b.Del(schema.AppTAMSession, "s")
		b.Step()
	}
	for row, want := range map[string]string{
		"dst_ip=10.9.0.1 dst_port=0":                         `dst_port "0": want `,
		"dst_ip=224.0.0.1 dst_port=1":                        `dst_ip "224.0.0.1": want `,
		"dst_ip=10.9.0.1 dst_port=1 dscp_value=64":           `dscp_value "64": want `,
		"dst_ip=10.9.0.1 dst_port=1 src_ip=2001:db8::1":      `src_ip "2001:db8::1": want an address of the family of dst_ip`,
		"dst_ip=10.9.0.1 dst_port=1 vrf=red":                 `there is no VRF "red": the switch has default and mgmt`,
		"dst_ip=10.7.0.1 dst_port=1":                         `no route to 10.7.0.1`,
		"dst_ip=10.9.0.1 dst_port=1 truncate_size=100000000": `truncate_size "100000000": want `,
	} {
		var fields []string
		for _, f := range strings.Fields(row) {
			name, value, _ := strings.Cut(f, "=")
			fields = append(fields, name, value)
		}
		b.Set(schema.AppTAMDestination, "bad", fields...)
		b.session("s", "bad")
		b.Step()
		if got := b.Status(schema.StateTAMDestination + "|bad"); strings.HasPrefix(got, "active") ||
			!strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
		if got := b.Status(schema.StateTAMDropMonitor + "|s"); !strings.HasPrefix(got, "pending: ") ||
			!strings.Contains(got, `collector "bad"`) {
			t.Errorf("%s: the session is %s", row, got)
		}
		b.Del(schema.AppTAMSession, "s")
		b.Del(schema.AppTAMDestination, "bad")
		b.Step()
	}
	b.Del(schema.AppTAMDestination, "c1")
	b.Step()
	b.empty()
}

// Each SAI call fails once, while a session is created and while it is removed. No session is partly there, and the
// status contains the reason. A failed creation succeeds when the row is written again. Failed removals are repeated
// without that.
func TestEveryCallFails(t *testing.T) {
	const whole = byManagement +
		"TAM=1 TAM_COLLECTOR=2 TAM_EVENT=1 TAM_EVENT_ACTION=1 TAM_EVENT_THRESHOLD=1 TAM_INT=1 TAM_REPORT=1 TAM_TRANSPORT=2"
	for n := 1; ; n++ {
		b := newBench(t, saitest.Options{})
		b.collector("c1", "10.9.0.1")
		b.collector("c2", "2001:db8::1", "vrf", "mgmt")
		b.Step()
		b.Rec.FailAt(n, sai.StatusFailure)
		b.session("s", "c1,c2", "drop_type", "stateful")
		b.Step()
		failed := b.Rec.Changes() >= n
		b.whole()
		// The last SAI calls read counters. If such a call fails, the session is still complete.
		if got, is := b.Status(schema.StateTAMDropMonitor+"|s"), b.objects(); is != "" && (got != "active" || is != whole) ||
			is == "" && !strings.HasPrefix(got, "failed: create the ") && !strings.HasPrefix(got, "failed: bind the ") {
			t.Errorf("call %d failed: %s, in the ASIC: %s", n, got, is)
		}
		b.Rec.FailAt(0, 0)
		b.session("s", "c1,c2", "drop_type", "stateful")
		b.Pass(2 * time.Minute)
		b.Step()
		b.whole()
		b.want("s", "active")
		b.Rec.FailAt(n, sai.StatusFailure)
		b.Del(schema.AppTAMSession, "s")
		b.Step()
		b.whole()
		left := b.Rec.Changes() >= n
		b.Rec.FailAt(0, 0)
		b.Pass(2 * time.Minute)
		for _, c := range []string{"c1", "c2"} {
			b.Del(schema.AppTAMDestination, c)
		}
		b.Step()
		b.empty()
		if !failed && !left {
			if n < 12 {
				t.Errorf("only %d calls", n)
			}
			return
		}
	}
}

// A session follows a changed path in place. Sessions share the object with the switch's id, and the trap for the host.
func TestFollows(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.collector("c1", "10.9.0.1")
	b.collector("c2", "10.8.0.1", "vrf", "mgmt")
	b.session("a", "c1,c2")
	b.session("b", "c2")
	b.Step()
	b.want("a", "active")
	b.want("b", "active")
	want := byManagement + "TAM=2 TAM_COLLECTOR=3 TAM_EVENT=2 TAM_EVENT_ACTION=2 TAM_INT=1 TAM_REPORT=2 TAM_TRANSPORT=3"
	if got := b.objects(); got != want {
		t.Errorf("in the ASIC: %s, want %s", got, want)
	}
	b.Rec.Reset()
	b.way("10.9.0.1", 7)
	b.Step()
	if got := b.Rec.Lines(); len(got) != 1 || !strings.Contains(got[0],
		"SAI_TAM_COLLECTOR_ATTR_DST_MAC=02:00:00:00:00:07") {
		t.Errorf("another neighbour: %v", got)
	}
	b.Del(schema.AppTAMSession, "b")
	b.Step()
	if got := b.objects(); got != byManagement+strings.ReplaceAll(
		strings.ReplaceAll(oneCollector, "COLLECTOR=1", "COLLECTOR=2"), "TRANSPORT=1", "TRANSPORT=2") {
		t.Errorf("after one has gone: %s", got)
	}
	b.collector("c2", "10.8.0.1") // no longer at the management interface, and without a route
	b.Step()
	b.want("a", `active: collector "c2": no route to 10.8.0.1`)
	if got := b.objects(); got != oneCollector {
		t.Errorf("with one collector: %s", got)
	}
	if len(b.world.wants) != 2 {
		t.Errorf("ways to %v are wanted", b.world.wants)
	}
}

// counters returns the row of a session in COUNTERS_DB.
func (b *bench) counters(session string) swss.FieldValues {
	b.T.Helper()
	if err := b.orch.PollCounters(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
	row, _, err := swss.NewTable(b.Redis.DB(swss.CountersDB), schema.CountersDropMonitor).Get(b.Ctx, session)
	if err != nil {
		b.T.Fatal(err)
	}
	return row
}

// reported makes the chip count drops of a session's only stream.
func (b *bench) reported(session string, drops uint64) {
	s := b.orch.Sessions[session]
	name := stream(s.InASIC.plan.targets[0], s.InASIC.plan.port)
	w := [dropreport.NumWords]uint64{dropreport.WordDrops: drops, dropreport.WordSent: drops}
	b.chip.words[name] = w
}

// A restart of counters is recorded when the session is recreated, and when the chip has lost them.
func TestCountersBegin(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.collector("c1", "10.9.0.1")
	b.session("s", "c1")
	b.Step()
	since := ""
	want := func(what, dropped string, anew bool) {
		t.Helper()
		row := b.counters("s")
		if row["DROPPED_PACKETS"] != dropped || (row["COUNTED_SINCE"] != since) != anew {
			t.Errorf("%s: %v, before since %s, want %s dropped, anew: %v", what, row, since, dropped, anew)
		}
		since = row["COUNTED_SINCE"]
		b.Pass(time.Second)
	}
	want("at first", "0", true)
	b.reported("s", 5)
	want("counted", "5", false)
	b.reported("s", 9)
	want("more", "9", false)
	b.session("s", "c1", "max_report_rate", "10")
	b.Step()
	b.reported("s", 1)
	want("made again", "1", true)
	b.reported("s", 3)
	want("more of that", "3", false)
	b.run() // orchagent was killed, and the session is unchanged
	b.reported("s", 4)
	want("found again", "4", false)
	b.run() // syncd was killed too, with the chip
	b.reported("s", 2)
	want("lost", "2", true)
}

// The number of messages lost while the host was down is unknown, and stays so until the counters restart.
func TestHostBeganAnew(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.collector("c1", "10.8.0.1", "vrf", "mgmt")
	b.session("s", "c1")
	b.Step()
	sent := swss.NewTable(b.Redis.DB(swss.CountersDB), schema.CountersManagementReports)
	tell := func(chip, host uint64) {
		t.Helper()
		b.reported("s", chip)
		x := b.orch.Sessions["s"].InASIC
		row := schema.ManagementReports{Messages: host}
		if err := sent.Set(b.Ctx, stream(x.plan.targets[0], x.plan.port), row.Fields()); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what, lost string) {
		t.Helper()
		row := b.counters("s")
		_, known := row["UNSENDABLE"]
		if row["LOST"] != lost || known != (lost != "") {
			t.Errorf("%s: %v, want lost %q", what, row, lost)
		}
		b.Pass(time.Second)
	}
	tell(5, 5)
	want("at first", "0")
	tell(9, 2)
	want("a host that counts from zero", "")
	tell(12, 5)
	want("after that", "")
	b.run()
	tell(14, 7)
	want("with another orchagent", "")
	tell(1, 8)
	want("counters that begin anew", "0")
	for i := range uint64(5) {
		tell(2+i, 8)
		b.counters("s")
		b.Pass(time.Second)
	}
	want("a host that takes nothing", "")
}

// If the chip reports no counters, none are written.
func TestNothingTold(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.orch.counts = false
	b.collector("c1", "10.9.0.1")
	b.session("s", "c1")
	b.Step()
	b.want("s", "active")
	row := b.counters("s")
	delete(row, "COUNTED_SINCE")
	if len(row) > 0 {
		t.Errorf("counters %v of a chip that has none", row)
	}
}

// If a chip lacks SAI's events or a pre-ingress stage, the status reports it.
func TestUnsupported(t *testing.T) {
	b := newBench(t, saitest.Options{Unsupported: []sai.AttrID{sai.SwitchAttrPreIngressACL}})
	b.collector("c1", "10.9.0.1")
	b.session("all", "c1")
	b.session("some", "c1", "acl-table-name", "TAM_FLOW_GROUP_G", "acl-rule-names", "R1", "flow_group", "G")
	b.Step()
	b.want("all", "active")
	if got := b.Status(schema.StateTAMDropMonitor + "|some"); !strings.Contains(got, "SAI_SWITCH_ATTR_PRE_INGRESS_ACL") {
		t.Errorf("a flow group: %s", got)
	}
}

// Many sessions with one collector have different source ports, which depend only on their names.
func TestSourcePorts(t *testing.T) {
	b := newBench(t, saitest.Options{})
	for i := range 200 {
		b.orch.Sessions[fmt.Sprint("s", i)] = &session{}
	}
	var ports []uint16
	for i := range 200 {
		p := b.orch.port(fmt.Sprint("s", i))
		if slices.Contains(ports, p) || p < firstPort {
			t.Errorf("s%d sends from %d, which is another's or no such port", i, p)
		}
		ports = append(ports, p)
	}
}
