package ports_test

import (
	"context"

	"tamtam/orch/orchtest"
	"tamtam/orchagent/ports"
	"tamtam/sai/saitest"
)

// A port is created and joins a PortChannel. A member of a PortChannel that does not exist waits.
func Example() {
	orchtest.Example(saitest.NewFake(), func(ctx context.Context, a *orchtest.Agent) error {
		o, err := ports.New(ctx, ports.Config{SAI: a.SAI, Daemon: a.Daemon, Redis: a.Redis})
		if err != nil {
			return err
		}
		a.Applied = append(a.Applied, o.ViewApplied)
		return nil
	}, []string{
		"LAG_TABLE:PortChannel1 admin_status=up",
		"LAG_MEMBER_TABLE:PortChannel1:Ethernet0 status=enabled",
		"LAG_MEMBER_TABLE:PortChannel2:Ethernet0 status=enabled",
	}, "LAG_MEMBER_TABLE|PortChannel1|Ethernet0", "LAG_MEMBER_TABLE|PortChannel2|Ethernet0")
	// Output:
	// PortChannel1|Ethernet0: active ""
	// PortChannel2|Ethernet0: pending "no PortChannel PortChannel2"
}
