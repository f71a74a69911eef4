package counts

import (
	"tamtam/sai"
	"tamtam/saisim/engine"
)

// Groups returns the statistics of ingress priority groups. Packets and bytes are those that a group has admitted.
// Occupancies are whole cells, in bytes as in cells: of all packets, of those beyond the reserved cells, and of
// those in the headroom.
func Groups(cellBytes uint32) map[sai.StatID]func(s *engine.GroupState) uint64 {
	type state = engine.GroupState
	table := map[sai.StatID]func(s *state) uint64{
		sai.IngressPriorityGroupStatPackets:        func(s *state) uint64 { return s.Packets },
		sai.IngressPriorityGroupStatBytes:          func(s *state) uint64 { return s.Bytes + fcsSize*s.Packets },
		sai.IngressPriorityGroupStatDroppedPackets: func(s *state) uint64 { return s.Dropped },
	}
	inBoth(table, cellBytes, sai.IngressPriorityGroupStatCurrOccupancyBytes,
		sai.IngressPriorityGroupStatCurrOccupancyCells, func(s *state) uint64 { return s.Cells })
	inBoth(table, cellBytes, sai.IngressPriorityGroupStatWatermarkBytes, sai.IngressPriorityGroupStatWatermarkCells,
		func(s *state) uint64 { return s.MaxCells })
	inBoth(table, cellBytes, sai.IngressPriorityGroupStatSharedCurrOccupancyBytes,
		sai.IngressPriorityGroupStatSharedCurrOccupancyCells, func(s *state) uint64 { return s.Shared })
	inBoth(table, cellBytes, sai.IngressPriorityGroupStatSharedWatermarkBytes,
		sai.IngressPriorityGroupStatSharedWatermarkCells, func(s *state) uint64 { return s.MaxShared })
	inBoth(table, cellBytes, sai.IngressPriorityGroupStatXoffRoomCurrOccupancyBytes,
		sai.IngressPriorityGroupStatXoffRoomCurrOccupancyCells, func(s *state) uint64 { return s.InHeadroom })
	inBoth(table, cellBytes, sai.IngressPriorityGroupStatXoffRoomWatermarkBytes,
		sai.IngressPriorityGroupStatXoffRoomWatermarkCells, func(s *state) uint64 { return s.MaxInHeadroom })
	return table
}

// GroupWatermark reports whether a statistic of a group is a level, which has no count to clear, and which watermark it
// is.
func GroupWatermark(id sai.StatID) (level, total, shared, headroom bool) {
	switch id {
	case sai.IngressPriorityGroupStatPackets, sai.IngressPriorityGroupStatBytes,
		sai.IngressPriorityGroupStatDroppedPackets:
		return false, false, false, false
	case sai.IngressPriorityGroupStatWatermarkBytes, sai.IngressPriorityGroupStatWatermarkCells:
		total = true
	case sai.IngressPriorityGroupStatSharedWatermarkBytes, sai.IngressPriorityGroupStatSharedWatermarkCells:
		shared = true
	case sai.IngressPriorityGroupStatXoffRoomWatermarkBytes, sai.IngressPriorityGroupStatXoffRoomWatermarkCells:
		headroom = true
	}
	return true, total, shared, headroom
}

// Pools returns the statistics of buffer pools: levels, and a count of packets. The levels of the headroom are not part
// of the others.
func Pools(cellBytes uint32) map[sai.StatID]func(s *engine.PoolState) uint64 {
	type state = engine.PoolState
	table := map[sai.StatID]func(s *state) uint64{}
	inBoth(table, cellBytes, sai.BufferPoolStatCurrOccupancyBytes, sai.BufferPoolStatCurrOccupancyCells,
		func(s *state) uint64 { return s.Used })
	inBoth(table, cellBytes, sai.BufferPoolStatWatermarkBytes, sai.BufferPoolStatWatermarkCells,
		func(s *state) uint64 { return s.MaxUsed })
	inBoth(table, cellBytes, sai.BufferPoolStatXoffRoomCurrOccupancyBytes, sai.BufferPoolStatXoffRoomCurrOccupancyCells,
		func(s *state) uint64 { return s.InHeadroom })
	inBoth(table, cellBytes, sai.BufferPoolStatXoffRoomWatermarkBytes, sai.BufferPoolStatXoffRoomWatermarkCells,
		func(s *state) uint64 { return s.MaxInHeadroom })
	table[sai.BufferPoolStatDroppedPackets] = func(s *state) uint64 { return s.Dropped }
	return table
}

// inBoth adds a number of cells to a table as two statistics, in bytes and in cells.
func inBoth[S any](table map[sai.StatID]func(*S) uint64, cellBytes uint32, bytes, cells sai.StatID,
	read func(*S) uint64,
) {
	table[bytes], table[cells] = func(s *S) uint64 { return read(s) * uint64(cellBytes) }, read
}
