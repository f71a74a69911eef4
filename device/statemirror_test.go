package device_test

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// leaves returns the values of all leaves below a path, by their paths.
func leaves(
	t *testing.T, below *gpb.Path, get func(*gpb.GetRequest) (*gpb.GetResponse, error),
) map[string]string {
	t.Helper()
	resp, err := get(&gpb.GetRequest{Path: []*gpb.Path{below}, Encoding: gpb.Encoding_PROTO})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	if len(resp.GetNotification()) == 0 {
		return all
	}
	for _, u := range resp.GetNotification()[0].GetUpdate() {
		var path strings.Builder
		for _, e := range u.GetPath().GetElem() {
			path.WriteString("/" + e.GetName())
			for _, k := range device.SortedKeys(e.GetKey()) {
				path.WriteString("[" + k + "=" + e.GetKey()[k] + "]")
			}
		}
		all[path.String()] = u.GetVal().String()
	}
	return all
}

const wideConfig = `{
	"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:07:e4"}},
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up", "mtu": "1500", "description": "to the rack",
		 "alias": "Eth1"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up"},
		"Ethernet2": {"lanes": "2", "speed": "10000", "admin_status": "up"},
		"Ethernet3": {"lanes": "3", "speed": "10000", "admin_status": "up"}},
	"PORTCHANNEL": {"PortChannel1": {"admin_status": "up", "mtu": "9100", "static": "true"}},
	"PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet3": {}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "tagged"}},
	"VLAN_INTERFACE": {"Vlan10": {"mtu": "1500"}, "Vlan10|10.0.0.1/24": {}},
	"INTERFACE": {"Ethernet2": {}, "Ethernet2|10.2.0.1/24": {}, "Ethernet2|2001:db8:2::1/64": {}},
	"LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.255.0.1/32": {}},
	"NEIGH": {"Ethernet2|10.2.0.2": {"neigh": "02:00:00:00:00:22"}},
	"FDB": {"Vlan10|02:00:00:00:00:09": {"port": "Ethernet1"}},
	"STATIC_ROUTE": {"10.9.0.0/16": {"nexthop": "10.2.0.2"}},
	"SWITCH": {"switch": {"fdb_aging_time": "100"}},
	"SCHEDULER": {"s": {"type": "DWRR", "weight": "7"}},
	"QUEUE": {"Ethernet0|1": {"scheduler": "s"}},
	"MIRROR_SESSION": {"span": {"type": "SPAN", "dst_port": "Ethernet1", "src_port": "Ethernet0", "direction": "RX"}},
	"TAM_SWITCH_TABLE": {"global": {"switch-id": "7", "enterprise-id": "9"}},
	"TAM_FEATURES_TABLE": {"TAILSTAMPING": {"status": "ACTIVE"}, "ALTMARK": {"status": "ACTIVE"},
	 "FLYMON": {"status": "ACTIVE"}, "TABLERECORD": {"status": "ACTIVE"}},
	"TAM_COLLECTORS_TABLE": {"c4": {"ipaddress": "10.9.0.7", "port": "4739", "protocol": "TCP"},
	 "c6": {"ipaddress": "2001:db8::7", "port": "9"}},
	"TAM_SAMPLINGRATE_TABLE": {"s": {"sampling-rate": "100"}},
	"TAM_FLOWGROUP_TABLE": {"v6": {"table-name": "TAM", "id": "1"}, "v4": {"table-name": "TAM", "id": "2"},
	 "m": {"table-name": "TAM", "id": "3"}},
	"ACL_RULE": {
		"TAM|v6": {"PRIORITY": "50", "IPV6_FLOW_LABEL": "77", "SRC_IPV6": "2001:db8::/32", "NEXT_HEADER": "6", "DSCP": "8",
		 "TTL": "9", "L4_SRC_PORT_RANGE": "5-9", "TCP_FLAGS": "0x02/0x02"},
		"TAM|v4": {"PRIORITY": "60", "SRC_IP": "10.0.0.0/8", "DST_IP": "10.9.0.9", "IP_PROTOCOL": "17", "DSCP": "32/0x20",
		 "TTL": "3", "L4_DST_PORT": "80", "SRC_MAC": "02:00:00:00:00:01", "ETHER_TYPE": "0x0800", "IN_PORTS": "Ethernet0"},
		"TAM|m": {"PRIORITY": "70", "IPV6_FLOW_LABEL": "0x12300/0xfff00", "DSCP": "8/0x38", "TTL": "0/0xf0",
		 "TCP_FLAGS": "0x2/0x12"}},
	"TAM_TAILSTAMPING_TABLE": {"t6": {"flowgroup": "v6"}, "t4": {"flowgroup": "v4"}},
	"TAM_ALTMARK_TABLE": {"a": {"flowgroup": "v4", "role": "transit", "method": "double", "interval": "0", "mark": "dscp0",
	 "mark2": "dscp1"}},
	"TAM_FLYMON_TASK_TABLE": {"t": {"filter": "dst-ip=10.0.0.0/8", "key": "src-ip", "attribute": "frequency",
	 "memory": "1536"}},
	"TAM_FLYMON_QUERY_TABLE": {"q": {"task": "t", "flow": "10.0.0.1"}}
}`

// The active state of an object repeats its configuration.
func TestStateRepeatsConfig(t *testing.T) {
	c, err := device.ParseConfigDB([]byte(wideConfig))
	if err != nil {
		t.Fatal(err)
	}
	s := devicetest.NewServedSim(t, device.SimConfig{Config: c})
	devicetest.RunUntilIdle(t, s)
	if list, err := device.Problems(t.Context(), s.Redis); err != nil || len(list) > 0 {
		t.Fatal(list, err)
	}
	server, _, _ := devicetest.StartNorthbound(t, s)
	all := leaves(t, &gpb.Path{}, func(r *gpb.GetRequest) (*gpb.GetResponse, error) { return server.Get(t.Context(), r) })
	compared := 0
	for _, path := range device.SortedKeys(all) {
		i := strings.LastIndex(path, "/config/")
		if i < 0 || strings.HasPrefix(path, "/tam/features/") || // their state is /tam/features-state
			strings.HasPrefix(path, "/lldp/config/") { // hostd, which speaks LLDP, does not run here
			continue
		}
		state := path[:i] + "/state/" + path[i+len("/config/"):]
		same := all[state] == all[path]
		if strings.HasSuffix(path, "-address") { // a single address is also a prefix
			same = same || all[state] == strings.TrimSuffix(all[path], `"`)+`/32"`
		}
		if !same {
			t.Errorf("%s is %s, its state %q", path, all[path], all[state])
		}
		if strings.HasPrefix(path, "/tam/") && strings.HasSuffix(path, "/config/name") &&
			all[path[:i]+"/state/status"] == "" {
			t.Errorf("%s: nothing says what became of it", path[:i])
		}
		compared++
	}
	if compared < 100 {
		t.Errorf("only %d leaves compared", compared)
	}
}

// The time of a status survives changes of descriptions. Only changes of the effect renew it.
func TestSinceOfDescriptions(t *testing.T) {
	c, err := device.ParseConfigDB([]byte(wideConfig))
	if err != nil {
		t.Fatal(err)
	}
	c["ACL_TABLE"] = map[string]swss.FieldValues{"A": {"type": "L3", "policy_desc": "one", "ports": "Ethernet0",
		"stage": "ingress"}}
	s := devicetest.NewSim(t, device.SimConfig{Config: c})
	devicetest.RunUntilIdle(t, s)
	state := func(table, key string) swss.FieldValues {
		f := devicetest.Row(t, s.Redis, swss.StateDB, table, key)
		return f
	}
	for _, step := range []struct {
		config, field, value, state, key string
		moves                            bool
	}{
		{"PORT|Ethernet0", "description", "to the spine", schema.StatePort, "Ethernet0", false},
		{"PORT|Ethernet0", "mtu", "9000", schema.StatePort, "Ethernet0", true},
		{"ACL_TABLE|A", "policy_desc", "two", schema.StateACLTable, "A", false},
	} {
		was := state(step.state, step.key)
		devicetest.NoError(t, s.Advance(t.Context(), s.Chip.Now()+saisim.Cycle(s.Chip.Profile().ClockHz)))
		s.Redis.DB(swss.ConfigDB).Client().HSet(t.Context(), step.config, step.field, step.value)
		devicetest.RunUntilIdle(t, s)
		now := state(step.state, step.key)
		if !strings.EqualFold(now["status"], "active") || now["since"] == "" || (now["since"] != was["since"]) != step.moves {
			t.Errorf("%s %s: was %v, is %v", step.config, step.field, was, now)
		}
	}
}
