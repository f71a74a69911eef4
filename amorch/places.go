package amorch

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A place is the lane and the index of a session in the chip.
type place struct {
	lane  int
	index uint32
}

// Fields of the row that stores the place of a session.
const (
	fieldLane    = "lane"
	fieldIndex   = "index"
	fieldSession = "session" // checksum of the session's row
	// fieldInterfaces contains the interfaces of the flow group at the begin of the measurement. It is absent if the
	// flow group is not limited to interfaces.
	fieldInterfaces = "interfaces"
)

func (p place) row(session, interfaces string) swss.FieldValues {
	row := swss.FieldValues{
		fieldLane: strconv.Itoa(p.lane), fieldIndex: strconv.FormatUint(uint64(p.index), 10), fieldSession: session,
	}
	if interfaces != "" {
		row[fieldInterfaces] = interfaces
	}
	return row
}

// sumOf returns a checksum of a session's row.
func sumOf(row schema.AltMarkFlow) string {
	h := fnv.New64a()
	for _, p := range swss.Pairs(row.Fields()) {
		fmt.Fprintf(h, "%q=%q\n", p.Field, p.Value)
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// measuredBefore reports whether a previous run measured the same session with the same row.
func (o *Orch) measuredBefore(s *session) bool {
	return s.InASIC.profile != nil && o.places.Former(s.Name)[fieldSession] == sumOf(s.RowInASIC)
}

// formerPlace returns the place of a session at the end of the previous process. It returns false if that is unknown.
func (o *Orch) formerPlace(name string) (place, bool) { return o.placeOf(o.places.Former(name)) }

func (o *Orch) placeOf(row swss.FieldValues) (place, bool) {
	lane, err := strconv.Atoi(row[fieldLane])
	if err != nil || lane < 0 || lane >= len(o.lanes) {
		return place{}, false
	}
	index, err := strconv.ParseUint(row[fieldIndex], 10, 32)
	if err != nil || index >= uint64(o.indices.most) {
		return place{}, false
	}
	return place{lane, uint32(index)}, true
}

// reservePlaces reserves the places of the previous run for their sessions. Otherwise the order of arrival would
// determine the places, and a session with a new place would count from the start.
func (o *Orch) reservePlaces() {
	if o.engine != schema.AltMarkByChip {
		return
	}
	o.reserved = make([]bool, len(o.lanes))
	for _, row := range o.places.AllFormer() {
		if p, ok := o.placeOf(row); ok {
			o.reserved[p.lane] = true
			o.indices.reserve(p.index)
		}
	}
}

// ViewApplied frees the unused places of the previous run after the first view was applied.
func (o *Orch) ViewApplied() {
	o.Feature.ViewApplied()
	clear(o.reserved)
	o.indices.release()
}

// indices allocates the indices of flows.
type indices struct {
	most  uint32
	next  uint32 // all numbers from next on are free, except those in ahead
	free  []uint32
	kept  map[uint32]bool // numbers that are reserved for their users in the previous run
	ahead map[uint32]bool // reserved numbers at or above next that were allocated again
}

func (x *indices) allocate() (uint32, bool) {
	if n := len(x.free); n > 0 {
		v := x.free[n-1]
		x.free = x.free[:n-1]
		return v, true
	}
	for x.kept[x.next] || x.ahead[x.next] {
		delete(x.ahead, x.next)
		x.next++
	}
	if x.next >= x.most {
		return 0, false
	}
	x.next++
	return x.next - 1, true
}

func (x *indices) give(i uint32) {
	if x.ahead[i] {
		delete(x.ahead, i)
		return
	}
	x.free = append(x.free, i)
}

// reserve reserves a number for its user in the previous run. It must be called before the first allocation.
func (x *indices) reserve(i uint32) {
	if x.kept == nil {
		x.kept, x.ahead = map[uint32]bool{}, map[uint32]bool{}
	}
	x.kept[i] = true
}

// again allocates a reserved number to its former user. It returns false if the number is not reserved.
func (x *indices) again(i uint32) bool {
	if !x.kept[i] {
		return false
	}
	delete(x.kept, i)
	if i >= x.next {
		x.ahead[i] = true
	}
	return true
}

// release frees the numbers that are still reserved.
func (x *indices) release() {
	for i := range x.kept {
		if i < x.next {
			x.free = append(x.free, i)
		}
	}
	x.kept = nil
}
