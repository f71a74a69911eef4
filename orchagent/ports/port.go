package ports

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// overhead is the number of bytes of a frame besides its MTU: Ethernet header, one VLAN tag and FCS. SAI's MTU includes
// it.
const overhead = 14 + 4 + 4

type (
	port struct {
		oid, hostif sai.OID
		spec        portSpec // as programmed
		lag         string   // the LAG that it is a member of
		oper        sai.Enum
		leaving     bool // whether it must go, or could not be removed
		bridged
	}
	lag struct {
		oid      sai.OID
		leaving  bool
		minLinks int // minimum number of sending members with which the LAG is up
		bridged
	}
	lagMember struct {
		oid sai.OID
		traffic
	}
	vlanMember struct {
		oid  sai.OID
		mode sai.Enum
		vlan uint16
	}
)

// createPorts claims or creates the ports of rows, and sets the changed attributes of existing ports.
func (o *Orch) createPorts(ctx context.Context, p *plan) (created []string) {
	for _, name := range sorted(p.ports) {
		k := orch.Row(schema.AppPort, name)
		want, have := p.ports[name], o.asic.ports[name]
		switch {
		case o.ledger.Refused(k):
		case have != nil && have.leaving:
			o.ledger.Why[k] = orch.Wait("port", name, "%s with its former lanes could not be removed yet", name)
		case have != nil:
			if err := o.asic.update(ctx, have, want); err != nil {
				o.ledger.Fail(k, "port "+name, err)
			}
		case !o.applied && o.asic.chip.unused[laneKey(want.lanes)] == 0:
			o.ledger.Why[k] = orch.Wait("port", name, "%s is created when the ASIC's view is complete", name)
		default:
			if err := o.createPort(ctx, name, want); err != nil {
				o.ledger.Fail(k, "port "+name, err)
				continue
			}
			created = append(created, name)
		}
	}
	return created
}

// createPort claims the ASIC's port with these lanes, or creates one. It also creates a host interface with the port's
// name.
func (o *Orch) createPort(ctx context.Context, name string, want portSpec) error {
	var undo orch.Undo
	have := &port{spec: portSpec{lanes: want.lanes}, bridged: bridged{pvid: defaultPVID}}
	lanes := laneKey(want.lanes)
	if oid, ok := o.asic.chip.unused[lanes]; ok {
		have.oid = oid
	} else {
		attrs := []sai.Attr{
			{ID: sai.PortAttrHWLaneList, Value: laneList(want.lanes)},
			{ID: sai.PortAttrSpeed, Value: sai.Uint(want.speed)},
		}
		oid, err := o.asic.api.Create(ctx, sai.ObjectTypePort, attrs)
		if err != nil {
			err = o.asic.chip.limits.refused(want, 0, orch.AtAttr(err, sai.ObjectTypePort, attrs))
			return fmt.Errorf("create the port on lanes %s: %w", lanes, err)
		}
		have.oid, have.spec.speed = oid, want.speed
		undo.Push("port "+name, func(ctx context.Context) error {
			err := o.asic.removeFromASIC(ctx, oid)
			if err != nil {
				o.asic.chip.unused[lanes] = oid // claimed by the next port with these lanes
			}
			return err
		})
	}
	hostif, err := o.asic.api.Create(ctx, sai.ObjectTypeHostif, []sai.Attr{
		{ID: sai.HostifAttrType, Value: sai.HostifTypeNetdev},
		{ID: sai.HostifAttrObjID, Value: have.oid},
		{ID: sai.HostifAttrName, Value: sai.Text(name)},
	})
	if err != nil {
		return orch.Undone(ctx, &undo, fmt.Errorf("create the host interface: %w", err))
	}
	have.hostif = hostif
	undo.Push("host interface "+name, func(ctx context.Context) error {
		return o.asic.remove(ctx, sai.ObjectTypeHostif, hostif)
	})
	if err := o.asic.update(ctx, have, want); err != nil {
		return orch.Undone(ctx, &undo, err)
	}
	if err := o.asic.readOper(ctx, have); err != nil {
		return orch.Undone(ctx, &undo, err)
	}
	delete(o.asic.chip.unused, lanes)
	o.asic.ports[name] = have
	o.asic.byOID[have.oid] = name
	o.counters.addPort(name, have.oid)
	o.operChanged(ctx, name)
	return nil
}

func laneList(lanes []uint32) sai.Uints {
	list := make(sai.Uints, len(lanes))
	for i, l := range lanes {
		list[i] = uint64(l)
	}
	return list
}

// removePorts removes the ports that are leaving. Failures are tried again at the next change.
func (o *Orch) removePorts(ctx context.Context) {
	if !o.applied {
		return
	}
	var leaving []string
	for _, name := range sorted(o.asic.ports) {
		if p := o.asic.ports[name]; p.leaving {
			leaving = append(leaving, name)
			o.counters.removePort(name, p.oid)
		}
	}
	if err := o.counters.stopPolling(ctx); err != nil {
		o.asic.log.Error("ports that go are still polled", "err", err)
		return
	}
	for _, name := range leaving {
		if err := o.removePort(ctx, name); err != nil {
			o.asic.log.Error("port stays in the ASIC", "port", name, "err", err)
			if k := orch.Row(schema.AppPort, name); o.ledger.Rows[k] != nil {
				o.ledger.Fail(k, "port "+name, err)
			} else {
				o.ledger.Again()
			}
		}
	}
}

func (o *Orch) removePort(ctx context.Context, name string) error {
	p := o.asic.ports[name]
	if p.hostif != 0 {
		if err := o.asic.remove(ctx, sai.ObjectTypeHostif, p.hostif); err != nil {
			return fmt.Errorf("remove the host interface: %w", err)
		}
		p.hostif = 0
	}
	if p.spec.up {
		if err := o.asic.set(ctx, sai.ObjectTypePort, p.oid, sai.PortAttrAdminState, sai.Bool(false)); err != nil {
			return fmt.Errorf("set the port down: %w", err)
		}
		p.spec.up = false
	}
	if err := o.asic.removeFromASIC(ctx, p.oid); err != nil {
		return err
	}
	delete(o.asic.ports, name)
	delete(o.asic.byOID, p.oid)
	return nil
}

// removeUnused removes the ASIC's own ports without a row, as in SONiC. This frees their lanes. A port that cannot be
// removed in bulk is removed by itself.
func (o *Orch) removeUnused(ctx context.Context, p *plan) {
	if !o.applied {
		return
	}
	unwanted := o.unwanted(p)
	keys := make([]sai.Key, len(unwanted))
	for i, lanes := range unwanted {
		keys[i] = sai.Obj(sai.ObjectTypePort, o.asic.chip.unused[lanes])
	}
	for i, err := range o.asic.api.BulkRemove(ctx, keys) {
		lanes := unwanted[i]
		if err != nil {
			err = o.asic.removeFromASIC(ctx, keys[i].OID)
		}
		if err != nil {
			if was := o.stuck[lanes]; was == nil || was.Error() != err.Error() {
				o.asic.log.Error("an unused port stays in the ASIC", "lanes", lanes, "err", err)
			}
			o.stuck[lanes] = err
			continue
		}
		delete(o.stuck, lanes)
		delete(o.asic.chip.unused, lanes)
	}
}

// unwanted returns the lanes of the ASIC's own ports without a row.
func (o *Orch) unwanted(p *plan) []string {
	wanted := map[string]bool{}
	for _, spec := range p.ports {
		wanted[laneKey(spec.lanes)] = true
	}
	return slices.DeleteFunc(sorted(o.asic.chip.unused), func(lanes string) bool { return wanted[lanes] })
}

// leftover is the prefix of the key of a port without a row.
const leftover = "port of lanes "

// leftovers compares the ASIC's ports with the rows. A port without a row has no status that could report it.
func (o *Orch) leftovers() drift.Stage {
	list := func(context.Context) ([]string, error) {
		if !o.applied || o.plan == nil {
			return nil, nil
		}
		lanes := o.unwanted(o.plan)
		for i := range lanes {
			lanes[i] = leftover + lanes[i]
		}
		return lanes, nil
	}
	return drift.Stage{
		Name: "ports of the ASIC",
		List: func(ctx context.Context, _ drift.Keys) ([]string, error) { return list(ctx) },
		Look: func(ctx context.Context, keys []string) ([]drift.Finding, error) {
			still, err := list(ctx)
			if err != nil {
				return nil, err
			}
			var found []drift.Finding
			for _, key := range keys {
				if !slices.Contains(still, key) {
					continue
				}
				why := o.stuck[strings.TrimPrefix(key, leftover)]
				status, _ := sai.StatusOf(why)
				f := drift.Finding{Key: key, What: fmt.Sprintf("is named by no row, and stays: %v", why)}
				// Possibly only syncd can remove the object that uses the port. syncd does so once orchagent is
				// healthy.
				if f.Late = status == sai.StatusObjectInUse; f.Late {
					o.ledger.Again()
				}
				found = append(found, f)
			}
			return found, nil
		},
		Heal: func(ctx context.Context, _ []drift.Finding) error { return o.ledger.Reconcile(ctx) },
	}
}

// Port returns the object of a port, and the LAG that it is a member of, or "" if it is not a member. It does not find
// ports that are about to be removed.
func (o *Orch) Port(name string) (oid sai.OID, lag string, ok bool) {
	p := o.asic.ports[name]
	if p == nil || p.leaving {
		return 0, "", false
	}
	return p.oid, p.lag, true
}

// LAG returns the object of a LAG and the names of its members, sorted.
func (o *Orch) LAG(name string) (oid sai.OID, members []string, ok bool) {
	l := o.asic.lags[name]
	if l == nil || l.leaving {
		return 0, nil, false
	}
	for n, p := range o.asic.ports {
		if p.lag == name && !p.leaving {
			members = append(members, n)
		}
	}
	slices.SortFunc(members, schema.CompareNames)
	return l.oid, members, true
}

// Names returns the names of all ports and LAGs, sorted, ports first.
func (o *Orch) Names() []string {
	var names []string
	for _, n := range sorted(o.asic.ports) {
		if !o.asic.ports[n].leaving {
			names = append(names, n)
		}
	}
	for _, n := range sorted(o.asic.lags) {
		if !o.asic.lags[n].leaving {
			names = append(names, n)
		}
	}
	return names
}

// Changes publishes the sorted names of ports and LAGs that were created, are about to be removed, or joined or left a
// LAG. Those about to be removed are no longer found. Subscribers release them before they return.
func (o *Orch) Changes() *orch.Topic[[]string] { return &o.changes }
