package ports

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// defaultPVID is the VLAN of untagged frames at a port that is an untagged member of no VLAN.
const defaultPVID = 1

// bridged is the state of ports and LAGs that are members of a VLAN.
type bridged struct {
	bridgePort sai.OID
	pvid       uint16 // VLAN of untagged frames
}

func (o *Orch) removeVLANMembers(ctx context.Context, p *plan) {
	for _, m := range sortedMembers(o.asic.vlanMembers) {
		if _, ok := p.vlanMembers[m]; ok && !o.asic.replaced(p, m.port) {
			continue
		}
		if err := o.asic.remove(ctx, sai.ObjectTypeVLANMember, o.asic.vlanMembers[m].oid); err != nil {
			o.ledger.Fail(orch.Row(schema.AppVLANMember, m.String()), "remove the VLAN member", err)
			continue
		}
		delete(o.asic.vlanMembers, m)
		o.oper.touch(m.group)
	}
	o.resetPVIDs(ctx)
}

// resetPVIDs sets the VLAN of untagged frames to the default at ports and LAGs that have left it, also those for which
// an earlier pass has failed.
func (o *Orch) resetPVIDs(ctx context.Context) {
	type at struct {
		port string
		vlan uint16
	}
	members := map[at]bool{}
	for m, is := range o.asic.vlanMembers {
		members[at{m.port, is.vlan}] = true
	}
	for _, name := range append(sorted(o.asic.ports), sorted(o.asic.lags)...) {
		b, k := o.asic.bridge(name)
		if b == nil || b.pvid == defaultPVID || members[at{name, b.pvid}] {
			continue
		}
		if err := o.asic.setPVID(ctx, b, k, defaultPVID); err != nil {
			o.asic.log.Error("untagged frames still go to a VLAN that was left", "port", name, "vlan", b.pvid, "err", err)
			o.ledger.Again()
		}
	}
}

// removeBridgePorts removes from the bridge the ports and LAGs that are no longer in any VLAN, and flushes the
// addresses learned there.
func (o *Orch) removeBridgePorts(ctx context.Context, p *plan) {
	wanted := p.bridged()
	used := map[string]bool{}
	for m := range o.asic.vlanMembers {
		used[m.port] = true
	}
	names := append(sorted(o.asic.ports), sorted(o.asic.lags)...)
	for _, name := range names {
		b, _ := o.asic.bridge(name)
		if b == nil || b.bridgePort == 0 || used[name] || wanted[name] && !o.asic.replaced(p, name) {
			continue
		}
		if err := o.asic.removeBridgePort(ctx, name, b); err != nil {
			o.asic.log.Error("bridge port stays", "port", name, "err", err)
			o.ledger.Again()
		}
	}
}

func (o *Orch) removeVLANs(ctx context.Context, p *plan) {
	for _, name := range sorted(o.asic.vlans) {
		if _, ok := p.vlans[name]; ok {
			continue
		}
		if o.asic.vlans[name] == o.asic.chip.vlan {
			delete(o.asic.vlans, name)
			continue
		}
		if err := o.asic.remove(ctx, sai.ObjectTypeVLAN, o.asic.vlans[name]); err != nil {
			o.ledger.Fail(orch.Row(schema.AppVLAN, name), "remove the VLAN", err)
			continue
		}
		delete(o.asic.vlans, name)
	}
}

func (o *Orch) createVLANs(ctx context.Context, p *plan) {
	for _, name := range sorted(p.vlans) {
		k := orch.Row(schema.AppVLAN, name)
		if _, ok := o.asic.vlans[name]; ok || o.ledger.Refused(k) {
			continue
		}
		o.oper.touch(name)
		if p.vlans[name] == defaultPVID { // a VLAN member that the ASIC created itself
			o.asic.vlans[name] = o.asic.chip.vlan
			continue
		}
		attrs := []sai.Attr{{ID: sai.VLANAttrVLANID, Value: sai.Uint(p.vlans[name])}}
		oid, err := o.asic.api.Create(ctx, sai.ObjectTypeVLAN, attrs)
		if err != nil {
			o.ledger.Fail(k, "create the VLAN", err)
			continue
		}
		o.asic.vlans[name] = oid
	}
}

func (o *Orch) createVLANMembers(ctx context.Context, p *plan) {
	for _, m := range sortedMembers(p.vlanMembers) {
		k := orch.Row(schema.AppVLANMember, m.String())
		_, haveVLAN := o.asic.vlans[m.group]
		b, port := o.asic.bridgedOf(m.port)
		switch {
		case o.ledger.Refused(k):
		case !haveVLAN:
			o.wait(k, "VLAN", m.group)
		case b == nil:
			o.wait(k, "port", m.port)
		default:
			if o.asic.vlanMembers[m] == nil {
				o.oper.touch(m.group)
			}
			var undo orch.Undo
			if err := o.addVLANMember(ctx, &undo, m, p, b, port); err != nil {
				o.ledger.Fail(k, "VLAN member", orch.Undone(ctx, &undo, err))
			}
		}
	}
}

// addVLANMember makes a port or LAG a member, or changes its tagging mode.
func (o *Orch) addVLANMember(ctx context.Context, undo *orch.Undo, m member, p *plan, b *bridged, port sai.Key) error {
	mode, vlan := p.vlanMembers[m], p.vlans[m.group]
	have := o.asic.vlanMembers[m]
	switch {
	case have == nil:
		if err := o.asic.addBridgePort(ctx, undo, m.port, b, port.OID); err != nil {
			return err
		}
		oid, err := o.asic.api.Create(ctx, sai.ObjectTypeVLANMember, []sai.Attr{
			{ID: sai.VLANMemberAttrVLANID, Value: o.asic.vlans[m.group]},
			{ID: sai.VLANMemberAttrBridgePortID, Value: b.bridgePort},
			{ID: sai.VLANMemberAttrVLANTaggingMode, Value: mode},
		})
		if err != nil {
			return fmt.Errorf("create the VLAN member: %w", err)
		}
		have = &vlanMember{oid: oid, mode: mode, vlan: vlan}
		o.asic.vlanMembers[m] = have
		undo.Push("VLAN member "+m.String(), func(ctx context.Context) error {
			delete(o.asic.vlanMembers, m)
			return o.asic.remove(ctx, sai.ObjectTypeVLANMember, oid)
		})
	case have.mode != mode:
		if err := o.asic.set(ctx, sai.ObjectTypeVLANMember, have.oid, sai.VLANMemberAttrVLANTaggingMode, mode); err != nil {
			return fmt.Errorf("set the tagging mode: %w", err)
		}
		was := have.mode
		have.mode = mode
		undo.Push("tagging mode of "+m.String(), func(ctx context.Context) error {
			have.mode = was
			return o.asic.set(ctx, sai.ObjectTypeVLANMember, have.oid, sai.VLANMemberAttrVLANTaggingMode, was)
		})
	}
	switch {
	case mode == sai.VLANTaggingModeUntagged && b.pvid != vlan:
		return o.asic.setPVID(ctx, b, port, vlan)
	case mode != sai.VLANTaggingModeUntagged && b.pvid == vlan:
		return o.asic.setPVID(ctx, b, port, defaultPVID)
	}
	return nil
}
