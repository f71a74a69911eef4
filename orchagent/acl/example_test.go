package acl_test

import (
	"context"
	"fmt"
	"time"

	"tamtam/orch"
	"tamtam/orchagent/acl"
	"tamtam/orchagent/ports"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A rule becomes an entry of the table of a port; one of a table that there is not waits.
func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// DATA|web: Active ""
	// GONE|web: Pending creation "no ACL table GONE"
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
	_, err = acl.New(ctx, acl.Config{SAI: chip, Daemon: d, Redis: r, Ports: of, Switch: of.Switch()})
	if err != nil {
		return err
	}
	for _, row := range []struct {
		table, key string
		fields     swss.FieldValues
	}{
		{schema.AppPort, "Ethernet0", swss.FieldValues{"lanes": "1,2,3,4", "speed": "100000", "admin_status": "up"}},
		{schema.AppPort, schema.PortConfigDone, swss.FieldValues{"count": "1"}},
		{schema.AppACLTable, "DATA", swss.FieldValues{"TYPE": "L3", "STAGE": "INGRESS", "PORTS": "Ethernet0"}},
		{schema.AppACLRule, "DATA:web", swss.FieldValues{"PRIORITY": "10", "L4_DST_PORT": "80", "PACKET_ACTION": "DROP"}},
		{schema.AppACLRule, "GONE:web", swss.FieldValues{"PRIORITY": "10", "L4_DST_PORT": "80", "PACKET_ACTION": "DROP"}},
	} {
		appl := swss.NewProducerState(r.DB(swss.ApplDB), row.table)
		if err := appl.Set(ctx, row.key, swss.Pairs(row.fields)); err != nil {
			return err
		}
	}
	for _, then := range []func(context.Context) error{of.ViewApplied, nil} { // when the view is applied
		if _, err := d.Step(ctx, time.Unix(0, 0)); err != nil {
			return err
		}
		if then != nil {
			if err := then(ctx); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"DATA|web", "GONE|web"} {
		row, _, err := swss.NewTable(r.DB(swss.StateDB), schema.StateACLRule).Get(ctx, key)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s %q\n", key, row[schema.StatusField(schema.StateACLRule)], row["reason"])
	}
	return nil
}
