package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects/counts"
)

// maxPolicers is the number of policers that a chip has.
const maxPolicers = 128

// policerKind returns the kind of the policers of trap groups. They always count, regardless of
// ENABLE_COUNTER_PACKET_ACTION_LIST. No frame has a colour before it is metered. So a colour-aware policer, which is
// SAI's default, does the same as a blind one.
func (c *core) policerKind() *kind {
	actions := []sai.Enum{sai.PacketActionForward, sai.PacketActionDrop}
	stats := policerStats()
	return &kind{
		max: maxPolicers,
		attrs: []sai.AttrID{
			sai.PolicerAttrMeterType, sai.PolicerAttrMode, sai.PolicerAttrColorSource,
			sai.PolicerAttrCbs, sai.PolicerAttrCir, sai.PolicerAttrPbs, sai.PolicerAttrPir,
			sai.PolicerAttrGreenPacketAction, sai.PolicerAttrYellowPacketAction, sai.PolicerAttrRedPacketAction,
			sai.PolicerAttrLabel,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.PolicerAttrMeterType:          {sai.MeterTypePackets, sai.MeterTypeBytes},
			sai.PolicerAttrMode:               {sai.PolicerModeSrTcm, sai.PolicerModeTrTcm, sai.PolicerModeStormControl},
			sai.PolicerAttrColorSource:        {sai.PolicerColorSourceBlind, sai.PolicerColorSourceAware},
			sai.PolicerAttrGreenPacketAction:  actions,
			sai.PolicerAttrYellowPacketAction: actions,
			sai.PolicerAttrRedPacketAction:    actions,
		},
		row:   c.policerRow,
		stats: counts.Sorted(stats),
		stat: func(o *object, id sai.StatID) uint64 {
			n := c.engine.PolicerCounts(o.id())
			return stats[id](&n)
		},
	}
}

func (c *core) policerRow(o *object) (config.Row, error) {
	n := o.number
	for _, id := range []sai.AttrID{sai.PolicerAttrCbs, sai.PolicerAttrPbs} {
		if most := engine.MaxBurst(c.prof.ClockHz); n(id) > most {
			return nil, badValue(id, sai.StatusInvalidParameter, "a burst of %d, want at most %d", n(id), most)
		}
	}
	drops := func(id sai.AttrID) bool { return o.enum(id) == sai.PacketActionDrop }
	return config.Policer{
		ID: o.id(), Mode: config.PolicerMode(o.enum(sai.PolicerAttrMode)),
		Bytes: o.enum(sai.PolicerAttrMeterType) == sai.MeterTypeBytes,
		CIR:   n(sai.PolicerAttrCir), CBS: n(sai.PolicerAttrCbs), PIR: n(sai.PolicerAttrPir), PBS: n(sai.PolicerAttrPbs),
		Drop: [config.NumColours]bool{
			config.Green: drops(sai.PolicerAttrGreenPacketAction), config.Yellow: drops(sai.PolicerAttrYellowPacketAction),
			config.Red: drops(sai.PolicerAttrRedPacketAction),
		},
	}, nil
}

// policerStats returns the statistics of a policer: of all metered packets, and of each colour.
func policerStats() map[sai.StatID]func(n *[config.NumColours]engine.Tally) uint64 {
	type counts = [config.NumColours]engine.Tally
	t := map[sai.StatID]func(n *counts) uint64{
		sai.PolicerStatPackets:   func(n *counts) uint64 { return n[0].Packets + n[1].Packets + n[2].Packets },
		sai.PolicerStatAttrBytes: func(n *counts) uint64 { return n[0].Bytes + n[1].Bytes + n[2].Bytes },
	}
	for colour, ids := range [config.NumColours][2]sai.StatID{
		config.Green:  {sai.PolicerStatGreenPackets, sai.PolicerStatGreenBytes},
		config.Yellow: {sai.PolicerStatYellowPackets, sai.PolicerStatYellowBytes},
		config.Red:    {sai.PolicerStatRedPackets, sai.PolicerStatRedBytes},
	} {
		t[ids[0]] = func(n *counts) uint64 { return n[colour].Packets }
		t[ids[1]] = func(n *counts) uint64 { return n[colour].Bytes }
	}
	return t
}
