package routes

import (
	"context"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// makeVRFs creates the virtual routers of missing VRFs.
func (o *Orch) makeVRFs(ctx context.Context, p *plan) {
	for _, name := range sorted(p.vrfs) {
		if o.vrfs[name] != 0 {
			continue
		}
		oid, err := o.api.Create(ctx, sai.ObjectTypeVirtualRouter, nil)
		if err != nil {
			o.ledger.Fail(orch.Row(schema.AppVRF, name), "create the virtual router", err)
			continue
		}
		o.vrfs[name] = oid
	}
}

// removeVRFs removes virtual routers that are not planned, and reports whether any was removed. Those with interfaces
// or routes stay until a later call.
func (o *Orch) removeVRFs(ctx context.Context, p *plan) (freed bool) {
	used := map[string]bool{}
	for _, r := range o.rifs {
		used[r.spec.vrf] = true
	}
	for to := range o.routes {
		used[to.VRF] = true
	}
	for _, name := range sorted(o.vrfs) {
		if p.vrfs[name] || used[name] {
			continue
		}
		if err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeVirtualRouter, o.vrfs[name])); err != nil {
			o.stays("a virtual router", name, err)
			continue
		}
		delete(o.vrfs, name)
		freed = true
	}
	return freed
}
