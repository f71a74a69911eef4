package join

import (
	"slices"
	"testing"
	"time"
)

// Lost messages are counted by partition, and reported with the worst reason.
func TestLosses(t *testing.T) {
	var l Losses
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l.Add(Lost{Partition: "b", First: 10, Last: 11, At: at})
	l.Add(Lost{Partition: "a", First: 3, Last: 3, At: at, From: at.Add(-time.Minute)})
	l.Add(Lost{Partition: "b", First: 20, Last: 20, At: at.Add(time.Hour), Damaged: true})
	if a, b, c := l.Count("a"), l.Count("b"), l.Count("c"); a != 1 || b != 3 || c != 0 {
		t.Errorf("%v, %v and %v messages are lost, want 1, 3 and 0", a, b, c)
	}
	want := []string{
		"1 messages of partition a, between 3 and 3, are lost since 2026-01-02T03:04:05Z: they were dropped before they " +
			"were joined, and rows from 2026-01-02T03:03:05Z on may lack their content (gap)",
		"3 messages of partition b, between 10 and 20, are lost since 2026-01-02T03:04:05Z: the log is damaged",
	}
	if got := l.Troubles(); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
