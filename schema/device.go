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

// ParseDeviceMetadata reads DEVICE_METADATA; unknown fields are ignored.
func ParseDeviceMetadata(key string, fields map[string]string) (DeviceMetadata, error) {
	r := newReader(CfgDeviceMetadata, key, fields)
	if key != MetadataKey {
		r.bad("", key, MetadataKey)
	}
	m := DeviceMetadata{Hostname: r.text("hostname"), HWSKU: r.text("hwsku"), Platform: r.text("platform")}
	if v, ok := r.take("mac"); ok {
		mac, ok := ParseMAC(v)
		if !ok || mac.IsZero() || mac[0]&1 == 1 {
			r.bad("mac", v, "a unicast MAC address such as 52:54:00:12:34:56")
		} else {
			m.MAC = mac
		}
	}
	return m, r.err()
}

// Fields formats the row.
func (m DeviceMetadata) Fields() map[string]string {
	f := map[string]string{}
	put(f, "hostname", m.Hostname)
	put(f, "hwsku", m.HWSKU)
	put(f, "platform", m.Platform)
	if !m.MAC.IsZero() {
		f["mac"] = m.MAC.String()
	}
	return f
}

func put(f map[string]string, field, value string) {
	if value != "" {
		f[field] = value
	}
}

// Defaults of ports and LAGs, as SONiC's portmgrd and teammgrd have them.
const (
	DefaultMTU = 9100
	minMTU     = 68
	maxMTU     = 9216
)

// PortConfigDone is the key of PORT_TABLE that says, with field count, that
// all configured ports are in the table.
const PortConfigDone = "PortConfigDone"

// Port is a row of PORT and of APPL_DB PORT_TABLE.
type Port struct {
	Name        string
	Lanes       []uint32 // in the order given; 1 to 64, no lane twice
	Speed       uint32   // Mb/s, 1..1600000
	Alias       string   // the vendor's name; empty: not given
	Index       int      // front panel index, 0..65536; -1: not given
	MTU         uint16   // bytes, 68..9216; DefaultMTU if not given
	AdminUp     bool     // false if not given
	FEC         string   // rs, fc, none, auto; empty: not given
	Autoneg     string   // on, off; empty: not given
	Description string
}

// ParsePort reads PORT and PORT_TABLE; unknown fields are ignored.
func ParsePort(key string, fields map[string]string) (Port, error) {
	r := newReader(CfgPort, key, fields)
	if !IsPortName(key) {
		r.bad("", key, "EthernetN")
	}
	p := Port{
		Name:        key,
		Lanes:       r.lanes(),
		Speed:       uint32(r.number("speed", 1, 1_600_000, 0)),
		Alias:       r.text("alias"),
		Index:       -1,
		MTU:         uint16(r.number("mtu", minMTU, maxMTU, DefaultMTU)),
		AdminUp:     r.flag("admin_status", false, "up", "down"),
		FEC:         r.word("fec", "", "rs", "fc", "none", "auto"),
		Autoneg:     r.word("autoneg", "", "on", "off"),
		Description: r.text("description"),
	}
	if _, ok := r.take("index"); ok {
		p.Index = int(r.number("index", 0, 1<<16, 0))
	}
	if _, ok := r.fields["speed"]; !ok {
		r.bad("speed", "", "the speed in Mb/s")
	}
	if p.Alias != "" && !validAlias(p.Alias) {
		r.bad("alias", p.Alias, "visible ASCII characters without | and ,")
	}
	return p, r.err()
}

// maxLanes is how many lanes a port may have.
const maxLanes = 64

// validAlias is looser than ValidName: vendors' names have colons.
func validAlias(s string) bool { return ValidName(strings.ReplaceAll(s, ":", "_")) }

// lanes takes the hardware lanes of a port.
func (r *reader) lanes() []uint32 {
	const want = "the port's hardware lanes, such as 0,1,2,3, none twice"
	v, ok := r.take("lanes")
	if !ok {
		r.bad("lanes", "", want)
		return nil
	}
	var out []uint32
	for e := range strings.SplitSeq(v, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(e), 10, 32)
		if err != nil || len(out) == maxLanes || slices.Contains(out, uint32(n)) {
			r.bad("lanes", v, want)
			return nil
		}
		out = append(out, uint32(n))
	}
	return out
}

// Fields formats the row.
func (p Port) Fields() map[string]string {
	lanes := make([]string, len(p.Lanes))
	for i, l := range p.Lanes {
		lanes[i] = utoa(l)
	}
	f := map[string]string{
		"lanes":        strings.Join(lanes, ","),
		"speed":        utoa(p.Speed),
		"mtu":          utoa(p.MTU),
		"admin_status": upDown(p.AdminUp),
	}
	put(f, "alias", p.Alias)
	put(f, "fec", p.FEC)
	put(f, "autoneg", p.Autoneg)
	put(f, "description", p.Description)
	if p.Index >= 0 {
		f["index"] = strconv.Itoa(p.Index)
	}
	return f
}

func upDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

// PortChannel is a row of PORTCHANNEL and of APPL_DB LAG_TABLE.
type PortChannel struct {
	Name    string // PortChannelN, N in 0..9999
	AdminUp bool   // true if not given
	MTU     uint16 // bytes, 68..9216; DefaultMTU if not given
}

// ParsePortChannel reads PORTCHANNEL and LAG_TABLE; unknown fields are ignored.
func ParsePortChannel(key string, fields map[string]string) (PortChannel, error) {
	r := newReader(CfgPortChannel, key, fields)
	if !IsPortChannelName(key) {
		r.bad("", key, "PortChannelN, N in 0..9999")
	}
	c := PortChannel{
		Name:    key,
		AdminUp: r.flag("admin_status", true, "up", "down"),
		MTU:     uint16(r.number("mtu", minMTU, maxMTU, DefaultMTU)),
	}
	return c, r.err()
}

// Fields formats the row.
func (c PortChannel) Fields() map[string]string {
	return map[string]string{"admin_status": upDown(c.AdminUp), "mtu": utoa(c.MTU)}
}

// FieldAlias is the field of LAG_MEMBER_TABLE and VLAN_MEMBER_TABLE of APPL_DB
// with the port as the key in CONFIG_DB has it, where that is an alias.
const FieldAlias = "alias"

// PortChannelMember is a row of PORTCHANNEL_MEMBER and of APPL_DB LAG_MEMBER_TABLE.
type PortChannelMember struct {
	PortChannel string
	Port        string // in CONFIG_DB maybe an alias
}

// ParsePortChannelMember reads PORTCHANNEL_MEMBER, and LAG_MEMBER_TABLE by its
// [ConfigKey]; unknown fields are ignored.
func ParsePortChannelMember(key string, fields map[string]string) (PortChannelMember, error) {
	r := newReader(CfgPortChannelMbr, key, fields)
	lag, port, ok := strings.Cut(key, "|")
	if !ok || !IsPortChannelName(lag) || !validAlias(port) {
		r.bad("", key, "PortChannelN|port")
	}
	return PortChannelMember{PortChannel: lag, Port: port}, r.err()
}

// Fields formats the row for APPL_DB.
func (PortChannelMember) Fields() map[string]string {
	return map[string]string{"status": "enabled"}
}

// VLAN is a row of VLAN and of APPL_DB VLAN_TABLE.
type VLAN struct {
	Name    string
	ID      uint16 // 1..4094, that of the name
	AdminUp bool   // true if not given
	MTU     uint16 // bytes, 68..9216; DefaultMTU if not given
}

// ParseVLAN reads VLAN and VLAN_TABLE; unknown fields are ignored.
func ParseVLAN(key string, fields map[string]string) (VLAN, error) {
	r := newReader(CfgVLAN, key, fields)
	id, ok := VLANNumber(key)
	if !ok {
		r.bad("", key, "VlanN, N in 1..4094")
	}
	v := VLAN{
		Name:    key,
		ID:      id,
		AdminUp: r.flag("admin_status", true, "up", "down"),
		MTU:     uint16(r.number("mtu", minMTU, maxMTU, DefaultMTU)),
	}
	if n := r.number("vlanid", 1, 4094, uint64(id)); ok && n != uint64(id) {
		r.bad("vlanid", utoa(n), fmt.Sprintf("%d as in the key", id))
	}
	return v, r.err()
}

// Fields formats the row.
func (v VLAN) Fields() map[string]string {
	return map[string]string{"vlanid": utoa(v.ID), "admin_status": upDown(v.AdminUp), "mtu": utoa(v.MTU)}
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
	Port    string // port or PortChannel; in CONFIG_DB maybe an alias
	Tagging string // Tagged, Untagged or PriorityTagged; Untagged if not given
}

// ParseVLANMember reads VLAN_MEMBER, and VLAN_MEMBER_TABLE by its [ConfigKey];
// unknown fields are ignored.
func ParseVLANMember(key string, fields map[string]string) (VLANMember, error) {
	r := newReader(CfgVLANMember, key, fields)
	vlan, port, ok := strings.Cut(key, "|")
	if _, isVLAN := VLANNumber(vlan); !ok || !isVLAN || !validAlias(port) {
		r.bad("", key, "VlanN|port or VlanN|PortChannelN")
	}
	m := VLANMember{VLAN: vlan, Port: port, Tagging: r.word("tagging_mode", Untagged, Tagged, Untagged, PriorityTagged)}
	return m, r.err()
}

// Fields formats the row.
func (m VLANMember) Fields() map[string]string {
	return map[string]string{"tagging_mode": m.Tagging}
}
