package copp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/swss/schema"
)

var modes = map[string]sai.Enum{
	schema.ModeSRTCM: sai.PolicerModeSrTcm, schema.ModeTRTCM: sai.PolicerModeTrTcm,
	schema.ModeStorm: sai.PolicerModeStormControl,
}

// policerActions contains SAI's packet action for each action of a colour.
var policerActions = map[string]sai.Enum{
	"drop": sai.PacketActionDrop, "forward": sai.PacketActionForward, "copy": sai.PacketActionCopy,
	"copy_cancel": sai.PacketActionCopyCancel, "trap": sai.PacketActionTrap, "log": sai.PacketActionLog,
	"deny": sai.PacketActionDeny, "transit": sai.PacketActionTransit,
}

// policerAttrs returns the attributes of a group's policer, or nil if it has none.
func policerAttrs(p *schema.COPPPolicer) []sai.Attr {
	if !p.Policed() {
		return nil
	}
	meter, color := sai.MeterTypePackets, sai.PolicerColorSourceAware
	if p.Meter == schema.MeterBytes {
		meter = sai.MeterTypeBytes
	}
	if p.Color == schema.ColorBlind {
		color = sai.PolicerColorSourceBlind
	}
	action := func(word string) sai.Enum {
		if a, ok := policerActions[word]; ok {
			return a
		}
		return sai.PacketActionForward
	}
	rate := func(n *uint64) sai.Uint {
		if n == nil {
			return 0
		}
		return sai.Uint(*n)
	}
	attrs := []sai.Attr{
		{ID: sai.PolicerAttrMeterType, Value: meter}, {ID: sai.PolicerAttrMode, Value: modes[p.Mode]},
		{ID: sai.PolicerAttrColorSource, Value: color},
		{ID: sai.PolicerAttrCir, Value: rate(p.CIR)}, {ID: sai.PolicerAttrCbs, Value: rate(p.CBS)},
		{ID: sai.PolicerAttrPbs, Value: rate(p.PBS)},
		{ID: sai.PolicerAttrGreenPacketAction, Value: action(p.Green)},
		{ID: sai.PolicerAttrYellowPacketAction, Value: action(p.Yellow)},
		{ID: sai.PolicerAttrRedPacketAction, Value: action(p.Red)},
	}
	if p.Mode == schema.ModeTRTCM { // SAI has no PIR in other modes
		attrs = append(attrs, sai.Attr{ID: sai.PolicerAttrPir, Value: rate(p.PIR)})
	}
	return attrs
}

// probe reads the capabilities that rows depend on. If the ASIC does not report one, refusing is left to the ASIC.
func (o *Orch) probe(ctx context.Context, sw sai.OID) {
	for _, id := range []sai.AttrID{sai.SwitchAttrDefaultTrapGroup, sai.SwitchAttrNumberOfCPUQueues} {
		got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, sw), []sai.Attr{sai.Want(id, 0)})
		if err != nil {
			continue
		}
		switch v := got[0].Value.(type) {
		case sai.OID:
			o.own = v
		case sai.Uint:
			o.queues = uint32(v)
		}
	}
	for _, id := range []sai.AttrID{
		sai.PolicerAttrMode, sai.PolicerAttrMeterType, sai.PolicerAttrColorSource, sai.PolicerAttrGreenPacketAction,
		sai.PolicerAttrYellowPacketAction, sai.PolicerAttrRedPacketAction,
	} {
		if has, err := o.api.EnumCapability(ctx, id); err == nil {
			o.can[id] = has
		}
	}
}

// supported returns the reason why the ASIC cannot implement a row. It returns nil if no reason is known.
func (o *Orch) supported(g *schema.COPPGroup) error {
	if o.queues > 0 && uint32(g.Queue) >= o.queues {
		return fmt.Errorf("queue %d: the CPU port of this switch has queues 0 to %d", g.Queue, o.queues-1)
	}
	for _, a := range policerAttrs(&g.COPPPolicer) {
		v, ok := a.Value.(sai.Enum)
		if has := o.can[a.ID]; ok && len(has) > 0 && !slices.Contains(has, v) {
			return fmt.Errorf("%s: this switch has %s", word(a.ID, v), words(a.ID, has))
		}
	}
	return nil
}

// word returns a value by SAI's name.
func word(id sai.AttrID, v sai.Enum) string { return id.String() + " " + sai.EnumName(id, v) }

func words(id sai.AttrID, list sai.Enums) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = sai.EnumName(id, v)
	}
	return strings.Join(names, ", ")
}
