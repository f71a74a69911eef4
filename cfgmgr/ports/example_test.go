package ports_test

import (
	"context"
	"fmt"
	"time"

	"tamtam/cfgmgr/ports"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A port is forwarded to orchagent; a VLAN member names a port that there is not.
func Example() {
	ctx := context.Background()
	r, err := swss.OpenEmbedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	d := orch.NewDaemon(orch.Manager, r, orch.Options{})
	defer d.Close()
	ports.New(d, r)
	config := r.DB(swss.ConfigDB)
	for _, row := range []struct {
		table, key string
		fields     swss.FieldValues
	}{
		{schema.CfgPort, "Ethernet0", swss.FieldValues{"lanes": "1,2,3,4", "speed": "100000"}},
		{schema.CfgVLAN, "Vlan10", swss.FieldValues{"vlanid": "10"}},
		{schema.CfgVLANMember, "Vlan10|Ethernet0", swss.FieldValues{"tagging_mode": "untagged"}},
		{schema.CfgVLANMember, "Vlan10|Ethernet4", swss.FieldValues{"tagging_mode": "untagged"}},
	} {
		if err := swss.NewTable(config, row.table).Set(ctx, row.key, row.fields); err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := d.Step(ctx, time.Unix(0, 0)); err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []string{"Vlan10|Ethernet0", "Vlan10|Ethernet4"} {
		status, _, err := swss.NewTable(r.DB(swss.StateDB), schema.StateVLANMember).Get(ctx, key)
		fmt.Printf("%s: %s, %s %v\n", key, status["status"], status["reason"], err)
	}
	// Output:
	// Vlan10|Ethernet0: pending, waiting for orchagent <nil>
	// Vlan10|Ethernet4: pending, port "Ethernet4" does not exist <nil>
}
