package debugcounter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

type bench struct {
	*orchtest.Bench
	orch  *Orch
	ports *orchtest.Ports
	sw    sai.OID
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.Started(t, saitest.Options{Ports: 2})}
	sw, ports := b.CreateSwitch()
	b.sw, b.ports = sw, orchtest.NewPorts(ports)
	var err error
	b.orch, err = New(b.Ctx, Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: b.ports, Switch: sw,
		Poller: b.Poller})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.Rec.Reset()
	return b
}

// do applies lines: "counter TYPE REASON ..." sets a counter, "counter:REASON" a row of a reason. A "-" in front
// deletes the row.
func (b *bench) do(lines ...string) {
	b.T.Helper()
	for _, line := range lines {
		words := strings.Fields(line)
		name, gone := strings.CutPrefix(words[0], "-")
		table := schema.AppDebugCounter
		if strings.Contains(name, ":") {
			table = schema.AppDebugReason
		}
		switch {
		case gone:
			b.Del(table, name)
		case table == schema.AppDebugReason:
			b.Set(table, name, "NULL", "NULL")
		default:
			b.Set(table, name, "type", words[1])
			for _, r := range words[2:] {
				b.Set(schema.AppDebugReason, name+":"+r, "NULL", "NULL")
			}
		}
	}
	b.Step()
}

// asic returns the debug counters in the ASIC, with type and reasons.
func (b *bench) asic() (list []string) {
	for _, k := range b.Rec.LiveOf(sai.ObjectTypeDebugCounter) {
		text := ""
		for _, id := range []sai.AttrID{
			sai.DebugCounterAttrType, sai.DebugCounterAttrInDropReasonList, sai.DebugCounterAttrOutDropReasonList,
		} {
			if v, ok := sai.Find(b.Fake.Attrs(k), id); ok {
				s, _ := sai.FormatValue(id, v)
				text += " " + strings.NewReplacer("SAI_DEBUG_COUNTER_TYPE_", "", "SAI_IN_DROP_REASON_", "", "SAI_OUT_DROP_REASON_",
					"").Replace(s)
			}
		}
		list = append(list, strings.TrimSpace(text))
	}
	slices.Sort(list)
	return list
}

func (b *bench) want(polled int, want ...string) {
	b.T.Helper()
	slices.Sort(want)
	if d := cmp.Diff(want, b.asic()); d != "" {
		b.T.Errorf("in the ASIC:\n%s", d)
	}
	if n := b.Poller.Count(schema.FlexDebugCounter); n != polled {
		b.T.Errorf("syncd reads %d objects, want %d", n, polled)
	}
}

func (b *bench) status(table, key string) string { return b.Status(table + "|" + key) }

// COUNTERS_DB contains the existing counters, and nothing remains of a removed one.
func TestDebugCounterMaps(t *testing.T) {
	b := newBench(t)
	b.do("a PORT_INGRESS_DROPS TTL")
	row := func(table string) swss.FieldValues { return b.Row(swss.CountersDB, table, "") }
	stat := row(schema.CountersDebugPortMap)["a"]
	if !strings.HasPrefix(stat, "SAI_PORT_STAT_IN_CONFIGURED_DROP_REASONS_") {
		t.Errorf("a is %s", stat)
	}
	port := b.ports.OIDs["Ethernet0"].String()
	counters := swss.NewTable(b.Redis.DB(swss.CountersDB), schema.CountersTable)
	if err := counters.Set(b.Ctx, port, swss.FieldValues{stat: "7", "of others": "1"}); err != nil {
		t.Fatal(err)
	}
	b.do("-a", "-a:TTL")
	if got := row(schema.CountersDebugPortMap); len(got) > 0 {
		t.Errorf("there are %v", got)
	}
	if got := b.Row(swss.CountersDB, schema.CountersTable, port); got[stat] != "" || got["of others"] != "1" {
		t.Errorf("the port's row is %v", got)
	}
	for name, count := range map[string]string{schema.PortIngressDrops: "1000", schema.SwitchEgressDrops: "1000"} {
		got := b.Row(swss.StateDB, schema.StateDebugCapabilities, name)
		if got[schema.FieldDebugCount] != count || !strings.HasPrefix(got[schema.FieldDebugReasons], "[L2_ANY,") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Whichever call fails, the status rows match the ASIC. Once calls succeed again, all counters exist.
func TestDebugCountersFailing(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t)
		b.Rec.FailAt(n, sai.StatusInsufficientResources)
		b.do("a PORT_INGRESS_DROPS TTL", "b SWITCH_INGRESS_DROPS TTL")
		b.do("a:LPM_MISS", "b PORT_EGRESS_DROPS", "b:L2_ANY", "-b:TTL")
		b.do("c SWITCH_EGRESS_DROPS L2_ANY")
		b.do("c SWITCH_EGRESS_DROPS L2_ANY") // counters for which the ASIC lacked capacity are tried again
		b.Pass(2 * time.Second)
		b.want(3, "PORT_IN_DROP_REASONS 2:LPM_MISS,TTL", "PORT_OUT_DROP_REASONS 1:L2_ANY", "SWITCH_OUT_DROP_REASONS 1:L2_ANY")
		for _, name := range []string{"a", "b", "c"} {
			if got := b.status(schema.AppDebugCounter, name); got != "active" {
				t.Errorf("call %d: %s is %s", n, name, got)
			}
		}
		if n > b.Rec.Changes() {
			return // there were fewer than n calls
		}
	}
}
