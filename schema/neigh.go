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

// ParseNeighbor reads NEIGH, and NEIGH_TABLE by its [ConfigKey]; unknown fields
// are ignored.
func ParseNeighbor(key string, fields map[string]string) (Neighbor, error) {
	r := newReader(CfgNeigh, key, fields)
	name, text, _ := strings.Cut(key, "|")
	a, err := netip.ParseAddr(text)
	n := Neighbor{Interface: name, Addr: a, MAC: r.unicast("neigh")}
	switch {
	case err != nil || a.Is4In6() || a.Zone() != "" || InterfaceTable(name) == "" || IsLoopbackName(name):
		r.bad("", key, "an interface, | and an address, such as Vlan100|10.0.0.2")
		n.Addr = netip.Addr{}
	case notUnicast(a) != "":
		r.bad("", key, notUnicast(a))
	default:
		if f := r.word("family", "", "IPv4", "IPv6"); f != "" && f != family(a) {
			r.bad("family", f, family(a)+" as in the key")
		}
	}
	if _, given := r.fields["neigh"]; !given {
		r.bad("neigh", "", "the neighbour's MAC address: the switch does not ask for it")
	}
	return n, r.err()
}

// Fields formats the row.
func (n Neighbor) Fields() map[string]string {
	f := map[string]string{"family": family(n.Addr)}
	if !n.MAC.IsZero() {
		f["neigh"] = n.MAC.String()
	}
	return f
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

// ParseFDB reads FDB, and FDB_TABLE by its [ConfigKey]; unknown fields are
// ignored.
func ParseFDB(key string, fields map[string]string) (FDBEntry, error) {
	r := newReader(CfgFDB, key, fields)
	vlan, text, _ := strings.Cut(key, "|")
	mac, ok := ParseMAC(text)
	if _, isVLAN := VLANNumber(vlan); !ok || !isVLAN || mac.IsZero() || mac[0]&1 == 1 {
		r.bad("", key, "a VLAN, | and a unicast MAC address, such as Vlan100|52:54:00:12:34:56")
	}
	e := FDBEntry{VLAN: vlan, MAC: mac, Port: r.text("port"), Type: r.word("type", FDBStatic, FDBStatic, FDBDynamic)}
	if !IsPortName(e.Port) && !IsPortChannelName(e.Port) {
		r.bad("port", e.Port, "EthernetN or PortChannelN")
	}
	return e, r.err()
}

// Fields formats the row.
func (e FDBEntry) Fields() map[string]string {
	return map[string]string{"port": e.Port, "type": e.Type}
}

// Key is the row's key in APPL_DB and STATE_DB.
func (e FDBEntry) Key() string { return e.VLAN + ":" + e.MAC.String() }
