package forward_test

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
)

// A manager forwards one row and refuses another. The output writes the differences.
func ExampleOutput() {
	ctx := context.Background()
	r, err := swss.OpenEmbedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	d := orch.NewDaemon(orch.Manager, r, orch.Options{})
	defer d.Close()
	out := forward.New(d, r, forward.Table{Appl: "PORT_TABLE", State: "PORT_TABLE"})
	if err := out.Load(ctx); err != nil {
		fmt.Println(err)
		return
	}
	first, second := forward.Row{Table: "PORT_TABLE", Key: "Ethernet0"}, forward.Row{Table: "PORT_TABLE", Key: "Ethernet4"}
	out.Forward(first, swss.FieldValues{"mtu": "9100"}, first)
	out.Drop(second)
	out.Report(second, "failed", "no lanes")
	if err := out.Flush(ctx); err != nil {
		fmt.Println(err)
	}
	for _, row := range []forward.Row{first, second} {
		state, _, err := swss.NewTable(r.DB(swss.StateDB), row.Table).Get(ctx, row.Key)
		fmt.Printf("%s: %s, %s (%s) %v\n", row.Key, state["status"], state["reason"], state["by"], err)
	}
	// Output:
	// Ethernet0: pending, waiting for orchagent (orchagent) <nil>
	// Ethernet4: failed, no lanes (tammgrd) <nil>
}
