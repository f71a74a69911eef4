package qos_test

import (
	"context"
	"fmt"
	"time"

	"tamtam/cfgmgr/qos"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A queue has a scheduler; another is of a port that there is not.
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
	qos.New(d, r)
	config := r.DB(swss.ConfigDB)
	for _, row := range []struct {
		table, key string
		fields     swss.FieldValues
	}{
		{schema.CfgPort, "Ethernet0", swss.FieldValues{"lanes": "1,2,3,4", "speed": "100000"}},
		{"SCHEDULER", "strict", swss.FieldValues{"type": "STRICT"}},
		{"QUEUE", "Ethernet0|7", swss.FieldValues{"scheduler": "strict"}},
		{"QUEUE", "Ethernet4|7", swss.FieldValues{"scheduler": "strict"}},
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
	for _, key := range []string{"Ethernet0|7", "Ethernet4|7"} {
		status, _, err := swss.NewTable(r.DB(swss.StateDB), "QUEUE_TABLE").Get(ctx, key)
		fmt.Printf("%s: %s, %s %v\n", key, status["status"], status["reason"], err)
	}
	// Output:
	// Ethernet0|7: pending, waiting for orchagent <nil>
	// Ethernet4|7: pending, port "Ethernet4" does not exist <nil>
}
