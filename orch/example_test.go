package orch_test

import (
	"context"
	"fmt"
	"time"

	"tamtam/orch"
	"tamtam/swss"
)

// A session waits for its flow group, and STATE_DB reports that. When the group exists, the session becomes active.
func ExampleDaemon() {
	ctx := context.Background()
	r, err := swss.OpenEmbedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	appl, state := r.DB(swss.ApplDB), swss.NewTable(r.DB(swss.StateDB), "SESSION_STATE")

	d := orch.NewDaemon("sessiond", r, orch.Options{})
	defer d.Close()
	groups := map[string]bool{}
	handler := orch.Each(func(_ context.Context, t orch.Task) error {
		if group := t.Fields["flowgroup"]; t.Op == orch.Set && !groups[group] {
			return orch.Wait("flow group", group, "")
		}
		return nil
	})
	d.Consume(func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, "SESSION") },
		"SESSION", handler, orch.Reporting{StateTable: "SESSION_STATE"})

	web := []swss.Pair{{Field: "flowgroup", Value: "web"}}
	if err := swss.NewProducerState(appl, "SESSION").Set(ctx, "s1", web); err != nil {
		fmt.Println(err)
	}
	step := func() {
		_, err := d.Step(ctx, time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC))
		row, _, _ := state.Get(ctx, "s1")
		fmt.Println(row, err)
	}
	step()
	groups["web"] = true
	d.Resolve(orch.Dep{Kind: "flow group", Name: "web"})
	step()
	// Output:
	// map[by:sessiond reason:waiting for flow group web since:2025-01-02T03:04:05Z status:pending] <nil>
	// map[by:sessiond reason: since:2025-01-02T03:04:05Z status:active] <nil>
}
