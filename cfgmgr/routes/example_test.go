package routes_test

import (
	"context"
	"fmt"
	"time"

	"tamtam/cfgmgr/routes"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Of two static routes one leaves by a port that there is not.
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
	routes.New(d, r)
	config := r.DB(swss.ConfigDB)
	for _, row := range []struct {
		table, key string
		fields     swss.FieldValues
	}{
		{schema.CfgPort, "Ethernet0", swss.FieldValues{"lanes": "1,2,3,4", "speed": "100000"}},
		{schema.CfgInterface, "Ethernet0", swss.FieldValues{"NULL": "NULL"}},
		{schema.CfgInterface, "Ethernet0|10.0.0.1/24", swss.FieldValues{"NULL": "NULL"}},
		{schema.CfgStaticRoute, "10.1.0.0/16", swss.FieldValues{"nexthop": "10.0.0.2", "ifname": "Ethernet0"}},
		{schema.CfgStaticRoute, "10.2.0.0/16", swss.FieldValues{"nexthop": "10.4.0.2", "ifname": "Ethernet4"}},
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
	for _, key := range []string{"10.1.0.0/16", "10.2.0.0/16"} {
		status, _, err := swss.NewTable(r.DB(swss.StateDB), schema.StateStaticRoute).Get(ctx, key)
		fmt.Printf("%s: %s, %s %v\n", key, status["status"], status["reason"], err)
	}
	// Output:
	// 10.1.0.0/16: pending, waiting for orchagent <nil>
	// 10.2.0.0/16: pending, Ethernet4 does not route: there is no row INTERFACE|Ethernet4 <nil>
}
