package mirror_test

import (
	"context"

	"tamtam/orch/orchtest"
	"tamtam/orchagent/mirror"
	"tamtam/orchagent/ports"
	"tamtam/sai/saitest"
)

// A session copies to a port. A session to a port that does not exist is inactive, and its status contains the reason.
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
