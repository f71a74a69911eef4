package schema

import (
	"cmp"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
)

// A rowSpec is a kind of rows of the table of tables, with a minimal row.
type rowSpec struct {
	name   string // table, or "table in APPL_DB", or "table address"
	fields []Field
	open   bool
	parse  func(key string, f map[string]string) (Row, error)
	key    string
	least  map[string]string
}

// leastRows holds minimal rows: key and mandatory fields. A kind of rows is omitted if leastOf can find a minimal row:
// its key is any name, and a valid value is known for each mandatory field.
var leastRows = map[string]string{
	"DEVICE_METADATA": "localhost", "SWITCH": "switch", "BREAKOUT_CFG": "Ethernet0 brkout_mode=4x25G",
	"PORT": "Ethernet0 lanes=1 speed=1000", "PORTCHANNEL": "PortChannel1", "PORTCHANNEL_MEMBER": "PortChannel1|Ethernet0",
	"SWITCH_HASH": "GLOBAL", "SWITCH_TRIMMING": "GLOBAL size=128", "TC_TO_DSCP_MAP": "m 0=1",
	"BUFFER_PORT_INGRESS_PROFILE_LIST": "Ethernet0 profile_list=b",
	"BUFFER_PORT_EGRESS_PROFILE_LIST":  "Ethernet0 profile_list=b",
	"TUNNEL":                           "t tunnel_type=IPINIP dst_ip=10.0.0.1",
	"TUNNEL_DECAP_TERM_TABLE":          "t|10.0.0.1",
	"VRF":                              "Vrf1", "VLAN": "Vlan10", "VLAN_MEMBER": "Vlan10|Ethernet0",
	"INTERFACE": "Ethernet0", "VLAN_INTERFACE": "Vlan10", "PORTCHANNEL_INTERFACE": "PortChannel1",
	"LOOPBACK_INTERFACE": "Loopback0", "INTERFACE address": "Ethernet0|10.0.0.1/24",
	"VLAN_INTERFACE address": "Vlan10|10.0.0.1/24", "PORTCHANNEL_INTERFACE address": "PortChannel1|2001:db8::1/64",
	"LOOPBACK_INTERFACE address": "Loopback0|10.0.0.1/32",
	"VLAN_SUB_INTERFACE":         "Ethernet0.10", "VLAN_SUB_INTERFACE address": "Ethernet0.10|10.0.0.1/24",
	"STATIC_ROUTE": "10.1.0.0/16 nexthop=10.0.0.2",
	"ROUTE_TABLE":  "10.1.0.0/16 nexthop=10.0.0.2 ifname=Vlan10",
	"NEIGH":        "Vlan10|10.0.0.2 neigh=02:00:00:00:00:02",
	"FDB":          "Vlan10|02:00:00:00:00:02 port=Ethernet0",
	"FDB_TABLE":    "Vlan10|02:00:00:00:00:02 port=Ethernet0", "DSCP_TO_TC_MAP": "m 0=1",
	"DOT1P_TO_TC_MAP": "m 0=1",
	"TC_TO_QUEUE_MAP": "m 0=1", "PORT_QOS_MAP": "Ethernet0", "SCHEDULER": "s", "WRED_PROFILE": "w", "QUEUE": "Ethernet0|3",
	"HIGH_FREQUENCY_TELEMETRY_GROUP": "p|PORT",
	"MICROBURST":                     "Ethernet0|3 threshold=1000",
	"BUFFER_POOL":                    "p type=egress size=1000", "BUFFER_PROFILE": "b pool=p static_th=1",
	"BUFFER_QUEUE": "Ethernet0|3 profile=b",
	"BUFFER_PG":    "Ethernet0|3 profile=b", "TC_TO_PRIORITY_GROUP_MAP": "m 0=1", "MAP_PFC_PRIORITY_TO_QUEUE": "m 0=1",
	"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": "m 0=1", "WATERMARK_TABLE": "TELEMETRY_INTERVAL",
	"MIRROR_SESSION": "m src_ip=10.0.0.1 dst_ip=10.0.0.2", "COPP_GROUP": "g", "COPP_TRAP": "t trap_ids=bgp trap_group=g",
	"ACL_TABLE_TYPE": "T MATCHES=SRC_IP BIND_POINTS=PORT", "ACL_TABLE": "T TYPE=L3", "ACL_RULE": "TAM|r",
	"FLEX_COUNTER_TABLE": "ACL", "CRM": "Config", "TAM_SWITCH_TABLE": "global", "TAM_APPL_SWITCH_TABLE": "global",
	"TAM_FEATURES_TABLE": "ALTMARK", "TAM_COLLECTORS_TABLE": "c ipaddress=10.0.0.1 port=9",
	"TAM_ALTMARK_TABLE": "s flowgroup=f role=initiator method=step interval=0 mark=dscp0",
	"TAM_ALTMARK_TABLE in APPL_DB": "s acl-table-name=TAM acl-rule-name=f role=initiator method=step interval=0 " +
		"mark=dscp0",
	"TAM_FLYMON_TASK_TABLE":            "t attribute=frequency key=src-ip",
	"TAM_FLYMON_TASK_TABLE in APPL_DB": "t attribute=frequency key=src-ip",
	"TAM_FLYMON_QUERY_TABLE":           "q task=t flow=10.0.0.1",
	"TAM_TABLERECORD_TABLE in APPL_DB": "s acl-table-name=TAM acl-rule-name=f collector=10.0.0.1:9",
	"TAM":                              "device", "TAM_COLLECTOR": "c dst_ip=10.0.0.1 dst_port=9", "TAM_FLOW_GROUP": "f",
	"TAM_FLOW_GROUP rule": "f|r src_ip_prefix=10.0.0.0/8 dst_ip_prefix=::/0",
	"TAM_SESSION":         "s type=drop-monitor collector=c", "TAM_SESSION_TABLE": "s collector=c",
	"TAM_SESSION of IFA": "s type=ifa role=initiator flow_group=g", "TAM_IFA_SESSION_TABLE": "s role=initiator",
	"SFLOW": "global", "SFLOW_COLLECTOR": "c collector_ip=10.0.0.9", "SFLOW_SESSION": "Ethernet0",
	"SFLOW_SESSION_TABLE": "Ethernet0 sample_rate=1000",
	"DEBUG_COUNTER":       "c type=PORT_INGRESS_DROPS", "DEBUG_COUNTER_DROP_REASON": "c|TTL",
	"DEBUG_DROP_MONITOR": "CONFIG",
	"SYSLOG_SERVER":      "10.0.0.9", "TELEMETRY_CLIENT": "Subscription_s",
	"TAM_ALTMARK_COUNTERS": "s GUARD=1 PERIOD=5 COLOUR=1 PACKETS=1 BYTES=64 CAPTURES=0 OUT_OF_WINDOW=0 FOREIGN_MARKS=0 " +
		"READ_AT=5.000000000",
	"TAM_ALTMARK_RESULTS":  "p:a:b PERIOD=5 WINDOW_DELAYS=0 STATUS=ok",
	"TAM_FLYMON_PLACEMENT": "t ROWS=1 BUCKETS=2 BANKS=2 BYTES=16 RULES=1 TCAM_ENTRIES=0",
	"TAM_FLYMON_GROUPS":    "1 TASKS=1",
	"TAM_FLYMON_RESULTS":   "t EPOCH=5 START=1 END=2 DIGESTS_LOST=0 FLOWS_CUT=0 LOAD=0.5 FULL=0",
}

// heldTogether lists fields whose valid values depend on other fields of the row, or on the key. So a value that is
// valid by itself can be refused.
var heldTogether = map[string][]string{
	"PORT": {"alias"}, "VLAN": {"vlanid"}, "TAM_COLLECTORS_TABLE": {"ipaddress-type"},
	"WRED_PROFILE": {"green_max_threshold"}, "BUFFER_POOL": {"xoff"}, "SCHEDULER": {"pbs"},
	"ACL_TABLE": {"STAGE"}, "TAM_FLYMON_TASK_TABLE": {"filter", ""},
	"TAM_TABLERECORD_TABLE": {"algorithm"}, "TAM_TABLERECORD_TABLE in APPL_DB": {"algorithm"},
	"COPP_GROUP":           {"meter_type", "mode", "cir", "cbs", "pir", "pbs"},
	"TAM_ALTMARK_COUNTERS": {"TIMESTAMP", "DIGEST", "KERNEL_CLOCK_ERROR", "KERNEL_CLOCK_OFFSET"},
	"TAM_SESSION":          {"max_report_burst", "max_report_rate"}, "TAM": {"device_id", "enterprise_id"},
	"TAM_SESSION_TABLE":     {"max_report_burst", "max_report_rate", "acl-rule-names"},
	"TAM_IFA_SESSION_TABLE": {"acl-rule-names"},
	"TAM_SESSION of IFA":    {"flow_group", "sampler", "hop_limit", "max_length", "collector", "template_interval"},
	"DEBUG_COUNTER":         {"drop_monitor_status"},
	"SYSLOG_SERVER":         {"filter", "filter_type", "vrf"},
	"TELEMETRY_CLIENT":      {"retry_interval", "protocol", "src_ip", "encoding", "unidirectional", "dst_addr"},
	// The empty name means that the row is checked as a whole.
	"TAM_ALTMARK_TABLE": {""}, "TAM_ALTMARK_TABLE in APPL_DB": {""}, "TAM_FLYMON_TASK_TABLE in APPL_DB": {"", "flowgroup"},
}

// specs returns all kinds of rows that are parsed.
func specs(t *testing.T) (list []rowSpec) {
	t.Helper()
	found := 0 // number of entries of leastRows that were used
	add := func(name string, s rowSpec) {
		if slices.ContainsFunc(list, func(o rowSpec) bool { return o.name == name }) {
			name += cmp.Or(map[string]string{CfgTAMGroup: " rule", CfgTAMSession: " of IFA"}[name], " address")
		}
		if text, ok := leastRows[name]; ok {
			key, fields, _ := strings.Cut(text, " ")
			s.key, s.least = key, fieldsOf(fields)
			found++
		} else if s.key, s.least, ok = leastOf(s.fields); !ok {
			t.Fatalf("no row of %s to begin with", name)
		}
		s.name = name
		list = append(list, s)
	}
	for _, tab := range Tables() {
		name := cmp.Or(tab.Config, tab.Counters, tab.State)
		if tab.Parse != nil {
			add(name, rowSpec{fields: tab.Fields, open: tab.Open, parse: tab.Parse})
		}
		if tab.ParseApplied != nil {
			if name = tab.Appl; name == tab.Config {
				name += " in APPL_DB"
			}
			add(name, rowSpec{fields: tab.Applied, open: tab.AppliedOpen, parse: tab.ParseApplied})
		}
	}
	if found != len(leastRows) {
		t.Errorf("%d of %d rows to begin with are of some kind", found, len(leastRows))
	}
	return list
}

// leastOf returns a minimal row, or false if it cannot find one.
func leastOf(fields []Field) (key string, row map[string]string, ok bool) {
	row = map[string]string{}
	for _, f := range fields {
		switch {
		case !f.Must:
		case f.kind == numberKind:
			row[f.Name] = utoa(f.lo)
		case f.kind == wordKind:
			row[f.Name] = f.words[0]
		case f.kind == nameKind:
			row[f.Name] = "n"
		default:
			return "", nil, false
		}
	}
	return "s", row, true
}

// good returns a value that the field can have. It returns false if the field has its own functions.
func (f Field) good(r *rand.Rand) (string, bool) {
	switch f.kind {
	case numberKind:
		n := []uint64{f.lo, f.hi, min(f.hi, f.lo+1), max(f.lo, f.hi-1), f.lo + r.Uint64()%max(1, f.hi-f.lo)}[r.IntN(5)]
		if r.IntN(3) == 0 {
			return "0x" + strconv.FormatUint(n, 16), true
		}
		return utoa(n), true
	case wordKind:
		return f.words[r.IntN(len(f.words))], true
	case macKind:
		return MAC{byte(r.IntN(128)) << 1, 1, byte(r.Uint32()), byte(r.Uint32()), 3, 4}.String(), true
	case nameKind, textKind:
		b := make([]byte, 1+r.IntN(20))
		for i := range b {
			for b[i] == '|' || b[i] == ',' || b[i] == ':' || b[i] == 0 {
				b[i] = byte('!' + r.IntN('~'-'!'+1))
			}
		}
		return string(b), true
	}
	return "", false
}

// bad returns values that the field cannot have.
func (f Field) bad() []string {
	switch f.kind {
	case numberKind:
		list := []string{"-1", "+1", "1.5", "many", "0x", "18446744073709551616"}
		if f.hi+1 > f.hi {
			list = append(list, utoa(f.hi+1))
		}
		if f.lo > 0 {
			list = append(list, utoa(f.lo-1))
		}
		return list
	case wordKind:
		return []string{"other", f.words[0] + "s", "1.5"}
	case macKind:
		return []string{"01:00:00:00:00:01", "00:00:00:00:00:00", "2:0:0:0:0:1"}
	case nameKind:
		return []string{"a,b", "a|b", "a b", strings.Repeat("n", 256)}
	}
	return nil
}

// A row of any table with any valid values of its fields is parsed, formatted, and parsed again as the same row.
// Missing fields are formatted with their defaults.
func TestEveryTable(t *testing.T) {
	all := specs(t)
	read := map[string]int{}
	fixed := randtest.Cases{Seed: 1, Count: 200, Short: 50}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, s := range all {
			in := maps.Clone(s.least)
			for _, f := range s.fields {
				if v, ok := f.good(r); ok && r.IntN(3) == 0 {
					in[f.Name] = v
				}
			}
			row, err := s.parse(s.key, in)
			if err != nil {
				s.heldTogether(t, in, err)
				continue
			}
			read[s.name]++
			out := row.Fields()
			for _, f := range s.fields {
				_, given := in[f.Name]
				if v, ok := out[f.Name]; !given && ok && f.kind != ownKind && v != f.Default && f.Default != "" {
					t.Errorf("%s %v: %s is %q without it, want its default %q", s.name, in, f.Name, v, f.Default)
				}
			}
			again, err := s.parse(s.key, out)
			if err != nil || !gocmp.Equal(row, again, ignoreAddrs) {
				t.Errorf("%s|%s %v: %+v is read again as %+v, %v", s.name, s.key, in, row, again, err)
			}
		}
	})
	for _, s := range all {
		if (run.Whole(fixed) || testing.Short()) && read[s.name] == 0 {
			t.Errorf("no row of %s was good", s.name)
		}
	}
}

// heldTogether checks that a row of good values is refused because of their combination, or because of the key.
func (s rowSpec) heldTogether(t *testing.T, in map[string]string, err error) {
	t.Helper()
	for _, e := range flatten(err) {
		fe := (*FieldError)(nil)
		if !errors.As(e, &fe) || !slices.Contains(heldTogether[s.name], fe.Field) {
			t.Errorf("%s %v: %v", s.name, in, e)
		}
	}
}

// An invalid value of a field is refused. The error contains table, key, field, value and the valid form. A row
// without a mandatory field is refused too. So is an unknown field in a table that does not ignore them.
func TestEveryTableRefuses(t *testing.T) {
	for _, s := range specs(t) {
		refuses := func(field, value string, in map[string]string) {
			t.Helper()
			_, err := s.parse(s.key, in)
			for _, e := range flatten(err) {
				fe := (*FieldError)(nil)
				if errors.As(e, &fe) && fe.Field == field && fe.Value == value && fe.Want != "" &&
					strings.HasSuffix(fe.Object, "|"+s.key) && strings.HasPrefix(s.name, strings.TrimSuffix(fe.Object, "|"+s.key)) {
					return
				}
			}
			t.Errorf("%s %v: %s=%q gives %v", s.name, in, field, value, err)
		}
		for _, f := range s.fields {
			in := maps.Clone(s.least)
			for _, v := range f.bad() {
				in[f.Name] = v
				refuses(f.Name, v, in)
			}
			if f.Must {
				delete(in, f.Name)
				refuses(f.Name, "", in)
			}
		}
		in := maps.Clone(s.least)
		in["STRANGE"] = "1"
		if !s.open {
			refuses("STRANGE", "1", in)
		} else if _, err := s.parse(s.key, in); err != nil {
			t.Errorf("%s: a field that is not of the table: %v", s.name, err)
		}
	}
}

// Garbage in a row of any table never stops the parser, and every error names the row.
func TestEveryTableSurvivesGarbage(t *testing.T) {
	words := []string{"", " ", ",", "|", "-", "0", "1", "-1", "10.0.0.1", "::", "Ethernet0", "1,2,,3", "x=y", "{}", "[",
		"\x00\xff",
		"2x", "NULL", "true", "1/2", "1.000000000", "SRC_IP,", "/", "1-2"}
	all := specs(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300, Short: 50}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, s := range all {
			key, in := s.key, maps.Clone(s.least)
			if r.IntN(4) == 0 {
				key = words[r.IntN(len(words))]
			}
			for range r.IntN(6) {
				field := "a field"
				if n := len(s.fields); n > 0 {
					field = s.fields[r.IntN(n)].Name
				}
				in[field] = words[r.IntN(len(words))] + words[r.IntN(len(words))]
			}
			row, err := s.parse(key, in)
			for i, e := range flatten(err) {
				if i == maxErrors && strings.HasPrefix(e.Error(), "and ") {
					continue // the number of further errors
				}
				if fe := (*FieldError)(nil); !errors.As(e, &fe) || Reason(e) == "" || !strings.Contains(fe.Object, "|"+key) {
					t.Errorf("%s|%s %v: %v does not name the row and what would be right", s.name, key, in, e)
				}
			}
			if err != nil {
				continue
			}
			if again, err := s.parse(key, row.Fields()); err != nil || !gocmp.Equal(row, again, ignoreAddrs) {
				t.Errorf("%s|%s %v: %+v is read again as %+v, %v", s.name, key, in, row, again, err)
			}
		}
	})
}

// Every entry describes its rows and each field.
func TestEveryTableIsDescribed(t *testing.T) {
	for _, tab := range Tables() {
		name := cmp.Or(tab.Config, tab.Counters, tab.State)
		if !strings.HasSuffix(tab.Words, ".") {
			t.Errorf("%s: words %q", name, tab.Words)
		}
		for _, f := range slices.Concat(tab.Fields, tab.Applied) {
			if f.Name == "" || f.Form == "" || f.Words != "" && !strings.HasSuffix(f.Words, ".") {
				t.Errorf("%s %q: form %q, words %q", name, f.Name, f.Form, f.Words)
			}
		}
	}
}

// The key of a status identifies the configured row. A row whose key belongs to another row's status has another key.
func TestStatusKey(t *testing.T) {
	for _, tt := range []struct{ config, key, want string }{
		{CfgInterface, "Ethernet0", "Ethernet0"},
		{CfgInterface, "Ethernet0|10.0.0.1/24", "Ethernet0|10.0.0.1/24"},
		{CfgVLANInterface, "Ethernet0|10.0.0.1/24", "VLAN_INTERFACE|Ethernet0|10.0.0.1/24"},
		{CfgInterface, "eth0", "INTERFACE|eth0"},
		{CfgACLTable, "T", "T"},
		{CfgACLTable, "TAM_FLOW_GROUP_g", "ACL_TABLE|TAM_FLOW_GROUP_g"},
		{CfgACLRule, "T|R", "T|R"},
		{CfgACLRule, "TAM_FLOW_GROUP_g|R", "ACL_RULE|TAM_FLOW_GROUP_g|R"},
		{CfgPortQoS, "global", "global"},
	} {
		if got := StatusKey(tt.config, tt.key); got != tt.want {
			t.Errorf("%s|%s: %s, want %s", tt.config, tt.key, got, tt.want)
		}
		table, _ := StatusTable(TableOf(tt.config).State)
		if got := table.Object(tt.want); got != tt.config+"|"+tt.key {
			t.Errorf("%s is the status of %s, want %s|%s", tt.want, got, tt.config, tt.key)
		}
	}
}
