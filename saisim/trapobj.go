package saisim

import (
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// trapTypes are the traps that SAI has a type of.
func trapTypes() map[sai.Enum]config.Trap {
	return map[sai.Enum]config.Trap{
		sai.HostifTrapTypeStp:                       config.TrapSTP,
		sai.HostifTrapTypeLacp:                      config.TrapLACP,
		sai.HostifTrapTypeEapol:                     config.TrapEAPOL,
		sai.HostifTrapTypeLldp:                      config.TrapLLDP,
		sai.HostifTrapTypePvrst:                     config.TrapPVRST,
		sai.HostifTrapTypeUdld:                      config.TrapUDLD,
		sai.HostifTrapTypeCdp:                       config.TrapCDP,
		sai.HostifTrapTypeArpRequest:                config.TrapARPRequest,
		sai.HostifTrapTypeArpResponse:               config.TrapARPResponse,
		sai.HostifTrapTypeDhcp:                      config.TrapDHCP,
		sai.HostifTrapTypeDhcpv6:                    config.TrapDHCPv6,
		sai.HostifTrapTypeIPv6NeighborDiscovery:     config.TrapND,
		sai.HostifTrapTypeIPv6NeighborSolicitation:  config.TrapNS,
		sai.HostifTrapTypeIPv6NeighborAdvertisement: config.TrapNA,
		sai.HostifTrapTypeOspf:                      config.TrapOSPF,
		sai.HostifTrapTypeOspfv6:                    config.TrapOSPFv6,
		sai.HostifTrapTypePim:                       config.TrapPIM,
		sai.HostifTrapTypeVrrp:                      config.TrapVRRP,
		sai.HostifTrapTypeVrrpv6:                    config.TrapVRRPv6,
		sai.HostifTrapTypeIp2me:                     config.TrapIP2ME,
		sai.HostifTrapTypeSsh:                       config.TrapSSH,
		sai.HostifTrapTypeSnmp:                      config.TrapSNMP,
		sai.HostifTrapTypeBgp:                       config.TrapBGP,
		sai.HostifTrapTypeBgpv6:                     config.TrapBGPv6,
		sai.HostifTrapTypeBfd:                       config.TrapBFD,
		sai.HostifTrapTypeBfdv6:                     config.TrapBFDv6,
		sai.HostifTrapTypeGnmi:                      config.TrapGNMI,
		sai.HostifTrapTypeP4rt:                      config.TrapP4RT,
		sai.HostifTrapTypeNtpclient:                 config.TrapNTPClient,
		sai.HostifTrapTypeNtpserver:                 config.TrapNTPServer,
		sai.HostifTrapTypeStaticFDBMove:             config.TrapStaticMove,
		sai.HostifTrapTypeNeighborMiss:              config.TrapNeighborMiss,
		sai.HostifTrapTypeL3MTUError:                config.TrapL3MTU,
		sai.HostifTrapTypeTTLError:                  config.TrapTTL,
	}
}

// putTrap puts the rule that a HOSTIF_TRAP object says. With a trap group that is
// administratively down it is as without one.
func (c *store) putTrap(o *object) {
	r := config.TrapRule{
		ID: o.id(), Trap: c.trapTypes[o.enum(sai.HostifTrapAttrTrapType)],
		Action:   o.does(sai.HostifTrapAttrPacketAction),
		Priority: uint32(o.number(sai.HostifTrapAttrTrapPriority)),
	}
	if g := c.objects[o.ref(sai.HostifTrapAttrTrapGroup)]; g == nil || g.flag(sai.HostifTrapGroupAttrAdminState) {
		c.put(r)
	} else {
		c.drop(r)
	}
}

func (c *store) trapKind() *kind {
	c.trapTypes = trapTypes()
	types := slices.Sorted(maps.Keys(c.trapTypes))
	return &kind{
		attrs: []sai.AttrID{
			sai.HostifTrapAttrTrapType, sai.HostifTrapAttrPacketAction, sai.HostifTrapAttrTrapPriority,
			sai.HostifTrapAttrTrapGroup,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifTrapAttrTrapType: types},
		create: func(o *object) error {
			c.putTrap(o)
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			c.putTrap(o.with(a))
			return nil
		},
		remove: func(o *object) error {
			c.drop(config.TrapRule{ID: o.id()})
			return nil
		},
	}
}

// trapGroupKind keeps trap groups. The chip has no policers; the queue of the CPU
// port is kept, but what goes to the CPU does not wait there.
func (c *store) trapGroupKind() *kind {
	return &kind{
		attrs: []sai.AttrID{sai.HostifTrapGroupAttrAdminState, sai.HostifTrapGroupAttrQueue},
		set: func(o *object, a sai.Attr) error {
			o.put(a)
			for _, trap := range c.objects {
				if trap.key.Type == sai.ObjectTypeHostifTrap && trap.ref(sai.HostifTrapAttrTrapGroup) == o.key.OID {
					c.putTrap(trap)
				}
			}
			return nil
		},
	}
}
