package copp_test

import (
	"context"

	"tamtam/orch/orchtest"
	"tamtam/orchagent/copp"
	"tamtam/orchagent/ports"
	"tamtam/sai/saitest"
)

// A trap group owns the traps of its protocols. A second group fails if it names one of these traps.
func Example() {
	orchtest.Example(saitest.NewFake(), func(ctx context.Context, a *orchtest.Agent) error {
		of, err := ports.New(ctx, ports.Config{SAI: a.SAI, Daemon: a.Daemon, Redis: a.Redis})
		if err != nil {
			return err
		}
		o, err := copp.New(ctx, copp.Config{SAI: a.SAI, Daemon: a.Daemon, Redis: a.Redis, Switch: of.Switch()})
		if err != nil {
			return err
		}
		a.Applied = append(a.Applied, of.ViewApplied, o.ViewApplied)
		return nil
	}, []string{
		"COPP_TABLE:first trap_ids=lacp trap_action=trap queue=4",
		"COPP_TABLE:second trap_ids=lacp trap_action=trap queue=4",
	}, "COPP_TABLE|first", "COPP_TABLE|second")
	// Output:
	// first: active ""
	// second: failed "trap lacp is in group first"
}
