package schema

import (
	"net/netip"
	"strings"
)

// Neighbor is a row of NEIGH and of APPL_DB NEIGH_TABLE.
type Neighbor struct {
	Interface string
	Addr      netip.Addr
	MAC       MAC
}

func (n *Neighbor) layout() layout {
	return layout{
		table: CfgNeigh, open: true,
		key: key{form: "interface|address", read: func(r *reader, key string) {
			name, text, _ := strings.Cut(key, "|")
			a, err := netip.ParseAddr(text)
			n.Interface = name
			switch {
			case err != nil || a.Is4In6() || a.Zone() != "" || InterfaceTable(name) == "" || IsLoopbackName(name):
				r.bad("", key, "an interface, | and an address, such as Vlan100|10.0.0.2")
				return
			case notUnicast(a) != "":
				r.bad("", key, notUnicast(a))
			}
			n.Addr = a
		}},
		fields: []field{
			hostMAC("neigh", &n.MAC, "The neighbour's MAC address.").
				must("the neighbour's MAC address: the switch does not ask for it"),
			familyField(func() netip.Addr { return n.Addr }),
		},
	}
}

// familyField returns a field that repeats the family of the address in the key.
func familyField(of func() netip.Addr) field {
	words := []string{"IPv4", "IPv6"}
	return own("family", oneOf(words), "That of the address in the key.", func(r *reader) {
		a := of()
		if !a.IsValid() {
			return
		}
		if f := r.word("family", "", words...); f != "" && f != family(a) {
			r.bad("family", f, family(a)+" as in the key")
		}
	}, func() string { return family(of()) })
}

// Types of FDB entries.
const (
	FDBStatic  = "static"
	FDBDynamic = "dynamic"
)

// FDBEntry is a row of FDB, of APPL_DB FDB_TABLE, and of STATE_DB FDB_TABLE.
type FDBEntry struct {
	VLAN string
	MAC  MAC
	Port string // port or PortChannel
	Type string // FDBStatic; in APPL_DB and STATE_DB also FDBDynamic
}

func (e *FDBEntry) layout() layout {
	return layout{
		table: CfgFDB, open: true,
		key: key{form: "VlanN|MAC address", read: func(r *reader, key string) {
			vlan, text, _ := strings.Cut(key, "|")
			mac, ok := ParseMAC(text)
			if _, isVLAN := VLANNumber(vlan); !ok || !isVLAN || mac.IsZero() || mac[0]&1 == 1 {
				r.bad("", key, "a VLAN, | and a unicast MAC address, such as Vlan100|52:54:00:12:34:56")
			}
			e.VLAN, e.MAC = vlan, mac
		}},
		fields: []field{
			own("port", "EthernetN or PortChannelN", "Where the address is.", func(r *reader) {
				if e.Port = r.text("port"); !IsPortName(e.Port) && !IsPortChannelName(e.Port) {
					r.bad("port", e.Port, "EthernetN or PortChannelN")
				}
			}, func() string { return e.Port }).must(""),
			word("type", FDBStatic, []string{FDBStatic, FDBDynamic}, &e.Type, "Static; what the switch learns is dynamic."),
		},
	}
}

// ParseFDB parses a row of FDB, or of FDB_TABLE by its [ConfigKey].
func ParseFDB(key string, f map[string]string) (FDBEntry, error) { return parse[FDBEntry](key, f) }

// Key returns the row's key in APPL_DB and STATE_DB.
func (e FDBEntry) Key() string { return e.VLAN + ":" + e.MAC.String() }

// FieldNeigh holds the MAC address of a neighbour, or of a host that uses an address of the switch too.
const FieldNeigh = "neigh"

// States of an address of the switch as a host.
const (
	AddressUsable    = "usable"
	AddressTentative = "tentative"
	AddressDuplicate = "duplicate"
	AddressConflict  = "conflict"
)
