package routes

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A rif is a router interface in the ASIC.
type rif struct {
	oid     sai.OID
	spec    rifSpec
	leaving bool // whether its row or its port was deleted
}

// replaced reports whether a change of the router interface requires creating it again.
func (s rifSpec) replaced(by rifSpec) bool {
	return s.on != by.on || s.drop != by.drop || s.vrf != by.vrf || s.vlan != by.vlan
}

// markLeaving marks the objects that must be removed, so that nothing more is created on them.
func (o *Orch) markLeaving(p *plan) {
	for name, r := range o.rifs {
		spec, ok := p.rifs[name]
		r.leaving = !ok || r.spec.replaced(spec)
	}
	for h, n := range o.hops {
		_, ok := p.neighbors[h]
		n.leaving = !ok || o.rifs[h.name].leaving
	}
}

// makeRIFs creates the missing router interfaces, and sets the changed attributes of existing ones.
func (o *Orch) makeRIFs(ctx context.Context, p *plan) {
	for _, name := range sorted(p.rifs) {
		k := orch.Row(schema.AppInterface, name)
		have, spec := o.rifs[name], p.rifs[name]
		switch {
		case have == nil && o.vrfs[spec.vrf] == 0:
			o.ledger.Why[k] = orch.Wait("VRF", spec.vrf, "the VRF %s is not in the ASIC", spec.vrf)
		case have == nil:
			oid, err := o.api.Create(ctx, sai.ObjectTypeRouterInterface, o.rifAttrs(spec))
			if err != nil {
				o.ledger.Fail(k, "create the router interface", orch.AtAttr(err, sai.ObjectTypeRouterInterface, o.rifAttrs(spec)))
				continue
			}
			o.rifs[name] = &rif{oid: oid, spec: spec}
			o.counts.add(name, o.rifs[name])
		case !have.leaving:
			if err := o.updateRIF(ctx, have, spec); err != nil {
				o.ledger.Fail(k, "router interface", err)
			}
		}
	}
}

func (o *Orch) rifAttrs(s rifSpec) []sai.Attr {
	attrs := []sai.Attr{
		{ID: sai.RouterInterfaceAttrVirtualRouterID, Value: o.vrfs[s.vrf]},
		{ID: sai.RouterInterfaceAttrSrcMACAddress, Value: s.mac},
	}
	switch {
	case s.on.Type == sai.ObjectTypeVLAN:
		attrs = append(attrs, sai.Attr{ID: sai.RouterInterfaceAttrType, Value: sai.RouterInterfaceTypeVLAN},
			sai.Attr{ID: sai.RouterInterfaceAttrVLANID, Value: s.on.OID})
	case s.vlan != 0:
		attrs = append(attrs, sai.Attr{ID: sai.RouterInterfaceAttrType, Value: sai.RouterInterfaceTypeSubPort},
			sai.Attr{ID: sai.RouterInterfaceAttrPortID, Value: s.on.OID},
			sai.Attr{ID: sai.RouterInterfaceAttrOuterVLANID, Value: sai.Uint(s.vlan)})
	default:
		attrs = append(attrs, sai.Attr{ID: sai.RouterInterfaceAttrType, Value: sai.RouterInterfaceTypePort},
			sai.Attr{ID: sai.RouterInterfaceAttrPortID, Value: s.on.OID})
	}
	attrs = append(attrs, sai.Attr{ID: sai.RouterInterfaceAttrMTU, Value: sai.Uint(s.mtu)})
	if s.drop {
		attrs = append(attrs, sai.Attr{ID: sai.RouterInterfaceAttrLoopbackPacketAction, Value: sai.PacketActionDrop})
	}
	if s.off {
		attrs = append(attrs, sai.Attr{ID: sai.RouterInterfaceAttrAdminV4State, Value: sai.Bool(false)},
			sai.Attr{ID: sai.RouterInterfaceAttrAdminV6State, Value: sai.Bool(false)})
	}
	return attrs
}

func (o *Orch) updateRIF(ctx context.Context, have *rif, want rifSpec) error {
	k := sai.Obj(sai.ObjectTypeRouterInterface, have.oid)
	if have.spec.mac != want.mac {
		if err := o.api.Set(ctx, k, sai.Attr{ID: sai.RouterInterfaceAttrSrcMACAddress, Value: want.mac}); err != nil {
			return fmt.Errorf("set the MAC address to %s: %w", want.mac, err)
		}
		have.spec.mac = want.mac
	}
	if have.spec.mtu != want.mtu {
		if err := o.api.Set(ctx, k, sai.Attr{ID: sai.RouterInterfaceAttrMTU, Value: sai.Uint(want.mtu)}); err != nil {
			return fmt.Errorf("set the MTU to %d: %w", want.mtu, err)
		}
		have.spec.mtu = want.mtu
	}
	if have.spec.off != want.off {
		for _, id := range []sai.AttrID{sai.RouterInterfaceAttrAdminV4State, sai.RouterInterfaceAttrAdminV6State} {
			if err := o.api.Set(ctx, k, sai.Attr{ID: id, Value: sai.Bool(!want.off)}); err != nil {
				return fmt.Errorf("set whether it routes to %v: %w", !want.off, err)
			}
		}
		have.spec.off = want.off
	}
	return nil
}

// removeRIFs removes the router interfaces that are leaving, and reports whether any was removed.
func (o *Orch) removeRIFs(ctx context.Context) (freed bool) {
	for _, name := range sorted(o.rifs) {
		r := o.rifs[name]
		if !r.leaving {
			continue
		}
		err := o.counts.remove(ctx, name, r)
		if err == nil {
			err = o.api.Remove(ctx, sai.Obj(sai.ObjectTypeRouterInterface, r.oid))
		}
		if err != nil {
			o.counts.again(name, r)
			o.stays("a router interface", name, err)
			if _, ok := o.rows.interfaces[name]; ok {
				o.ledger.Fail(orch.Row(schema.AppInterface, name), "remove the router interface", err)
			}
			continue
		}
		delete(o.rifs, name)
		freed = true
	}
	return freed
}
