package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

// A router is the routing part of the store: virtual routers, interfaces, their neighbours, next hops and routes.
type router struct {
	*core
	used4, used6 uint32 // route entries of IPv4 and IPv6, in all virtual routers together
}

func (rt *router) routerKind() *kind {
	return &kind{
		max: rt.prof.VirtualRouters,
		attrs: []sai.AttrID{
			sai.VirtualRouterAttrAdminV4State, sai.VirtualRouterAttrAdminV6State, sai.VirtualRouterAttrSrcMACAddress,
			sai.VirtualRouterAttrLabel,
		},
		row: func(o *object) (config.Row, error) {
			return config.Router{
				ID: o.id(), Up4: o.flag(sai.VirtualRouterAttrAdminV4State), Up6: o.flag(sai.VirtualRouterAttrAdminV6State),
			}, noGroup(sai.VirtualRouterAttrSrcMACAddress, sai.MAC(o.mac(sai.VirtualRouterAttrSrcMACAddress)))
		},
		remove: rt.removeRouter,
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.VirtualRouterAttrSrcMACAddress && o.attr(id) == nil {
				return sai.MAC(rt.sw.mac(sai.SwitchAttrSrcMACAddress))
			}
			return nil
		},
	}
}

// removeRouter rejects the removal of the default virtual router. The validator rejects that of one in use.
func (rt *router) removeRouter(o *object) error {
	if o == rt.defaultRouter {
		return refuseRemove("the default virtual router stays")(o)
	}
	return nil
}

// routerMAC returns the default address of the interfaces of a virtual router. This is its own address, which by
// default is that of the switch.
func (rt *router) routerMAC(vr sai.OID) config.MAC {
	if o := rt.objects[vr]; o != nil {
		if m, ok := o.attr(sai.VirtualRouterAttrSrcMACAddress).(sai.MAC); ok {
			return config.MAC(m)
		}
	}
	return rt.sw.mac(sai.SwitchAttrSrcMACAddress)
}
