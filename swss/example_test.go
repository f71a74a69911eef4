package swss_test

import (
	"context"
	"fmt"

	"tamtam/swss"
)

// Rows are handed over through APPL_DB. Two writes that were not consumed yet are merged into one row.
func Example() {
	ctx := context.Background()
	r, err := swss.OpenEmbedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	appl := r.DB(swss.ApplDB)

	from := swss.NewProducerState(appl, "VLAN_TABLE")
	if err := from.Set(ctx, "Vlan10", []swss.Pair{{Field: "mtu", Value: "9100"}}); err != nil {
		fmt.Println(err)
	}
	if err := from.Set(ctx, "Vlan10", []swss.Pair{{Field: "admin_status", Value: "up"}}); err != nil {
		fmt.Println(err)
	}

	l := swss.NewListener(r)
	defer l.Close()
	rows, err := swss.NewConsumerState(l, appl, "VLAN_TABLE").Pops(ctx)
	for _, row := range rows {
		fmt.Println(row.Op, row.Key, row.FieldValues())
	}
	fmt.Println(err)
	// Output:
	// SET Vlan10 map[admin_status:up mtu:9100]
	// <nil>
}
