package schema

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// The TAM tables in the names of SONiC's own design. Their contents correspond to TAM_SWITCH_TABLE,
// TAM_COLLECTORS_TABLE and TAM_FLOWGROUP_TABLE; docs/reference/drops.md describes how they relate.
const (
	CfgTAMDevice      = "TAM" // key [TAMDeviceKey]
	CfgTAMDestination = "TAM_COLLECTOR"
	CfgTAMGroup       = "TAM_FLOW_GROUP" // keys are name for a group, and name|rule for a rule

	AppTAMDevice      = "TAM_TABLE"
	AppTAMDestination = "TAM_COLLECTOR_TABLE"
	AppTAMGroup       = "TAM_FLOW_GROUP_TABLE" // keys are name for a group, and name:rule for a rule

	StateTAMDevice      = "TAM_STATE_DEVICE_TABLE"
	StateTAMDestination = "TAM_STATE_COLLECTOR_TABLE"
	StateTAMGroup       = "TAM_STATE_FLOW_GROUP_TABLE"
)

// TAMDeviceKey is the key of the only row of TAM.
const TAMDeviceKey = "device"

func sonicTAMTables() []Table {
	return []Table{
		of(Table{Config: CfgTAMDevice, Appl: AppTAMDevice, State: StateTAMDevice,
			Words: "What the switch is called in what it sends, as SONiC's own design has it."}, TAMDevice{}),
		of(Table{Config: CfgTAMDestination, Appl: AppTAMDestination, State: StateTAMDestination,
			Words: "Where reports are sent, as SONiC's own design has it."}, TAMDestination{}),
		of(Table{Config: CfgTAMGroup, Appl: AppTAMGroup, State: StateTAMGroup,
			Words: "A flow group as SONiC's own design has it: its packets are those that match one of its rules."}, TAMGroup{}),
		of(Table{Config: CfgTAMGroup, Appl: AppTAMGroup, State: StateTAMGroup,
			Words: "A rule of such a flow group."}, TAMGroupRule{}),
	}
}

// maxTAMID is the largest id of TAM|device, which has 28 bits.
const maxTAMID = 1<<28 - 1

// MaxIFADevice is the largest id of a switch that adds IFA hops, which has 20 bits.
const MaxIFADevice = 1<<20 - 1

// TAMDevice is the row TAM|device. The default ids are those of TAM_SWITCH_TABLE, or the last 16 bits of the switch's
// MAC address.
type TAMDevice struct {
	DeviceID     uint32 // 1..2^28-1; 0 if not given
	EnterpriseID uint32 // 1..2^28-1; 0 if not given
	IFA          bool   // true if the switch adds its metadata to IFA packets
}

func (d *TAMDevice) layout() layout {
	return layout{
		table: CfgTAMDevice,
		key:   only(TAMDeviceKey),
		fields: slices.Concat(
			bothSpellings("device-id", "device_id", &d.DeviceID, "The switch's id in the messages that it sends; without "+
				"it, the switch-id of TAM_SWITCH_TABLE, or the last 16 bits of its MAC address."),
			bothSpellings("enterprise-id", "enterprise_id", &d.EnterpriseID, "Whose elements the reports have; without it, "+
				"the enterprise-id of TAM_SWITCH_TABLE, or 32473, which is reserved for examples (RFC 5612)."),
			[]field{boolean("ifa", false, &d.IFA, "Whether the switch adds its metadata to packets of IFA.").ifSet()},
		),
	}
}

// bothSpellings returns the fields of an optional id with two spellings. If both are given, they must agree.
func bothSpellings(name, other string, at *uint32, words string) []field {
	return []field{
		optional(name, 1, maxTAMID, at, words),
		within(other, 1, maxTAMID, "The same, as SONiC's YANG module spells it.", func(r *reader) {
			id := uint32(r.number(other, 1, maxTAMID, 0))
			if first := *at; id != 0 && first != 0 && id != first {
				r.bad(other, utoa(id), utoa(first)+", as in "+name+", or one of the two fields alone")
			}
			*at = cmp.Or(*at, id)
		}, nil).hidden(),
	}
}

// The two VRFs, and the default DSCP of reports, which is CS4.
const (
	VRFDefault        = "default"
	VRFMgmt           = "mgmt" // the VRF of the management interface
	DefaultReportDSCP = 32
)

// TAMDestination is a row of TAM_COLLECTOR, in CONFIG_DB and APPL_DB.
type TAMDestination struct {
	Name     string
	Source   netip.Addr // source address of reports; invalid means the address of the outgoing interface
	Addr     netip.Addr // unicast address without a zone
	Port     uint16     // 1..65535
	DSCP     uint8      // 0..63
	VRF      string     // VRFDefault, VRFMgmt or another name
	Truncate uint16     // maximum bytes of a dropped frame in a report; 0 means as many as fit into a message
}

func (d *TAMDestination) layout() layout {
	return layout{
		table: CfgTAMDestination,
		key:   named(&d.Name),
		fields: []field{
			own("src_ip", unicastForm, "The source of the reports; without it, the address of the interface by which they "+
				"leave.", func(r *reader) {
				if addr, ok := r.value("src_ip"); ok {
					d.Source = r.host("src_ip", addr)
				}
			}, func() string {
				if !d.Source.IsValid() {
					return ""
				}
				return d.Source.String()
			}).leaf("source-ip"),
			own("dst_ip", unicastForm, "Where reports are sent.", func(r *reader) {
				addr, _ := r.value("dst_ip")
				d.Addr = r.host("dst_ip", addr)
			}, func() string { return d.Addr.String() }).must("").leaf("ip"),
			number("dst_port", 1, 65535, 0, &d.Port, "The collector's port of UDP.").
				must("the collector's port of UDP, 1..65535").leaf("port"),
			number("dscp_value", 0, maxDSCP, DefaultReportDSCP, &d.DSCP, "The DSCP of the reports.").leaf("dscp"),
			name("vrf", VRFDefault, &d.VRF, "Where the collector is: default, behind the ports that "+
				"route; mgmt, behind the management interface of the switch's host. There is no other."),
			number("truncate_size", 0, 9216, 0, &d.Truncate, "How many bytes of a dropped frame a report has at most; 0: as "+
				"many as there is room for. A field of tamtam's.").leaf("truncate"),
		},
		check: func(r *reader) {
			if d.Source.IsValid() && d.Addr.IsValid() && d.Source.Is4() != d.Addr.Is4() {
				r.bad("src_ip", d.Source.String(), "an address of the family of dst_ip, "+d.Addr.String())
			}
		},
	}
}

// Destination returns a collector of TAM_COLLECTORS_TABLE as a row of TAM_COLLECTOR.
func (c Collector) Destination() TAMDestination {
	return TAMDestination{Name: c.Name, Addr: c.Addr, Port: c.Port, DSCP: DefaultReportDSCP, VRF: VRFDefault}
}

// tamGroupTable is the prefix of the ACL table's name for a flow group of TAM_FLOW_GROUP, as in SONiC.
const tamGroupTable = "TAM_FLOW_GROUP_"

// maxAging is the longest report interval of a stateful drop monitor, in seconds: 30 days.
const maxAging = 30 * 24 * 3600

// TAMGroup is a row TAM_FLOW_GROUP|name. Its rules are rows [TAMGroupRule].
type TAMGroup struct {
	Name  string
	Ports []string // sorted ports and PortChannels, in CONFIG_DB possibly aliases; empty means all
	Aging uint32   // report interval of stateful sessions in seconds; 0 if not given
}

// groupName returns the key of a flow group. Its length is limited because the name of the ACL table contains it.
func groupName(at *string) key {
	form := "a name of at most " + utoa(uint16(maxKey-len(tamGroupTable))) + " characters"
	k := named(at)
	return key{form: "a name", read: func(r *reader, text string) {
		if k.parse(r, text); len(text) > maxKey-len(tamGroupTable) {
			r.bad("", text, form)
		}
	}}
}

func (g *TAMGroup) layout() layout {
	return layout{
		table: CfgTAMGroup,
		key:   groupName(&g.Name),
		fields: []field{
			list("ports", "ports separated by commas", &g.Ports, validAlias,
				"Ports and PortChannels whose packets are meant; without it, all."),
			aging(&g.Aging, "Of stateful sessions: how long the drops of a flow are counted before they are reported again."),
		},
	}
}

func aging(at *uint32, words string) field {
	return optional("aging_interval", 1, maxAging, at, words+" In seconds.")
}

// Table returns the ACL table of the group, of type TAM and with its ports.
func (g TAMGroup) Table() ACLTable {
	return ACLTable{
		Name: tamGroupTable + g.Name, Policy: "TAM flow group", Type: ACLTypeTAM, Stage: StageIngress, Ports: g.Ports,
	}
}

// TAMGroupOf returns the flow group of TAM_FLOW_GROUP of an ACL table, or false if it has none.
func TAMGroupOf(aclTable string) (group string, ok bool) {
	return strings.CutPrefix(aclTable, tamGroupTable)
}

// TAMGroupRule is a row TAM_FLOW_GROUP|name|rule. It matches packets with all of its fields.
type TAMGroupRule struct {
	Group, Name string
	Src, Dst    netip.Prefix // prefixes of one family, unless one of them contains all addresses
	Protocol    *uint64      // IP protocol; nil means any
	SrcPort     *uint64      // source port of TCP and UDP; nil means any
	DstPort     *uint64
}

// ParseTAMGroupKey splits the key of a row of TAM_FLOW_GROUP. rule is "" for a group.
func ParseTAMGroupKey(key string) (group, rule string) {
	group, rule, _ = strings.Cut(key, "|")
	return group, rule
}

func (u *TAMGroupRule) layout() layout {
	return layout{
		table: CfgTAMGroup,
		key: key{form: "group|rule", read: func(r *reader, key string) {
			if u.Group, u.Name = ParseTAMGroupKey(key); !ValidName(u.Group) || !ValidName(u.Name) {
				r.bad("", key, "the names of a flow group and a rule, GROUP|RULE")
			}
		}},
		fields: []field{
			prefixOfRule("src_ip_prefix", &u.Src, "The source.").leaf("source-prefix"),
			prefixOfRule("dst_ip_prefix", &u.Dst, "The destination.").leaf("destination-prefix"),
			upTo(255, known("ip_protocol", &u.Protocol, "The protocol; without it, any.")).leaf("protocol"),
			upTo(65535, known("l4_src_port", &u.SrcPort, "The source port of TCP or UDP; without it, any.")).leaf("source-port"),
			upTo(65535, known("l4_dst_port", &u.DstPort, "The destination port; without it, any.")).leaf("destination-port"),
		},
		check: u.check,
	}
}

// prefixOfRule returns a mandatory field with a prefix. The prefix of all addresses, of either family, matches any
// packet.
func prefixOfRule(name string, at *netip.Prefix, words string) field {
	const form = "an IPv4 or IPv6 prefix, 0.0.0.0/0 or ::/0 for any"
	return own(name, form, words+" "+strings.ToUpper(form[:1])+form[1:]+".", func(r *reader) {
		text, _ := r.value(name)
		p, err := netip.ParsePrefix(text)
		if err != nil || p.Addr().Is4In6() {
			r.bad(name, text, form)
			return
		}
		*at = p.Masked()
	}, func() string { return at.String() }).must("")
}

// upTo sets the maximum of a number.
func upTo(most uint64, f field) field {
	f.hi = most
	return f
}

// check requires two prefixes of one family. The prefix of all addresses also fits a longer prefix of the other
// family.
func (u *TAMGroupRule) check(r *reader) {
	if !u.Src.IsValid() || !u.Dst.IsValid() || u.Src.Addr().Is4() == u.Dst.Addr().Is4() {
		return
	}
	if (u.Src.Bits() == 0) == (u.Dst.Bits() == 0) {
		r.bad("dst_ip_prefix", u.Dst.String(), "a prefix of the family of src_ip_prefix, "+u.Src.String())
	}
}

// tamRulePriority is the priority of all rules of a group. A packet that matches several counts once for the group.
const tamRulePriority = "100"

// ACLRule returns the corresponding rule of the group's ACL table: its key, and its fields.
func (u TAMGroupRule) ACLRule() (ACLRuleKey, map[string]string) {
	f := map[string]string{"PRIORITY": tamRulePriority}
	four := u.Src.Addr().Is4()
	if u.Src.Bits() == 0 {
		four = u.Dst.Addr().Is4()
	}
	src, dst, protocol, family := "SRC_IPV6", "DST_IPV6", "NEXT_HEADER", "IPV6ANY"
	if four {
		src, dst, protocol, family = "SRC_IP", "DST_IP", "IP_PROTOCOL", "IPV4ANY"
	}
	f["IP_TYPE"] = family
	for field, p := range map[string]netip.Prefix{src: u.Src, dst: u.Dst} {
		if p.Bits() > 0 {
			f[field] = p.String()
		}
	}
	for field, n := range map[string]*uint64{protocol: u.Protocol, "L4_SRC_PORT": u.SrcPort, "L4_DST_PORT": u.DstPort} {
		if n != nil {
			f[field] = utoa(*n)
		}
	}
	return ACLRuleKey{Table: tamGroupTable + u.Group, Rule: u.Name}, f
}
