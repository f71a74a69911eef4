package schema

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/tam/erspan"
)

// rowSpecs specifies the valid contents of rows. A line of holds is a field and its domain: lo..hi is a number, a|b
// one of these words in any case, name that of another row, mac a unicast address. It may be followed by "=x" (the
// default), "!" (mandatory) or "?" (not written if it has the default).
var rowSpecs = []struct {
	kind, key string
	with      string // fields that are present beside those of holds
	holds     []string
}{
	{"metadata", "localhost", "", []string{"mac mac"}},
	{"port", "Ethernet0", "lanes=1", []string{"speed 1..1600000 !", "mtu 68..9216 =9100", "admin_status up|down =down",
		"fec rs|fc|none|auto", "autoneg on|off", "index 0..65536"}},
	{"portchannel", "PortChannel1", "", []string{"mtu 68..9216 =9100", "admin_status up|down =up",
		"min_links 1..1024 =1 ?", "static true|false =false ?", "fast_rate true|false =false ?",
		"fallback true|false =false ?", "system_mac mac"}},
	{"vlan", "Vlan10", "", []string{"vlanid 10..10 =10", "mtu 68..9216 =9100", "admin_status up|down =up"}},
	{"vlan member", "Vlan10|Ethernet0", "", []string{"tagging_mode tagged|untagged|priority_tagged =untagged"}},
	{"interface", "Vlan100", "", []string{"mtu 68..9216", "mac_addr mac", "ipv6_use_link_local_only enable|disable ?",
		"loopback_action drop|forward ?"}},
	{"neighbour", "Vlan100|10.0.0.2", "", []string{"neigh mac !", "family IPv4 =IPv4"}},
	{"fdb", "Vlan100|02:00:00:00:00:02", "port=Ethernet0", []string{"type static|dynamic =static"}},
	{"switch row", "switch", "", []string{"fdb_aging_time 0..1000000 =600", "ecmp_hash_seed 0..4294967295 =0",
		"lag_hash_seed 0..4294967295 =0"}},
	{"l3 rule", "T|R", "SRC_IP=10.0.0.1 PACKET_ACTION=DROP", []string{"PRIORITY 0..999999 =0", "VLAN_ID 1..4095",
		"ICMP_TYPE 0..255", "ICMP_CODE 0..255", "L4_SRC_PORT 0..65535", "L4_DST_PORT 0..65535", "IP_PROTOCOL 0..255",
		"IP_TYPE ANY|IP|NON_IP|IPV4ANY|NON_IPV4|IPV6ANY|NON_IPV6"}},
	{"tam rule", "T|R", "", []string{"PRIORITY 1..1024 =100", "DSCP 0..63", "TTL 0..255", "L4_SRC_PORT 0..65535"}},
	{"dtel rule", "T|R", "SRC_IP=10.0.0.1 FLOW_OP=INT INT_SESSION=x", []string{"TUNNEL_VNI 0..4294967295",
		"FLOW_SAMPLE_PERCENT 0..100", "DROP_REPORT_ENABLE TRUE|FALSE", "TAIL_DROP_REPORT_ENABLE TRUE|FALSE"}},
	{"acl table", "T", "", []string{"TYPE name !", "STAGE INGRESS|EGRESS =INGRESS"}},
	{"switch", "global", "", []string{"switch-id 1..4294967295", "enterprise-id 1..4294967295"}},
	{"switch in use", "global", "", []string{"op-switch-id 0..4294967295", "op-enterprise-id 0..4294967295"}},
	{"collector", "c", "ipaddress=10.0.0.1", []string{"port 1..65535 !", "ipaddress-type ipv4 =ipv4",
		"protocol UDP|TCP =UDP"}},
	{"feature", "ALTMARK", "", []string{"status ACTIVE|INACTIVE =INACTIVE"}},
	{"sampler", "s", "", []string{"sampling-rate 1..16777216 !"}},
	{"flow group", "F", "", []string{"id 1..4294967295", "table-name name =TAM"}},
	{"session", "s", "", []string{"flowgroup name !"}},
	{"flow", "s", "", []string{"acl-table-name name !", "acl-rule-name name !"}},
	{"am session", "s", "interval=8 mark=dscp0 method=muxed delay-max=1000", []string{"flowgroup name !",
		"role terminator !", "clear true|false =false", "slot-sync true|false =true", "foreign-marks count =count",
		"mean-delay true|false =false",
		"clock-trust checked|declared =checked"}},
	{"am counters", "s", "ENGINE=chip TIMING=t", []string{"GUARD 0..4611686018427387904 !"}},
	{"task", "t", "key=src-ip attribute=frequency", []string{"threshold 0..4294967295 =0", "plan true|false =false",
		"allocation accurate|efficient =accurate", "readout banked|live =banked", "translation tcam|shift =tcam"}},
	{"query", "q", "flow=10.0.0.1", []string{"task name !"}},
	{"rec session", "s", "", []string{"flowgroup name !", "collector name !", "sampler name",
		"mode exec|exec+hit|exec+action =exec",
		"algorithm greedy|greedy-restarts =greedy", "probabilities uniform|counted =uniform",
		"encapsulation udp|erspan =udp", "truncate 64..9216 =128"}},
	{"rec flow", "s", "collector=10.0.0.1:9", []string{"acl-table-name name !", "acl-rule-name name !",
		"sampling-rate 1..4294967295 =1", "collector-name name", "sampler-name name"}},
	{"rec counters", "s", "", []string{"MATCHED 0..18446744073709551615 !", "NOT_SAMPLED 0..18446744073709551615 !",
		"RECORDED 0..18446744073709551615 !", "LOST 0..18446744073709551615 !"}},
	{"flex counter", "ACL", "", []string{"FLEX_COUNTER_STATUS enable|disable", "POLL_INTERVAL 10..3600000"}},
	{"dscp map", "m", "1=1", []string{"0 0..15", "46 0..15"}},
	{"dot1p map", "m", "1=1", []string{"0 0..15", "7 0..15"}},
	{"queue map", "m", "1=1", []string{"0 0..15", "7 0..15"}},
	{"scheduler", "s", "", []string{"type DWRR|WRR =WRR", "weight 1..100 =1"}},
	{"wred", "w", "green_min_threshold=1000 green_max_threshold=2000", []string{"wred_green_enable true|false =false",
		"green_drop_probability 0..100 =100",
		"ecn ecn_none|ecn_all =ecn_none"}},
	{"pool", "p", "", []string{"type egress !", "size 0..1099511627776 !", "mode dynamic|static =dynamic"}},
	{"profile", "f", "pool=p static_th=1", []string{"static_th 0..1099511627776 =1"}},
	{"profile", "f", "pool=p static_th=1", []string{"size 0..1099511627776 =0"}},
	{"copp group", "g", "", []string{"trap_action trap|copy|drop|forward|deny|log|transit =trap",
		"trap_priority 0..65536 =0", "queue 0..255 =0"}},
	{"copp group", "g", "mode=sr_tcm", []string{"meter_type packets|bytes !", "color aware|blind",
		"cir 0..18446744073709551615 !", "cbs 0..18446744073709551615 !", "pbs 0..18446744073709551615",
		"green_action drop|forward|copy|copy_cancel|trap|log|deny|transit", "yellow_action drop|forward",
		"red_action drop|forward|transit"}},
	{"copp trap", "t", "trap_ids=bgp trap_group=g", []string{"always_enabled true|false =false"}},
	{"mirror", "m", "src_ip=10.0.0.1 dst_ip=10.0.0.2", []string{"gre_type 0..65535 =35006", "dscp 0..63 =8",
		"ttl 1..255 =255", "queue 0..15 =0", "type ERSPAN =ERSPAN"}},
	{"crm", "Config", "", []string{"polling_interval 1..9999 =300",
		"acl_entry_threshold_type used|free"}},
}

// A column is a field and its domain.
type column struct {
	field, domain string
	must, quiet   bool
	without       string // the row's value if the field is absent
}

func columns(lines []string) (list []column) {
	for _, line := range lines {
		words := strings.Fields(line)
		c := column{field: words[0], domain: words[1]}
		for _, w := range words[2:] {
			c.must, c.quiet = c.must || w == "!", c.quiet || w == "?"
			if after, ok := strings.CutPrefix(w, "="); ok {
				c.without = after
			}
		}
		list = append(list, c)
	}
	return list
}

// bounds returns the bounds of a number, or false if the column is not a number.
func (c column) bounds() (lo, hi uint64, ok bool) {
	from, to, ok := strings.Cut(c.domain, "..")
	lo, err := strconv.ParseUint(from, 10, 64)
	hi, err2 := strconv.ParseUint(to, 10, 64)
	return lo, hi, ok && err == nil && err2 == nil
}

// value returns a random value, often the smallest or largest of its domain, as written and as in the row.
func (c column) value(r *rand.Rand) (written, has string) {
	if lo, hi, ok := c.bounds(); ok {
		n := []uint64{lo, hi, min(hi, lo+1), max(lo, hi-1), lo + r.Uint64()%max(1, hi-lo)}[r.IntN(5)]
		if c.field == "gre_type" && erspan.Other(uint16(n)) != "" {
			n = lo // others are refused, see TestInvalidRows
		}
		if r.IntN(3) == 0 {
			return "0x" + strconv.FormatUint(n, 16), utoa(n)
		}
		return utoa(n), utoa(n)
	}
	switch c.domain {
	case "name":
		b := make([]byte, 1+r.IntN(255))
		for i := range b {
			for !ValidName(string(b[i : i+1])) {
				b[i] = byte(r.IntN(128))
			}
		}
		return string(b), string(b)
	case "mac":
		m := MAC{byte(r.IntN(128)) << 1, 1, byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
		return strings.ToUpper(strings.ReplaceAll(m.String(), ":", "-")), m.String()
	}
	words := strings.Split(c.domain, "|")
	w := words[r.IntN(len(words))]
	return []string{w, strings.ToUpper(w), strings.ToLower(w)}[r.IntN(3)], w
}

// least returns the first value of the domain.
func (c column) least() string {
	if lo, _, ok := c.bounds(); ok {
		return utoa(lo)
	}
	if c.domain == "mac" {
		return "02:00:00:00:00:01"
	}
	return strings.Split(c.domain, "|")[0]
}

// garbage returns values outside of the domain.
func (c column) garbage() []string {
	if lo, hi, ok := c.bounds(); ok {
		list := []string{"-1", "+1", "1.5", "many", "0x", "1e3", "18446744073709551616"}
		if lo > 0 {
			list = append(list, utoa(lo-1))
		}
		if hi+1 > hi {
			list = append(list, utoa(hi+1))
		}
		return list
	}
	switch c.domain {
	case "name":
		return []string{"a,b", "a|b", "a:b", "a b", "\xff", strings.Repeat("n", 256)}
	case "mac":
		return []string{"01:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "02:00:00:00:00", "2:0:0:0:0:1"}
	}
	return []string{"other", strings.Split(c.domain, "|")[0] + "s", "1.5"}
}

// Rows hold the values of their specification, and are parsed from their output as the same row.
func TestSpecifiedRows(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 50}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, spec := range rowSpecs {
			in, want := fieldsOf(spec.with), map[string]string{}
			for _, c := range columns(spec.holds) {
				if c.must || r.IntN(2) == 0 {
					in[c.field], want[c.field] = c.value(r)
				} else if c.without != "" {
					want[c.field] = c.without
				}
			}
			row, err := rowTypes[spec.kind](spec.key, in)
			if err != nil {
				t.Errorf("%s %v: %v", spec.kind, in, err)
				continue
			}
			out := row.Fields()
			for _, c := range columns(spec.holds) {
				if has, ok := out[c.field]; has != want[c.field] && (ok || !c.quiet) {
					t.Errorf("%s %v: %s is %q, want %q", spec.kind, in, c.field, has, want[c.field])
				}
			}
			again, err := rowTypes[spec.kind](spec.key, out)
			if err != nil || !cmp.Equal(row, again, ignoreAddrs) {
				t.Errorf("%s %v: %+v is read again as %+v, %v", spec.kind, in, row, again, err)
			}
		}
	})
}

// A value outside the specification is refused. The error contains object, field, value and the valid form.
func TestSpecifiedRowsRefuseGarbage(t *testing.T) {
	for _, spec := range rowSpecs {
		list := columns(spec.holds)
		for _, c := range list {
			in := fieldsOf(spec.with)
			for _, other := range list {
				if other.must && other.field != c.field {
					in[other.field] = other.least()
				}
			}
			for _, v := range c.garbage() {
				in[c.field] = v
				refused(t, spec.kind, spec.key, in, c.field, v)
			}
			if delete(in, c.field); c.must {
				refused(t, spec.kind, spec.key, in, c.field, "")
			}
		}
	}
}

// refused checks that a row is refused because of the value of a field. "" means because it is missing.
func refused(t *testing.T, kind, key string, in map[string]string, field, value string) {
	t.Helper()
	_, err := rowTypes[kind](key, in)
	for _, e := range flatten(err) {
		var fe *FieldError
		named := errors.As(e, &fe) && strings.HasSuffix(fe.Object, key) && fe.Field == field && fe.Value == value
		if named && fe.Want != "" {
			return
		}
	}
	t.Errorf("%s %q: %s=%q gives %v, want an error that names row, field, value and what would be right",
		kind, in, field, value, err)
}

// Any combination of fields of valid rows is accepted or refused. An accepted row is formatted and parsed as the same
// row. A refusal is an error that names the row.
func TestMixedRows(t *testing.T) {
	byKind := map[string][]rowTest{}
	for _, tt := range rowTests {
		byKind[tt.kind] = append(byKind[tt.kind], tt)
	}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300, Short: 50}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, kind := range slices.Sorted(maps.Keys(byKind)) {
			from := byKind[kind]
			key, in := from[r.IntN(len(from))].key, map[string]string{}
			for range 2 {
				fields := fieldsOf(from[r.IntN(len(from))].in)
				for _, f := range slices.Sorted(maps.Keys(fields)) {
					if r.IntN(8) > 0 {
						in[f] = fields[f]
					}
				}
			}
			row, err := rowTypes[kind](key, in)
			if err != nil {
				for _, e := range flatten(err) {
					if fe := (*FieldError)(nil); !errors.As(e, &fe) || !strings.Contains(fe.Object, key) || Reason(e) == "" {
						t.Errorf("%s|%s %v: %v does not name the row and what would be right", kind, key, in, e)
					}
				}
				continue
			}
			again, err := rowTypes[kind](key, row.Fields())
			if err != nil || !cmp.Equal(row, again, ignoreAddrs) {
				t.Errorf("%s|%s %v: %+v is read again as %+v, %v", kind, key, in, row, again, err)
			}
		}
	})
}
