package schema

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// TAMGlobalKey is the key of the only row of TAM_SWITCH_TABLE and of
// TAM_APPL_SWITCH_TABLE.
const TAMGlobalKey = "global"

// tamKey reports a key that cannot name a TAM row.
func (r *reader) tamKey(key string) {
	if !ValidName(key) {
		r.bad("", key, nameWords)
	}
}

// TAMSwitch is the row TAM_SWITCH_TABLE|global. Ids that are not given
// default to the last 16 bits of the switch's MAC address.
type TAMSwitch struct {
	SwitchID     uint32 // 1..2^32-1; 0: not given
	EnterpriseID uint32 // 1..2^32-1; 0: not given
}

// ParseTAMSwitch reads TAM_SWITCH_TABLE.
func ParseTAMSwitch(key string, fields map[string]string) (TAMSwitch, error) {
	r := newReader(CfgTAMSwitch, key, fields)
	if key != TAMGlobalKey {
		r.bad("", key, TAMGlobalKey)
	}
	s := TAMSwitch{
		SwitchID:     uint32(r.number("switch-id", 1, 1<<32-1, 0)),
		EnterpriseID: uint32(r.number("enterprise-id", 1, 1<<32-1, 0)),
	}
	r.unknown()
	return s, r.err()
}

// Fields formats the row.
func (s TAMSwitch) Fields() map[string]string {
	f := map[string]string{}
	if s.SwitchID != 0 {
		f["switch-id"] = utoa(s.SwitchID)
	}
	if s.EnterpriseID != 0 {
		f["enterprise-id"] = utoa(s.EnterpriseID)
	}
	return f
}

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

// ParseTAMSwitchInUse reads TAM_APPL_SWITCH_TABLE.
func ParseTAMSwitchInUse(key string, fields map[string]string) (TAMSwitchInUse, error) {
	r := newReader(AppTAMSwitch, key, fields)
	if key != TAMGlobalKey {
		r.bad("", key, TAMGlobalKey)
	}
	var s TAMSwitchInUse
	if s.HasSwitchID = r.fields["op-switch-id"] != ""; s.HasSwitchID {
		s.SwitchID = uint32(r.number("op-switch-id", 0, 1<<32-1, 0))
	}
	if s.HasEnterpriseID = r.fields["op-enterprise-id"] != ""; s.HasEnterpriseID {
		s.EnterpriseID = uint32(r.number("op-enterprise-id", 0, 1<<32-1, 0))
	}
	s.SwitchIDGiven = s.HasSwitchID && r.fields["switch-id"] != ""
	s.EnterpriseIDGiven = s.HasEnterpriseID && r.fields["enterprise-id"] != ""
	return s, r.err()
}

// Fields formats the row.
func (s TAMSwitchInUse) Fields() map[string]string {
	f := map[string]string{}
	if s.HasSwitchID {
		f["op-switch-id"] = utoa(s.SwitchID)
	}
	if s.HasEnterpriseID {
		f["op-enterprise-id"] = utoa(s.EnterpriseID)
	}
	if s.SwitchIDGiven {
		f["switch-id"] = utoa(s.SwitchID)
	}
	if s.EnterpriseIDGiven {
		f["enterprise-id"] = utoa(s.EnterpriseID)
	}
	return f
}

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

// ParseCollector reads TAM_COLLECTORS_TABLE.
func ParseCollector(key string, fields map[string]string) (Collector, error) {
	r := newReader(CfgTAMCollector, key, fields)
	r.tamKey(key)
	c := Collector{Name: key}
	addr, _ := r.take("ipaddress")
	a, err := netip.ParseAddr(addr)
	c.Addr = a.Unmap()
	if err != nil || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || c.Addr == broadcast() {
		r.bad("ipaddress", addr, "a unicast IPv4 or IPv6 address")
		c.Addr = netip.Addr{}
	}
	kind := r.word("ipaddress-type", "", "ipv4", "ipv6")
	if kind != "" && c.Addr.IsValid() && kind != c.addrType() {
		r.bad("ipaddress-type", kind, c.addrType()+", as the address is")
	}
	c.Port = uint16(r.number("port", 1, 65535, 0))
	if _, ok := r.fields["port"]; !ok {
		r.bad("port", "", "the collector's L4 port, 1..65535")
	}
	c.Protocol = r.word("protocol", ProtocolUDP, ProtocolUDP, ProtocolTCP)
	r.unknown()
	return c, r.err()
}

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

// Fields formats the row.
func (c Collector) Fields() map[string]string {
	return map[string]string{
		"ipaddress": c.Addr.String(), "ipaddress-type": c.addrType(),
		"port": utoa(c.Port), "protocol": c.Protocol,
	}
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

// ParseFeature reads TAM_FEATURES_TABLE and TAM_APPL_FEATURES_TABLE.
func ParseFeature(key string, fields map[string]string) (Feature, error) {
	r := newReader(CfgTAMFeature, key, fields)
	if !slices.Contains(Features(), key) {
		r.bad("", key, oneOf(Features()))
	}
	f := Feature{Name: key, Active: r.flag("status", false, FeatureActive, FeatureInactive)}
	r.unknown()
	return f, r.err()
}

// Fields formats the row.
func (f Feature) Fields() map[string]string {
	if f.Active {
		return map[string]string{"status": FeatureActive}
	}
	return map[string]string{"status": FeatureInactive}
}

// Sampler is a row of TAM_SAMPLINGRATE_TABLE: one in Rate packets.
type Sampler struct {
	Name string
	Rate uint32 // 1..2^24
}

// ParseSampler reads TAM_SAMPLINGRATE_TABLE.
func ParseSampler(key string, fields map[string]string) (Sampler, error) {
	r := newReader(CfgTAMSampler, key, fields)
	r.tamKey(key)
	s := Sampler{Name: key, Rate: uint32(r.number("sampling-rate", 1, 1<<24, 0))}
	if _, ok := r.fields["sampling-rate"]; !ok {
		r.bad("sampling-rate", "", "one in how many packets, 1..16777216")
	}
	r.unknown()
	return s, r.err()
}

// Fields formats the row.
func (s Sampler) Fields() map[string]string {
	return map[string]string{"sampling-rate": utoa(s.Rate)}
}

// FlowGroup is a row of TAM_FLOWGROUP_TABLE. Its match is the ACL rule of the
// same name in its table.
type FlowGroup struct {
	Name  string
	ID    uint32 // unique; 0: not given
	Table string // default TAMTable
}

// ParseFlowGroup reads TAM_FLOWGROUP_TABLE.
func ParseFlowGroup(key string, fields map[string]string) (FlowGroup, error) {
	r := newReader(CfgTAMFlowGroup, key, fields)
	r.tamKey(key)
	g := FlowGroup{
		Name:  key,
		ID:    uint32(r.number("id", 1, 1<<32-1, 0)),
		Table: r.name("table-name", TAMTable),
	}
	r.unknown()
	return g, r.err()
}

// Rule is the key of the ACL rule that is the group's match.
func (g FlowGroup) Rule() ACLRuleKey { return ACLRuleKey{Table: g.Table, Rule: g.Name} }

// Fields formats the row.
func (g FlowGroup) Fields() map[string]string {
	f := map[string]string{"table-name": g.Table}
	if g.ID != 0 {
		f["id"] = utoa(g.ID)
	}
	return f
}

// TailStampSession is a row of CONFIG_DB TAM_TAILSTAMPING_TABLE.
type TailStampSession struct {
	Name      string
	FlowGroup string
}

// ParseTailStampSession reads TAM_TAILSTAMPING_TABLE of CONFIG_DB.
func ParseTailStampSession(key string, fields map[string]string) (TailStampSession, error) {
	r := newReader(CfgTAMTailStamp, key, fields)
	r.tamKey(key)
	s := TailStampSession{Name: key, FlowGroup: r.name("flowgroup", "")}
	if r.fields["flowgroup"] == "" {
		r.bad("flowgroup", "", "the name of a flow group")
	}
	r.unknown()
	return s, r.err()
}

// Fields formats the row.
func (s TailStampSession) Fields() map[string]string {
	return map[string]string{"flowgroup": s.FlowGroup}
}

// TailStampFlow is a row of APPL_DB TAM_TAILSTAMPING_TABLE: the session with
// its flow group resolved to an ACL rule.
type TailStampFlow struct {
	Name string
	Rule ACLRuleKey
}

// ParseTailStampFlow reads TAM_TAILSTAMPING_TABLE of APPL_DB.
func ParseTailStampFlow(key string, fields map[string]string) (TailStampFlow, error) {
	r := newReader(AppTAMTailStamp, key, fields)
	r.tamKey(key)
	s := TailStampFlow{Name: key, Rule: ACLRuleKey{Table: r.name("acl-table-name", ""), Rule: r.name("acl-rule-name", "")}}
	for _, f := range []string{"acl-table-name", "acl-rule-name"} {
		if r.fields[f] == "" {
			r.bad(f, "", fmt.Sprintf("the name of an ACL %s", strings.Split(f, "-")[1]))
		}
	}
	return s, r.err()
}

// Fields formats the row.
func (s TailStampFlow) Fields() map[string]string {
	return map[string]string{"acl-table-name": s.Rule.Table, "acl-rule-name": s.Rule.Rule}
}
