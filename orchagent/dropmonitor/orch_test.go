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
	"tamtam/swss/schema"
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
		{func() { b.setPath("10.9.0.1", 2) }, func() { b.removePath("10.9.0.1") }},
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
		got, is := b.Status(schema.StateTAMDropMonitor+"|s"), b.objects()
		active := got == "active" || strings.HasPrefix(got, "active: its counters are old, since they cannot be read: ")
		if is != "" && (!active || is != whole) ||
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

// A row with very many collectors is answered.
func TestManyCollectors(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.collector("c1", "10.9.0.1")
	b.session("s", strings.Repeat("c1,", 2000)+"c1")
	b.Step()
	b.whole()
	b.want("s", "active")
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
