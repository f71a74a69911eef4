package mirror_test

import (
	"context"
	"fmt"
	"time"

	"tamtam/orch"
	"tamtam/orchagent/mirror"
	"tamtam/orchagent/ports"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A session copies to a port; one to a port that there is not is inactive, and says why.
func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// tap: active ""
	// gone: inactive "no port Ethernet4"
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
	of, err := ports.New(ctx, ports.Config{SAI: chip, Daemon: d, Redis: r})
	if err != nil {
		return err
	}
	o, err := mirror.New(ctx, mirror.Config{SAI: chip, Daemon: d, Redis: r, Ports: of})
	if err != nil {
		return err
	}
	for _, row := range []struct {
		table, key string
		fields     swss.FieldValues
	}{
		{schema.AppPort, "Ethernet0", swss.FieldValues{"lanes": "1,2,3,4", "speed": "100000", "admin_status": "up"}},
		{schema.AppPort, schema.PortConfigDone, swss.FieldValues{"count": "1"}},
		{schema.AppMirrorSession, "tap", swss.FieldValues{"type": "SPAN", "dst_port": "Ethernet0"}},
		{schema.AppMirrorSession, "gone", swss.FieldValues{"type": "SPAN", "dst_port": "Ethernet4"}},
	} {
		appl := swss.NewProducerState(r.DB(swss.ApplDB), row.table)
		if err := appl.Set(ctx, row.key, swss.Pairs(row.fields)); err != nil {
			return err
		}
	}
	for _, then := range []func(context.Context) error{of.ViewApplied, o.ViewApplied, nil} { // when the view is applied
		if _, err := d.Step(ctx, time.Unix(0, 0)); err != nil {
			return err
		}
		if then != nil {
			if err := then(ctx); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"tap", "gone"} {
		row, _, err := swss.NewTable(r.DB(swss.StateDB), schema.AppMirrorSession).Get(ctx, key)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s %q\n", key, row[schema.StatusField(schema.AppMirrorSession)], row["reason"])
	}
	return nil
}
