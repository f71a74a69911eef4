package schema

import (
	"net/netip"
	"slices"
	"strings"
)

// TAMGlobalKey is the key of the only row of TAM_SWITCH_TABLE and of
// TAM_APPL_SWITCH_TABLE.
const TAMGlobalKey = "global"

// TAMSwitch is the row TAM_SWITCH_TABLE|global. Ids that are not given
// default to the last 16 bits of the switch's MAC address.
type TAMSwitch struct {
	SwitchID     uint32 // 1..2^32-1; 0: not given
	EnterpriseID uint32 // 1..2^32-1; 0: not given
}

var tamSwitchRows = rows[TAMSwitch]{
	table: CfgTAMSwitch,
	key:   only[TAMSwitch](TAMGlobalKey),
	fields: []field[TAMSwitch]{
		optional("switch-id", 1, 1<<32-1, func(s *TAMSwitch) *uint32 { return &s.SwitchID },
			"What the switch calls itself in what it sends; without it, the last 16 bits of its MAC address."),
		optional("enterprise-id", 1, 1<<32-1, func(s *TAMSwitch) *uint32 { return &s.EnterpriseID },
			"Whose switch it is; without it, the last 16 bits of its MAC address."),
	},
}

// ParseTAMSwitch reads TAM_SWITCH_TABLE.
func ParseTAMSwitch(key string, f map[string]string) (TAMSwitch, error) {
	return tamSwitchRows.parse(key, f)
}

// Fields formats the row.
func (s TAMSwitch) Fields() map[string]string { return tamSwitchRows.fieldsOf(s) }

// TAMSwitchInUse is the row TAM_APPL_SWITCH_TABLE:global: the ids in use now.
// An id that nobody gave and no MAC address yields is absent.
type TAMSwitchInUse struct {
	SwitchID        uint32
	HasSwitchID     bool
	EnterpriseID    uint32
	HasEnterpriseID bool
	// SwitchIDGiven and EnterpriseIDGiven say that the id in use is one that was
	// configured, and not what the MAC address gives.
	SwitchIDGiven, EnterpriseIDGiven bool
}

var tamSwitchInUseRows = rows[TAMSwitchInUse]{
	table: AppTAMSwitch,
	open:  true,
	key:   only[TAMSwitchInUse](TAMGlobalKey),
	fields: slices.Concat(
		idInUse("switch-id", func(s *TAMSwitchInUse) (*uint32, *bool, *bool) {
			return &s.SwitchID, &s.HasSwitchID, &s.SwitchIDGiven
		}),
		idInUse("enterprise-id", func(s *TAMSwitchInUse) (*uint32, *bool, *bool) {
			return &s.EnterpriseID, &s.HasEnterpriseID, &s.EnterpriseIDGiven
		})),
}

// idInUse are the fields of an id: op-ID, which is in use, and ID beside it if that was configured.
func idInUse(name string, at func(*TAMSwitchInUse) (id *uint32, has, given *bool)) []field[TAMSwitchInUse] {
	write := func(id *uint32, has *bool) string {
		if !*has {
			return ""
		}
		return utoa(*id)
	}
	return []field[TAMSwitchInUse]{
		own("op-"+name, rangeForm(0, 1<<32-1),
			"The "+name+" in use; without it there is none.", func(r *reader, s *TAMSwitchInUse) {
				id, has, _ := at(s)
				if *has = r.fields["op-"+name] != ""; *has {
					*id = uint32(r.number("op-"+name, 0, 1<<32-1, 0))
				}
			}, func(s *TAMSwitchInUse) string {
				id, has, _ := at(s)
				return write(id, has)
			}),
		own(name, rangeForm(1, 1<<32-1), "The same, where that was configured.", func(r *reader, s *TAMSwitchInUse) {
			_, has, given := at(s)
			*given = *has && r.fields[name] != ""
		}, func(s *TAMSwitchInUse) string {
			id, _, given := at(s)
			return write(id, given)
		}),
	}
}

// ParseTAMSwitchInUse reads TAM_APPL_SWITCH_TABLE.
func ParseTAMSwitchInUse(key string, f map[string]string) (TAMSwitchInUse, error) {
	return tamSwitchInUseRows.parse(key, f)
}

// Fields formats the row.
func (s TAMSwitchInUse) Fields() map[string]string { return tamSwitchInUseRows.fieldsOf(s) }

// Transports of collectors.
const (
	ProtocolUDP = "UDP"
	ProtocolTCP = "TCP"
)

// Collector is a row of TAM_COLLECTORS_TABLE, in CONFIG_DB and APPL_DB.
type Collector struct {
	Name     string
	Addr     netip.Addr // unicast, no zone
	Port     uint16     // 1..65535
	Protocol string     // ProtocolUDP or ProtocolTCP
}

var collectorRows = rows[Collector]{
	table: CfgTAMCollector,
	key:   named(func(c *Collector) *string { return &c.Name }),
	fields: []field[Collector]{
		own("ipaddress", unicastForm, "Where reports are sent.", func(r *reader, c *Collector) {
			addr, _ := r.take("ipaddress")
			c.Addr = r.host("ipaddress", addr)
		}, func(c *Collector) string { return c.Addr.String() }).must(""),
		own("ipaddress-type", "ipv4 or ipv6", "The family of the address.", func(r *reader, c *Collector) {
			kind := r.word("ipaddress-type", "", "ipv4", "ipv6")
			if kind != "" && c.Addr.IsValid() && kind != c.addrType() {
				r.bad("ipaddress-type", kind, c.addrType()+", as the address is")
			}
		}, func(c *Collector) string { return c.addrType() }),
		number("port", 1, 65535, 0, func(c *Collector) *uint16 { return &c.Port }, "The collector's L4 port.").
			must("the collector's L4 port, 1..65535"),
		word("protocol", ProtocolUDP, []string{ProtocolUDP, ProtocolTCP},
			func(c *Collector) *string { return &c.Protocol },
			"How reports are sent."),
	},
}

const unicastForm = "a unicast IPv4 or IPv6 address"

// host reads the address of a host.
func (r *reader) host(field, text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil || noHost(a) || a.Unmap() == broadcast() {
		r.bad(field, text, unicastForm)
		return netip.Addr{}
	}
	return a.Unmap()
}

// ParseCollector reads TAM_COLLECTORS_TABLE.
func ParseCollector(key string, f map[string]string) (Collector, error) {
	return collectorRows.parse(key, f)
}

// Fields formats the row.
func (c Collector) Fields() map[string]string { return collectorRows.fieldsOf(c) }

// noHost says whether an address is that of no host, or of one on this link only by a zone.
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

// Features lists the features that TAM_FEATURES_TABLE may name.
func Features() []string {
	return []string{FeatureTailStamping, FeatureAltMark, FeatureFlyMon, FeatureTableRecord}
}

// CapabilityField is the field of SWITCH_TABLE:switch in which orchagent says
// true or false, whether the switch can do the feature.
func CapabilityField(feature string) string {
	return "tam-" + strings.ToLower(feature) + "-capable"
}

// CapabilityReasonField is the field of SWITCH_TABLE:switch with the reason
// why the switch cannot do the feature.
func CapabilityReasonField(feature string) string {
	return "tam-" + strings.ToLower(feature) + "-reason"
}

// Words of the features' status and op-status.
const (
	FeatureActive       = "ACTIVE"
	FeatureInactive     = "INACTIVE"
	FeatureUnsupported  = "UNSUPPORTED"
	FeatureInsufficient = "INSUFFICIENT_RESOURCES"
)

// Feature is a row of TAM_FEATURES_TABLE and, while active, of APPL_DB
// TAM_APPL_FEATURES_TABLE.
type Feature struct {
	Name   string
	Active bool
}

var featureRows = rows[Feature]{
	table: CfgTAMFeature,
	key: called(oneOf(Features()), func(name string) bool { return slices.Contains(Features(), name) },
		func(f *Feature) *string { return &f.Name }),
	fields: []field[Feature]{
		flag("status", FeatureActive, FeatureInactive, false, func(f *Feature) *bool { return &f.Active },
			"Whether the feature is to be active."),
	},
}

// ParseFeature reads TAM_FEATURES_TABLE and TAM_APPL_FEATURES_TABLE.
func ParseFeature(key string, f map[string]string) (Feature, error) { return featureRows.parse(key, f) }

// Fields formats the row.
func (f Feature) Fields() map[string]string { return featureRows.fieldsOf(f) }

// Sampler is a row of TAM_SAMPLINGRATE_TABLE: one in Rate packets.
type Sampler struct {
	Name string
	Rate uint32 // 1..2^24
}

var samplerRows = rows[Sampler]{
	table: CfgTAMSampler,
	key:   named(func(s *Sampler) *string { return &s.Name }),
	fields: []field[Sampler]{
		number("sampling-rate", 1, 1<<24, 0, func(s *Sampler) *uint32 { return &s.Rate },
			"One packet in so many is taken.").
			must("one in how many packets, 1..16777216"),
	},
}

// ParseSampler reads TAM_SAMPLINGRATE_TABLE.
func ParseSampler(key string, f map[string]string) (Sampler, error) { return samplerRows.parse(key, f) }

// Fields formats the row.
func (s Sampler) Fields() map[string]string { return samplerRows.fieldsOf(s) }

// FlowGroup is a row of TAM_FLOWGROUP_TABLE. Its match is the ACL rule of the
// same name in its table.
type FlowGroup struct {
	Name  string
	ID    uint32 // unique; 0: not given
	Table string // default TAMTable
}

var flowGroupRows = rows[FlowGroup]{
	table: CfgTAMFlowGroup,
	key:   named(func(g *FlowGroup) *string { return &g.Name }),
	fields: []field[FlowGroup]{
		optional("id", 1, 1<<32-1, func(g *FlowGroup) *uint32 { return &g.ID },
			"A number that no other flow group has."),
		name("table-name", TAMTable, func(g *FlowGroup) *string { return &g.Table },
			"The ACL table; its rule of the flow group's name is the match."),
	},
}

// ParseFlowGroup reads TAM_FLOWGROUP_TABLE.
func ParseFlowGroup(key string, f map[string]string) (FlowGroup, error) {
	return flowGroupRows.parse(key, f)
}

// Rule is the key of the ACL rule that is the group's match.
func (g FlowGroup) Rule() ACLRuleKey { return ACLRuleKey{Table: g.Table, Rule: g.Name} }

// Fields formats the row.
func (g FlowGroup) Fields() map[string]string { return flowGroupRows.fieldsOf(g) }

// TailStampSession is a row of CONFIG_DB TAM_TAILSTAMPING_TABLE.
type TailStampSession struct {
	Name      string
	FlowGroup string
}

var tailStampSessionRows = rows[TailStampSession]{
	table:  CfgTAMTailStamp,
	key:    named(func(s *TailStampSession) *string { return &s.Name }),
	fields: []field[TailStampSession]{flowGroupOf(func(s *TailStampSession) *string { return &s.FlowGroup })},
}

// flowGroupOf is the field of a session with its flow group.
func flowGroupOf[T any](at func(*T) *string) field[T] {
	return name("flowgroup", "", at,
		"The flow group whose packets the session is about.").must("the name of a flow group")
}

// ParseTailStampSession reads TAM_TAILSTAMPING_TABLE of CONFIG_DB.
func ParseTailStampSession(key string, f map[string]string) (TailStampSession, error) {
	return tailStampSessionRows.parse(key, f)
}

// Fields formats the row.
func (s TailStampSession) Fields() map[string]string { return tailStampSessionRows.fieldsOf(s) }

// TailStampFlow is a row of APPL_DB TAM_TAILSTAMPING_TABLE: the session with
// its flow group resolved to an ACL rule.
type TailStampFlow struct {
	Name string
	Rule ACLRuleKey
}

var tailStampFlowRows = rows[TailStampFlow]{
	table:  AppTAMTailStamp,
	open:   true,
	key:    named(func(s *TailStampFlow) *string { return &s.Name }),
	fields: ruleOf(func(s *TailStampFlow) *ACLRuleKey { return &s.Rule }),
}

// ruleOf are the fields of a session of APPL_DB with the ACL rule that is its match.
func ruleOf[T any](at func(*T) *ACLRuleKey) []field[T] {
	return within(at,
		name("acl-table-name", "", func(k *ACLRuleKey) *string { return &k.Table },
			"The ACL table of the flow group's rule.").
			must("the name of an ACL table"),
		name("acl-rule-name", "", func(k *ACLRuleKey) *string { return &k.Rule }, "The flow group's rule.").
			must("the name of an ACL rule"))
}

// ParseTailStampFlow reads TAM_TAILSTAMPING_TABLE of APPL_DB.
func ParseTailStampFlow(key string, f map[string]string) (TailStampFlow, error) {
	return tailStampFlowRows.parse(key, f)
}

// Fields formats the row.
func (s TailStampFlow) Fields() map[string]string { return tailStampFlowRows.fieldsOf(s) }

// TailStampCounters is a row of COUNTERS_DB TAM_TAILSTAMPING_COUNTERS: what became of the packets
// of a session. What the silicon does not count is nil.
type TailStampCounters struct {
	Matched, MatchedBytes                  *uint64
	Stamped                                *uint64
	NotTCPUDP, NotEthernetII, Cut, TooLong *uint64 // not stamped
}

var tailStampCounterRows = rows[TailStampCounters]{
	table: CountersTailStamp, open: true,
	key: sessionKey[TailStampCounters](),
	fields: []field[TailStampCounters]{
		known("MATCHED_PACKETS", func(c *TailStampCounters) **uint64 { return &c.Matched }, "Packets of the flow group."),
		known("MATCHED_BYTES", func(c *TailStampCounters) **uint64 { return &c.MatchedBytes }, "Their bytes."),
		known("STAMPED_PACKETS", func(c *TailStampCounters) **uint64 { return &c.Stamped },
			"Packets that left with a stamp."),
		known("NOT_STAMPED_NOT_TCP_UDP", func(c *TailStampCounters) **uint64 { return &c.NotTCPUDP },
			"Not stamped: neither TCP nor UDP."),
		known("NOT_STAMPED_NOT_ETHERNET_II", func(c *TailStampCounters) **uint64 { return &c.NotEthernetII },
			"Not stamped: not Ethernet II."),
		known("NOT_STAMPED_CUT", func(c *TailStampCounters) **uint64 { return &c.Cut }, "Not stamped: cut short."),
		known("NOT_STAMPED_MTU", func(c *TailStampCounters) **uint64 { return &c.TooLong },
			"Not stamped: the frame would be larger than the MTU."),
	},
}

// ParseTailStampCounters reads TAM_TAILSTAMPING_COUNTERS.
func ParseTailStampCounters(session string, f map[string]string) (TailStampCounters, error) {
	return tailStampCounterRows.parse(session, f)
}

// Fields formats the row.
func (c TailStampCounters) Fields() map[string]string { return tailStampCounterRows.fieldsOf(c) }
