package saisim

import (
	"maps"
	"math/bits"
	"slices"

	"tamtam/sai"
)

// portStats are what a port counts for SAI beside its [PortCounters].
type portStats struct {
	in, out direction
	cleared map[sai.StatID]uint64 // what a statistic was when it was cleared
}

// A direction counts the frames of one direction.
type direction struct {
	octets                        uint64
	unicast, multicast, broadcast uint64
	sizes                         [numSizes]uint64
}

// Size classes of frames with FCS: up to 64 (shorter ones are padded on the
// wire), 65-127, 128-255, 256-511, 512-1023, 1024-1518, 1519-2047, 2048-4095,
// 4096-9216, 9217 and more.
const numSizes = 10

func sizeClass(n int) int {
	switch {
	case n <= 64:
		return 0
	case n > 9216:
		return 9
	case n > 4095:
		return 8
	case n > 2047:
		return 7
	case n > 1518:
		return 6
	case n > 1023:
		return 5
	}
	return bits.Len(uint(n)) - 6 // 65-127: 1 ... 512-1023: 4
}

// count notes a frame of n bytes with FCS, of which data is at least the
// Ethernet header.
func (d *direction) count(data []byte, n int) {
	d.octets += uint64(n)
	d.sizes[sizeClass(n)]++
	switch {
	case data[0]&1 == 0:
		d.unicast++
	case mac48(data) == 0xffffffffffff:
		d.broadcast++
	default:
		d.multicast++
	}
}

func (d *direction) packets() uint64 { return d.unicast + d.multicast + d.broadcast }

// errors are frames that are not well-formed, discards those that were dropped
// for other reasons, at the ingress or at the egress.
func (p *PortCounters) errors() uint64 { return p.Dropped[DropRunt] + p.Dropped[DropOversize] }

func (p *PortCounters) discards(egress bool) (n uint64) {
	for why, d := range p.Dropped {
		if r := DropReason(why); (r >= DropBuffer) == egress && r != DropRunt && r != DropOversize {
			n += d
		}
	}
	return n
}

// A portStat reads a statistic of a port.
type portStat func(p *port) uint64

// portStatTable are the port statistics that the chip has.
func portStatTable() map[sai.StatID]portStat {
	dropped := func(why DropReason) portStat { return func(p *port) uint64 { return p.totals.Dropped[why] } }
	t := map[sai.StatID]portStat{
		sai.PortStatIfInOctets:         func(p *port) uint64 { return p.stats.in.octets },
		sai.PortStatIfInUcastPkts:      func(p *port) uint64 { return p.stats.in.unicast },
		sai.PortStatIfInBroadcastPkts:  func(p *port) uint64 { return p.stats.in.broadcast },
		sai.PortStatIfInMulticastPkts:  func(p *port) uint64 { return p.stats.in.multicast },
		sai.PortStatIfInNonUcastPkts:   func(p *port) uint64 { return p.stats.in.multicast + p.stats.in.broadcast },
		sai.PortStatIfOutOctets:        func(p *port) uint64 { return p.stats.out.octets },
		sai.PortStatIfOutUcastPkts:     func(p *port) uint64 { return p.stats.out.unicast },
		sai.PortStatIfOutBroadcastPkts: func(p *port) uint64 { return p.stats.out.broadcast },
		sai.PortStatIfOutMulticastPkts: func(p *port) uint64 { return p.stats.out.multicast },
		sai.PortStatIfOutNonUcastPkts:  func(p *port) uint64 { return p.stats.out.multicast + p.stats.out.broadcast },

		sai.PortStatIfInErrors:     func(p *port) uint64 { return p.totals.errors() },
		sai.PortStatIfInDiscards:   func(p *port) uint64 { return p.totals.discards(false) },
		sai.PortStatIfOutDiscards:  func(p *port) uint64 { return p.totals.discards(true) },
		sai.PortStatInDroppedPkts:  func(p *port) uint64 { return p.totals.discards(false) + p.totals.errors() },
		sai.PortStatOutDroppedPkts: func(p *port) uint64 { return p.totals.discards(true) },
		sai.PortStatIfInVLANDiscards: func(p *port) uint64 {
			d := &p.totals.Dropped
			return d[DropTagFilter] + d[DropNoVLAN] + d[DropNotMember]
		},
		sai.PortStatEtherRxOversizePkts:   dropped(DropOversize),
		sai.PortStatEtherTxOversizePkts:   dropped(DropEgressMTU),
		sai.PortStatIfOutQlen:             func(p *port) uint64 { return uint64(p.queues.Len()) },
		sai.PortStatOutCurrOccupancyBytes: func(p *port) uint64 { return p.queues.Bytes() },

		sai.PortStatEtherStatsOctets:        func(p *port) uint64 { return p.stats.in.octets + p.stats.out.octets },
		sai.PortStatEtherStatsPkts:          func(p *port) uint64 { return p.stats.in.packets() + p.stats.out.packets() },
		sai.PortStatEtherStatsBroadcastPkts: func(p *port) uint64 { return p.stats.in.broadcast + p.stats.out.broadcast },
		sai.PortStatEtherStatsMulticastPkts: func(p *port) uint64 { return p.stats.in.multicast + p.stats.out.multicast },
		sai.PortStatEtherStatsRxNoErrors: func(p *port) uint64 {
			return p.stats.in.packets() - p.totals.Dropped[DropOversize]
		},
		sai.PortStatEtherStatsTxNoErrors: func(p *port) uint64 { return p.stats.out.packets() },
		sai.PortStatEtherStatsOversizePkts: func(p *port) uint64 {
			return p.totals.Dropped[DropOversize] + p.totals.Dropped[DropEgressMTU]
		},
	}
	for _, id := range []sai.StatID{
		sai.PortStatIfInUnknownProtos, sai.PortStatIfOutErrors, sai.PortStatEtherStatsDropEvents,
		sai.PortStatEtherStatsUndersizePkts, sai.PortStatEtherStatsFragments, sai.PortStatEtherStatsJabbers,
		sai.PortStatEtherStatsCollisions, sai.PortStatEtherStatsCrcAlignErrors, sai.PortStatPauseRxPkts,
		sai.PortStatPauseTxPkts,
	} {
		t[id] = func(*port) uint64 { return 0 } // cannot happen here
	}
	for i := range numSizes {
		t[sai.PortStatEtherInPkts64Octets+sai.StatID(i)] = func(p *port) uint64 { return p.stats.in.sizes[i] }
		t[sai.PortStatEtherOutPkts64Octets+sai.StatID(i)] = func(p *port) uint64 { return p.stats.out.sizes[i] }
		t[sai.PortStatEtherStatsPkts64Octets+sai.StatID(i)] = func(p *port) uint64 {
			return p.stats.in.sizes[i] +
				p.stats.out.sizes[i]
		}
	}
	return t
}

// addPortStats makes the port statistics readable.
func (c *store) addPortStats(k *kind) {
	table := portStatTable()
	k.stats = sortedStats(table)
	k.stat = func(o *object, id sai.StatID) uint64 {
		if p := at[*port](c.engine, o.id()); p != nil {
			return table[id](p) - p.stats.cleared[id]
		}
		return 0
	}
	k.clear = func(o *object, id sai.StatID) {
		p := at[*port](c.engine, o.id())
		if p == nil || id == sai.PortStatIfOutQlen || id == sai.PortStatOutCurrOccupancyBytes {
			return // levels, not counts
		}
		if p.stats.cleared == nil {
			p.stats.cleared = map[sai.StatID]uint64{}
		}
		p.stats.cleared[id] = table[id](p)
	}
}

// sortedStats returns the ids of a table of statistics in order.
func sortedStats[T any](table map[sai.StatID]T) []sai.StatID {
	return slices.Sorted(maps.Keys(table))
}
