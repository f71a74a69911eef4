package schema

import (
	"slices"
	"strings"
)

// Tables of the switch's flow hashes.
const (
	CfgSwitchHash = "SWITCH_HASH"
	AppSwitchHash = "SWITCH_HASH_TABLE" // also in STATE_DB
)

// SwitchHashKey is the key of the only row of SWITCH_HASH.
const SwitchHashKey = "GLOBAL"

// Fields of [StateSwitchCap] about the hashes, as SONiC's orchagent has them. The lists are [SwitchHashUnknown] if the
// ASIC does not report them.
const (
	FieldHashFields            = "HASH|NATIVE_HASH_FIELD_LIST"
	FieldECMPHashCapable       = "ECMP_HASH_CAPABLE"
	FieldECMPAlgorithms        = "ECMP_HASH_ALGORITHM"
	FieldECMPAlgorithmsCapable = "ECMP_HASH_ALGORITHM_CAPABLE"
	FieldLAGHashCapable        = "LAG_HASH_CAPABLE"
	FieldLAGAlgorithms         = "LAG_HASH_ALGORITHM"
	FieldLAGAlgorithmsCapable  = "LAG_HASH_ALGORITHM_CAPABLE"
	SwitchHashUnknown          = "N/A"
)

// SwitchHashFields returns the names of the packet fields that a hash may cover: SAI's without
// SAI_NATIVE_HASH_FIELD_.
func SwitchHashFields() []string {
	return strings.Fields(`DST_IP DST_MAC ETHERTYPE INNER_DST_IP INNER_DST_MAC INNER_ETHERTYPE INNER_IP_PROTOCOL
		INNER_L4_DST_PORT INNER_L4_SRC_PORT INNER_SRC_IP INNER_SRC_MAC IN_PORT IPV6_FLOW_LABEL IP_PROTOCOL L4_DST_PORT
		L4_SRC_PORT SRC_IP SRC_MAC VLAN_ID`)
}

// SwitchHashAlgorithms returns the names of algorithms: SAI's without SAI_HASH_ALGORITHM_.
func SwitchHashAlgorithms() []string {
	return strings.Fields("CRC CRC_32HI CRC_32LO CRC_CCITT CRC_XOR RANDOM XOR")
}

// A SwitchHash is the row of SWITCH_HASH: how the switch chooses the next hop of a group and the port of a PortChannel.
type SwitchHash struct {
	ECMP, LAG                   []string // fields of packets, sorted, without duplicates
	ECMPAlgorithm, LAGAlgorithm string
}

// DefaultSwitchHash returns the row's defaults.
func DefaultSwitchHash() SwitchHash {
	fields := defaultHashFields()
	return SwitchHash{fields, slices.Clone(fields), DefaultHashAlgorithm, DefaultHashAlgorithm}
}

// DefaultHashAlgorithm is the default algorithm, that of SAI.
const DefaultHashAlgorithm = "CRC"

func defaultHashFields() []string {
	return strings.Fields("DST_IP DST_MAC ETHERTYPE IP_PROTOCOL L4_DST_PORT L4_SRC_PORT SRC_IP SRC_MAC")
}

func (h *SwitchHash) layout() layout {
	const which = "What decides which "
	fields := func(name string, at *[]string, words string) field {
		form := "some of " + strings.Join(SwitchHashFields(), ", ") + ", separated by commas"
		return own(name, form, words, func(r *reader) { *at = r.hashFields(name) },
			func() string { return strings.Join(*at, ",") }).parted(",").or(strings.Join(defaultHashFields(), ","))
	}
	algorithm := func(name string, at *string, words string) field {
		return word(name, DefaultHashAlgorithm, SwitchHashAlgorithms(), at, words)
	}
	return layout{
		table: CfgSwitchHash, key: only(SwitchHashKey),
		fields: []field{
			fields("ecmp_hash", &h.ECMP, which+"next hop of a route packets go to: these fields of the packet."),
			fields("lag_hash", &h.LAG, which+"port of a PortChannel packets go to: these fields of the packet."),
			algorithm("ecmp_hash_algorithm", &h.ECMPAlgorithm, "How these fields become the number of a next hop."),
			algorithm("lag_hash_algorithm", &h.LAGAlgorithm, "How these fields become the number of a port."),
		},
	}
}

// hashFields reads a list of packet fields. An empty list is the default.
func (r *reader) hashFields(name string) []string {
	list := r.list(name)
	if len(list) == 0 {
		return defaultHashFields()
	}
	known := SwitchHashFields()
	for i, f := range list {
		if list[i] = strings.ToUpper(f); !slices.Contains(known, list[i]) {
			r.badWord(name, f, oneOf(known), known)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func switchHashTable() Table {
	return of(Table{Config: CfgSwitchHash, Appl: AppSwitchHash, State: AppSwitchHash,
		Words: "How flows are spread over next hops and over the ports of PortChannels."}, SwitchHash{})
}

// switchHashCapabilities returns the fields of [StateSwitchCap] about the hashes.
func switchHashCapabilities() []Field {
	able := func(name, words string) Field { return Field{Name: name, Form: "true or false", Words: words} }
	list := func(name, words string) Field {
		return Field{Name: name, Form: "names separated by commas, or N/A", Words: words}
	}
	return []Field{
		list(FieldHashFields, "Which fields of a packet a hash can cover."),
		able(FieldECMPHashCapable, "Whether the fields that choose a next hop can be set."),
		list(FieldECMPAlgorithms, "The algorithms that can choose a next hop."),
		able(FieldECMPAlgorithmsCapable, "Whether that algorithm can be set."),
		able(FieldLAGHashCapable, "Whether the fields that choose a port of a PortChannel can be set."),
		list(FieldLAGAlgorithms, "The algorithms that can choose a port of a PortChannel."),
		able(FieldLAGAlgorithmsCapable, "Whether that algorithm can be set."),
	}
}
