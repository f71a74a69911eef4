package config

// An ACLField is a match field.
type ACLField uint8

// The match fields. Those of the first group are numbers with a mask.
const (
	FieldDstMAC ACLField = iota
	FieldEtherType
	FieldSrcMAC
	FieldOuterPriority
	FieldOuterCFI
	FieldOuterVLAN
	FieldIPProtocol
	FieldIPv6NextHeader
	FieldDSCP
	FieldECN
	FieldTOS
	FieldTTL
	FieldTCPFlags
	FieldIPFlags
	FieldL4SrcPort
	FieldL4DstPort
	FieldICMPType
	FieldICMPCode
	FieldICMPv6Type
	FieldICMPv6Code
	FieldIPID
	FieldSrcIP
	FieldDstIP
	FieldSrcIPv6
	FieldDstIPv6
	FieldInnerPriority
	FieldInnerCFI
	FieldInnerVLAN
	FieldFlowLabel
	FieldTC
	FieldMeta
	FieldFlowMonID // the FlowMonID of the AltMark option (RFC 9343)

	// These have one of a small set of values, in Value[1].
	FieldIPType    // an IPType
	FieldFragment  // a Fragment
	FieldTags      // a Tags
	FieldHasTag    // 0 or 1
	FieldTailstamp // matches frames that carry a record; has no value

	// These name rows.
	FieldInPorts // ports, or one LAG
	FieldOutPorts
	FieldRanges // range checkers: all must hold
	NumACLFields
)

// Bits returns the width of a numeric field with a mask, 0 for other fields.
func (f ACLField) Bits() int {
	return [NumACLFields]int{
		FieldDstMAC: 48, FieldEtherType: 16, FieldSrcMAC: 48,
		FieldOuterPriority: 3, FieldOuterCFI: 1, FieldOuterVLAN: 12,
		FieldIPProtocol: 8, FieldIPv6NextHeader: 8, FieldDSCP: 6, FieldECN: 2, FieldTOS: 8, FieldTTL: 8,
		FieldTCPFlags: 8, FieldIPFlags: 8, FieldL4SrcPort: 16, FieldL4DstPort: 16,
		FieldICMPType: 8, FieldICMPCode: 8, FieldICMPv6Type: 8, FieldICMPv6Code: 8, FieldIPID: 16,
		FieldSrcIP: 32, FieldDstIP: 32, FieldSrcIPv6: 128, FieldDstIPv6: 128,
		FieldInnerPriority: 3, FieldInnerCFI: 1, FieldInnerVLAN: 12, FieldFlowLabel: 20, FieldTC: 8, FieldMeta: 32,
		FieldFlowMonID: 20,
	}[f]
}

// An IPType is a value of FieldIPType, in the order of SAI.
type IPType uint8

// The IP types.
const (
	IPAny IPType = iota // any packet
	IP
	NonIP
	IPv4
	NonIPv4
	IPv6
	NonIPv6
	ARP
	ARPRequest
	ARPReply
)

// A Fragment is a value of FieldFragment, in the order of SAI.
type Fragment uint8

// The kinds of fragments.
const (
	AnyFragment Fragment = iota
	NoFragment
	NoFragmentOrHead
	HeadFragment
	NonHeadFragment
)

// Tags is a value of FieldTags, in the order of SAI.
type Tags uint8

// The numbers of tags.
const (
	NoTags Tags = iota
	OneTag
	TwoTags
)

// An ACLActionKind is a kind of action.
type ACLActionKind uint8

// The actions. If a packet hits several entries, one of them decides each action. But packet actions combine, and each
// entry counts and samples separately.
const (
	ActPacket        ACLActionKind = iota // a PacketAction
	ActCounter                            // counts in a counter
	ActRedirect                           // to a port, LAG, bridge port, next hop or group
	ActMirrorIngress                      // copies to mirror sessions
	ActMirrorEgress
	ActSetTC
	ActSetDSCP
	ActSetMeta
	ActNoLearning
	ActStamp  // stamps, with the settings of a TAM INT object
	ActIFA    // initiates IFA, with the settings of a TAM INT object
	ActIFAEnd // terminates IFA, likewise; mirror sessions of the entry get the stack
	ActTAM    // drops are reported as a TAM object defines; such actions of several entries combine
	ActSample // by a sampler; on arrival or departure, depending on the stage of its table
	ActNoTrim // queues do not trim the packet
	NumACLActions
)
