package schema

import (
	"fmt"
	"net/netip"
	"strings"
)

// FieldConfigKey is the field that marks rows of APPL_DB that routemgr wrote. It holds the key of the row of
// CONFIG_DB from which they are derived. Rows of other writers (FRR's fpmsyncd, neighsyncd, swssconfig) lack it.
const FieldConfigKey = "config_key"

// InterfaceTables are the tables of CONFIG_DB that make ports, PortChannels, VLANs and loopbacks routed ones.
var InterfaceTables = []string{CfgInterface, CfgVLANInterface, CfgPortChannelInterface, CfgLoopbackInterface}

// RoutedTables are the tables of CONFIG_DB with all interfaces that route: also sub-ports.
var RoutedTables = append(InterfaceTables[:len(InterfaceTables):len(InterfaceTables)], CfgVLANSubInterface)

// InterfaceTable returns the table of CONFIG_DB for a routed interface of this name. It returns "" if the name is not
// that of an interface.
func InterfaceTable(name string) string {
	switch _, vlan := VLANNumber(name); {
	case IsPortName(name):
		return CfgInterface
	case vlan:
		return CfgVLANInterface
	case IsPortChannelName(name):
		return CfgPortChannelInterface
	case IsLoopbackName(name):
		return CfgLoopbackInterface
	}
	if _, _, ok := SubPort(name); ok {
		return CfgVLANSubInterface
	}
	return ""
}

// IsLoopbackName reports whether name has the form LoopbackN.
func IsLoopbackName(name string) bool { _, ok := numbered(name, "Loopback"); return ok }

// interfaceWords describes the beginning of the keys of a table of interfaces.
func interfaceWords(table string) string {
	switch table {
	case CfgInterface:
		return "EthernetN"
	case CfgVLANInterface:
		return "VlanN, N in 1..4094"
	case CfgPortChannelInterface:
		return "PortChannelN, N in 0..9999"
	case CfgLoopbackInterface:
		return "LoopbackN"
	case CfgVLANSubInterface:
		return "EthernetN.M, PortChannelN.M, EthN.M or PoN.M, M in 1..4094, at most 15 characters"
	}
	return "EthernetN, VlanN, PortChannelN, LoopbackN or a sub-port such as EthernetN.M"
}

// Interface is the row of a routed interface in INTERFACE, VLAN_INTERFACE,
// PORTCHANNEL_INTERFACE, LOOPBACK_INTERFACE and in APPL_DB INTF_TABLE. The row of a sub-port is a [SubInterface].
type Interface struct {
	Name string
	VRF  string // VRF that it is in; "" is the default one
	MAC  MAC    // MAC address of the interface; zero means the switch's own
	MTU  uint16 // largest IP packet, in bytes; 0 means that of the port, PortChannel or VLAN
	// LinkLocal is ipv6_use_link_local_only: IPv6 works without a configured address.
	LinkLocal bool
	// LoopbackDrop is loopback_action=drop: packets are dropped if they would leave through the interface through which
	// they arrived.
	LoopbackDrop bool
	VLAN         uint16 // of a sub-port: the VLAN in the tag of its frames; 0 for other interfaces
	AdminDown    bool   // of a sub-port: admin_status is down
}

// SubInterface is the row of a sub-port in VLAN_SUB_INTERFACE and in APPL_DB INTF_TABLE.
type SubInterface struct{ Interface }

func (s *SubInterface) layout() layout {
	l := s.Interface.layout()
	l.table = CfgVLANSubInterface
	l.fields = append(l.fields[:len(l.fields)-1],
		optional("vlan", 1, 4094, &s.VLAN, "The VLAN in the tag of its frames. The default is the number in its name."),
		either("admin_status", "up", "down", &s.AdminDown, "Whether it routes."),
		ignored(sonicSubInterface...))
	l.check = func(*reader) {
		if _, number, ok := SubPort(s.Name); ok && s.VLAN == 0 {
			s.VLAN = number
		}
	}
	return l
}

// Appl returns the fields of the row in INTF_TABLE.
func (i Interface) Appl() map[string]string {
	if i.VLAN != 0 {
		return SubInterface{i}.Fields()
	}
	return i.Fields()
}

func (i *Interface) layout() layout {
	return layout{
		open: true,
		key: key{form: "interface", read: func(r *reader, key string) {
			i.Name = key
			r.interfaceName(key, key)
		}},
		fields: []field{
			hostMAC("mac_addr", &i.MAC, "Its MAC address, where not the switch's."),
			optional("mtu", minMTU, maxMTU, &i.MTU,
				"The largest IP packet, in bytes: at most that of the port, PortChannel or VLAN, which is the default."),
			flag("ipv6_use_link_local_only", "enable", "disable", false, &i.LinkLocal,
				"IPv6 without a configured address.").ifSet(),
			flag("loopback_action", "drop", "forward", false, &i.LoopbackDrop,
				"The action on packets that would leave by the interface that they arrived on.").ifSet(),
			vrfField("vrf_name", &i.VRF, "The VRF by whose routes packets that arrive here go."),
			unsupported("vnet_name", "", "no VNET: the switch has none", "There is no VNET."),
			ignored(sonicInterface...),
		},
	}
}

// ParseInterface parses the row without a prefix in a table of interfaces, or in INTF_TABLE.
func ParseInterface(table, key string, fields map[string]string) (Interface, error) {
	if _, _, sub := SubPort(key); sub {
		row, err := parseIn[SubInterface](table, key, fields)
		return row.Interface, err
	}
	return parseIn[Interface](table, key, fields)
}

// MTUOn returns the MTU of the interface on a port, PortChannel or VLAN with the MTU most: the smaller of both.
func (i Interface) MTUOn(most int) int {
	if i.MTU == 0 {
		return most
	}
	return min(int(i.MTU), most)
}

// interfaceName checks the name at the beginning of a key.
func (r *reader) interfaceName(key, name string) {
	t := InterfaceTable(name)
	if t == "" || r.table != AppInterface && t != r.table {
		r.bad("", key, interfaceWords(r.table))
	}
}

// unicast reads a MAC address that an interface or neighbour may have.
func (r *reader) unicast(field string) MAC {
	v, ok := r.value(field)
	if !ok {
		return MAC{}
	}
	m, ok := ParseMAC(v)
	if !ok || m.IsZero() || m[0]&1 == 1 {
		r.bad(field, v, "a unicast MAC address such as 52:54:00:12:34:56")
		return MAC{}
	}
	return m
}

// InterfaceAddress is a row NAME|PREFIX of a table of interfaces, and of INTF_TABLE: an address of the interface with
// its subnet.
type InterfaceAddress struct {
	Name   string
	Prefix netip.Prefix // the address with the prefix length of its subnet
}

func (a *InterfaceAddress) layout() layout {
	return layout{
		open: true,
		key:  key{form: "interface|address/length", read: a.readKey},
		fields: []field{
			familyField(func() netip.Addr { return a.Prefix.Addr() }),
			own("scope", "global or local", "In APPL_DB: whether the address is one of the link alone.", nil,
				func() string {
					if a.Prefix.Addr().IsLinkLocalUnicast() {
						return "local"
					}
					return "global"
				}),
			ignored(sonicAddress...),
		},
	}
}

func (a *InterfaceAddress) readKey(r *reader, key string) {
	name, text, _ := strings.Cut(key, "|")
	a.Name = name
	r.interfaceName(key, name)
	p, err := netip.ParsePrefix(text)
	if err != nil {
		r.bad("", key, "an interface, | and an address with the length of its subnet, such as Vlan100|10.0.0.1/24")
		return
	}
	a.Prefix = netip.PrefixFrom(p.Addr().Unmap(), p.Bits())
	if p.Addr().Is4In6() || p.Addr().Zone() != "" {
		r.bad("", key, "a plain IPv4 or IPv6 address")
	} else if why := notHost(a.Prefix); why != "" {
		r.bad("", key, why)
	}
}

// ParseInterfaceAddress parses a row with a prefix in a table of interfaces, or in INTF_TABLE by its [ConfigKey].
func ParseInterfaceAddress(table, key string, fields map[string]string) (InterfaceAddress, error) {
	return parseIn[InterfaceAddress](table, key, fields)
}

// Key returns the row's key in CONFIG_DB, with the address in canonical form.
func (a InterfaceAddress) Key() string { return a.Name + "|" + a.Prefix.String() }

// IsAddressKey reports whether a key of a table of interfaces, in CONFIG_DB's form, contains an address.
func IsAddressKey(key string) bool { return strings.Contains(key, "|") }

func family(a netip.Addr) string {
	if a.Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// notHost describes a valid address if a host in the subnet cannot have this one. It returns "" if it can.
func notHost(p netip.Prefix) string {
	a := p.Addr()
	if want := notUnicast(a); want != "" {
		return want
	}
	if !a.Is4() || p.Bits() > 30 {
		return ""
	}
	if a == p.Masked().Addr() {
		return fmt.Sprintf("the address of a host; %s is that of the subnet", a)
	}
	if a == lastIn(p) {
		return fmt.Sprintf("the address of a host; %s is the subnet's broadcast address", a)
	}
	return ""
}

// lastIn returns the last address of a prefix.
func lastIn(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// notUnicast describes a valid address if no host can have this one. It returns "" if one can.
func notUnicast(a netip.Addr) string {
	switch {
	case a.IsUnspecified(), a.IsLoopback(), a.IsMulticast(), a.Is4() && a.As4()[0] >= 240:
		return fmt.Sprintf("the address of a host; %s is none", a)
	}
	return ""
}
