package tick_test

import (
	"testing"
	"time"

	"tamtam/swss/tick"
)

func TestNext(t *testing.T) {
	second := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		now    time.Time
		period time.Duration
		want   time.Duration
	}{
		{second, time.Second, time.Second},
		{second.Add(1), time.Second, time.Second - 1},
		{second.Add(time.Second - 1), time.Second, 1},
		{second.Add(600 * time.Millisecond), 250 * time.Millisecond, 150 * time.Millisecond},
		{time.Unix(-10, 1), time.Second, time.Second - 1},
	} {
		if got := tick.Until(tt.now, tt.period); got != tt.want {
			t.Errorf("from %v, every %v: %v, want %v", tt.now, tt.period, got, tt.want)
		}
		if got := tick.Next(tt.now, tt.period); !got.Equal(tt.now.Add(tt.want)) {
			t.Errorf("from %v, every %v: %v", tt.now, tt.period, got)
		}
	}
	now := time.Now()
	if wait := tick.Until(now, time.Hour); wait <= 0 || wait > time.Hour || tick.Next(now, time.Hour) != now.Add(wait) {
		t.Errorf("with a monotonic clock: %v, %v", wait, tick.Next(now, time.Hour))
	}
}
