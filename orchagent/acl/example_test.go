package acl_test

import (
	"context"

	"tamtam/orch/orchtest"
	"tamtam/orchagent/acl"
	"tamtam/orchagent/ports"
	"tamtam/sai/saitest"
)

// A rule becomes an entry of a port's table. A rule whose table does not exist waits.
func Example() {
	orchtest.Example(saitest.NewFake(), func(ctx context.Context, a *orchtest.Agent) error {
		of, err := ports.New(ctx, ports.Config{SAI: a.SAI, Daemon: a.Daemon, Redis: a.Redis})
		if err != nil {
			return err
		}
		a.Applied = append(a.Applied, of.ViewApplied)
		_, err = acl.New(ctx, acl.Config{
			SAI: a.SAI, Daemon: a.Daemon, Redis: a.Redis, Ports: of, Switch: of.Switch(),
		})
		return err
	}, []string{
		"ACL_TABLE_TABLE:DATA TYPE=L3 STAGE=INGRESS PORTS=Ethernet0",
		"ACL_RULE_TABLE:DATA:web PRIORITY=10 L4_DST_PORT=80 PACKET_ACTION=DROP",
		"ACL_RULE_TABLE:GONE:web PRIORITY=10 L4_DST_PORT=80 PACKET_ACTION=DROP",
	}, "ACL_RULE_TABLE|DATA|web", "ACL_RULE_TABLE|GONE|web")
	// Output:
	// DATA|web: Active ""
	// GONE|web: Pending creation "no ACL table GONE"
}
