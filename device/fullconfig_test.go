package device

import (
	"fmt"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// fullSwitch is a configuration in which every table has a row: 32 ports of four lanes, and as many more flow groups as
// asked for, each with a session of tail-stamping.
func fullSwitch(t *testing.T, groups int) ConfigDB {
	t.Helper()
	c, err := ReadConfigDB("testdata/fullswitch.json")
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]swss.FieldValues{}
	for i := range 32 {
		ports[fmt.Sprintf("Ethernet%d", 4*i)] = swss.FieldValues{
			"lanes": fmt.Sprintf("%d,%d,%d,%d", 4*i, 4*i+1, 4*i+2, 4*i+3), "alias": fmt.Sprintf("etp%d", i+1),
			"index": fmt.Sprint(i + 1), "speed": "100000", "mtu": "9100", "admin_status": "up",
		}
	}
	c[schema.CfgPort] = ports
	return both(c, manyGroups(groups))
}

// manyGroups are flow groups F0, F1, ..., each with a session.
func manyGroups(n int) ConfigDB {
	groups, rules, sessions := map[string]swss.FieldValues{}, map[string]swss.FieldValues{}, map[string]swss.FieldValues{}
	for i := range n {
		name := fmt.Sprintf("F%d", i)
		groups[name] = swss.FieldValues{"id": fmt.Sprint(1000 + i)}
		rules["TAM|"+name] = swss.FieldValues{
			"PRIORITY": "100", "SRC_IP": fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), "IP_TYPE": "IPV4ANY",
		}
		sessions["S"+name] = swss.FieldValues{"flowgroup": name}
	}
	return ConfigDB{
		schema.CfgTAMFlowGroup: groups, schema.CfgACLRule: rules, schema.CfgTAMTailStamp: sessions,
	}
}
