package tsorch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/orch/feature/featuretest"
	"tamtam/sai/saitest"
	"tamtam/saisim/tailstamp"
	"tamtam/swss/schema"
)

// A world contains the rows of APPL_DB after a random sequence.
type world map[[2]string][]string

// pick returns a random element of a list.
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// some returns a random subset of a list, joined with commas.
func some(r *rand.Rand, list ...string) string {
	var out []string
	for _, s := range list {
		if r.IntN(3) == 0 {
			out = append(out, s)
		}
	}
	return strings.Join(out, ",")
}

var (
	randomPorts = []string{"Ethernet0", "Ethernet1", "Ethernet4", "Ethernet8", "Ethernet12"}
	randomLAGs  = []string{"PortChannel1", "PortChannel2"}
	randomAll   = append(slices.Clone(randomPorts), append(randomLAGs, "Ethernet99")...)
)

// randomRow makes a row of one of the tables, sometimes an invalid one.
func randomRow(r *rand.Rand) (table, key string, fields []string) {
	switch r.IntN(12) {
	case 0:
		lanes := pick(r, "1,2,3,4", "1,2", "3,4", "5,6,7,8", "9,10,11,12", "13,14,15,16", "x")
		return schema.AppPort, pick(r, randomPorts...), []string{
			"lanes", lanes, "speed", pick(r, "100000", "50000"), "mtu", pick(r, "9100", "1500"), "admin_status",
			pick(r, "up", "down"),
		}
	case 1:
		return schema.AppLAG, pick(r, randomLAGs...), []string{"admin_status", "up", "mtu", "9100"}
	case 2:
		return schema.AppLAGMember, pick(r, randomLAGs...) + ":" + pick(r, randomPorts...),
			[]string{"status", pick(r, "enabled", "disabled")}
	case 3:
		return schema.AppVLAN, pick(r, "Vlan10", "Vlan20"), []string{"admin_status", "up"}
	case 4:
		return schema.AppVLANMember, pick(r, "Vlan10", "Vlan20") + ":" + pick(r, randomAll...),
			[]string{"tagging_mode", pick(r, "tagged", "untagged", "x")}
	case 5:
		return schema.AppACLTableType, "MINE", []string{
			"MATCHES", pick(r, "SRC_IP,DST_IP", "SRC_IP,IN_PORTS", "NONSENSE"), "ACTIONS", "PACKET_ACTION,COUNTER",
			"BIND_POINTS", pick(r, "PORT", "PORT,PORTCHANNEL"),
		}
	case 6:
		return schema.AppACLTable, pick(r, "T1", "T2"), []string{
			"TYPE", pick(r, "L3", "L3V6", "MINE", "MUX"), "STAGE", pick(r, "INGRESS", "EGRESS"), "PORTS", some(r, randomAll...),
		}
	case 7:
		return schema.AppACLTable, "TAM", []string{"TYPE", "TAM", "STAGE", "INGRESS", "PORTS",
			pick(r, "", "", some(r, randomAll...))}
	case 8:
		return schema.AppACLRule, pick(r, "T1", "T2") + ":" + pick(r, "R1", "R2", "R3"),
			randomRule(r, "PACKET_ACTION", pick(r, "DROP", "FORWARD", "REDIRECT:"+pick(r, randomAll...)))
	case 9, 10:
		return schema.AppACLRule, "TAM:" + pick(r, "F1", "F2", "F3"), randomRule(r)
	default:
		fields := []string{"acl-table-name", pick(r, "TAM", "TAM", "TAM", "T1"), "acl-rule-name",
			pick(r, "F1", "F2", "F3", "R1")}
		if r.IntN(2) == 0 {
			fields = append(fields, "clamp-mss", pick(r, "1", "2", "8", "9"), "clamp-filter",
				pick(r, "protocol=6", "src-port=80", "nonsense"))
		}
		return schema.AppTAMTailStamp, pick(r, "s1", "s2", "s3", "s4"), fields
	}
}

func randomRule(r *rand.Rand, fields ...string) []string {
	fields = append(fields, "PRIORITY", pick(r, "10", "20", "1000", "nonsense"))
	for _, f := range [][]string{
		{"SRC_IP", "10.0.0.1", "10.0.0.0/8"},
		{"DST_IP", "20.0.0.1/32", "20.0.0.1"},
		{"L4_DST_PORT_RANGE", "1-10", "80-90"},
		{"L4_SRC_PORT", "80", "0x50", "70000"},
		{"IN_PORTS", "Ethernet0", "Ethernet4,PortChannel1", "PortChannel1", "Ethernet99", "Ethernet0,Ethernet8"},
		{"TCP_FLAGS", "0x2/0x2", "0x10"},
		{"IP_TYPE", "IPV4ANY", "IP"},
	} {
		if r.IntN(4) == 0 {
			fields = append(fields, f[0], pick(r, f[1:]...))
		}
	}
	if len(fields) == 2 {
		fields = append(fields, "ETHER_TYPE", "0x800")
	}
	return fields
}

// apply writes a row or removes it, in the world and in APPL_DB.
func (w world) apply(b *bench, table, key string, fields []string) {
	if fields == nil {
		delete(w, [2]string{table, key})
		b.Del(table, key)
		return
	}
	w[[2]string{table, key}] = fields
	b.Set(table, key, fields...)
}

// disturb makes one random change.
func (w world) disturb(b *bench, r *rand.Rand) {
	switch n := r.IntN(20); {
	case n == 0:
		w.apply(b, schema.AppTAMFeature, featureName, []string{"status", "ACTIVE"})
	case n == 1:
		w.apply(b, schema.AppTAMFeature, featureName, nil)
	case n == 2:
		w.apply(b, schema.AppTAMSwitch, schema.TAMGlobalKey, []string{"op-switch-id", pick(r, "7", "8")})
	case n < 7 && len(w) > 0:
		keys := slices.SortedFunc(maps.Keys(w), func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
		k := keys[r.IntN(len(keys))]
		if k[1] != schema.PortConfigDone {
			w.apply(b, k[0], k[1], nil)
		}
	default:
		table, key, fields := randomRow(r)
		w.apply(b, table, key, fields)
	}
}

// Whatever the order of rows, valid or not, the ASIC and the statuses are as if the last rows had been applied once.
// Restarts in between do not matter.
func TestRandomRowsConverge(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 30, Short: 10}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		opts := saitest.Options{Extensions: []string{tailstamp.ObjectClamp}}
		b := newBench(t, opts)
		w := world{}
		for i := range 4 {
			lane := 4*i + 1
			w.apply(b, schema.AppPort, fmt.Sprintf("Ethernet%d", 4*i), []string{
				"lanes", fmt.Sprintf("%d,%d,%d,%d", lane, lane+1, lane+2, lane+3), "speed", "100000", "mtu", "9100", "admin_status",
				"up"})
		}
		w.apply(b, schema.AppPort, schema.PortConfigDone, []string{"count", "4"})
		w.apply(b, schema.AppTAMSwitch, schema.TAMGlobalKey, []string{"op-switch-id", "7"})
		w.apply(b, schema.AppTAMFeature, featureName, []string{"status", "ACTIVE"})
		for range 150 {
			w.disturb(b, r)
			if r.IntN(2) == 0 {
				b.Step()
			}
			if r.IntN(60) == 0 {
				b.restart()
			}
		}
		b.Step()
		once := newBench(t, opts)
		for i := range 4 {
			once.Del(schema.AppPort, fmt.Sprintf("Ethernet%d", 4*i))
		}
		once.Del(schema.AppTAMSwitch, schema.TAMGlobalKey)
		once.Step()
		for k, fields := range w {
			once.Set(k[0], k[1], fields...)
		}
		once.Step()
		compare(t, "ASIC", b.Content(), once.Content())
		compare(t, "STATE_DB", b.statuses(), once.statuses())
		compare(t, "counter names", b.counterNames(), once.counterNames())
		featuretest.Whole(b.Bench, b.ts.Feature)
		b.cleared(w)
		featuretest.Empty(b.Bench, b.ts.Feature)
	})
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, l := range got {
		if !slices.Contains(want, l) {
			t.Errorf("%s has\n  %s", what, l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			t.Errorf("%s lacks\n  %s", what, l)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d objects, want %d", what, len(got), len(want))
	}
}

// cleared removes all rows but the ports and checks that nothing is left.
func (b *bench) cleared(w world) {
	b.T.Helper()
	for k := range maps.Clone(w) {
		if k[0] != schema.AppPort {
			w.apply(b, k[0], k[1], nil)
		}
	}
	b.Step()
	for _, k := range b.Fake.Created() {
		if t := strings.ToLower(k.Type.String()); !strings.Contains(t, "hostif") && !strings.HasSuffix(t, "_port") {
			b.T.Errorf("%s was left behind", k)
		}
	}
	if b.Poller.Count("") > 5 { // the ports are still polled
		b.T.Errorf("%d objects are still polled", b.Poller.Count(""))
	}
	if names := b.counterNames(); len(names) > 0 {
		b.T.Errorf("names of counters were left behind: %v", names)
	}
}
