package counts

import (
	"tamtam/sai"
	"tamtam/saisim/engine"
	"tamtam/saisim/tm"
)

// fcsSize is the size of the FCS, which the byte counts of queues include, as those of ports do. The engine's queues
// hold packets without it, and so does what they tell about their depth.
const fcsSize = 4

// A Queue reads a statistic of a queue.
type Queue = func(s *engine.QueueState) uint64

// Queues returns the statistics of queues. Occupancy and watermarks are levels. A cleared watermark begins at
// the current level.
func Queues() map[sai.StatID]Queue {
	sent := func(s *engine.QueueState) uint64 { return s.Dequeued }
	sentBytes := func(s *engine.QueueState) uint64 { return s.DequeuedBytes + fcsSize*s.Dequeued }
	dropped := func(s *engine.QueueState) uint64 { return s.DroppedFull + s.DroppedTail + s.DroppedWRED }
	droppedBytes := func(s *engine.QueueState) uint64 {
		return s.DroppedBytes + fcsSize*(s.DroppedFull+s.DroppedTail+s.DroppedWRED)
	}
	wred := func(s *engine.QueueState) uint64 { return s.DroppedWRED }
	marked := func(s *engine.QueueState) uint64 { return s.Marked }
	bytes := func(s *engine.QueueState) uint64 { return s.Bytes }
	most := func(s *engine.QueueState) uint64 { return s.MaxBytes }
	table := map[sai.StatID]Queue{
		sai.QueueStatPackets: sent, sai.QueueStatBytes: sentBytes,
		sai.QueueStatDroppedPackets: dropped, sai.QueueStatDroppedBytes: droppedBytes,
		sai.QueueStatTrimPackets:          func(s *engine.QueueState) uint64 { return s.Trimmed },
		sai.QueueStatTxTrimPackets:        func(s *engine.QueueState) uint64 { return s.TrimSent },
		sai.QueueStatDroppedTrimPackets:   func(s *engine.QueueState) uint64 { return s.TrimDropped },
		sai.QueueStatWREDDroppedPackets:   wred,
		sai.QueueStatWREDECNMarkedPackets: marked,
		sai.QueueStatCurrOccupancyBytes:   bytes, sai.QueueStatWatermarkBytes: most,
		sai.QueueStatSharedCurrOccupancyBytes: bytes, sai.QueueStatSharedWatermarkBytes: most,
		sai.QueueStatCurrOccupancyCells: func(s *engine.QueueState) uint64 { return s.Cells },
		sai.QueueStatWatermarkCells:     func(s *engine.QueueState) uint64 { return s.MaxCells },
	}
	for colour, ids := range [tm.NumColours][6]sai.StatID{
		tm.Green: {sai.QueueStatGreenPackets, sai.QueueStatGreenBytes, sai.QueueStatGreenDroppedPackets,
			sai.QueueStatGreenDroppedBytes, sai.QueueStatGreenWREDDroppedPackets, sai.QueueStatGreenWREDECNMarkedPackets},
		tm.Yellow: {sai.QueueStatYellowPackets, sai.QueueStatYellowBytes, sai.QueueStatYellowDroppedPackets,
			sai.QueueStatYellowDroppedBytes, sai.QueueStatYellowWREDDroppedPackets,
			sai.QueueStatYellowWREDECNMarkedPackets},
		tm.Red: {sai.QueueStatRedPackets, sai.QueueStatRedBytes, sai.QueueStatRedDroppedPackets,
			sai.QueueStatRedDroppedBytes, sai.QueueStatRedWREDDroppedPackets, sai.QueueStatRedWREDECNMarkedPackets},
	} {
		for i, id := range ids {
			table[id] = func(s *engine.QueueState) uint64 { return colourCounts(s, tm.Colour(colour))[i] }
		}
	}
	return table
}

// colourCounts returns the counters of a queue for packets of a colour: packets and bytes sent, packets and bytes
// dropped, packets dropped by WRED, packets marked. Packets that are neither yellow nor red are green.
func colourCounts(s *engine.QueueState, colour tm.Colour) (n [6]uint64) {
	if colour != tm.Green {
		c := &s.Coloured[colour-tm.Yellow]
		return [6]uint64{c.Dequeued, c.DequeuedBytes + fcsSize*c.Dequeued, c.Dropped, c.DroppedBytes + fcsSize*c.Dropped,
			c.DroppedWRED, c.Marked}
	}
	dropped := s.DroppedFull + s.DroppedTail + s.DroppedWRED
	n = [6]uint64{s.Dequeued, s.DequeuedBytes + fcsSize*s.Dequeued, dropped, s.DroppedBytes + fcsSize*dropped,
		s.DroppedWRED, s.Marked}
	for _, other := range []tm.Colour{tm.Yellow, tm.Red} {
		for i, x := range colourCounts(s, other) {
			n[i] -= x
		}
	}
	return n
}
