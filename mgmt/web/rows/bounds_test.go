package rows

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// snapshotOf returns a snapshot of a batch in a time range.
func snapshotOf(t *testing.T, b result.Batch, from, to int64) *Snapshot {
	t.Helper()
	b.Partition, b.First, b.Last = "tailstamp-0", 1, 1
	store := result.NewMemory(0)
	if _, err := store.Put(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	s, err := Read(t.Context(), store, from, to, time.Unix(100, 0))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hopOf returns a row of packets of a flow at its only switch, some of which have a known time in it.
func hopOf(start, length, packets int64, times ...int64) result.Hop {
	h := result.Hop{Window: result.Window{Start: start, Length: length}, Flow: "f", Path: "p", Packets: packets,
		Unknown: packets - int64(len(times))}
	for _, v := range times {
		h.Resident.Add(result.Distribution{Count: 1, Sum: v, Min: v, Max: v, First: result.Bucket(v), Buckets: []uint32{1}})
	}
	return h
}

// number returns a field's number of a row.
func number[R any](t *query.Table[R], name string, r *R) (query.Range, bool) {
	return t.Field(name).Number(r, 0)
}

// The delay of a slot is unknown if the time of one of its packets is: that may be the greatest.
func TestSlotWithUntimedPackets(t *testing.T) {
	for unknown, want := range []bool{true, false} {
		s := snapshotOf(t, result.Batch{Hops: []result.Hop{hopOf(0, 10, int64(2+unknown), 5, 7)}}, 0, math.MaxInt64)
		x := s.Time.Slots(s, 10, 0)[0]
		if r, known := number(SlotTable, "delay.max", &x); known != want {
			t.Errorf("%d untimed packets: delay %v, known %v, want %v", unknown, r, known, want)
		}
		if r, _ := number(SlotTable, "packets", &x); r != query.Exactly(int64(2+unknown)) {
			t.Errorf("%d untimed packets: %v packets", unknown, r)
		}
	}
}

// If a window is only in part in the chosen range, any of its packets may be in it: so may be their delays.
func TestDelayOfPartOfWindow(t *testing.T) {
	b := result.Batch{Hops: []result.Hop{hopOf(0, 10, 3, 5, 7, 90)}}
	for to, want := range map[int64]query.Range{10: query.Exactly(90), 5: {Low: 5, High: 90}} {
		s := snapshotOf(t, b, 0, to)
		x := FlowItems(s, func(uint32) string { return "a" })[0]
		if r, known := number(FlowTable, "delay.max", &x); r != want || !known {
			t.Errorf("to %d: greatest delay %v, known %v, want %v", to, r, known, want)
		}
	}
}

// Rows of late packets are of windows that other rows count already.
func TestLateRowsAreNoWindows(t *testing.T) {
	late := hopOf(0, 10, 1, 5)
	late.Flags = result.Late
	for _, hops := range [][]result.Hop{{hopOf(0, 10, 3, 5, 7, 9)}, {hopOf(0, 10, 3, 5, 7, 9), late}} {
		x := FlowItems(snapshotOf(t, result.Batch{Hops: hops}, 0, math.MaxInt64), func(uint32) string { return "a" })[0]
		if n, known := number(FlowTable, "windows", &x); known != (len(hops) == 1) || known && n != query.Exactly(1) {
			t.Errorf("%d rows of one window: %v, known %v", len(hops), n, known)
		}
	}
}

// Counts that exceed 64 bits together have no upper bound, wherever they are added: a report may have any count.
func TestDropsBeyondRange(t *testing.T) {
	var list []result.Drop
	for i := range int64(3) {
		list = append(list, result.Drop{Window: result.Window{Start: 10 * i, Length: 10}, Switch: "a", Reason: "acl",
			Flow: "f", Packets: math.MaxInt64 / 2, First: 10 * i, Last: 10 * i, Source: "ipfix"})
	}
	s := snapshotOf(t, result.Batch{Drops: list, Hops: []result.Hop{hopOf(0, 10, 1, 5)}}, 0, math.MaxInt64)
	for _, d := range s.Drops {
		x := DropItem{DropSum: d}
		if r, _ := number(DropTable, "packets", &x); !r.Open() || r.Low < math.MaxInt64-1 {
			t.Errorf("%v packets, flags %v: want no upper bound", r, d.Flags)
		}
	}
	slots := s.Time.Slots(s, 100, 0)
	if r, _ := number(SlotTable, "drops", &slots[0]); r.Low < math.MaxInt64/2 || r.High != math.MaxInt64 {
		t.Errorf("%v packets in a slot: want no upper bound", r)
	}
}

// A removing store has removed some of its rows.
type removing struct{ *result.Memory }

func (removing) Lacks(from, to int64) ([]string, error) {
	return []string{fmt.Sprintf("rows from %d to %d were removed", from, to)}, nil
}

// What a store removed from the time of a snapshot is reported, as for questions about stored rows.
func TestRemovedRows(t *testing.T) {
	s, err := Read(t.Context(), removing{result.NewMemory(0)}, 5, 9, time.Unix(100, 0))
	if want := []string{"rows from 5 to 9 were removed"}; err != nil || !slices.Equal(s.Lacks, want) {
		t.Errorf("%q, %v: want %q", s.Lacks, err, want)
	}
}

// The reasons of SAI are in capitals. Only drops by no access list certainly have no rule.
func TestRuleOfDrops(t *testing.T) {
	for reason, whole := range map[string]bool{"acl": false, "ACL_ANY": false, "egress-acl": false, "mtu": true} {
		x := DropItem{DropSum: &DropSum{dropKey: dropKey{Reason: reason}}}
		if DropTable.Field("drop.rule").Whole(&x) != whole {
			t.Errorf("%s: it is known that there is no rule: %v, want %v", reason, !whole, whole)
		}
	}
}

// An epoch has the length that its switch reports, however many others were not read. If the start is unknown, so is
// the length: the time since the previous answer may be that of several epochs.
func TestLengthOfEpoch(t *testing.T) {
	answer := func(start, end int64, switchName string) result.Sketch {
		return result.Sketch{Start: start, Time: end, Switch: switchName, Task: "t", Key: "cardinality"}
	}
	s := snapshotOf(t, result.Batch{Sketches: []result.Sketch{answer(10, 20, "a"), answer(30, 40, "a"),
		answer(40, 45, "a"), answer(0, 20, "b"), answer(0, 40, "b")}}, 0, math.MaxInt64)
	totals, _ := TotalTables(func(float64) string { return "" })
	for i, want := range []int64{10, 10, 5, -1, -1} {
		items := TotalItems(s, 100)
		x := &items[i]
		length, known := number(totals, "length", x)
		if known != (want > 0) || known && length != query.Exactly(want) || x.At.To != x.Time ||
			known && x.At.From != x.Time-want {
			t.Errorf("answer %d: length %v, known %v, in %v, want %d", i, length, known, x.At, want)
		}
	}
}

// A flow without reports of drops may have drops that no switch reports, so their number is unknown and not 0. With
// reports it is at least their number by one source.
func TestDropsOfFlow(t *testing.T) {
	drop := func(flow, source string, packets int64, flags result.Flags) result.Drop {
		return result.Drop{Window: result.Window{Length: 10}, Switch: "a", Reason: "ttl", Flow: flow, Packets: packets,
			First: 1, Last: 2, Source: source, Flags: flags}
	}
	hops := []result.Hop{hopOf(0, 10, 3), hopOf(0, 10, 3), hopOf(0, 10, 3)}
	for i, flow := range []string{"f", "g", "h"} {
		hops[i].Flow = flow
	}
	s := snapshotOf(t, result.Batch{Hops: hops, Drops: []result.Drop{drop("f", "ipfix", 5, 0), drop("f", "sflow", 3, 0),
		drop("g", "ipfix", 5, result.Twice)}}, 0, math.MaxInt64)
	items := FlowItems(s, func(uint32) string { return "a" })
	for i, want := range []int64{5, 0, -1} {
		if r, known := number(FlowTable, "drops", &items[i]); known != (want >= 0) || known && (r.Low != want || !r.Open()) {
			t.Errorf("%s: %v drops, known %v, want at least %d", items[i].Text, r, known, want)
		}
		if FlowTable.Field("drop.reason").Whole(&items[i]) {
			t.Errorf("%s: all reasons are known", items[i].Text)
		}
	}
}
