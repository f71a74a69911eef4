package schema

import (
	"net/netip"
	"slices"
	"strings"
)

// TAMGlobalKey is the key of the only row of TAM_SWITCH_TABLE and of TAM_APPL_SWITCH_TABLE.
const TAMGlobalKey = "global"

// TAMSwitch is the row TAM_SWITCH_TABLE|global. The default ids are the last 16 bits of the switch's MAC address.
type TAMSwitch struct {
	SwitchID     uint32 // 1..2^32-1; 0 if not given
	EnterpriseID uint32 // 1..2^32-1; 0 if not given
	KeepAll      bool   // true if all packets are kept for later queries, not only dropped ones
}

func (s *TAMSwitch) layout() layout {
	return layout{
		table: CfgTAMSwitch,
		key:   only(TAMGlobalKey),
		fields: []field{
			optional("switch-id", 1, 1<<32-1, &s.SwitchID,
				"What the switch calls itself in what it sends; without it, the last 16 bits of its MAC address."),
			optional("enterprise-id", 1, 1<<32-1, &s.EnterpriseID,
				"Whose switch it is; without it, the last 16 bits of its MAC address."),
			keepPackets(&s.KeepAll),
		},
	}
}

// Packets that the switch keeps for later queries.
const (
	KeepField = "keep-packets"
	KeepDrops = "drops" // dropped packets, and packets of flows that were requested
	KeepAll   = "all"
)

func keepPackets(all *bool) field {
	words := "The packets of which the switch keeps the last ones for queries: the dropped ones, or all; without " +
		"it, " + KeepDrops + "."
	read := func(r *reader) { *all = r.word(KeepField, KeepDrops, KeepDrops, KeepAll) == KeepAll }
	return own(KeepField, KeepDrops+" or "+KeepAll, words, read, func() string {
		if *all {
			return KeepAll
		}
		return ""
	})
}

// TAMSwitchInUse is the row TAM_APPL_SWITCH_TABLE:global: the ids in use now. An id is absent if it is neither
// configured nor given by a MAC address.
type TAMSwitchInUse struct {
	SwitchID        uint32
	HasSwitchID     bool
	EnterpriseID    uint32
	HasEnterpriseID bool
	// SwitchIDGiven and EnterpriseIDGiven mean that the id in use was configured, and does not come from the MAC
	// address.
	SwitchIDGiven, EnterpriseIDGiven bool
	KeepAll                          bool // has the same meaning as in [TAMSwitch]
}

func (s *TAMSwitchInUse) layout() layout {
	return layout{
		table: AppTAMSwitch, open: true,
		key: only(TAMGlobalKey),
		fields: slices.Concat(idInUse("switch-id", &s.SwitchID, &s.HasSwitchID, &s.SwitchIDGiven),
			idInUse("enterprise-id", &s.EnterpriseID, &s.HasEnterpriseID, &s.EnterpriseIDGiven),
			[]field{keepPackets(&s.KeepAll)}),
	}
}

// idInUse returns the fields of an id: op-ID, which is in use, and ID in addition if that was configured.
func idInUse(name string, id *uint32, has, given *bool) []field {
	write := func(has *bool) func() string {
		return func() string {
			if !*has {
				return ""
			}
			return utoa(*id)
		}
	}
	return []field{
		within("op-"+name, 0, 1<<32-1, "The "+name+" in use; without it there is none.", func(r *reader) {
			if *has = r.fields["op-"+name] != ""; *has {
				*id = uint32(r.number("op-"+name, 0, 1<<32-1, 0))
			}
		}, write(has)),
		within(name, 1, 1<<32-1, "The same, where that was configured.",
			func(r *reader) { *given = *has && r.fields[name] != "" }, write(given)),
	}
}

// Transports of collectors.
const (
	ProtocolUDP = "UDP"
	ProtocolTCP = "TCP"
)

// Collector is a row of TAM_COLLECTORS_TABLE, in CONFIG_DB and APPL_DB.
type Collector struct {
	Name     string
	Addr     netip.Addr // unicast address without a zone
	Port     uint16     // 1..65535
	Protocol string     // ProtocolUDP or ProtocolTCP
}

func (c *Collector) layout() layout {
	return layout{
		table: CfgTAMCollector,
		key:   named(&c.Name),
		fields: []field{
			own("ipaddress", unicastForm, "Where reports are sent.", func(r *reader) {
				addr, _ := r.value("ipaddress")
				c.Addr = r.host("ipaddress", addr)
			}, func() string { return c.Addr.String() }).must("").leaf("ip"),
			own("ipaddress-type", "ipv4 or ipv6", "The family of the address.", func(r *reader) {
				kind := r.word("ipaddress-type", "", "ipv4", "ipv6")
				if kind != "" && c.Addr.IsValid() && kind != c.addrType() {
					r.bad("ipaddress-type", kind, c.addrType()+", as the address is")
				}
			}, func() string { return c.addrType() }).hidden(),
			number("port", 1, 65535, 0, &c.Port, "The collector's L4 port.").
				must("the collector's L4 port, 1..65535"),
			word("protocol", ProtocolUDP, []string{ProtocolUDP, ProtocolTCP}, &c.Protocol, "How reports are sent."),
		},
	}
}

const unicastForm = "a unicast IPv4 or IPv6 address"

// host parses the address of a host.
func (r *reader) host(field, text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil || noHost(a) || a.Unmap() == broadcast() {
		r.bad(field, text, unicastForm)
		return netip.Addr{}
	}
	return a.Unmap()
}

// noHost reports whether an address cannot be a host's, or needs a zone.
func noHost(a netip.Addr) bool {
	return a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a == broadcast()
}

func broadcast() netip.Addr { return netip.AddrFrom4([4]byte{255, 255, 255, 255}) }

func (c Collector) addrType() string {
	if c.Addr.Is4() {
		return "ipv4"
	}
	return "ipv6"
}

// CapabilityField returns the field of SWITCH_CAPABILITY|switch in which orchagent reports, as true or false, whether
// the switch supports the feature.
func CapabilityField(feature string) string {
	return "tam-" + strings.ToLower(feature) + "-capable"
}

// CapabilityReasonField returns the field of SWITCH_CAPABILITY|switch with the reason why the switch does not support
// the feature.
func CapabilityReasonField(feature string) string {
	return "tam-" + strings.ToLower(feature) + "-reason"
}

// Words of the features' status and op-status.
const (
	FeatureActive       = "ACTIVE"
	FeatureInactive     = "INACTIVE"
	FeatureUnsupported  = "UNSUPPORTED"
	FeatureInsufficient = "INSUFFICIENT_RESOURCES"
	FeatureUnknown      = "UNKNOWN" // the feature was active when the state of the ASIC was last known
)

// Feature is a row of TAM_FEATURES_TABLE and, while active, of APPL_DB TAM_APPL_FEATURES_TABLE.
type Feature struct {
	Name   string
	Active bool
}

func (f *Feature) layout() layout {
	return layout{
		table: CfgTAMFeature,
		key: called(oneOf(Features()), func(name string) bool { return slices.Contains(Features(), name) },
			&f.Name),
		fields: []field{
			flag("status", FeatureActive, FeatureInactive, false, &f.Active, "Whether the feature is to be active."),
		},
	}
}

// Sampler is a row of TAM_SAMPLINGRATE_TABLE: one in Rate packets.
type Sampler struct {
	Name string
	Rate uint32 // one packet in Rate packets is sampled, 1..2^24
}

func (s *Sampler) layout() layout {
	return layout{
		table: CfgTAMSampler,
		key:   named(&s.Name),
		fields: []field{
			number("sampling-rate", 1, 1<<24, 0, &s.Rate, "One packet in so many is taken.").
				must("one in how many packets, 1..16777216"),
		},
	}
}

// FlowGroup is a row of TAM_FLOWGROUP_TABLE. Its match is the ACL rule of the same name in its table.
type FlowGroup struct {
	Name  string
	ID    uint32 // unique; 0 if not given
	Table string // default TAMTable
}

func (g *FlowGroup) layout() layout {
	return layout{
		table: CfgTAMFlowGroup,
		key:   named(&g.Name),
		fields: []field{
			optional("id", 1, 1<<32-1, &g.ID, "A number that no other flow group has."),
			name("table-name", TAMTable, &g.Table, "The ACL table; its rule of the flow group's name is the match."),
		},
	}
}

// Rule returns the key of the ACL rule that is the group's match.
func (g FlowGroup) Rule() ACLRuleKey { return ACLRuleKey{Table: g.Table, Rule: g.Name} }

// flowGroupOf returns the field of a session with its flow group.
func flowGroupOf(at *string) field {
	return name("flowgroup", "", at,
		"The flow group whose packets the session is about.").must("the name of a flow group").to(CfgTAMFlowGroup)
}

// ruleOf returns the fields of a session of APPL_DB with the ACL rule that is its match.
func ruleOf(k *ACLRuleKey) []field {
	return []field{
		name("acl-table-name", "", &k.Table, "The ACL table of the flow group's rule.").
			must("the name of an ACL table").hidden(),
		name("acl-rule-name", "", &k.Rule, "The flow group's rule.").must("the name of an ACL rule").leaf("flowgroup"),
	}
}
