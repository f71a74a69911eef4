package cli

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/mgmt/configfile"
	"tamtam/swss"
	"tamtam/swss/schema"

	"github.com/google/go-cmp/cmp"
)

// A configRoll makes a random CONFIG_DB of valid rows, whose references may or may not exist.
type configRoll struct {
	*rand.Rand
	rows configfile.Rows
}

func (c *configRoll) set(table, key string, pairs ...string) {
	if c.rows[table] == nil {
		c.rows[table] = map[string]swss.FieldValues{}
	}
	f := swss.FieldValues{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			f[pairs[i]] = pairs[i+1]
		}
	}
	bare := maps.Clone(f)
	if len(f) == 0 {
		f["NULL"] = "NULL"
	}
	if parse := reads(table, key); parse != nil {
		if _, err := parse(key, bare); err != nil {
			return
		}
	}
	c.rows[table][key] = f
}

// reads returns the parser of a row, or nil if there is none.
func reads(table, key string) func(string, map[string]string) (schema.Row, error) {
	if table != schema.CfgACLRule {
		return schema.RowOf(table, key)
	}
	kind := "L3"
	if strings.HasPrefix(key, "TAM|") {
		kind = schema.ACLTypeTAM
	}
	t, _ := schema.BuiltinACLType(kind)
	return func(key string, f map[string]string) (schema.Row, error) { return schema.ParseACLRule(t, key, f) }
}

// of returns one of the words at random. "" stands for a missing value.
func (c *configRoll) of(words ...string) string { return words[c.IntN(len(words))] }

func (c *configRoll) n(least, most int) string { return fmt.Sprint(least + c.IntN(most-least+1)) }

// some calls f with ascending numbers, up to n times.
func (c *configRoll) some(n int, f func(i int)) {
	for i := range c.IntN(n + 1) {
		f(i)
	}
}

func (c *configRoll) port() string { return c.of("Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12") }

func (c *configRoll) ports() {
	for i := range 1 + c.IntN(4) {
		name := fmt.Sprintf("Ethernet%d", 4*i)
		c.set("PORT", name, "lanes", fmt.Sprintf("%d,%d,%d,%d", 4*i, 4*i+1, 4*i+2, 4*i+3), "speed", c.of("100000", "40000"),
			"alias", c.of("", "Eth"+fmt.Sprint(i)), "mtu", c.of("", "9100", "1500"), "admin_status",
			c.of("", "up", "down", "UP"),
			"description", c.of("", "to spine", `say "hi" | ?`, "#1", "ünï"), "fec", c.of("", "rs"), "index",
			c.of("", fmt.Sprint(i)),
			"tpid", c.of("", "0x8100"))
	}
	c.some(1, func(int) { c.set("BREAKOUT_CFG", c.port(), "brkout_mode", c.of("1x100G", "4x25G", "2x50G[25G]")) })
	c.some(2, func(i int) {
		pc := fmt.Sprintf("PortChannel%d", i+1)
		c.set("PORTCHANNEL", pc, "admin_status", c.of("", "up", "down"), "mtu", c.of("", "9100", "9000"), "lacp_key",
			c.of("", "auto"),
			"static", c.of("", "true", "false"), "min_links", c.of("", "2"), "fast_rate", c.of("", "true", "false"),
			"fallback", c.of("", "true", "false"))
		c.some(2, func(int) { c.set("PORTCHANNEL_MEMBER", pc+"|"+c.port()) })
	})
	c.some(3, func(i int) {
		vlan := fmt.Sprintf("Vlan%d", 10*(i+1))
		c.set("VLAN", vlan, "vlanid", c.of("", fmt.Sprint(10*(i+1))), "admin_status", c.of("", "up"))
		c.some(2, func(int) {
			c.set("VLAN_MEMBER", vlan+"|"+c.of(c.port(), "PortChannel1"), "tagging_mode", c.of("", "tagged", "untagged"))
		})
		c.some(1, func(int) {
			c.set("FDB", vlan+"|00:11:22:33:44:"+c.n(10, 99), "port", c.port(), "type", c.of("", "static", "dynamic"))
		})
	})
	c.some(1, func(int) {
		c.set("SWITCH", "switch", "fdb_aging_time", c.of("", "600", "300"), "ecmp_hash_seed", c.of("", "7"))
	})
}

func (c *configRoll) routing() {
	for _, pair := range [][2]string{
		{"Ethernet0", "INTERFACE"}, {"Ethernet4", "INTERFACE"}, {"Vlan10", "VLAN_INTERFACE"},
		{"PortChannel1", "PORTCHANNEL_INTERFACE"}, {"Loopback0", "LOOPBACK_INTERFACE"},
	} {
		name, table := pair[0], pair[1]
		c.some(1, func(int) {
			c.set(table, name, "mtu", c.of("", "", "1400"), "mac_addr", c.of("", "", "00:aa:bb:cc:dd:ee"), "loopback_action",
				c.of("", "drop"))
		})
		c.some(2, func(int) {
			c.set(table, name+"|"+c.of("10."+c.n(0, 9)+".0.1/24", "2001:db8:"+c.n(1, 9)+"::1/64"), "scope", c.of("", "global"))
		})
		c.some(1, func(int) {
			a := c.of("10.0.0."+c.n(2, 9), "2001:db8::"+c.n(2, 9))
			c.set("NEIGH", name+"|"+a, "neigh", "00:00:00:00:00:01", "family",
				map[bool]string{true: "IPv6", false: "IPv4"}[strings.Contains(a, ":")])
		})
	}
	c.some(3, func(i int) {
		c.set("STATIC_ROUTE", c.of("", "default|")+fmt.Sprintf("10.%d.0.0/16", 20+i), "nexthop",
			c.of("10.0.0.2", "10.0.0.2,10.0.0.3", "0.0.0.0"),
			"distance", c.of("", "0", "5"), "blackhole", c.of("", "", "true"))
	})
}

func (c *configRoll) tam() {
	c.some(1, func(int) {
		c.set("TAM_SWITCH_TABLE", "global", "switch-id", c.of("", "7", "0x10"), "enterprise-id", c.of("", "9"),
			"keep-packets", c.of("", "all", "drops"))
	})
	c.some(2, func(i int) {
		c.set("TAM_COLLECTORS_TABLE", fmt.Sprintf("c%d", i), "ipaddress", c.of("10.0.0.9", "2001:db8::9", "2001:DB8::A"),
			"port", c.n(1, 65535),
			"ipaddress-type", c.of("", "ipv4"), "protocol", c.of("", "UDP", "udp"))
	})
	c.some(2, func(i int) { c.set("TAM_SAMPLINGRATE_TABLE", fmt.Sprintf("s%d", i), "sampling-rate", c.n(1, 1000)) })
	for i := range 1 + c.IntN(4) {
		name := fmt.Sprintf("g%d", i)
		c.set("TAM_FLOWGROUP_TABLE", name, "id", c.of("", fmt.Sprint(i+1), fmt.Sprint(i+1)), "table-name",
			c.of("TAM", "TAM", ""))
		if c.IntN(5) > 0 {
			v6 := c.of("", "V6")
			c.set("ACL_RULE", "TAM|"+name, "PRIORITY", c.of("", "10", "100", "0x20"), "PACKET_ACTION", c.of("", "FORWARD"),
				"SRC_IP"+v6, c.of("", map[string]string{"": "10.0.0.0/8", "V6": "2001:db8::/32"}[v6]),
				"IP_PROTOCOL", c.of("", "6", "0x11"), "L4_DST_PORT", c.of("", "80"), "L4_SRC_PORT_RANGE", c.of("", "1-99"),
				"DSCP", c.of("", "3", "8/0x38"), "TCP_FLAGS", c.of("", "0x02/0x02", "0x2/0x12"),
				"IN_PORTS", c.of("", "Ethernet0", "Ethernet0,Ethernet4", "Ethernet4,Ethernet0", "Ethernet99"), "ETHER_TYPE",
				c.of("", "0x0800"))
		}
	}
	group := func() string { return c.of("g0", "g1", "g2", "gone") }
	c.some(2, func(i int) { c.set("TAM_TAILSTAMPING_TABLE", fmt.Sprintf("t%d", i), "flowgroup", group()) })
	c.some(2, func(i int) {
		c.set("TAM_ALTMARK_TABLE", fmt.Sprintf("a%d", i), "flowgroup", group(), "role", "initiator", "method", "step",
			"interval", "0",
			"mark", "dscp"+c.n(0, 5), "clear", c.of("", "true", "false"), "slot-sync", c.of("", "false"), "delay-max",
			c.of("", "0", "1000"))
	})
	c.some(2, func(i int) {
		c.set("TAM_FLYMON_TASK_TABLE", fmt.Sprintf("f%d", i), "key", c.of("", "src-ip", "none"), "attribute",
			c.of("frequency", "frequency(bytes)"),
			"filter", c.of("", "any", "dst-port=80"), "flowgroup", "", "memory", c.of("", "49152", "1024"), "epoch",
			c.of("", "0", "1000"), "plan", c.of("", "true"))
	})
	c.some(1, func(int) { c.set("TAM_FLYMON_QUERY_TABLE", "q", "task", c.of("f0", "gone"), "flow", "10.0.0.1") })
	c.some(1, func(int) {
		c.set("TAM_TABLERECORD_TABLE", "r", "flowgroup", group(), "collector", c.of("c0", "gone"), "sampler", c.of("", "s0"),
			"phv", c.of("", "8", "16+16"),
			"must-record", c.of("", "chip.fdb", "chip.fdb,chip.acl"), "truncate", c.of("", "128", "64"))
	})
	for _, f := range []string{"TAILSTAMPING", "ALTMARK", "FLYMON", "TABLERECORD"} {
		c.some(1, func(int) { c.set("TAM_FEATURES_TABLE", f, "status", c.of("ACTIVE", "INACTIVE")) })
	}
}

func (c *configRoll) others() {
	c.some(1, func(int) {
		c.set("DEVICE_METADATA", "localhost", "hostname", "a", "mac", "00:11:22:33:44:55", "bgp_asn", c.of("", "65000"))
	})
	c.some(2, func(i int) {
		c.set("ACL_TABLE", fmt.Sprintf("L%d", i), "type", c.of("L3", "l3"), "policy_desc", c.of("", "my words"), "stage",
			c.of("", "ingress", "EGRESS"),
			c.of("ports", "ports@"), c.of("", "Ethernet0,Ethernet4"))
	})
	c.some(3, func(i int) {
		c.set("ACL_RULE", fmt.Sprintf("%s|R%d", c.of("L0", "L1", "gone"), i), "PRIORITY", c.n(0, 999), "SRC_IP", "10.0.0.0/8",
			"PACKET_ACTION", c.of("DROP", "FORWARD", "REDIRECT:Ethernet4"), "DSCP", c.of("", "3"))
	})
	c.some(1, func(int) {
		c.set("ACL_TABLE_TYPE", "OWN", "MATCHES@", "SRC_IP,DST_IP", "ACTIONS@", "PACKET_ACTION", "BIND_POINTS@", "PORT")
	})
	c.some(1, func(int) {
		c.set("SFLOW", "global", "admin_state", c.of("", "up", "down"), "polling_interval", c.of("", "0", "20", "0x20"),
			"agent_id", c.of("", "Loopback0"), "sample_direction", c.of("", "rx", "both"), "drop_monitor_limit",
			c.of("", "0", "9"))
	})
	c.some(2, func(i int) {
		c.set("SFLOW_COLLECTOR", fmt.Sprintf("s%d", i), "collector_ip", c.of("10.0.0.1", "2001:DB8::1"),
			"collector_port", c.of("", "6343", "7"), "collector_vrf", c.of("", "default", "mgmt"))
	})
	c.some(2, func(int) {
		c.set("SFLOW_SESSION", c.of("all", "Ethernet0", "Ethernet99"), "admin_state", c.of("", "up", "down"),
			"sample_rate", c.of("", "256"), "sample_direction", c.of("", "tx"))
	})
	c.some(1, func(int) { c.set("DSCP_TO_TC_MAP", "m", c.n(0, 31), c.n(0, 7), c.n(32, 63), c.n(0, 7)) })
	c.some(1, func(int) { c.set("DOT1P_TO_TC_MAP", "m", c.n(0, 7), c.n(0, 7)) })
	c.some(1, func(int) { c.set("TC_TO_QUEUE_MAP", "m", c.n(0, 7), c.n(0, 7)) })
	c.some(1, func(int) {
		c.set("PORT_QOS_MAP", c.of("Ethernet0", "Ethernet0,Ethernet4"), "dscp_to_tc_map", "m", "pfc_enable", c.of("", "3,4"))
	})
	c.some(2, func(i int) {
		c.set("SCHEDULER", fmt.Sprintf("s%d", i), "type", c.of("", "DWRR", "dwrr", "STRICT"), "weight", c.of("", "5"))
	})
	c.some(1, func(int) {
		c.set("WRED_PROFILE", "w", "wred_green_enable", c.of("", "true"), "green_min_threshold", "1000",
			"green_max_threshold", "2000", "ecn", c.of("", "ecn_all"))
	})
	c.some(1, func(int) {
		c.set("QUEUE", "Ethernet0|"+c.of("3", "0-2", "0,3"), "scheduler", "s0", "wred_profile", c.of("", "w"))
	})
	c.some(1, func(int) { c.set("BUFFER_POOL", "p", "type", "egress", "mode", c.of("", "dynamic"), "size", "1000000") })
	c.some(1, func(int) {
		c.set("BUFFER_PROFILE", "b", "pool", "p", "size", c.of("", "0"), "dynamic_th", c.of("-1", "3"))
	})
	c.some(1, func(int) { c.set("BUFFER_QUEUE", "Ethernet0|3-4", "profile", "b") })
	c.some(1, func(int) { c.set("BUFFER_PG", "Ethernet0|3-4", "profile", "b") })
	c.some(1, func(int) { c.set("WATERMARK_TABLE", "TELEMETRY_INTERVAL", "interval", c.n(1, 99)) })
	for _, table := range []string{
		"TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
	} {
		c.some(1, func(int) { c.set(table, "m", c.n(0, 7), c.n(0, 7)) })
	}
	c.some(1, func(int) {
		c.set("MIRROR_SESSION", "m", "src_ip", "10.0.0.1", "dst_ip", "10.0.0.2", "ttl", c.of("", "64"), "gre_type",
			c.of("", "0x88be"))
	})
	c.some(1, func(int) { c.set("TAM", "device", "device-id", c.of("", "5"), "enterprise_id", c.of("", "7")) })
	c.some(2, func(i int) {
		c.set("TAM_FLOW_GROUP", "g", "ports", c.of("", "Ethernet0"), "aging_interval", c.of("", "60"))
		c.set("TAM_FLOW_GROUP", fmt.Sprintf("g|r%d", i), "src_ip_prefix", c.of("10.0.0.0/8", "0.0.0.0/0"),
			"dst_ip_prefix", "10.1.0.0/16", "ip_protocol", c.of("", "6"), "l4_dst_port", c.of("", "80"))
	})
	c.some(1, func(int) {
		c.set("COPP_GROUP", "queue1_group1", "queue", c.n(0, 7), "trap_action", c.of("", "trap", "copy"), "cir",
			c.of("", "600"), "cbs", c.of("", "600"), "meter_type", "packets", "mode", "sr_tcm")
	})
	c.some(1, func(int) {
		c.set("COPP_TRAP", "lldp", "trap_ids", "lldp", "trap_group", "queue1_group1", "always_enabled", c.of("", "true"))
	})
	c.some(1, func(int) {
		c.set("FLEX_COUNTER_TABLE", c.of("PORT", "QUEUE"), "FLEX_COUNTER_STATUS", "enable", "POLL_INTERVAL", c.of("", "1000"),
			"OWN", c.of("", "x"))
	})
	c.some(1, func(int) {
		c.set("CRM", "Config", "polling_interval", "300", "acl_entry_low_threshold", c.of("", "10"))
	})
	c.some(2, func(int) {
		c.set("NTP_SERVER", c.of("10.0.0.1", "a|b", "a b", "x]"), "f"+c.n(0, 9), c.of("v", "a=b", "a b", `"`, "|", "?"), "g@",
			"1,2")
	})
	c.some(1, func(int) { c.set("FEATURE", "lldp", "state", "enabled", "auto_restart", "enabled") })
}

// meant returns a CONFIG_DB in a form that does not depend on the spelling of numbers and words, or on explicit
// defaults. Rows without meaning for the switch stay as they are.
func meant(t *testing.T, rows configfile.Rows) []string {
	var out []string
	for table, keys := range rows {
		for key, fields := range keys {
			bare := maps.Clone(map[string]string(fields))
			delete(bare, "NULL")
			said := map[string]string{}
			if parse := reads(table, key); parse != nil {
				row, err := parse(key, bare)
				if err != nil {
					t.Fatalf("%s|%s %v: %v", table, key, fields, err)
				}
				said = row.Fields()
				known := schema.TableOf(table).FieldNames()
				maps.DeleteFunc(bare, func(f, _ string) bool {
					return slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(strings.TrimSuffix(f, "@"), k) })
				})
			}
			out = append(out, fmt.Sprintf("%s|%s %v and %v", table, key, said, bare))
		}
	}
	slices.Sort(out)
	return out
}

// The running configuration of any CONFIG_DB restores the same CONFIG_DB on an empty switch, except for the spelling of
// numbers and for defaults. After that it is stable, and restores exactly the same rows.
func TestRunningMakesTheSame(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 8, Short: 1}, func(t *testing.T, seed uint64) {
		roll := &configRoll{Rand: rand.New(rand.NewPCG(seed, 0)), rows: configfile.Rows{}}
		roll.ports()
		roll.routing()
		roll.tam()
		roll.others()
		first, _ := emptySwitchWith(t, roll.rows)
		text := first.do(t, "show running-configuration")
		second, at := emptySwitchWith(t, nil)
		if err := second.ExecScript(t.Context(), "running", strings.NewReader(text)); err != nil {
			t.Fatalf("%v\nin\n%s", err, text)
		}
		made, err := configfile.Stored(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(meant(t, roll.rows), meant(t, made)); diff != "" {
			t.Fatalf("CONFIG_DB (-wanted +made):\n%s\nby\n%s", diff, text)
		}
		text = second.do(t, "show running-configuration")
		third, at := emptySwitchWith(t, nil)
		third.runScript(t, text)
		again, err := configfile.Stored(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(made, again); diff != "" {
			t.Fatalf("CONFIG_DB to the letter (-second +third):\n%s\nby\n%s", diff, text)
		}
	})
}

func emptySwitchWith(t *testing.T, rows configfile.Rows) (*session, *swss.Redis) {
	t.Helper()
	s, r := emptySwitch(t)
	if err := rows.Load(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return s, r
}
