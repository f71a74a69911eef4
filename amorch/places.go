package amorch

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A place is where the chip has a session.
type place struct {
	lane  int
	index uint32
}

// Fields of a session's row that remembers its place.
const (
	fieldLane    = "lane"
	fieldIndex   = "index"
	fieldSession = "session" // a checksum of the session's row
	// fieldInterfaces holds the interfaces of its flow group when its measurement began. It is absent for any interface.
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

// sumOf tells rows of sessions apart.
func sumOf(row schema.AltMarkFlow) string {
	h := fnv.New64a()
	for _, p := range swss.Pairs(row.Fields()) {
		fmt.Fprintf(h, "%q=%q\n", p.Field, p.Value)
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// measuredBefore reports whether a previous run measured the very same session.
func (o *Orch) measuredBefore(s *session) bool {
	return s.InASIC.profile != nil && o.places.Former(s.Name)[fieldSession] == sumOf(s.RowInASIC)
}

// formerPlace returns where a session was when orchagent ended, false if that is not known.
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

// reservePlaces keeps the places of a previous run free for those that had them. Otherwise who has which depends on who
// comes first, and a session that moves counts anew.
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

// ViewApplied says that the first view was applied: places of a previous run that nobody came for are free.
func (o *Orch) ViewApplied() {
	o.Feature.ViewApplied()
	clear(o.reserved)
	o.indices.release()
}

// indices hands out the numbers of flows.
type indices struct {
	most  uint32
	next  uint32 // none from here on was handed out, but for those ahead
	free  []uint32
	kept  map[uint32]bool // for those that had them in a previous run
	ahead map[uint32]bool // handed out again to those
}

func (x *indices) take() (uint32, bool) {
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

// reserve keeps a number for who had it in a previous run. None has been handed out before.
func (x *indices) reserve(i uint32) {
	if x.kept == nil {
		x.kept, x.ahead = map[uint32]bool{}, map[uint32]bool{}
	}
	x.kept[i] = true
}

// again hands out a number that was kept; false: it is another's.
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

// release frees what is still kept.
func (x *indices) release() {
	for i := range x.kept {
		if i < x.next {
			x.free = append(x.free, i)
		}
	}
	x.kept = nil
}
