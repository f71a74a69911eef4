package acl

import (
	"context"
	"net/netip"
	"testing"

	"tamtam/orch"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

// sessions and hops hold mirror sessions and next hops, which tests can change at any time.
type sessions struct {
	oids    map[string]sai.OID
	changes orch.Topic[[]string]
}

func (s *sessions) Session(name string) (sai.OID, bool) { oid, ok := s.oids[name]; return oid, ok }

func (s *sessions) Changes() *orch.Topic[[]string] { return &s.changes }

type hops struct {
	oids    map[netip.Addr]sai.OID
	changes orch.Topic[struct{}]
}

func (h *hops) NextHop(_ string, addr netip.Addr) (sai.OID, bool) {
	oid, ok := h.oids[addr]
	return oid, ok
}

func (h *hops) Changes() *orch.Topic[struct{}] { return &h.changes }

// bench is an Orch on a fake ASIC with its own Redis.
type bench struct {
	*orchtest.Bench
	orch     *Orch
	ports    *orchtest.Ports
	sessions *sessions
	hops     *hops
	reported []schema.ACLRuleKey
}

// newBench makes a switch with the ports Ethernet0, Ethernet4, Ethernet8 and Ethernet12.
func newBench(t testing.TB, opts saitest.Options) *bench {
	t.Helper()
	return newBenchWith(t, opts, false)
}

// newBenchWith makes the same switch, with labels on the counters of all rules if labels is true.
func newBenchWith(t testing.TB, opts saitest.Options, labels bool) *bench {
	t.Helper()
	opts.Ports = 4
	b := &bench{
		Bench:    orchtest.Started(t, opts),
		sessions: &sessions{oids: map[string]sai.OID{}}, hops: &hops{oids: map[netip.Addr]sai.OID{}},
	}
	sw, ports := b.CreateSwitch()
	b.ports = orchtest.NewPorts(ports)
	b.addHop(sw, "10.0.0.9")
	var err error
	b.orch, err = New(b.Ctx, Config{
		SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: b.ports, Poller: b.Poller, Switch: sw, Labels: labels,
		Sessions: b.sessions, NextHops: b.hops,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.orch.Watch().Subscribe(
		func(_ context.Context, keys []schema.ACLRuleKey) { b.reported = append(b.reported, keys...) },
	)
	b.Step()
	b.Rec.Reset()
	return b
}

// failing is an API that cannot be read.
type failing struct {
	sai.API
	status sai.Status
}

func (f failing) Get(_ context.Context, k sai.Key, _ []sai.Attr) ([]sai.Attr, error) {
	return nil, &sai.CallError{Op: "get", Type: k.Type, Status: f.status}
}
