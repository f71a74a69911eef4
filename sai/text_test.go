package sai

import (
	"net/netip"
	"reflect"
	"testing"
)

func ip(s string) IP { return IP{netip.MustParseAddr(s)} }

func mac(s string) MAC {
	m, err := ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return m
}

// texts pairs values with the text that SONiC's serialiser produces.
var texts = []struct {
	id    AttrID
	value Value
	text  string
}{
	{ACLTableAttrFieldSrcIP, Bool(true), "true"},
	{ACLEntryAttrPriority, Uint(9), "9"},
	{TAMIntAttrType, TAMIntTypeIfa1Tailstamp, "SAI_TAM_INT_TYPE_IFA1_TAILSTAMP"},
	{TAMIntAttrType, Enum(77), "77"},
	{ACLEntryAttrTableID, OID(0x70000000005c9), "oid:0x70000000005c9"},
	{ACLEntryAttrTableID, NullOID, "oid:0x0"},
	{SwitchAttrSrcMACAddress, mac("aa:00:00:00:00:0f"), "AA:00:00:00:00:0F"},
	{TAMCollectorAttrDstIP, ip("10.0.0.1"), "10.0.0.1"},
	{TAMCollectorAttrDstIP, ip("2000::1"), "2000::1"},
	{TAMCollectorAttrDstIP, ip("::1.2.3.4"), "::1.2.3.4"},
	{TAMCollectorAttrDstIP, ip("::1"), "::1"},
	{SwitchAttrPortStateChangeNotify, Pointer(0x55d5a8704351), "0x55d5a8704351"},
	{ACLCounterAttrLabel, Text(`flow-1.a\b`), `flow\x2D1\x2Ea\\b`},
	{ACLTableAttrACLBindPointTypeList, Enums{ACLBindPointTypePort, ACLBindPointTypeRouterInterface},
		"2:SAI_ACL_BIND_POINT_TYPE_PORT,SAI_ACL_BIND_POINT_TYPE_ROUTER_INTERFACE"},
	{TAMIntAttrCollectorList, OIDs{}, "0:null"},
	{TAMIntAttrCollectorList, OIDs{1, 0}, "2:oid:0x1,oid:0x0"},
	{ACLRangeAttrLimit, Range{10, 20}, "10,20"},
	{PortAttrHWLaneList, Uints{1, 2}, "2:1,2"},
	{TAMIntAttrQuantBandUint64RangeList, Ranges{{1, 2}, {3, 4}}, "2:1,2,3,4"},
	{ACLEntryAttrFieldSrcIP, Match(ip("10.0.0.1"), ip("255.255.255.0")), "10.0.0.1&mask:255.255.255.0"},
	{ACLEntryAttrFieldSrcIPv6, Match(ip("2000::1"), ip("ffff:ffff:ffff:ffff::")), "2000::1&mask:ffff:ffff:ffff:ffff::"},
	{ACLEntryAttrFieldL4DstPort, Match(Uint(53), Uint(0xffff)), "53&mask:0xffff"},
	{ACLEntryAttrFieldACLIPType, Match(ACLIPTypeIPv4Any, Enum(-1)), "SAI_ACL_IP_TYPE_IPV4ANY&mask:0xffffffffffffffff"},
	{ACLEntryAttrFieldSrcMAC, Match(mac("AB:00:00:00:00:00"), mac("FF:FF:FF:FF:FF:FF")),
		"AB:00:00:00:00:00&mask:FF:FF:FF:FF:FF:FF"},
	{ACLEntryAttrFieldInPorts, Match(OIDs{0x1000000000002}, nil), "1:oid:0x1000000000002"},
	{ACLEntryAttrFieldTCPFlags, Field{}, "disabled"},
	{ACLEntryAttrUserDefinedFieldGroupMin, Match(Bytes{1, 2}, Bytes{0xff, 0}), "2:1,2&mask:2:0xff,0x0"},
	{ACLEntryAttrActionCounter, Do(OID(0x90000000005cc)), "oid:0x90000000005cc"},
	{ACLEntryAttrActionIntInsert, Do(Bool(true)), "true"},
	{ACLEntryAttrActionPacketAction, Do(PacketActionForward), "SAI_PACKET_ACTION_FORWARD"},
	{ACLEntryAttrActionTAMIntObject, Action{}, "disabled"},
	{SwitchAttrACLStageIngress, ACLCapability{false, []Enum{ACLActionTypeRedirect, ACLActionTypeCounter}},
		"false:2:SAI_ACL_ACTION_TYPE_REDIRECT,SAI_ACL_ACTION_TYPE_COUNTER"},
	{SwitchAttrAvailableACLTable, ACLResources{{ACLStageIngress, ACLBindPointTypePort, 3}},
		`{"count":1,"list":[{"avail_num":"3","bind_point":"SAI_ACL_BIND_POINT_TYPE_PORT","stage":"SAI_ACL_STAGE_INGRESS"}]}`},
	{SwitchAttrAvailableACLTable, ACLResources{}, `{"count":0,"list":null}`},
	{BufferProfileAttrSharedDynamicTh, Int(-8), "-8"},
	{QoSMapAttrMapToValueList, QoSMap{
		{Key: QoSMapParams{DSCP: 48}, Value: QoSMapParams{TC: 6}},
		{Key: QoSMapParams{DSCP: 46}, Value: QoSMapParams{TC: 5, Color: PacketColorYellow}},
	}, `{"count":2,"list":[` +
		`{"key":{"color":"SAI_PACKET_COLOR_GREEN","dot1p":0,"dscp":48,"fc":0,"mpls_exp":0,"pg":0,"prio":0,"qidx":0,"tc":0},` +
		`"value":{"color":"SAI_PACKET_COLOR_GREEN","dot1p":0,"dscp":0,"fc":0,"mpls_exp":0,"pg":0,"prio":0,"qidx":0,` +
		`"tc":6}},` +
		`{"key":{"color":"SAI_PACKET_COLOR_GREEN","dot1p":0,"dscp":46,"fc":0,"mpls_exp":0,"pg":0,"prio":0,"qidx":0,"tc":0},` +
		`"value":{"color":"SAI_PACKET_COLOR_YELLOW","dot1p":0,"dscp":0,"fc":0,"mpls_exp":0,"pg":0,"prio":0,"qidx":0,` +
		`"tc":5}}]}`},
	{QoSMapAttrMapToValueList, QoSMap{}, `{"count":0,"list":null}`},
	{GenericProgrammableAttrObjectName, Bytes("abc"), "3:97,98,99"},
	{GenericProgrammableAttrEntry, Bytes("{\"a\xff"), `{"json":"4:123,34,97,-1"}`},
}

func TestFormatValue(t *testing.T) {
	for _, tt := range texts {
		got, err := FormatValue(tt.id, tt.value)
		if err != nil || got != tt.text {
			t.Errorf("FormatValue(%s, %v) = %q, %v; want %q", tt.id, tt.value, got, err, tt.text)
		}
		v, err := ParseValue(tt.id, tt.text)
		if err != nil || !reflect.DeepEqual(v, tt.value) {
			t.Errorf("ParseValue(%s, %q) = %#v, %v; want %#v", tt.id, tt.text, v, err, tt.value)
		}
	}
}
