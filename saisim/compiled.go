package saisim

import (
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/saisim/tm"
)

// forwarding is what the configuration means to the packet path.
type forwarding struct {
	ids   map[config.ID]any // what is compiled of rows that others refer to
	byID  []*port           // by first lane; nil: none
	ports []*port           // in the order of id

	vlans [4096]*vlan
	lags  []*lag
	fdb   fdb

	routed
	switchMAC         uint64
	mirrors           []*mirrorSession // by index; nil: free
	traps             [config.NumTraps]trapState
	trapsIP           bool // some trap that trapIP knows is set
	lagSeed, ecmpSeed uint32
	noFlood           config.Flood
	ranges            rangeCheckers
	vlanACLs          [2]bool // some VLAN has a table bound
	switchACL         [2]config.ID
	marking           marking

	// stale says that the lists which are derived from objects (members of
	// LAGs and VLANs, ACL tables of ports) must be made anew.
	stale                       bool
	ingressCycles, egressCycles Cycle
}

// routed is what the virtual router is told.
type routed struct {
	fib4, fib6       fib
	routes4, routes6 bool // admin states of the virtual router
	dests            map[netip.Prefix]*dest
	shared           map[netip.Prefix]*dest // of several neighbours
	adjacencies      map[adjacencyKey]*adjacency
	cpu              config.ID // the CPU port
}

// reset makes the packet path as it is before the switch object is created. Frames in
// it are dropped; time and the books go on.
func (c *engine) reset() {
	for _, p := range c.ports {
		c.purge(p)
	}
	for c.enter.Len() > 0 {
		c.drop(nil, c.enter.First().pk, DropPortRemoved)
		c.enter.Pop()
	}
	for c.pipe.Len() > 0 {
		c.drop(nil, c.pipe.First().pk, DropPortRemoved)
		c.pipe.Pop()
	}
	for c.leaving.Len() > 0 {
		c.release(c.leaving.First().copy.pk)
		c.leaving.Pop()
	}
	c.agenda, c.buffer = &agenda{}, tm.NewBuffer(c.prof.Buffer.CellBytes, c.prof.Buffer.Cells)
	c.waiting, c.waitingN, c.served = portSet{}, 0, profile.MaxLanes-1
	c.sketch = sketching{}
	c.recording, c.recorders, c.skips, c.plannedFaults = recording{}, 0, 0, nil
	c.retrack()
	c.program, c.planned, c.batches, c.programGraph = nil, nil, tm.Ring[scheduled]{}, nil
	c.forwarding = forwarding{
		ids: map[config.ID]any{},
		routed: routed{
			dests: map[netip.Prefix]*dest{}, shared: map[netip.Prefix]*dest{}, adjacencies: map[adjacencyKey]*adjacency{},
		},
		byID:          make([]*port, c.prof.FirstLane+c.prof.Lanes),
		fdb:           newFDB(int(c.prof.FDB)),
		ranges:        rangeCheckers{list: make([]rangeChecker, c.prof.ACL.Ranges)},
		mirrors:       make([]*mirrorSession, min(c.prof.MirrorSessions, profile.MaxMirrors)),
		ingressCycles: Cycle(c.prof.IngressCycles()), egressCycles: Cycle(c.prof.EgressCycles()),
	}
	c.defaultTraps()
}

// applySwitch makes what the switch object says count.
func (c *engine) applySwitch(r config.Switch, gone bool) {
	c.stale = true
	if gone {
		return // all of it is made anew
	}
	c.switchMAC, c.cpu, c.noFlood = mac48(r.MAC[:]), r.CPU, r.NoFlood
	c.lagSeed, c.ecmpSeed = r.LAGSeed, r.ECMPSeed
	c.switchACL = [2]config.ID{r.IngressACL, r.EgressACL}
	age, _ := mulDiv(uint64(r.AgingSeconds), c.prof.ClockHz, 1)
	if c.fdb.age != Cycle(age) {
		c.fdb.age = Cycle(age)
		c.sweepFor(c.now)
	}
}
