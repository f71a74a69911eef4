package objects

import (
	"net/netip"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/tam/erspan"
)

// mirrors is the area of the mirror sessions.
type mirrors struct {
	*core
	used [profile.MaxMirrors]bool // by index
}

// A mirrorIndex is the state that the store keeps for a MIRROR_SESSION object: its bit in the sets of sessions. A new
// session gets the lowest free one.
type mirrorIndex int

func (ms *mirrors) mirrorKind() *kind {
	return &kind{
		max: min(ms.prof.MirrorSessions, profile.MaxMirrors),
		attrs: []sai.AttrID{
			sai.MirrorSessionAttrType, sai.MirrorSessionAttrMonitorPort, sai.MirrorSessionAttrTruncateSize,
			sai.MirrorSessionAttrTC, sai.MirrorSessionAttrVLANTpid, sai.MirrorSessionAttrVLANID, sai.MirrorSessionAttrVLANPri,
			sai.MirrorSessionAttrVLANCfi, sai.MirrorSessionAttrVLANHeaderValid, sai.MirrorSessionAttrErspanEncapsulationType,
			sai.MirrorSessionAttrIphdrVersion, sai.MirrorSessionAttrTOS, sai.MirrorSessionAttrTTL,
			sai.MirrorSessionAttrSrcIPAddress, sai.MirrorSessionAttrDstIPAddress, sai.MirrorSessionAttrSrcMACAddress,
			sai.MirrorSessionAttrDstMACAddress, sai.MirrorSessionAttrGREProtocolType, sai.MirrorSessionAttrErspanSessionID,
			sai.MirrorSessionAttrGREHeaderFirst16bit, sai.MirrorSessionAttrLabel,
			sai.MirrorSessionAttrUDPSrcPort, sai.MirrorSessionAttrUDPDstPort,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.MirrorSessionAttrType: {sai.MirrorSessionTypeLocal, sai.MirrorSessionTypeRemote,
				sai.MirrorSessionTypeEnhancedRemote, sai.MirrorSessionTypeSflow},
			sai.MirrorSessionAttrErspanEncapsulationType: {
				sai.ErspanEncapsulationTypeMirrorL3GRETunnel, sai.ErspanEncapsulationTypeIi,
				sai.ErspanEncapsulationTypeIii},
		},
		create: func(o *object) error {
			i := slices.Index(ms.used[:], false) // max ensures that an index is free
			o.self = mirrorIndex(i)
			return nil
		},
		row:  ms.mirrorRow,
		made: func(o *object) { ms.used[o.self.(mirrorIndex)] = true },
		gone: func(o *object) { ms.used[o.self.(mirrorIndex)] = false },
	}
}

// ethernetHeader is the length of an Ethernet header without tags.
const ethernetHeader = 14

// mirrorRow returns the row that follows from a session's attributes.
func (ms *mirrors) mirrorRow(o *object) (config.Row, error) {
	n := o.number
	vid, pri, cfi := n(sai.MirrorSessionAttrVLANID), n(sai.MirrorSessionAttrVLANPri), n(sai.MirrorSessionAttrVLANCfi)
	r := config.Mirror{
		ID: o.id(), Index: int(o.self.(mirrorIndex)), Monitor: o.refID(sai.MirrorSessionAttrMonitorPort),
		Kind:     config.MirrorKind(o.enum(sai.MirrorSessionAttrType)), // numbered in SAI's order
		Truncate: int(n(sai.MirrorSessionAttrTruncateSize)), TC: uint8(n(sai.MirrorSessionAttrTC)),
		TPID: uint16(n(sai.MirrorSessionAttrVLANTpid)), TCI: uint16(pri<<13 | cfi<<12 | vid),
		UDPSrc: uint16(n(sai.MirrorSessionAttrUDPSrcPort)), UDPDst: uint16(n(sai.MirrorSessionAttrUDPDstPort)),
		Label: o.text(sai.MirrorSessionAttrLabel),
	}
	if r.Truncate != 0 && r.Truncate < ethernetHeader+4 {
		return nil, badCreate(sai.MirrorSessionAttrTruncateSize, sai.StatusInvalidParameter, "%d, want 0 or at least %d",
			r.Truncate, ethernetHeader+4)
	}
	if vid > 4094 || pri > 7 || cfi > 1 {
		return nil, badCreate(sai.MirrorSessionAttrVLANID, sai.StatusInvalidParameter,
			"VLAN %d, priority %d, CFI %d; want at most 4094, 7 and 1", vid, pri, cfi)
	}
	r.Tunnel = mirrorTunnel(o)
	if r.Kind == config.MirrorERSPAN {
		if err := checkTunnel(o, &r.Tunnel); err != nil {
			return nil, err
		}
	}
	_, port := row[config.Port](ms.core, o.ref(sai.MirrorSessionAttrMonitorPort))
	_, lag := row[config.LAG](ms.core, o.ref(sai.MirrorSessionAttrMonitorPort))
	if !port && !lag {
		return nil, badCreate(sai.MirrorSessionAttrMonitorPort, sai.StatusInvalidParameter,
			"want a front-panel port or a LAG")
	}
	return r, nil
}

// erspanHeaders holds the type of the header after GRE, by encapsulation.
var erspanHeaders = map[sai.Enum]uint8{sai.ErspanEncapsulationTypeIi: 2, sai.ErspanEncapsulationTypeIii: 3}

func mirrorTunnel(o *object) config.MirrorTunnel {
	src, _ := o.attr(sai.MirrorSessionAttrSrcIPAddress).(sai.IP)
	dst, _ := o.attr(sai.MirrorSessionAttrDstIPAddress).(sai.IP)
	n := o.number
	return config.MirrorTunnel{
		Tagged: o.flag(sai.MirrorSessionAttrVLANHeaderValid),
		ERSPAN: erspanHeaders[o.enum(sai.MirrorSessionAttrErspanEncapsulationType)],
		Src:    src.Addr, Dst: dst.Addr,
		SMAC: o.mac(sai.MirrorSessionAttrSrcMACAddress), DMAC: o.mac(sai.MirrorSessionAttrDstMACAddress),
		TOS: uint8(n(sai.MirrorSessionAttrTOS)), TTL: uint8(n(sai.MirrorSessionAttrTTL)),
		GREFlags: uint16(n(sai.MirrorSessionAttrGREHeaderFirst16bit)),
		GREType:  uint16(n(sai.MirrorSessionAttrGREProtocolType)),
		Session:  uint16(n(sai.MirrorSessionAttrErspanSessionID)),
	}
}

// checkTunnel rejects an ERSPAN session whose headers the chip cannot build.
func checkTunnel(o *object, t *config.MirrorTunnel) error {
	version := o.number(sai.MirrorSessionAttrIphdrVersion)
	for _, ip := range []netip.Addr{t.Src, t.Dst} {
		if version == 4 && !ip.Is4() || version == 6 && !ip.Is6() || version != 4 && version != 6 {
			return badCreate(sai.MirrorSessionAttrIphdrVersion, sai.StatusInvalidParameter,
				"version %d with %s to %s, want 4 or 6 and addresses of that",
				version, t.Src, t.Dst)
		}
	}
	if err := checkGRE(t); err != nil {
		return err
	}
	if t.ERSPAN != 0 && o.number(sai.MirrorSessionAttrErspanSessionID) > erspan.MaxSession {
		return badCreate(sai.MirrorSessionAttrErspanSessionID, sai.StatusInvalidParameter, "session %d, want 0 to 1023",
			t.Session)
	}
	return nil
}

// checkGRE rejects a GRE header that does not match its payload.
func checkGRE(t *config.MirrorTunnel) error {
	// flags of fields that the header would lack, except for a sequence number if ERSPAN has one
	if t.GREFlags&0xb000 != 0 {
		if t.ERSPAN == 0 || t.GREFlags&0xa000 != 0 {
			return badCreate(sai.MirrorSessionAttrGREHeaderFirst16bit, sai.StatusInvalidParameter,
				"%#04x, want no checksum, key or sequence number", t.GREFlags)
		}
	}
	if want := [...]uint16{2: erspan.GREType, 3: erspan.GREType3}; t.ERSPAN != 0 && t.GREType != want[t.ERSPAN] {
		return badCreate(sai.MirrorSessionAttrGREProtocolType, sai.StatusInvalidParameter,
			"%#04x, want %#04x with ERSPAN of type %d", t.GREType,
			want[t.ERSPAN], t.ERSPAN)
	}
	if t.ERSPAN == 0 && t.GREType == erspan.GREType3 {
		return badCreate(sai.MirrorSessionAttrGREProtocolType, sai.StatusInvalidParameter,
			"%#04x, which requires the encapsulation of ERSPAN type III",
			t.GREType)
	}
	return nil
}
