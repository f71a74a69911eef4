package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
)

// UnappliedParts returns the parts of a row that are not applied, although the row is accepted.
func TestUnapplied(t *testing.T) {
	const no = " has no effect in this switch"
	for _, tt := range []struct {
		table, key, in string
		want           []string // kind: reason
	}{
		{"PORT", "Ethernet0", "lanes=0 speed=100000 mtu=9000 alias=Eth1 index=1 description=x tpid=0x8100", nil},
		{"PORT", "Ethernet0", "lanes=0 speed=100000 mtuu=1500 tpid=0x9100", []string{
			"unknown: there is no field mtuu; the nearest is mtu", "no-effect: tpid" + no}},
		{"INTERFACE", "Ethernet0", "mpls=enable proxy_arp=enabled mtuu=1400", []string{
			"unknown: there is no field mtuu; the nearest is mtu", "no-effect: mpls" + no, "no-effect: proxy_arp" + no}},
		{"INTERFACE", "Ethernet0", "mpls=disable NULL=NULL", nil},
		{"INTERFACE", "Ethernet0|10.0.0.1/24", "scope=global family=IPv4", nil},
		{"INTERFACE", "Ethernet0|10.0.0.1/24", "scpe=global", []string{
			"unknown: there is no field scpe; the nearest is scope"}},
		{"STATIC_ROUTE", "9.0.0.0/8", "nexthop=10.3.0.2 ifname=Ethernet0 distnace=200", []string{
			"unknown: there is no field distnace; the nearest is distance"}},
		{"VLAN", "Vlan5", "vlanid=5 admin_staus=down members@=Ethernet0", []string{
			"unknown: there is no field admin_staus; the nearest is admin_status", "no-effect: members" + no}},
		{"PORTCHANNEL", "PortChannel1", "protocol=lacp", []string{"unknown: there is no field protocol"}},
		{"CRM", "Config", "ipv4_route_low_treshold=5 ipmc_entry_low_threshold=5", []string{
			"unknown: there is no field ipv4_route_low_treshold; the nearest is ipv4_route_low_threshold",
			"no-effect: ipmc_entry_low_threshold" + no}},
		{"FLEX_COUNTER_TABLE", "TUNNEL", "FLEX_COUNTER_STATUS=enable", []string{
			"not-implemented: the key TUNNEL is not implemented"}},
		{"FLEX_COUNTER_TABLE", "PORTT", "FLEX_COUNTER_STATUS=enable", []string{
			"unknown: there is no key PORTT; the nearest is PORT"}},
		{"FLEX_COUNTER_TABLE", "PORT", "FLEX_COUNTER_STATUS=enable", nil},
		{"FEATURE", "bgp", "state=enabled auto_restart=enabled sate=disabled", []string{
			"unknown: there is no field sate; the nearest is state", "no-effect: auto_restart" + no}},
		{"FEATURE", "snmp", "state=enabled", []string{"not-implemented: the key snmp is not implemented"}},
		{"DEVICE_METADATA", "localhost", "hostname=a bgp_asn=65100", []string{"no-effect: bgp_asn" + no}},
		{"DEVICE_METADATA", "localhots", "hostname=a", []string{
			"unknown: there is no key localhots; the nearest is localhost"}},
		{"DEVICE_METADATA", "bmc", "bmc_addr=10.0.0.1", []string{"not-implemented: the key bmc is not implemented"}},
		{"PORT", "Ethernet0", "lanes=0 speed=100000 fec=rs autoneg=on", []string{
			"no-effect: autoneg" + no, "no-effect: fec" + no}},
		{"PORT", "Ethernet0", "lanes=0 speed=100000 fec=none autoneg=off", nil},
		{"PORT", "Ethernet0", "lanes=0 speed=100000 numVoq=8", []string{
			"unknown: there is no field numVoq; the nearest is num_voq"}},
		{"SCHEDULER", "s", "priority=1", []string{"no-effect: priority" + no}},
		{"DEVICE_METADATA", "localhost", "mac=x", []string{`invalid: mac "x": want a unicast MAC address`}},
		{"BUFFER_PROFILE", "b", "pool=p static_th=1 packet_discard_action=trim", nil},
		{"BUFFER_PORT_EGRESS_PROFILE_LIST", "Ethernet0", "profile_list=b", []string{"no-effect: profile_list" + no}},
		{"BUFFER_PROFILE", "b", "pool=p static_th=1 pol=q", nil}, // its status row contains the fault
		{"BUFFER_PROFILE", "b", "pool=p static_th=1 headroom_type=dynamic", []string{"no-effect: headroom_type" + no}},
		{"COPP_GROUP", "g", "meter_type=packets mode=storm cir=1 cbs=2 pir=3", []string{"no-effect: pir" + no}},
	} {
		var got []string
		for _, p := range UnappliedParts(tt.table, tt.key, fieldsOf(tt.in)) {
			got = append(got, p.Kind+": "+p.Reason)
		}
		for i, g := range got {
			if i < len(tt.want) && strings.HasPrefix(g, tt.want[i]) {
				got[i] = tt.want[i]
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s|%s %s:\n%q\nwant\n%q", tt.table, tt.key, tt.in, got, tt.want)
		}
	}
	for table, want := range map[string]string{
		"PORT": "", "VLAN_STACKING": "not-implemented: the table VLAN_STACKING is not implemented",
		"PROT":            "unknown: there is no table PROT; the nearest is PORT",
		"VLANS":           "unknown: there is no table VLANS; the nearest is VLAN",
		"ACL_RULES":       "unknown: there is no table ACL_RULES; the nearest is ACL_RULE",
		"TAM_FLYMON_TASK": "unknown: there is no table TAM_FLYMON_TASK; the nearest is TAM_FLYMON_TASK_TABLE",
		"port":            "unknown: there is no table port; the nearest is PORT",
	} {
		got := ""
		if p, ok := UnappliedTable(table); ok {
			got = p.Kind + ": " + p.Reason
		}
		if got != want {
			t.Errorf("table %s: %q, want %q", table, got, want)
		}
	}
}

// No table is both implemented and listed as not implemented, and no field of SONiC without effect is read.
func TestUnappliedListsAreApart(t *testing.T) {
	for _, table := range sonicTables {
		if p, ok := UnappliedTable(table); !ok || p.Kind != UnappliedNotImplemented {
			t.Errorf("%s is implemented, and listed as not implemented", table)
		}
	}
	for _, s := range specs(t) {
		table, _, _ := strings.Cut(s.name, " ")
		entry, found := entryOf(table, s.key)
		if !found || entry.examine == nil {
			continue
		}
		asked := entry.examine(s.key, s.least).known
		for _, w := range entry.Idle {
			name, _, _ := strings.Cut(w, "=")
			passed := table == CfgPort && (name == "fec" || name == "autoneg") // checked, and passed to APPL_DB
			if n := len(slices.DeleteFunc(slices.Clone(asked), func(o string) bool { return o != name })); n > 1 && !passed {
				t.Errorf("%s: %s is read, and listed as a field without effect", s.name, name)
			}
		}
	}
}

// misspelt changes one or two letters of a name.
func misspelt(r *rand.Rand, name string) string {
	b := []byte(name)
	for range 1 + r.IntN(2) {
		i := r.IntN(len(b))
		switch r.IntN(4) {
		case 0:
			b = slices.Insert(b, i, b[i])
		case 1:
			if len(b) > 1 {
				b = slices.Delete(b, i, i+1)
			}
		case 2:
			b[i] = byte('a' + r.IntN(26))
		default:
			j := r.IntN(len(b))
			b[i], b[j] = b[j], b[i]
		}
	}
	return string(b)
}

// Any misspelling of any field of any table of CONFIG_DB, and of the table itself, is reported: the row is refused by
// an error that names the field, or the field is listed as not applied.
func TestMisspeltIsReported(t *testing.T) {
	all := specs(t)
	tables := slices.Concat(configTables(), sonicTables)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 50}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		table := tables[r.IntN(len(tables))]
		if wrong := misspelt(r, table); !slices.Contains(tables, wrong) {
			if p, ok := UnappliedTable(wrong); !ok || p.Kind != UnappliedUnknown || !strings.Contains(p.Reason, plain(wrong)) {
				t.Errorf("table %s for %s: %+v", wrong, table, p)
			}
		}
		for _, s := range all {
			table, _, _ := strings.Cut(s.name, " ")
			entry, found := entryOf(table, s.key)
			if !found || strings.HasSuffix(s.name, "in APPL_DB") || len(s.fields) == 0 {
				continue
			}
			names := entry.FieldNames()
			name := names[r.IntN(len(names))]
			wrong := misspelt(r, name)
			in := maps.Clone(s.least)
			in[wrong] = cmp.Or(in[name], "1")
			clean := fieldName(wrong, false)
			asked := entry.examined(s.key, in).known
			if slices.ContainsFunc(slices.Concat(asked, names), func(f string) bool { return strings.EqualFold(f, clean) }) ||
				clean == "" {
				continue // the misspelt name is another field of the table
			}
			if why := reported(s, table, in, clean); why != "" {
				t.Errorf("%s|%s %v: %s, a misspelling of %s, is not reported: %s", table, s.key, in, wrong, name, why)
			}
		}
	})
}

// reported returns "" if a field of a row is refused, or listed as not applied.
func reported(s rowSpec, table string, in map[string]string, field string) string {
	_, err := s.parse(s.key, in)
	for _, e := range flatten(err) {
		if fe := (*FieldError)(nil); errors.As(e, &fe) && strings.EqualFold(fe.Field, field) {
			return ""
		}
	}
	parts := UnappliedParts(table, s.key, in)
	for _, p := range parts {
		if strings.EqualFold(p.Field, field) {
			return ""
		}
	}
	return fmt.Sprintf("%v, %v", err, parts)
}
