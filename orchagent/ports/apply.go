package ports

import (
	"context"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// converge brings the ASIC in line with the rows. If an object fails, the error is recorded for its row, and the other
// objects are still programmed.
func (o *Orch) converge(ctx context.Context) {
	for range o.ledger.Passes {
		o.apply(ctx, makePlan(o.ledger))
	}
}

// apply applies all differences between the plan and the ASIC, each once.
func (o *Orch) apply(ctx context.Context, p *plan) {
	o.plan = p
	o.ledger.Restart(p.why)
	o.layout.Publish(ctx, struct{}{})

	o.removeVLANMembers(ctx, p)
	o.removeBridgePorts(ctx, p)
	freed := o.markLeaving(p)
	o.publish(ctx, freed)
	changed := o.removeLAGMembers(ctx, p)
	o.removeLAGs(ctx, p)
	o.removeVLANs(ctx, p)
	o.removePorts(ctx)
	o.removeUnused(ctx, p)

	changed = append(changed, o.createPorts(ctx, p)...)
	changed = append(changed, o.createLAGs(ctx, p)...)
	changed = append(changed, o.join(ctx, p)...)
	o.createVLANs(ctx, p)
	o.createVLANMembers(ctx, p)
	o.publish(ctx, changed)
	o.layout.Publish(ctx, struct{}{})
	o.turned.report(ctx, o)
}

// publish notifies the other orchs that these ports and LAGs have changed.
func (o *Orch) publish(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	slices.SortFunc(names, schema.CompareNames)
	for _, n := range names {
		o.oper.touch(n)
	}
	o.changes.Publish(ctx, slices.Compact(names))
}

// wait makes a row wait for an object that is planned but not in the ASIC.
func (o *Orch) wait(k orch.RowKey, kind, name string) {
	if !o.ledger.Refused(k) {
		o.ledger.Why[k] = orch.Wait(kind, name, "%s %s is not in the ASIC", kind, name)
	}
}

// markLeaving marks the ports and LAGs that must be removed, so that they are no longer found. It returns the names of
// all ports and LAGs whose result changed.
func (o *Orch) markLeaving(p *plan) []string {
	var names []string
	for _, name := range sorted(o.asic.ports) {
		if o.asic.replaced(p, name) && !o.asic.ports[name].leaving {
			o.asic.ports[name].leaving = true
			names = append(names, name)
			if lag := o.asic.ports[name].lag; lag != "" {
				names = append(names, lag) // the LAG loses a member
			}
		}
	}
	for _, name := range sorted(o.asic.lags) {
		if !p.lags[name] && !o.asic.lags[name].leaving {
			o.asic.lags[name].leaving = true
			names = append(names, name)
		}
	}
	return names
}

func (o *Orch) removeLAGMembers(ctx context.Context, p *plan) (changed []string) {
	for _, m := range sortedMembers(o.asic.lagMembers) {
		_, wanted := p.lagMembers[m]
		if wanted && !o.asic.ports[m.port].leaving {
			continue
		}
		if err := o.asic.remove(ctx, sai.ObjectTypeLAGMember, o.asic.lagMembers[m].oid); err != nil {
			o.ledger.Fail(orch.Row(schema.AppLAGMember, m.String()), "remove the LAG member", err)
			continue
		}
		delete(o.asic.lagMembers, m)
		o.asic.ports[m.port].lag = ""
		changed = append(changed, m.port, m.group)
	}
	return changed
}

func (o *Orch) removeLAGs(ctx context.Context, p *plan) {
	for _, name := range sorted(o.asic.lags) {
		if p.lags[name] {
			continue
		}
		if err := o.asic.remove(ctx, sai.ObjectTypeLAG, o.asic.lags[name].oid); err != nil {
			o.ledger.Fail(orch.Row(schema.AppLAG, name), "remove the LAG", err)
			continue
		}
		delete(o.asic.lags, name)
		o.counters.removeLAG(name)
	}
}

func (o *Orch) createLAGs(ctx context.Context, p *plan) (created []string) {
	for _, name := range sorted(p.lags) {
		k := orch.Row(schema.AppLAG, name)
		if have := o.asic.lags[name]; have != nil {
			if want := p.minLinks[name]; have.minLinks != want {
				was := o.asic.lagUp(name)
				have.minLinks = want
				o.oper.touch(name)
				o.turned.note(name, was, o.asic.lagUp(name))
			}
			if have.leaving { // its removal failed, and its row was written again
				have.leaving = false
				created = append(created, name)
			}
			continue
		}
		if o.ledger.Refused(k) {
			continue
		}
		oid, err := o.asic.api.Create(ctx, sai.ObjectTypeLAG, nil)
		if err != nil {
			o.ledger.Fail(k, "create the LAG", err)
			continue
		}
		o.asic.lags[name] = &lag{oid: oid, minLinks: p.minLinks[name], bridged: bridged{pvid: defaultPVID}}
		o.counters.addLAG(name, oid)
		created = append(created, name)
	}
	return created
}

// join makes ports members of LAGs, after other orchs have released the ports. It also updates existing members. It
// returns the names of new members and of their LAGs.
func (o *Orch) join(ctx context.Context, p *plan) (changed []string) {
	var joining []member
	for _, m := range sortedMembers(p.lagMembers) {
		k := orch.Row(schema.AppLAGMember, m.String())
		port, lag := o.asic.ports[m.port], o.asic.lags[m.group]
		switch {
		case o.asic.lagMembers[m] != nil:
			o.setMember(ctx, m, p.lagMembers[m])
		case lag == nil:
			o.wait(k, "PortChannel", m.group)
		case port == nil || port.leaving:
			o.wait(k, "port", m.port)
		case port.lag != "":
			o.ledger.Why[k] = orch.Wait("port", m.port, "%s is still a member of %s", m.port, port.lag)
		case !o.ledger.Refused(k):
			port.lag = m.group
			joining = append(joining, m)
			changed = append(changed, m.port, m.group)
		}
	}
	o.publish(ctx, slices.Clone(changed))
	for _, m := range joining {
		if err := o.asic.createMember(ctx, m, p.lagMembers[m]); err != nil {
			o.asic.ports[m.port].lag = ""
			o.ledger.Fail(orch.Row(schema.AppLAGMember, m.String()), "create the LAG member", err)
		}
		o.oper.touch(m.String())
	}
	return changed
}

// setMember sets whether a member receives and sends. Receiving is enabled before sending, and sending is disabled
// before receiving.
func (o *Orch) setMember(ctx context.Context, m member, does traffic) {
	have := o.asic.lagMembers[m]
	k := orch.Row(schema.AppLAGMember, m.String())
	if have.traffic == does || o.ledger.Refused(k) {
		return
	}
	o.oper.touch(m.group)
	o.oper.touch(m.String())
	set := func(id sai.AttrID, is *bool, want bool) {
		if *is == want || o.ledger.Refused(k) {
			return
		}
		if err := o.asic.set(ctx, sai.ObjectTypeLAGMember, have.oid, id, sai.Bool(!want)); err != nil {
			o.ledger.Fail(k, "set the LAG member", err)
			return
		}
		*is = want
	}
	was := o.asic.lagUp(m.group)
	if !does.distributes {
		set(sai.LAGMemberAttrEgressDisable, &have.distributes, false)
	}
	set(sai.LAGMemberAttrIngressDisable, &have.collects, does.collects)
	set(sai.LAGMemberAttrEgressDisable, &have.distributes, does.distributes)
	o.turned.note(m.group, was, o.asic.lagUp(m.group))
}

// turns contains, by name, the LAGs whose state changed to up (true) or down (false) because of their members.
type turns map[string]bool

func (t turns) note(name string, was, is bool) {
	if is != was {
		t[name] = is
	}
}

// report notifies the other orchs of the LAGs that are now down.
func (t turns) report(ctx context.Context, o *Orch) {
	for _, name := range sorted(t) {
		if !t[name] {
			o.downs.Publish(ctx, name)
		}
	}
	if len(t) > 0 {
		clear(t)
		o.opers.Publish(ctx, struct{}{})
	}
}
