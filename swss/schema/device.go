package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MetadataKey is the key of the only DEVICE_METADATA row.
const MetadataKey = "localhost"

// DeviceMetadata is the row DEVICE_METADATA|localhost.
type DeviceMetadata struct {
	Hostname string // empty if not given, or not valid
	MAC      MAC    // zero if not given
	HWSKU    string
	Platform string
}

func (m *DeviceMetadata) layout() layout {
	return layout{
		table: CfgDeviceMetadata, open: true,
		key: only(MetadataKey),
		fields: []field{
			own("hostname", hostnameForm, "The switch's name.", func(r *reader) {
				if v, ok := r.value("hostname"); !ok || v == "" {
					return
				} else if !hostnamePattern.MatchString(v) || len(v) > mostHostname {
					r.bad("hostname", v, hostnameForm)
				} else {
					m.Hostname = v
				}
			}, func() string { return m.Hostname }),
			text("hwsku", &m.HWSKU, "The model of the switch."),
			text("platform", &m.Platform, "SONiC's name of the platform."),
			hostMAC("mac", &m.MAC, "The switch's address; its last 16 bits are the TAM ids where none are configured."),
			ignored(sonicMetadata...),
		},
	}
}

// The names that the leaf hostname of openconfig-system may have, which is of the type domain-name.
const (
	mostHostname = 253
	hostnameForm = "a name as in DNS: up to 253 letters, digits, - and _, with dots between its parts"
)

var hostnamePattern = regexp.MustCompile(
	`^(([a-zA-Z0-9_]([a-zA-Z0-9\-_]){0,61})?[a-zA-Z0-9]\.)*([a-zA-Z0-9_]([a-zA-Z0-9\-_]){0,61})?[a-zA-Z0-9]\.?$`)

// Defaults of ports and LAGs, as SONiC's portmgrd and teammgrd have them.
const (
	DefaultMTU = 9100
	minMTU     = 68
	maxMTU     = 9216
)

// PortConfigDone is the key of PORT_TABLE which means that all configured ports, as many as its field count, are in
// the table.
const PortConfigDone = "PortConfigDone"

// PortInitDone is the key of PORT_TABLE which means that all ports are in the ASIC. orchagent writes it.
const PortInitDone = "PortInitDone"

// Port is a row of PORT and of APPL_DB PORT_TABLE.
type Port struct {
	Name        string
	Lanes       []uint32 // lanes in the order given; 1 to 64, no lane twice
	Speed       uint32   // Mb/s
	Alias       string   // the vendor's name; empty if not given
	Index       int      // front panel index; -1 if not given
	MTU         uint16   // bytes
	AdminUp     bool
	FEC         string // empty if not given
	Autoneg     string // empty if not given
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
			ignored(sonicPort...),
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

// validAlias reports whether s is a valid alias. It is looser than ValidName, because vendors' names have colons.
func validAlias(s string) bool { return ValidName(strings.ReplaceAll(s, ":", "_")) }

const (
	maxLanes  = 64 // maximum number of lanes of a port
	lanesForm = "the port's hardware lanes, such as 0,1,2,3, none twice"
)

// portLanes is the field with the hardware lanes of a port.
type portLanes struct{ *Port }

func (p portLanes) value() string { return numbers(p.Lanes) }

func (p portLanes) parse(r *reader) {
	v, ok := r.value("lanes")
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

// portIndex is the field with the position of a port on the front panel.
type portIndex struct{ *Port }

func (p portIndex) value() string {
	if p.Index < 0 {
		return ""
	}
	return strconv.Itoa(p.Index)
}

func (p portIndex) parse(r *reader) {
	p.Index = -1
	if _, ok := r.value("index"); ok {
		p.Index = int(r.number("index", 0, 1<<16, 0))
	}
}

// PortChannel is a row of PORTCHANNEL and of APPL_DB LAG_TABLE.
type PortChannel struct {
	Name     string // PortChannelN, N in 0..9999
	AdminUp  bool
	MTU      uint16 // bytes
	MinLinks uint16 // 1..1024: the minimum number of members that carry traffic for it to be up
	// For LACP:
	Static    bool   // true if LACP is not used
	FastRate  bool   // true if the partner is asked to send every second instead of every 30
	Fallback  bool   // true if one member carries traffic while no partner is detected
	Key       uint16 // key of the ports in LACP; 0 means that it is derived from the name
	SystemMAC MAC    // the switch's address in LACP; zero means the switch's own
}

func (c *PortChannel) layout() layout {
	return layout{
		table: CfgPortChannel, open: true,
		key: called("PortChannelN, N in 0..9999", IsPortChannelName, &c.Name),
		fields: []field{
			adminStatus(true, &c.AdminUp),
			mtu(&c.MTU),
			number("min_links", 1, 1024, 1, &c.MinLinks, "How many members must carry traffic for it to be up.").or("1").ifSet(),
			boolean("static", false, &c.Static, "Whether LACP is not spoken: each member that is up carries traffic.").ifSet(),
			boolean("fast_rate", false, &c.FastRate,
				"Whether the partner is asked to send LACPDUs every second instead of every 30.").ifSet(),
			boolean("fallback", false, &c.Fallback,
				"Whether one member carries traffic while no LACPDU has come in at any.").ifSet(),
			own("lacp_key", "auto or 1..65535", "The key of its ports in LACP; auto is 1 and the number in its name.",
				c.parseKey, func() string {
					if c.Key == 0 {
						return ""
					}
					return utoa(c.Key)
				}),
			hostMAC("system_mac", &c.SystemMAC, "The switch's address in LACP, instead of its own."),
			ignored(sonicPortChannel...),
			own(FieldProtocol, ProtocolLACP, "In APPL_DB: it is there if LACP is spoken.", nil, func() string { return "" }),
			incarnation(),
		},
	}
}

// FieldProtocol is the field of LAG_TABLE which means, with the value ProtocolLACP, that LACP decides which members
// carry traffic.
const (
	FieldProtocol = "protocol"
	ProtocolLACP  = "lacp"
)

// FieldIncarnation is the field that identifies a negotiation in rows of LAG_TABLE and LAG_MEMBER_TABLE. It contains
// the LACP settings and a number that was never used before. LACP_TABLE and LACP_MEMBER_TABLE repeat it. Their rows
// of another negotiation are ignored.
const FieldIncarnation = "incarnation"

func incarnation() field {
	return own(FieldIncarnation, "number/key or number/key/MAC address",
		"In APPL_DB: the current negotiation. It is present if LACP is enabled and the PortChannel is not shut down; "+
			"each time that the PortChannel is created again, or its key or system_mac changes, it gets a new number.",
		nil, func() string { return "" })
}

// FeatureTeamd is the row of FEATURE that enables LACP on PortChannels, which teamd implements in SONiC.
const FeatureTeamd = "teamd"

// FieldMux is the field of LACP_MEMBER_TABLE that determines whether tammgrd uses a member: only with one of these two
// values.
const (
	FieldMux        = "mux"
	MuxCollecting   = "collecting"
	MuxDistributing = "distributing"
)

func (c *PortChannel) parseKey(r *reader) {
	v, ok := r.value("lacp_key")
	if !ok || v == "auto" {
		return
	}
	n, ok := decimal(v)
	if !ok || n < 1 || n > 1<<16-1 {
		r.bad("lacp_key", v, "auto or a number in 1..65535")
		return
	}
	c.Key = uint16(n)
}

// LACPKey returns the key of the PortChannel's ports in LACP. Without a configured key it is 1 followed by the digits
// of the name, as in SONiC.
func (c PortChannel) LACPKey() uint16 {
	if c.Key != 0 {
		return c.Key
	}
	n, err := strconv.ParseUint("1"+strings.TrimPrefix(c.Name, "PortChannel"), 10, 16)
	if err != nil {
		return 1
	}
	return uint16(n)
}

// Values of LAG_MEMBER_TABLE: a member's status, and whether a disabled one receives already. oper_status is its
// state in the ASIC: [OperUp] if it receives and sends, [OperDown] if neither.
const (
	MemberEnabled    = "enabled"
	MemberDisabled   = "disabled"
	FieldCollecting  = "collecting"
	MemberCollecting = "collecting"
)

// FieldAlias is the field of LAG_MEMBER_TABLE and VLAN_MEMBER_TABLE of APPL_DB that holds the alias of the port, if the
// key in CONFIG_DB contains the alias.
const FieldAlias = "alias"

// PortChannelMember is a row of PORTCHANNEL_MEMBER and of APPL_DB LAG_MEMBER_TABLE.
type PortChannelMember struct {
	PortChannel string
	Port        string // a port; in CONFIG_DB possibly an alias
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
			own("status", "enabled or disabled", "In APPL_DB: whether the member carries traffic.", nil,
				func() string { return MemberEnabled }),
			own(FieldCollecting, "true",
				"In APPL_DB: it is there if a member that is disabled receives, and only does not send yet.",
				nil, func() string { return "" }),
			incarnation(),
		},
	}
}

// VLAN is a row of VLAN and of APPL_DB VLAN_TABLE.
type VLAN struct {
	Name    string
	ID      uint16 // 1..4094, equal to the number in Name
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
			ignored(sonicVLAN...),
		},
	}
}

// Tagging modes of VLAN members.
const (
	Tagged         = "tagged"
	Untagged       = "untagged"
	PriorityTagged = "priority_tagged"
)

// VLANMember is a row of VLAN_MEMBER and of APPL_DB VLAN_MEMBER_TABLE.
type VLANMember struct {
	VLAN    string // VlanN
	Port    string // port or PortChannel; in CONFIG_DB possibly an alias
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
