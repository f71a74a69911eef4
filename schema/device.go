package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MetadataKey is the key of the only DEVICE_METADATA row.
const MetadataKey = "localhost"

// DeviceMetadata is the row DEVICE_METADATA|localhost.
type DeviceMetadata struct {
	Hostname string
	MAC      MAC // zero: not given
	HWSKU    string
	Platform string
}

func (m *DeviceMetadata) layout() layout {
	return layout{
		table: CfgDeviceMetadata, open: true,
		key: only(MetadataKey),
		fields: []field{
			text("hostname", &m.Hostname, "The switch's name."),
			text("hwsku", &m.HWSKU, "The model of the switch."),
			text("platform", &m.Platform, "SONiC's name of the platform."),
			hostMAC("mac", &m.MAC, "The switch's address; its last 16 bits are the TAM ids where none are configured."),
		},
	}
}

// ParseDeviceMetadata reads DEVICE_METADATA.
func ParseDeviceMetadata(key string, f map[string]string) (DeviceMetadata, error) {
	return parse[DeviceMetadata](key, f)
}

// Fields formats the row.
func (m DeviceMetadata) Fields() map[string]string { return m.layout().row() }

// Defaults of ports and LAGs, as SONiC's portmgrd and teammgrd have them.
const (
	DefaultMTU = 9100
	minMTU     = 68
	maxMTU     = 9216
)

// PortConfigDone is the key of PORT_TABLE that says, with field count, that
// all configured ports are in the table.
const PortConfigDone = "PortConfigDone"

// PortInitDone is the key of PORT_TABLE that says that all ports are in the ASIC. It is orchagent's.
const PortInitDone = "PortInitDone"

// Port is a row of PORT and of APPL_DB PORT_TABLE.
type Port struct {
	Name        string
	Lanes       []uint32 // in the order given; 1 to 64, no lane twice
	Speed       uint32   // Mb/s
	Alias       string   // the vendor's name; empty: not given
	Index       int      // front panel index; -1: not given
	MTU         uint16   // bytes
	AdminUp     bool
	FEC         string // empty: not given
	Autoneg     string // empty: not given
	Description string
}

func (p *Port) layout() layout {
	return layout{
		table: CfgPort, open: true,
		key: called("EthernetN", IsPortName, &p.Name),
		fields: []field{
			own("lanes", lanesForm, "The hardware lanes of the port.", nil, nil).in(portLanes{p}).must(""),
			number("speed", 1, 1_600_000, 0, &p.Speed, "In Mb/s.").must("the speed in Mb/s"),
			text("alias", &p.Alias, "The vendor's name of the port, by which rows of CONFIG_DB may call it."),
			mtu(&p.MTU),
			adminStatus(false, &p.AdminUp),
			word("fec", "", []string{"rs", "fc", "none", "auto"}, &p.FEC, "Forward error correction."),
			word("autoneg", "", []string{"on", "off"}, &p.Autoneg, "Autonegotiation."),
			text("description", &p.Description, "Words for people."),
			within("index", 0, 1<<16, "The place on the front panel.", nil, nil).in(portIndex{p}),
		},
		check: func(r *reader) {
			if p.Alias != "" && !validAlias(p.Alias) {
				r.bad("alias", p.Alias, "visible ASCII characters without | and ,")
			}
		},
	}
}

func mtu(at *uint16) field {
	return number("mtu", minMTU, maxMTU, DefaultMTU, at, "The largest frame, in bytes.")
}

func adminStatus(def bool, at *bool) field {
	return flag("admin_status", "up", "down", def, at, "Whether it is to be up.")
}

// ParsePort reads PORT and PORT_TABLE.
func ParsePort(key string, f map[string]string) (Port, error) { return parse[Port](key, f) }

// Fields formats the row.
func (p Port) Fields() map[string]string { return p.layout().row() }

// validAlias is looser than ValidName: vendors' names have colons.
func validAlias(s string) bool { return ValidName(strings.ReplaceAll(s, ":", "_")) }

const (
	maxLanes  = 64 // of a port
	lanesForm = "the port's hardware lanes, such as 0,1,2,3, none twice"
)

// portLanes are the hardware lanes of a port.
type portLanes struct{ *Port }

func (p portLanes) value() string { return numbers(p.Lanes) }

func (p portLanes) take(r *reader) {
	v, ok := r.take("lanes")
	if !ok {
		r.bad("lanes", "", lanesForm)
		return
	}
	out := make([]uint32, 0, min(strings.Count(v, ",")+1, maxLanes))
	for e := range strings.SplitSeq(v, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(e), 10, 32)
		if err != nil || len(out) == maxLanes || slices.Contains(out, uint32(n)) {
			r.bad("lanes", v, lanesForm)
			return
		}
		out = append(out, uint32(n))
	}
	p.Lanes = out
}

// portIndex is where a port is on the front panel.
type portIndex struct{ *Port }

func (p portIndex) value() string {
	if p.Index < 0 {
		return ""
	}
	return strconv.Itoa(p.Index)
}

func (p portIndex) take(r *reader) {
	p.Index = -1
	if _, ok := r.take("index"); ok {
		p.Index = int(r.number("index", 0, 1<<16, 0))
	}
}

// PortChannel is a row of PORTCHANNEL and of APPL_DB LAG_TABLE.
type PortChannel struct {
	Name    string // PortChannelN, N in 0..9999
	AdminUp bool
	MTU     uint16 // bytes
}

func (c *PortChannel) layout() layout {
	return layout{
		table: CfgPortChannel, open: true,
		key: called("PortChannelN, N in 0..9999", IsPortChannelName, &c.Name),
		fields: []field{
			adminStatus(true, &c.AdminUp),
			mtu(&c.MTU),
		},
	}
}

// ParsePortChannel reads PORTCHANNEL and LAG_TABLE.
func ParsePortChannel(key string, f map[string]string) (PortChannel, error) {
	return parse[PortChannel](key, f)
}

// Fields formats the row.
func (c PortChannel) Fields() map[string]string { return c.layout().row() }

// FieldAlias is the field of LAG_MEMBER_TABLE and VLAN_MEMBER_TABLE of APPL_DB
// with the port as the key in CONFIG_DB has it, where that is an alias.
const FieldAlias = "alias"

// PortChannelMember is a row of PORTCHANNEL_MEMBER and of APPL_DB LAG_MEMBER_TABLE.
type PortChannelMember struct {
	PortChannel string
	Port        string // in CONFIG_DB maybe an alias
}

func (m *PortChannelMember) layout() layout {
	return layout{
		table: CfgPortChannelMbr, open: true,
		key: key{form: "PortChannelN|port", read: func(r *reader, key string) {
			lag, port, ok := strings.Cut(key, "|")
			if m.PortChannel, m.Port = lag, port; !ok || !IsPortChannelName(lag) || !validAlias(port) {
				r.bad("", key, "PortChannelN|port")
			}
		}},
		fields: []field{
			own("status", "enabled", "In APPL_DB: whether the member carries traffic.", nil,
				func() string { return "enabled" }),
		},
	}
}

// ParsePortChannelMember reads PORTCHANNEL_MEMBER, and LAG_MEMBER_TABLE by its [ConfigKey].
func ParsePortChannelMember(key string, f map[string]string) (PortChannelMember, error) {
	return parse[PortChannelMember](key, f)
}

// Fields formats the row for APPL_DB.
func (m PortChannelMember) Fields() map[string]string { return m.layout().row() }

// VLAN is a row of VLAN and of APPL_DB VLAN_TABLE.
type VLAN struct {
	Name    string
	ID      uint16 // 1..4094, that of the name
	AdminUp bool
	MTU     uint16 // bytes
}

func (v *VLAN) layout() layout {
	return layout{
		table: CfgVLAN, open: true,
		key: key{form: "VlanN, N in 1..4094", read: func(r *reader, key string) {
			var ok bool
			if v.ID, ok = VLANNumber(key); !ok {
				r.bad("", key, "VlanN, N in 1..4094")
			}
			v.Name = key
		}},
		fields: []field{
			adminStatus(true, &v.AdminUp),
			mtu(&v.MTU),
			within("vlanid", 1, 4094, "The number in the key.", func(r *reader) {
				n := r.number("vlanid", 1, 4094, uint64(v.ID))
				if _, ok := VLANNumber(v.Name); ok && n != uint64(v.ID) {
					r.bad("vlanid", utoa(n), fmt.Sprintf("%d as in the key", v.ID))
				}
			}, func() string { return utoa(v.ID) }),
		},
	}
}

// ParseVLAN reads VLAN and VLAN_TABLE.
func ParseVLAN(key string, f map[string]string) (VLAN, error) { return parse[VLAN](key, f) }

// Fields formats the row.
func (v VLAN) Fields() map[string]string { return v.layout().row() }

// Tagging modes of VLAN members.
const (
	Tagged         = "tagged"
	Untagged       = "untagged"
	PriorityTagged = "priority_tagged"
)

// VLANMember is a row of VLAN_MEMBER and of APPL_DB VLAN_MEMBER_TABLE.
type VLANMember struct {
	VLAN    string // VlanN
	Port    string // port or PortChannel; in CONFIG_DB maybe an alias
	Tagging string // Tagged, Untagged or PriorityTagged
}

func (m *VLANMember) layout() layout {
	return layout{
		table: CfgVLANMember, open: true,
		key: key{form: "VlanN|port or VlanN|PortChannelN", read: func(r *reader, key string) {
			var ok bool
			m.VLAN, m.Port, ok = strings.Cut(key, "|")
			if _, isVLAN := VLANNumber(m.VLAN); !ok || !isVLAN || !validAlias(m.Port) {
				r.bad("", key, "VlanN|port or VlanN|PortChannelN")
			}
		}},
		fields: []field{
			word("tagging_mode", Untagged, []string{Tagged, Untagged, PriorityTagged},
				&m.Tagging, "How frames of the VLAN leave the port."),
		},
	}
}

// ParseVLANMember reads VLAN_MEMBER, and VLAN_MEMBER_TABLE by its [ConfigKey].
func ParseVLANMember(key string, f map[string]string) (VLANMember, error) {
	return parse[VLANMember](key, f)
}

// Fields formats the row.
func (m VLANMember) Fields() map[string]string { return m.layout().row() }
