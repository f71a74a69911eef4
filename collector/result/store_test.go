package result

import "testing"

// A batch that is made twice is stored once, and one that skips messages is refused.
func TestPut(t *testing.T) {
	m := NewMemory(0)
	put := func(first, last uint64) (bool, error) {
		return m.Put(t.Context(), &Batch{Partition: "stamps-0", First: first,
			Position: Position{Last: last, Closed: int64(last)}})
	}
	for _, tt := range []struct {
		first, last uint64
		kept, fails bool
	}{
		{1, 10, true, false}, {1, 10, false, false}, {3, 7, false, false}, {5, 12, false, true},
		{12, 13, false, true}, {11, 11, true, false}, {0, 3, false, true}, {12, 11, false, true},
	} {
		kept, err := put(tt.first, tt.last)
		if kept != tt.kept || (err != nil) != tt.fails {
			t.Errorf("messages %d to %d: kept %v, %v; want %v, an error %v", tt.first, tt.last, kept, err, tt.kept, tt.fails)
		}
	}
	if at, err := m.Last(t.Context(), "stamps-0"); at.Last != 11 || at.Closed != 11 || err != nil {
		t.Errorf("%+v, %v: want message 11, closed 11", at, err)
	}
}

// The oldest rows are dropped at the limit, and their number is reported.
func TestForgotten(t *testing.T) {
	m := NewMemory(3)
	for i := range uint64(5) {
		b := &Batch{Partition: "p", First: i + 1, Position: Position{Last: i + 1}, Journeys: []Journey{{Time: int64(i)}}}
		if _, err := m.Put(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	var times []int64
	err := m.Each(t.Context(), 0, 3, func(b *Batch) bool { times = append(times, b.Journeys[0].Time); return true })
	if err != nil || len(times) != 2 || times[0] != 2 || m.Forgotten() != 2 {
		t.Errorf("%v, %v, %d forgotten: want 2 and 3, 2", times, err, m.Forgotten())
	}
}

// A batch covers the times of drops, which may be before the window in which their report came.
func TestSpan(t *testing.T) {
	w := Window{Start: 100, Length: 10}
	for _, tt := range []struct {
		drop     Drop
		from, to int64
	}{
		{Drop{Window: w, First: 30, Last: 105}, 30, 110}, {Drop{Window: w, First: 101, Last: 300}, 100, 300},
		{Drop{Window: w}, 100, 110}, {Drop{Window: w, First: 30, Last: 105, Flags: Unsynchronised}, 100, 110},
	} {
		b := &Batch{Drops: []Drop{tt.drop}}
		if from, to, ok := b.Span(); from != tt.from || to != tt.to || !ok {
			t.Errorf("%+v: %d to %d, %v; want %d to %d", tt.drop, from, to, ok, tt.from, tt.to)
		}
	}
}
