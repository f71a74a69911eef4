package acl

import (
	"strings"

	"tamtam/sai"
	"tamtam/swss/schema"
)

// A fieldID is a match in SAI: the attribute by which a table supports it, and the attribute of an entry.
type fieldID struct{ table, entry sai.AttrID }

// fieldIDs contains every match except the ranges.
var fieldIDs = map[schema.MatchField]fieldID{
	schema.MatchSrcMAC:          {sai.ACLTableAttrFieldSrcMAC, sai.ACLEntryAttrFieldSrcMAC},
	schema.MatchDstMAC:          {sai.ACLTableAttrFieldDstMAC, sai.ACLEntryAttrFieldDstMAC},
	schema.MatchEtherType:       {sai.ACLTableAttrFieldEtherType, sai.ACLEntryAttrFieldEtherType},
	schema.MatchVLANID:          {sai.ACLTableAttrFieldOuterVLANID, sai.ACLEntryAttrFieldOuterVLANID},
	schema.MatchIPType:          {sai.ACLTableAttrFieldACLIPType, sai.ACLEntryAttrFieldACLIPType},
	schema.MatchSrcIP:           {sai.ACLTableAttrFieldSrcIP, sai.ACLEntryAttrFieldSrcIP},
	schema.MatchDstIP:           {sai.ACLTableAttrFieldDstIP, sai.ACLEntryAttrFieldDstIP},
	schema.MatchSrcIPv6:         {sai.ACLTableAttrFieldSrcIPv6, sai.ACLEntryAttrFieldSrcIPv6},
	schema.MatchDstIPv6:         {sai.ACLTableAttrFieldDstIPv6, sai.ACLEntryAttrFieldDstIPv6},
	schema.MatchIPProtocol:      {sai.ACLTableAttrFieldIPProtocol, sai.ACLEntryAttrFieldIPProtocol},
	schema.MatchNextHeader:      {sai.ACLTableAttrFieldIPv6NextHeader, sai.ACLEntryAttrFieldIPv6NextHeader},
	schema.MatchDSCP:            {sai.ACLTableAttrFieldDSCP, sai.ACLEntryAttrFieldDSCP},
	schema.MatchTTL:             {sai.ACLTableAttrFieldTTL, sai.ACLEntryAttrFieldTTL},
	schema.MatchIPv6FlowLabel:   {sai.ACLTableAttrFieldIPv6FlowLabel, sai.ACLEntryAttrFieldIPv6FlowLabel},
	schema.MatchICMPType:        {sai.ACLTableAttrFieldICMPType, sai.ACLEntryAttrFieldICMPType},
	schema.MatchICMPCode:        {sai.ACLTableAttrFieldICMPCode, sai.ACLEntryAttrFieldICMPCode},
	schema.MatchICMPv6Type:      {sai.ACLTableAttrFieldICMPv6Type, sai.ACLEntryAttrFieldICMPv6Type},
	schema.MatchICMPv6Code:      {sai.ACLTableAttrFieldICMPv6Code, sai.ACLEntryAttrFieldICMPv6Code},
	schema.MatchL4SrcPort:       {sai.ACLTableAttrFieldL4SrcPort, sai.ACLEntryAttrFieldL4SrcPort},
	schema.MatchL4DstPort:       {sai.ACLTableAttrFieldL4DstPort, sai.ACLEntryAttrFieldL4DstPort},
	schema.MatchTCPFlags:        {sai.ACLTableAttrFieldTCPFlags, sai.ACLEntryAttrFieldTCPFlags},
	schema.MatchTC:              {sai.ACLTableAttrFieldTC, sai.ACLEntryAttrFieldTC},
	schema.MatchInPorts:         {sai.ACLTableAttrFieldInPorts, sai.ACLEntryAttrFieldInPorts},
	schema.MatchOutPorts:        {sai.ACLTableAttrFieldOutPorts, sai.ACLEntryAttrFieldOutPorts},
	schema.MatchOutPort:         {sai.ACLTableAttrFieldOutPort, sai.ACLEntryAttrFieldOutPort},
	schema.MatchTunnelVNI:       {sai.ACLTableAttrFieldTunnelVNI, sai.ACLEntryAttrFieldTunnelVNI},
	schema.MatchTunnelTerm:      {sai.ACLTableAttrFieldTunnelTerminated, sai.ACLEntryAttrFieldTunnelTerminated},
	schema.MatchInnerSrcMAC:     {sai.ACLTableAttrFieldInnerSrcMAC, sai.ACLEntryAttrFieldInnerSrcMAC},
	schema.MatchInnerDstMAC:     {sai.ACLTableAttrFieldInnerDstMAC, sai.ACLEntryAttrFieldInnerDstMAC},
	schema.MatchInnerEtherType:  {sai.ACLTableAttrFieldInnerEtherType, sai.ACLEntryAttrFieldInnerEtherType},
	schema.MatchInnerIPProtocol: {sai.ACLTableAttrFieldInnerIPProtocol, sai.ACLEntryAttrFieldInnerIPProtocol},
	schema.MatchInnerSrcIP:      {sai.ACLTableAttrFieldInnerSrcIP, sai.ACLEntryAttrFieldInnerSrcIP},
	schema.MatchInnerSrcIPv6:    {sai.ACLTableAttrFieldInnerSrcIPv6, sai.ACLEntryAttrFieldInnerSrcIPv6},
	schema.MatchInnerL4SrcPort:  {sai.ACLTableAttrFieldInnerL4SrcPort, sai.ACLEntryAttrFieldInnerL4SrcPort},
	schema.MatchInnerL4DstPort:  {sai.ACLTableAttrFieldInnerL4DstPort, sai.ACLEntryAttrFieldInnerL4DstPort},
	schema.MatchBTHOpcode:       {sai.ACLTableAttrFieldBthOpcode, sai.ACLEntryAttrFieldBthOpcode},
	schema.MatchAETHSyndrome:    {sai.ACLTableAttrFieldAethSyndrome, sai.ACLEntryAttrFieldAethSyndrome},
	schema.MatchMetaData:        {sai.ACLTableAttrFieldACLUserMeta, sai.ACLEntryAttrFieldACLUserMeta},
}

// rangeTypes contains the matches that are range objects.
var rangeTypes = map[schema.MatchField]sai.Enum{
	schema.MatchL4SrcPortRange: sai.ACLRangeTypeL4SrcPortRange,
	schema.MatchL4DstPortRange: sai.ACLRangeTypeL4DstPortRange,
}

// ipTypes contains SAI's values of IP_TYPE.
var ipTypes = map[schema.IPType]sai.Enum{
	schema.IPTypeAny:     sai.ACLIPTypeAny,
	schema.IPTypeIP:      sai.ACLIPTypeIP,
	schema.IPTypeNonIP:   sai.ACLIPTypeNonIP,
	schema.IPTypeIPv4Any: sai.ACLIPTypeIPv4Any,
	schema.IPTypeNonIPv4: sai.ACLIPTypeNonIPv4,
	schema.IPTypeIPv6Any: sai.ACLIPTypeIPv6Any,
	schema.IPTypeNonIPv6: sai.ACLIPTypeNonIPv6,
}

// actionIDs contains SAI's action for each action of a rule.
var actionIDs = map[schema.ActionField]sai.AttrID{
	schema.ActionPacket:            sai.ACLEntryAttrActionPacketAction,
	schema.ActionRedirect:          sai.ACLEntryAttrActionRedirect,
	schema.ActionDoNotNAT:          sai.ACLEntryAttrActionNoNat,
	schema.ActionDisableTrim:       sai.ACLEntryAttrActionPacketTrimDisable,
	schema.ActionMirrorIngress:     sai.ACLEntryAttrActionMirrorIngress,
	schema.ActionMirrorEgress:      sai.ACLEntryAttrActionMirrorEgress,
	schema.ActionPolicer:           sai.ACLEntryAttrActionSetPolicer,
	schema.ActionMetaData:          sai.ACLEntryAttrActionSetACLMetaData,
	schema.ActionDSCP:              sai.ACLEntryAttrActionSetDSCP,
	schema.ActionFlowOp:            sai.ACLEntryAttrActionACLDtelFlowOp,
	schema.ActionINTSession:        sai.ACLEntryAttrActionDtelIntSession,
	schema.ActionDropReport:        sai.ACLEntryAttrActionDtelDropReportEnable,
	schema.ActionTailDropReport:    sai.ACLEntryAttrActionDtelTailDropReportEnable,
	schema.ActionFlowSamplePercent: sai.ACLEntryAttrActionDtelFlowSamplePercent,
	schema.ActionReportAllPackets:  sai.ACLEntryAttrActionDtelReportAllPackets,
	schema.ActionSampleIngress:     sai.ACLEntryAttrActionIngressSamplepacketEnable,
	schema.ActionSampleEgress:      sai.ACLEntryAttrActionEgressSamplepacketEnable,
	schema.ActionCounter:           sai.ACLEntryAttrActionCounter,
}

// packetActions contains SAI's values of PACKET_ACTION.
var packetActions = map[string]sai.Enum{
	schema.PacketForward: sai.PacketActionForward,
	schema.PacketDrop:    sai.PacketActionDrop,
	schema.PacketCopy:    sai.PacketActionCopy,
}

// actionType returns the sai_acl_action_type_t of an action of an entry. SAI gives both the same name.
func actionType(id sai.AttrID) (sai.Enum, bool) {
	rest, ok := strings.CutPrefix(id.String(), "SAI_ACL_ENTRY_ATTR_ACTION_")
	if !ok {
		return 0, false
	}
	e, ok := sai.LookupEnum("sai_acl_action_type_t")
	if !ok {
		return 0, false
	}
	return e.Value("SAI_ACL_ACTION_TYPE_" + rest)
}

// bindPoints contains SAI's bind points, by the name that a table type or a group's target uses.
var bindPoints = map[string]sai.Enum{
	schema.BindPort:        sai.ACLBindPointTypePort,
	schema.BindPortChannel: sai.ACLBindPointTypeLAG,
	schema.BindSwitch:      sai.ACLBindPointTypeSwitch,
}

// stages contains SAI's stages.
var stages = map[string]sai.Enum{
	schema.StageIngress:    sai.ACLStageIngress,
	schema.StageEgress:     sai.ACLStageEgress,
	schema.StagePreIngress: sai.ACLStagePreIngress,
}
