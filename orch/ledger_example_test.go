package orch_test

import (
	"context"
	"fmt"
	"time"

	"tamtam/orch"
	"tamtam/swss"
)

// A LAG member needs its LAG. The result does not depend on the order of the two rows, because one pass looks at all
// rows.
func ExampleLedger() {
	ctx := context.Background()
	r, err := swss.OpenEmbedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	d := orch.NewDaemon(orch.Orchagent, r, orch.Options{})
	defer d.Close()

	var ledger *orch.Ledger
	pass := func(context.Context) error {
		for _, member := range ledger.Keys("MEMBER") {
			lag := ledger.Rows[orch.Row("MEMBER", member)]["lag"]
			if _, there := ledger.Rows[orch.Row("LAG", lag)]; !there {
				ledger.Why[orch.Row("MEMBER", member)] = orch.Wait("LAG", lag, "no LAG %s", lag)
			}
		}
		return nil
	}
	ledger = orch.NewLedger(d, r.DB(swss.ApplDB), pass, orch.LedgerTable{Name: "LAG"}, orch.LedgerTable{Name: "MEMBER"})

	write := func(table, key, field, value string) {
		row := []swss.Pair{{Field: field, Value: value}}
		if err := swss.NewProducerState(r.DB(swss.ApplDB), table).Set(ctx, key, row); err != nil {
			fmt.Println(err)
		}
		_, err := d.Step(ctx, time.Unix(1700000000, 0))
		state, _, _ := swss.NewTable(r.DB(swss.StateDB), "MEMBER").Get(ctx, "Ethernet0")
		fmt.Println(state["status"], state["reason"], err)
	}
	write("MEMBER", "Ethernet0", "lag", "PortChannel1")
	write("LAG", "PortChannel1", "mtu", "9100")
	// Output:
	// pending no LAG PortChannel1 <nil>
	// active  <nil>
}
