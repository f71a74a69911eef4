package qos_test

import (
	"context"

	"tamtam/orch/orchtest"
	"tamtam/orchagent/ports"
	"tamtam/orchagent/qos"
	"tamtam/sai/saitest"
)

// A queue of a port uses a scheduler. A queue of a port that does not exist waits.
func Example() {
	orchtest.Example(saitest.New(saitest.Options{Queues: 8}), func(ctx context.Context, a *orchtest.Agent) error {
		of, err := ports.New(ctx, ports.Config{SAI: a.SAI, Daemon: a.Daemon, Redis: a.Redis})
		if err != nil {
			return err
		}
		o, err := qos.New(ctx, qos.Config{SAI: a.SAI, Daemon: a.Daemon, Redis: a.Redis, Ports: of})
		if err != nil {
			return err
		}
		a.Applied = append(a.Applied, of.ViewApplied, o.ViewApplied)
		return nil
	}, []string{
		"SCHEDULER_TABLE:strict type=STRICT",
		"QUEUE_TABLE:Ethernet0:7 scheduler=strict",
		"QUEUE_TABLE:Ethernet4:7 scheduler=strict",
	}, "QUEUE_TABLE|Ethernet0|7", "QUEUE_TABLE|Ethernet4|7")
	// Output:
	// Ethernet0|7: active ""
	// Ethernet4|7: pending "no port Ethernet4"
}
