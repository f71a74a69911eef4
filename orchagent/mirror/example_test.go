package mirror_test

import (
	"context"

	"tamtam/orch/orchtest"
	"tamtam/orchagent/mirror"
	"tamtam/orchagent/ports"
	"tamtam/sai/saitest"
)

// A session copies to a port; one to a port that there is not is inactive, and says why.
func Example() {
	orchtest.Example(saitest.NewFake(), func(ctx context.Context, a *orchtest.Agent) error {
		of, err := ports.New(ctx, ports.Config{SAI: a.SAI, Daemon: a.Daemon, Redis: a.Redis})
		if err != nil {
			return err
		}
		o, err := mirror.New(ctx, mirror.Config{SAI: a.SAI, Daemon: a.Daemon, Redis: a.Redis, Ports: of})
		if err != nil {
			return err
		}
		a.Applied = append(a.Applied, of.ViewApplied, o.ViewApplied)
		return nil
	}, []string{
		"MIRROR_SESSION_TABLE:tap type=SPAN dst_port=Ethernet0",
		"MIRROR_SESSION_TABLE:gone type=SPAN dst_port=Ethernet4",
	}, "MIRROR_SESSION_TABLE|tap", "MIRROR_SESSION_TABLE|gone")
	// Output:
	// tap: active ""
	// gone: inactive "no port Ethernet4"
}
