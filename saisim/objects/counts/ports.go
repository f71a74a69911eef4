// Package counts holds the statistics of SAI that the chip counts for ports and queues, and how they follow from the
// counters of the packet path.
//
// What belongs here: the meaning of statistics. Which object has which statistics, and when they were cleared, is the
// store's.
package counts

import (
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/drop"
	"tamtam/saisim/engine"
)

// malformed returns the number of malformed frames.
func malformed(p *Tally) uint64 { return p.Dropped[drop.Runt] + p.Dropped[drop.Oversize] }

// discards returns the number of frames that were dropped for other reasons, at the ingress or at the egress. It
// excludes frames that were forwarded and had only the copy for the CPU policed. At the egress, it includes trimmed
// frames once, even if they are sent.
func discards(p *Tally, egress bool) (n uint64) {
	for why, d := range p.Dropped {
		if r := drop.Reason(why); r.AtEgress() == egress && r != drop.Runt && r != drop.Oversize {
			n += d
		}
	}
	if egress {
		return n + p.Trim.Trimmed - p.Trim.TrimDropped
	}
	return n - p.PolicedCopies
}

// A Lost counts frames that were lost on a live wire, before the ingress MAC or after the egress MAC.
type Lost struct{ In, Out uint64 }

// A Tally holds the inputs of a port's statistics.
type Tally struct {
	engine.PortTally
	Lost Lost
}

// A Port reads a statistic of a port.
type Port func(p *Tally) uint64

// Ports returns the statistics of ports that the chip has.
func Ports() map[sai.StatID]Port {
	dropped := func(why drop.Reason) Port { return func(p *Tally) uint64 { return p.Dropped[why] } }
	t := map[sai.StatID]Port{
		sai.PortStatIfInOctets:         func(p *Tally) uint64 { return p.In.Octets },
		sai.PortStatIfInUcastPkts:      func(p *Tally) uint64 { return p.In.Unicast },
		sai.PortStatIfInBroadcastPkts:  func(p *Tally) uint64 { return p.In.Broadcast },
		sai.PortStatIfInMulticastPkts:  func(p *Tally) uint64 { return p.In.Multicast },
		sai.PortStatIfInNonUcastPkts:   func(p *Tally) uint64 { return p.In.Multicast + p.In.Broadcast },
		sai.PortStatIfOutOctets:        func(p *Tally) uint64 { return p.Out.Octets },
		sai.PortStatIfOutUcastPkts:     func(p *Tally) uint64 { return p.Out.Unicast },
		sai.PortStatIfOutBroadcastPkts: func(p *Tally) uint64 { return p.Out.Broadcast },
		sai.PortStatIfOutMulticastPkts: func(p *Tally) uint64 { return p.Out.Multicast },
		sai.PortStatIfOutNonUcastPkts:  func(p *Tally) uint64 { return p.Out.Multicast + p.Out.Broadcast },

		sai.PortStatIfInErrors:     func(p *Tally) uint64 { return malformed(p) },
		sai.PortStatIfInDiscards:   func(p *Tally) uint64 { return discards(p, false) + p.Lost.In },
		sai.PortStatIfOutDiscards:  func(p *Tally) uint64 { return discards(p, true) },
		sai.PortStatInDroppedPkts:  func(p *Tally) uint64 { return discards(p, false) + malformed(p) + p.Lost.In },
		sai.PortStatOutDroppedPkts: func(p *Tally) uint64 { return discards(p, true) },
		sai.PortStatIfInVLANDiscards: func(p *Tally) uint64 {
			d := &p.Dropped
			return d[drop.TagFilter] + d[drop.NoVLAN] + d[drop.NotMember]
		},
		sai.PortStatEtherRxOversizePkts:   dropped(drop.Oversize),
		sai.PortStatEtherTxOversizePkts:   dropped(drop.EgressMTU),
		sai.PortStatIfOutQlen:             func(p *Tally) uint64 { return uint64(p.QueueFrames) },
		sai.PortStatOutCurrOccupancyBytes: func(p *Tally) uint64 { return p.QueueBytes },

		sai.PortStatTrimPackets:        func(p *Tally) uint64 { return p.Trim.Trimmed },
		sai.PortStatTxTrimPackets:      func(p *Tally) uint64 { return p.Trim.TrimSent },
		sai.PortStatDroppedTrimPackets: func(p *Tally) uint64 { return p.Trim.TrimDropped },

		sai.PortStatEtherStatsDropEvents: func(p *Tally) uint64 { return p.Lost.In },
		sai.PortStatIfOutErrors:          func(p *Tally) uint64 { return p.Lost.Out },

		sai.PortStatEtherStatsOctets:        func(p *Tally) uint64 { return p.In.Octets + p.Out.Octets },
		sai.PortStatEtherStatsPkts:          func(p *Tally) uint64 { return p.In.Packets() + p.Out.Packets() },
		sai.PortStatEtherStatsBroadcastPkts: func(p *Tally) uint64 { return p.In.Broadcast + p.Out.Broadcast },
		sai.PortStatEtherStatsMulticastPkts: func(p *Tally) uint64 { return p.In.Multicast + p.Out.Multicast },
		sai.PortStatEtherStatsRxNoErrors: func(p *Tally) uint64 {
			return p.In.Packets() - p.Dropped[drop.Oversize]
		},
		sai.PortStatEtherStatsTxNoErrors: func(p *Tally) uint64 { return p.Out.Packets() },
		sai.PortStatEtherStatsOversizePkts: func(p *Tally) uint64 {
			return p.Dropped[drop.Oversize] + p.Dropped[drop.EgressMTU]
		},
	}
	for _, id := range []sai.StatID{
		sai.PortStatIfInUnknownProtos,
		sai.PortStatEtherStatsUndersizePkts, sai.PortStatEtherStatsFragments, sai.PortStatEtherStatsJabbers,
		sai.PortStatEtherStatsCollisions, sai.PortStatEtherStatsCrcAlignErrors, sai.PortStatPauseRxPkts,
		sai.PortStatPauseTxPkts,
	} {
		t[id] = func(*Tally) uint64 { return 0 } // such events cannot happen here
	}
	for i := range 8 {
		rx := func(p *Tally) *engine.PauseCount { return &p.Pauses.Rx[i] }
		tx := func(p *Tally) *engine.PauseCount { return &p.Pauses.Tx[i] }
		id := sai.StatID(2 * i)
		t[sai.PortStatPfc0RxPkts+id] = func(p *Tally) uint64 { return rx(p).Frames }
		t[sai.PortStatPfc0TxPkts+id] = func(p *Tally) uint64 { return tx(p).Frames }
		t[sai.PortStatPfc0RxPauseDuration+id] = func(p *Tally) uint64 { return rx(p).Quanta }
		t[sai.PortStatPfc0TxPauseDuration+id] = func(p *Tally) uint64 { return tx(p).Quanta }
		t[sai.PortStatPfc0RxPauseDurationUs+id] = func(p *Tally) uint64 { return p.Microseconds(rx(p)) }
		t[sai.PortStatPfc0TxPauseDurationUs+id] = func(p *Tally) uint64 { return p.Microseconds(tx(p)) }
		t[sai.PortStatPfc0On2offRxPkts+sai.StatID(i)] = func(p *Tally) uint64 { return rx(p).Ended }
	}
	for i := range engine.NumSizes {
		t[sai.PortStatEtherInPkts64Octets+sai.StatID(i)] = func(p *Tally) uint64 { return p.In.Sizes[i] }
		t[sai.PortStatEtherOutPkts64Octets+sai.StatID(i)] = func(p *Tally) uint64 { return p.Out.Sizes[i] }
		t[sai.PortStatEtherStatsPkts64Octets+sai.StatID(i)] = func(p *Tally) uint64 {
			return p.In.Sizes[i] +
				p.Out.Sizes[i]
		}
	}
	return t
}

// Sorted returns the ids of a table of statistics in order.
func Sorted[T any](table map[sai.StatID]T) []sai.StatID {
	return slices.Sorted(maps.Keys(table))
}
