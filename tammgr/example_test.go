package tammgr_test

import (
	"context"
	"fmt"
	"time"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tammgr"
)

// A session of tail-stamping names a flow group; another names one that there is not.
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
	tammgr.New(d, r)
	orchagent := swss.NewTable(r.DB(swss.ApplDB), schema.AppSwitch) // says what the switch can do
	if err := orchagent.Set(ctx, "switch", swss.FieldValues{"tam-tailstamping-capable": "true"}); err != nil {
		fmt.Println(err)
		return
	}
	config := r.DB(swss.ConfigDB)
	for _, row := range []struct {
		table, key string
		fields     swss.FieldValues
	}{
		{schema.CfgTAMFeature, schema.FeatureTailStamping, swss.FieldValues{"status": "ACTIVE"}},
		{schema.CfgTAMFlowGroup, "web", swss.FieldValues{"id": "7"}},
		{schema.CfgTAMTailStamp, "s1", swss.FieldValues{"flowgroup": "web"}},
		{schema.CfgTAMTailStamp, "s2", swss.FieldValues{"flowgroup": "dns"}},
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
	for _, key := range []string{"s1", "s2"} {
		status, _, err := swss.NewTable(r.DB(swss.StateDB), schema.StateTAMTailStamp).Get(ctx, key)
		fmt.Printf("%s: %s, %s %v\n", key, status["status"], status["reason"], err)
	}
	// Output:
	// s1: pending, waiting for orchagent <nil>
	// s2: pending, flow group "dns" does not exist <nil>
}
