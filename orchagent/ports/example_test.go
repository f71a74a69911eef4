package ports_test

import (
	"context"
	"fmt"
	"time"

	"tamtam/orch"
	"tamtam/orchagent/ports"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A port is made, and joins a PortChannel; a member of a PortChannel that there is not waits.
func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// PortChannel1|Ethernet0: active ""
	// PortChannel2|Ethernet0: pending "no PortChannel PortChannel2"
}

func example(ctx context.Context) error {
	r, err := swss.OpenEmbedded()
	if err != nil {
		return err
	}
	defer r.Close()
	d := orch.NewDaemon(orch.Orchagent, r, orch.Options{})
	defer d.Close()
	chip := saitest.NewFake() // in the place of a client of sairedis
	o, err := ports.New(ctx, ports.Config{SAI: chip, Daemon: d, Redis: r})
	if err != nil {
		return err
	}
	for _, row := range []struct {
		table, key string
		fields     swss.FieldValues
	}{
		{schema.AppPort, "Ethernet0", swss.FieldValues{"lanes": "1,2,3,4", "speed": "100000", "admin_status": "up"}},
		{schema.AppPort, schema.PortConfigDone, swss.FieldValues{"count": "1"}},
		{schema.AppLAG, "PortChannel1", swss.FieldValues{"admin_status": "up"}},
		{schema.AppLAGMember, "PortChannel1:Ethernet0", swss.FieldValues{"status": "enabled"}},
		{schema.AppLAGMember, "PortChannel2:Ethernet0", swss.FieldValues{"status": "enabled"}},
	} {
		appl := swss.NewProducerState(r.DB(swss.ApplDB), row.table)
		if err := appl.Set(ctx, row.key, swss.Pairs(row.fields)); err != nil {
			return err
		}
	}
	for _, then := range []func(context.Context) error{o.ViewApplied, nil} { // when the view is applied
		if _, err := d.Step(ctx, time.Unix(0, 0)); err != nil {
			return err
		}
		if then != nil {
			if err := then(ctx); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"PortChannel1|Ethernet0", "PortChannel2|Ethernet0"} {
		row, _, err := swss.NewTable(r.DB(swss.StateDB), schema.StateLAGMember).Get(ctx, key)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s %q\n", key, row[schema.StatusField(schema.StateLAGMember)], row["reason"])
	}
	return nil
}
