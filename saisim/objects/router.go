package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

// A router is the virtual router: its interfaces, their neighbours, next hops and routes.
type router struct {
	*core
	used4, used6 uint32 // route entries of IPv4 and IPv6
}

// routerKind returns the kind of the single virtual router.
func (rt *router) routerKind() *kind {
	return &kind{
		max: 1,
		attrs: []sai.AttrID{
			sai.VirtualRouterAttrAdminV4State, sai.VirtualRouterAttrAdminV6State, sai.VirtualRouterAttrSrcMACAddress,
			sai.VirtualRouterAttrLabel,
		},
		row: func(o *object) (config.Row, error) {
			return config.Router{
				ID: o.id(), Up4: o.flag(sai.VirtualRouterAttrAdminV4State), Up6: o.flag(sai.VirtualRouterAttrAdminV6State),
			}, noGroup(sai.VirtualRouterAttrSrcMACAddress, sai.MAC(o.mac(sai.VirtualRouterAttrSrcMACAddress)))
		},
		remove: refuseRemove("the default virtual router stays"),
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.VirtualRouterAttrSrcMACAddress && o.attr(id) == nil {
				return sai.MAC(rt.sw.mac(sai.SwitchAttrSrcMACAddress))
			}
			return nil
		},
	}
}

// routerMAC returns the default address of router interfaces. This is the address of the virtual router, which by
// default is the virtual router of the switch.
func (rt *router) routerMAC() config.MAC {
	if rt.defaultRouter != nil {
		if m, ok := rt.defaultRouter.attr(sai.VirtualRouterAttrSrcMACAddress).(sai.MAC); ok {
			return config.MAC(m)
		}
	}
	return rt.sw.mac(sai.SwitchAttrSrcMACAddress)
}
