package models

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// tamModule returns the mapping of openconfig-tam.
func tamModule() tree.Module {
	device, collector := schema.TableOf(schema.CfgTAMSwitch), schema.TableOf(schema.CfgTAMCollector)
	at := map[string]tree.Codec{"ip": addr("ipaddress", "ipaddress-type")}
	return tree.Module{Name: "openconfig-tam", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMSwitch, Key: schema.TAMGlobalKey,
				Leaves: fieldLeaves("tam/switch/config", device.Fields, nil)},
			{DB: swss.ApplDB, Table: schema.AppTAMSwitch, Key: schema.TAMGlobalKey, Behind: "tam/switch/state/not-in-force",
				Wanted: wantedSwitch, Leaves: fieldLeaves("tam/switch/state", device.Applied, nil)},
		}},
		{Path: "/tam/features/feature", Finish: featureSupported, Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgTAMFeature, Key: "{feature-ref}", Entry: true,
				New:    map[string]string{"status": schema.FeatureInactive},
				Leaves: []tree.Leaf{leaf("config/status", text("status"))},
			},
		}},
		{Path: "/tam/features-state/feature", Rows: []tree.Row{
			{
				DB: swss.StateDB, Table: schema.StateTAMFeature, Key: "{feature-ref}", Entry: true,
				Leaves: []tree.Leaf{leaf("state/op-status", text(schema.FieldOpStatus))},
			},
		}},
		{Path: "/tam/collectors/collector", Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgTAMCollector, Key: "{name}", Entry: true,
				New: map[string]string{"protocol": schema.ProtocolUDP},
				Leaves: append(fieldLeaves("config", collector.Fields, at), leaf("config/encapsulation", tree.Codec{
					Get: constant("NONE").Get, Put: func(tree.Record, []string) error { return nil },
				})),
			},
			{
				DB: swss.ApplDB, Table: schema.AppTAMCollector, Key: "{name}",
				Behind: "state/not-in-force", Wanted: wanted(schema.CfgTAMCollector, schema.ParseCollector,
					schema.Collector.Fields),
				Leaves: append(fieldLeaves("state", collector.Fields, at), leaf("state/encapsulation", constant("NONE"))),
			},
		}},
		{Path: "/tam/samplers/sampler", Rows: []tree.Row{
			configRow(schema.TableOf(schema.CfgTAMSampler), "{name}"),
			appliedRow(schema.TableOf(schema.CfgTAMSampler), "{name}",
				wanted(schema.CfgTAMSampler, schema.ParseSampler, schema.Sampler.Fields)),
		}},
		flowGroups(),
		{Path: "/tam/tailstamping-sessions/tailstamping-session", Rows: []tree.Row{
			configRow(schema.TableOf(schema.CfgTAMTailStamp), "{name}"),
			appliedRow(schema.TableOf(schema.CfgTAMTailStamp), "{name}",
				wanted(schema.CfgTAMTailStamp, schema.ParseTailStampSession, tailStampWanted)),
			countersRow(schema.CountersTailStamp, "{name}", "state/counters"),
		}},
	}}
}

// wantedSwitch returns the configured ids, of either table. If none is configured, the id in use follows from the
// switch's MAC address, and is not compared.
func wantedSwitch(c tree.Configured) (map[string]string, error) {
	s, err := schema.ParseTAMSwitch(schema.TAMGlobalKey, c.Row(schema.CfgTAMSwitch))
	if d, wrong := schema.ParseTAMDevice(schema.TAMDeviceKey, c.Row(schema.CfgTAMDevice)); wrong == nil {
		s.SwitchID, s.EnterpriseID = cmp.Or(s.SwitchID, d.DeviceID), cmp.Or(s.EnterpriseID, d.EnterpriseID)
	}
	return s.Fields(), err
}

func tailStampWanted(s schema.TailStampSession) map[string]string {
	return schema.TailStampFlow{Name: s.Name, Rule: schema.ACLRuleKey{Rule: s.FlowGroup}, ClampMSS: s.ClampMSS}.Fields()
}

// flowGroups returns the group of flow groups. A flow group is a row of its own, and the ACL rule of the same name in
// its table. Its state in force is the rule in APPL_DB.
func flowGroups() tree.Group {
	const rule = "{table-name=" + schema.TAMTable + "}"
	return tree.Group{
		Path: "/tam/flowgroups/flowgroup", Unique: []string{"config/id"}, Finish: finishFlowGroup,
		Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgTAMFlowGroup, Key: "{name}", Entry: true,
				New:    map[string]string{"table-name": schema.TAMTable},
				Leaves: []tree.Leaf{leaf("config/id", text("id")), leaf("state/id", readOnly(text("id")))},
			},
			{
				DB: swss.ConfigDB, Table: schema.CfgACLRule, Key: rule + "|{name}",
				New: map[string]string{"PRIORITY": "100"}, Leaves: ruleLeaves("config"),
			},
			{DB: swss.ApplDB, Table: schema.AppACLRule, Key: rule + ":{name}", Behind: "state/not-in-force", Wanted: wantedRule,
				Leaves: ruleLeaves("state")},
			{DB: swss.StateDB, Table: schema.StateACLRule, Key: rule + "|{name}", Behind: "state/not-in-force"},
			ruleCounters(rule+":{name}", "state/packets", "state/octets"),
		},
	}
}

// ruleLeaves returns the leaves of a flow group's match, which is an ACL rule.
func ruleLeaves(at string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/priority", number("PRIORITY", "%d")),
		leaf(at+"/interfaces", list("IN_PORTS")),
		leaf(at+"/ip-version", ipVersion()),
		leaf(at+"/other-fields", otherFields()),
		leaf("l2/"+at+"/source-mac", maskedPart("SRC_MAC", 0)),
		leaf("l2/"+at+"/source-mac-mask", maskedPart("SRC_MAC", 1)),
		leaf("l2/"+at+"/destination-mac", maskedPart("DST_MAC", 0)),
		leaf("l2/"+at+"/destination-mac-mask", maskedPart("DST_MAC", 1)),
		leaf("l2/"+at+"/ethertype", number("ETHER_TYPE", "0x%04x")),
		leaf("ipv4/"+at+"/source-address", prefix("SRC_IP")),
		leaf("ipv4/"+at+"/destination-address", prefix("DST_IP")),
		leaf("ipv4/"+at+"/protocol", number("IP_PROTOCOL", "%d")),
		leaf("ipv4/"+at+"/dscp", ofFamily(4, number("DSCP", "%d"))),
		leaf("ipv4/"+at+"/hop-limit", ofFamily(4, number("TTL", "%d"))),
		leaf("ipv6/"+at+"/source-address", prefix("SRC_IPV6")),
		leaf("ipv6/"+at+"/destination-address", prefix("DST_IPV6")),
		leaf("ipv6/"+at+"/protocol", number("NEXT_HEADER", "%d")),
		leaf("ipv6/"+at+"/source-flow-label", number("IPV6_FLOW_LABEL", "%d")),
		leaf("ipv6/"+at+"/dscp", ofFamily(6, number("DSCP", "%d"))),
		leaf("ipv6/"+at+"/hop-limit", ofFamily(6, number("TTL", "%d"))),
		leaf("transport/"+at+"/source-port", ports("L4_SRC_PORT")),
		leaf("transport/"+at+"/destination-port", ports("L4_DST_PORT")),
		leaf("transport/"+at+"/tcp-flags", tcpFlags()),
	}
}

// wantsIPv6 marks, during a Set, a rule that got an IPv6 field for which SONiC's rules have no field of their own. It
// is never written.
const wantsIPv6 = "@ipv6"

// ipFamily returns the family that a rule is limited to, or 0 if it is not limited.
func ipFamily(r tree.Record) int {
	for _, f := range []string{"SRC_IPV6", "DST_IPV6", "NEXT_HEADER", "IPV6_FLOW_LABEL", "ICMPV6_TYPE", "ICMPV6_CODE",
		wantsIPv6} {
		if r.Field(f) != "" {
			return 6
		}
	}
	switch r.Field("IP_TYPE") {
	case "IPV6ANY":
		return 6
	case "IPV4ANY":
		return 4
	}
	if r.Field("SRC_IP") != "" || r.Field("DST_IP") != "" {
		return 4
	}
	return 0
}

// ofFamily returns the codec of a field that both families share. It appears below the family that the rule is limited
// to, or below IPv4 if it is not limited.
func ofFamily(family int, c tree.Codec) tree.Codec {
	shows := func(r tree.Record) bool { return (ipFamily(r) == 6) == (family == 6) }
	return tree.Codec{
		Get: func(r tree.Record) []string {
			v := c.Get(r)
			if v == nil || !shows(r) { // a small number of rules has the field
				return nil
			}
			return v
		},
		Put: func(r tree.Record, v []string) error {
			if len(v) == 0 && !shows(r) {
				return nil
			}
			if family == 6 && len(v) > 0 {
				r.Set(wantsIPv6, "1")
			}
			return c.Put(r, v)
		},
	}
}

// finishFlowGroup limits a rule to IPv6 if a Set has written a field below ipv6 and no other field decides the family.
// It refuses matches that exclude each other, and masks without an address.
func finishFlowGroup(c tree.Change) error {
	fields := c.Fields(schema.CfgACLRule)
	if fields == nil {
		return nil
	}
	r := tree.Record{Fields: fields}
	if r.Field(wantsIPv6) != "" {
		r.Set(wantsIPv6, "")
		if ipFamily(r) == 0 {
			r.Set("IP_TYPE", "IPV6ANY")
		}
	}
	var errs []error
	var v4, v6 string
	for _, f := range []string{"SRC_IP", "DST_IP"} {
		if r.Field(f) != "" {
			v4 = f
		}
	}
	for _, f := range []string{"SRC_IPV6", "DST_IPV6", "NEXT_HEADER", "IPV6_FLOW_LABEL"} {
		if r.Field(f) != "" {
			v6 = f
		}
	}
	switch kind := r.Field("IP_TYPE"); {
	case v4 != "" && v6 != "":
		errs = append(errs, errors.New("an IPv4 and an IPv6 match exclude each other: no packet has both"))
	case v4 != "" && kind == "IPV6ANY", v6 != "" && kind == "IPV4ANY":
		errs = append(errs, errors.New("config/ip-version excludes the addresses of the other family"))
	}
	for _, f := range []string{"SRC_MAC", "DST_MAC"} {
		if strings.HasPrefix(r.Field(f), "/") {
			errs = append(errs, fmt.Errorf("l2: a mask needs its address (%s)", f))
		}
	}
	return errors.Join(errs...)
}

// featureSupported refuses to activate a feature that the silicon does not support.
func featureSupported(c tree.Change) error {
	feature := c.Keys()[0]
	if !c.Changed("config/status") || c.Fields(schema.CfgTAMFeature)["status"] != schema.FeatureActive {
		return nil
	}
	switchRow, err := c.Read(swss.StateDB, schema.StateSwitchCap, schema.SwitchKey)
	if err != nil {
		return err
	}
	if switchRow[schema.CapabilityField(feature)] != "false" {
		return nil
	}
	reason := switchRow[schema.CapabilityReasonField(feature)]
	if reason == "" {
		reason = "the switch cannot do it"
	}
	return tree.Refused(fmt.Errorf("%s: %s", schema.FeatureUnsupported, reason))
}
