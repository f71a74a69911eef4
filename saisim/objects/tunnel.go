package objects

import (
	"net/netip"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// Limits of the chip.
const (
	mostTunnels    = 32
	mostTunnelEnds = 512
)

// tunnelKind describes tunnels of IP in IP that end at the chip. Nothing enters a tunnel: no next hop leads to one.
func (rt *router) tunnelKind() *kind {
	return &kind{
		max: mostTunnels,
		attrs: []sai.AttrID{
			sai.TunnelAttrType, sai.TunnelAttrOverlayInterface, sai.TunnelAttrDecapECNMode, sai.TunnelAttrDecapTTLMode,
			sai.TunnelAttrDecapDSCPMode,
		},
		stored: map[sai.AttrID]string{
			sai.TunnelAttrUnderlayInterface: "a tunnel ends at its addresses, by whatever interface packets arrive",
			sai.TunnelAttrPeerMode:          "nothing enters a tunnel",
			sai.TunnelAttrEncapSrcIP:        "nothing enters a tunnel",
			sai.TunnelAttrEncapECNMode:      "nothing enters a tunnel",
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.TunnelAttrType:         {sai.TunnelTypeIpinip},
			sai.TunnelAttrPeerMode:     {sai.TunnelPeerModeP2mp},
			sai.TunnelAttrEncapECNMode: {sai.TunnelEncapECNModeStandard},
			sai.TunnelAttrDecapECNMode: {sai.TunnelDecapECNModeStandard, sai.TunnelDecapECNModeCopyFromOuter},
		},
		row: func(o *object) (config.Row, error) {
			return config.Tunnel{
				ID: o.id(), Overlay: o.refID(sai.TunnelAttrOverlayInterface),
				TTLPipe:  o.enum(sai.TunnelAttrDecapTTLMode) == sai.TunnelTTLModePipeModel,
				DSCPPipe: o.enum(sai.TunnelAttrDecapDSCPMode) == sai.TunnelDSCPModePipeModel,
				CopyECN:  o.enum(sai.TunnelAttrDecapECNMode) == sai.TunnelDecapECNModeCopyFromOuter,
			}, nil
		},
		stats: []sai.StatID{sai.TunnelStatInOctets, sai.TunnelStatInPackets},
		stat: func(o *object, id sai.StatID) uint64 {
			n := rt.engine.TunnelCount(o.id())
			if id == sai.TunnelStatInOctets {
				return n.Bytes
			}
			return n.Packets
		},
	}
}

func (rt *router) tunnelEndKind() *kind {
	return &kind{
		max: mostTunnelEnds,
		attrs: []sai.AttrID{
			sai.TunnelTermTableEntryAttrVrID, sai.TunnelTermTableEntryAttrType, sai.TunnelTermTableEntryAttrDstIP,
			sai.TunnelTermTableEntryAttrSrcIP, sai.TunnelTermTableEntryAttrTunnelType,
			sai.TunnelTermTableEntryAttrActionTunnelID,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.TunnelTermTableEntryAttrType:       {sai.TunnelTermTableEntryTypeP2p, sai.TunnelTermTableEntryTypeP2mp},
			sai.TunnelTermTableEntryAttrTunnelType: {sai.TunnelTypeIpinip},
		},
		create: rt.createTunnelEnd,
		row:    tunnelEndRow,
	}
}

// createTunnelEnd rejects the second of two ends with the same addresses.
func (rt *router) createTunnelEnd(o *object) error {
	r, err := tunnelEndRow(o)
	if err != nil {
		return err
	}
	mine := r.(config.TunnelEnd)
	for _, row := range rt.tables[config.TunnelEndTable] {
		e := row.(config.TunnelEnd)
		if e.Router == mine.Router && e.Dst == mine.Dst && e.Src == mine.Src {
			return badCreate(sai.TunnelTermTableEntryAttrDstIP, sai.StatusItemAlreadyExists,
				"a tunnel ends at %s already", mine.Dst)
		}
	}
	return nil
}

func tunnelEndRow(o *object) (config.Row, error) {
	const dst, src = sai.TunnelTermTableEntryAttrDstIP, sai.TunnelTermTableEntryAttrSrcIP
	r := config.TunnelEnd{
		ID: o.id(), Router: o.refID(sai.TunnelTermTableEntryAttrVrID),
		Tunnel: o.refID(sai.TunnelTermTableEntryAttrActionTunnelID),
	}
	for id, at := range map[sai.AttrID]*netip.Addr{dst: &r.Dst, src: &r.Src} {
		a, ok := o.attr(id).(sai.IP)
		if !ok {
			continue
		}
		if *at = a.Addr; a.IsUnspecified() || a.IsMulticast() {
			return nil, badValue(id, sai.StatusInvalidParameter, "%s, want a unicast address", a)
		}
	}
	if r.Src.IsValid() && r.Src.Is4() != r.Dst.Is4() {
		return nil, badValue(src, sai.StatusInvalidParameter, "%s, want the IP version of the destination %s", r.Src, r.Dst)
	}
	return r, nil
}
