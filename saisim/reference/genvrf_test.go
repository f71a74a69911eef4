package reference_test

import (
	"tamtam/internal/randtest"
	"tamtam/sai"
)

// isVRF reports whether the case of a seed may have several virtual routers. No test used seeds between 50,000 and
// 60,000 before.
func isVRF(seed uint64) bool {
	return seed >= 50_000 && seed < 60_000 || seed >= 1_000_000_000 && seed%7 == 5
}

// vrfCases are cases of the gate with several virtual routers. In six of them most packets are routed.
var vrfCases = []randtest.Cases{{Seed: 50_000, Count: 20}}

// vr returns one of the virtual routers.
func (g *gen) vr() sai.OID {
	if l := g.pool[sai.ObjectTypeVirtualRouter]; g.vrfs && g.chance(60) && len(l) > 0 {
		return l[g.IntN(len(l))]
	}
	return g.router
}

// furnishVRFs makes virtual routers.
func (g *gen) furnishVRFs() {
	for range 2 {
		if g.vrfs {
			g.newVRF()
		}
	}
}

func (g *gen) newVRF() {
	with := []any{sai.VirtualRouterAttrAdminV4State, g.bool(95), sai.VirtualRouterAttrAdminV6State, g.bool(95)}
	if g.chance(30) {
		with = append(with, sai.VirtualRouterAttrSrcMACAddress, g.interfaceMAC())
	}
	g.create(sai.ObjectTypeVirtualRouter, with...)
}

// changeVRFs makes, changes or removes a virtual router, or adds default routes to one.
func (g *gen) changeVRFs() {
	const t = sai.ObjectTypeVirtualRouter
	if !g.vrfs {
		return
	}
	switch g.IntN(12) {
	case 0:
		g.newVRF()
	case 1:
		g.removeAny(t)
	case 2:
		g.set(t, pick(g, sai.VirtualRouterAttrAdminV4State, sai.VirtualRouterAttrAdminV6State), g.bool(70))
	case 3, 4:
		g.createRoute(pick(g, defaultRoutes...), sai.PacketActionForward, g.hop())
	}
}
