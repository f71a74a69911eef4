package objects

import (
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/drop"
	"tamtam/saisim/engine"
)

// malformed returns the number of malformed frames.
func malformed(p *tally) uint64 { return p.Dropped[drop.Runt] + p.Dropped[drop.Oversize] }

// discards returns the number of frames that were dropped for other reasons, at the ingress or at the egress. It
// excludes frames that were forwarded and had only the copy for the CPU policed.
func discards(p *tally, egress bool) (n uint64) {
	for why, d := range p.Dropped {
		if r := drop.Reason(why); r.AtEgress() == egress && r != drop.Runt && r != drop.Oversize {
			n += d
		}
	}
	if !egress {
		n -= p.PolicedCopies
	}
	return n
}

// A lost counts frames that were lost on a live wire, before the ingress MAC or after the egress MAC.
type lost struct{ in, out uint64 }

// A tally holds the inputs of a port's statistics.
type tally struct {
	engine.PortTally
	lost
}

// A portStat reads a statistic of a port.
type portStat func(p *tally) uint64

// portStatTable returns the port statistics that the chip has.
func portStatTable() map[sai.StatID]portStat {
	dropped := func(why drop.Reason) portStat { return func(p *tally) uint64 { return p.Dropped[why] } }
	t := map[sai.StatID]portStat{
		sai.PortStatIfInOctets:         func(p *tally) uint64 { return p.In.Octets },
		sai.PortStatIfInUcastPkts:      func(p *tally) uint64 { return p.In.Unicast },
		sai.PortStatIfInBroadcastPkts:  func(p *tally) uint64 { return p.In.Broadcast },
		sai.PortStatIfInMulticastPkts:  func(p *tally) uint64 { return p.In.Multicast },
		sai.PortStatIfInNonUcastPkts:   func(p *tally) uint64 { return p.In.Multicast + p.In.Broadcast },
		sai.PortStatIfOutOctets:        func(p *tally) uint64 { return p.Out.Octets },
		sai.PortStatIfOutUcastPkts:     func(p *tally) uint64 { return p.Out.Unicast },
		sai.PortStatIfOutBroadcastPkts: func(p *tally) uint64 { return p.Out.Broadcast },
		sai.PortStatIfOutMulticastPkts: func(p *tally) uint64 { return p.Out.Multicast },
		sai.PortStatIfOutNonUcastPkts:  func(p *tally) uint64 { return p.Out.Multicast + p.Out.Broadcast },

		sai.PortStatIfInErrors:     func(p *tally) uint64 { return malformed(p) },
		sai.PortStatIfInDiscards:   func(p *tally) uint64 { return discards(p, false) + p.lost.in },
		sai.PortStatIfOutDiscards:  func(p *tally) uint64 { return discards(p, true) },
		sai.PortStatInDroppedPkts:  func(p *tally) uint64 { return discards(p, false) + malformed(p) + p.lost.in },
		sai.PortStatOutDroppedPkts: func(p *tally) uint64 { return discards(p, true) },
		sai.PortStatIfInVLANDiscards: func(p *tally) uint64 {
			d := &p.Dropped
			return d[drop.TagFilter] + d[drop.NoVLAN] + d[drop.NotMember]
		},
		sai.PortStatEtherRxOversizePkts:   dropped(drop.Oversize),
		sai.PortStatEtherTxOversizePkts:   dropped(drop.EgressMTU),
		sai.PortStatIfOutQlen:             func(p *tally) uint64 { return uint64(p.QueueFrames) },
		sai.PortStatOutCurrOccupancyBytes: func(p *tally) uint64 { return p.QueueBytes },

		sai.PortStatEtherStatsDropEvents: func(p *tally) uint64 { return p.lost.in },
		sai.PortStatIfOutErrors:          func(p *tally) uint64 { return p.lost.out },

		sai.PortStatEtherStatsOctets:        func(p *tally) uint64 { return p.In.Octets + p.Out.Octets },
		sai.PortStatEtherStatsPkts:          func(p *tally) uint64 { return p.In.Packets() + p.Out.Packets() },
		sai.PortStatEtherStatsBroadcastPkts: func(p *tally) uint64 { return p.In.Broadcast + p.Out.Broadcast },
		sai.PortStatEtherStatsMulticastPkts: func(p *tally) uint64 { return p.In.Multicast + p.Out.Multicast },
		sai.PortStatEtherStatsRxNoErrors: func(p *tally) uint64 {
			return p.In.Packets() - p.Dropped[drop.Oversize]
		},
		sai.PortStatEtherStatsTxNoErrors: func(p *tally) uint64 { return p.Out.Packets() },
		sai.PortStatEtherStatsOversizePkts: func(p *tally) uint64 {
			return p.Dropped[drop.Oversize] + p.Dropped[drop.EgressMTU]
		},
	}
	for _, id := range []sai.StatID{
		sai.PortStatIfInUnknownProtos,
		sai.PortStatEtherStatsUndersizePkts, sai.PortStatEtherStatsFragments, sai.PortStatEtherStatsJabbers,
		sai.PortStatEtherStatsCollisions, sai.PortStatEtherStatsCrcAlignErrors, sai.PortStatPauseRxPkts,
		sai.PortStatPauseTxPkts,
	} {
		t[id] = func(*tally) uint64 { return 0 } // such events cannot happen here
	}
	for i := range engine.NumSizes {
		t[sai.PortStatEtherInPkts64Octets+sai.StatID(i)] = func(p *tally) uint64 { return p.In.Sizes[i] }
		t[sai.PortStatEtherOutPkts64Octets+sai.StatID(i)] = func(p *tally) uint64 { return p.Out.Sizes[i] }
		t[sai.PortStatEtherStatsPkts64Octets+sai.StatID(i)] = func(p *tally) uint64 {
			return p.In.Sizes[i] +
				p.Out.Sizes[i]
		}
	}
	return t
}

// addPortStats makes the port statistics readable.
func (ps *ports) addPortStats(k *kind) {
	table := portStatTable()
	read := func(p *tally, id sai.StatID) uint64 {
		if extra := ps.extra[id]; extra != nil {
			return extra(p)
		}
		return table[id](p)
	}
	k.stats, k.more = sortedStats(table), func() []sai.StatID { return sortedStats(ps.extra) }
	k.stat = func(o *object, id sai.StatID) uint64 {
		if p, ok := ps.tally(o); ok {
			return read(&p, id)
		}
		return 0 // the CPU port
	}
	k.reader = func(o *object, ids []sai.StatID) func(to []uint64) {
		reads := make([]portStat, len(ids))
		for i, id := range ids {
			if reads[i] = table[id]; reads[i] == nil {
				reads[i] = func(p *tally) uint64 { return read(p, id) } // a debug counter, as long as it exists
			}
		}
		var p tally
		return func(to []uint64) {
			p, _ = ps.tally(o)
			for i, f := range reads {
				to[i] = f(&p)
			}
		}
	}
	k.clear = func(_ *object, id sai.StatID) bool { // these are levels, not counts
		return id == sai.PortStatIfOutQlen || id == sai.PortStatOutCurrOccupancyBytes
	}
}

// tally reads the counters of a port. It returns false for the CPU port.
func (ps *ports) tally(o *object) (tally, bool) {
	t, ok := ps.engine.PortTally(o.id())
	if !ok {
		return tally{}, false
	}
	return tally{t, o.self.(*port).lost}, true
}

// sortedStats returns the ids of a table of statistics in order.
func sortedStats[T any](table map[sai.StatID]T) []sai.StatID {
	return slices.Sorted(maps.Keys(table))
}
