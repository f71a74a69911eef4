package join

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
)

// reported feeds a partition with messages of a source: a frame at each of some times, and a watermark (promise).
type reported struct {
	t   *testing.T
	p   *Partition
	now time.Time
}

func (x *reported) message(w *event.Writer, watermark int64, frames ...int64) {
	x.t.Helper()
	for _, at := range frames {
		w.Stamped(&event.Frame{Time: at, Hops: []event.Hop{{Flags: event.NoArrival | event.NoDeparture}}})
	}
	if err := x.p.Consume(x.p.Next(), w.Finish(watermark), x.now); err != nil {
		x.t.Fatal(err)
	}
}

func (x *reported) writer(source string) *event.Writer {
	x.t.Helper()
	w, err := event.NewWriter(result.Stamps, source)
	if err != nil {
		x.t.Fatal(err)
	}
	return w
}

// cut returns the flags of the windows in the batch, by window number, and the amendments.
func (x *reported) cut() (windows map[int64]result.Flags, amends []result.Amend) {
	windows = map[int64]result.Flags{}
	b := x.p.Cut(x.now, true)
	if b == nil {
		return windows, nil
	}
	for _, h := range b.Hops {
		windows[h.Window.Start/h.Window.Length] = h.Flags
	}
	return windows, b.Amends
}

// Once a killed source is started again, its earlier run is not waited for. Its windows have the flag gap from its last
// watermark to the time when it captures again. Earlier and later windows have no flag, and no source counts as silent.
func TestFollow(t *testing.T) {
	const window = 10 * second
	x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
	before, after := x.writer(event.Name("host:eth1", time.Unix(50, 0))),
		x.writer(event.Name("host:eth1", time.Unix(130, 0)))
	other := x.writer(event.Name("host:eth2", time.Unix(50, 0)))
	x.message(other, 100*second)
	x.message(before, 105*second, 95*second, 106*second) // then this source is killed
	if got, _ := x.cut(); len(got) != 1 || got[9] != 0 {
		t.Errorf("flags %v: want those of window 9: none", got)
	}
	x.message(other, 200*second, 125*second, 145*second)
	if got, _ := x.cut(); len(got) != 0 {
		t.Errorf("flags %v: want no window, since eth1 may say more", got)
	}
	after.Miss(131*second, 131*second)
	x.message(after, 131*second)
	x.message(after, 200*second, 133*second, 155*second)
	got, amends := x.cut()
	want := map[int64]result.Flags{10: result.Gap, 12: result.Gap, 13: result.Gap, 14: 0, 15: 0}
	missed := []result.Amend{{From: 105 * second, To: 131 * second, Flags: result.Gap}}
	if fmt.Sprint(got) != fmt.Sprint(want) || !slices.Equal(amends, missed) {
		t.Errorf("flags %v, amended %v: want %v, %v", got, amends, want, missed)
	}
	x.now = x.now.Add(DefaultSilence - 1)
	x.message(other, 300*second, 250*second)
	x.message(after, 300*second, 251*second)
	x.now = x.now.Add(1) // the first run has been silent for DefaultSilence
	x.message(after, 301*second)
	got, _ = x.cut()
	silent := slices.ContainsFunc(x.p.order, func(s *source) bool { return s.row.Silent })
	if got[25] != 0 || len(got) != 1 || silent {
		t.Errorf("flags %v, silent %v: want window %d without flags", got, silent, 250*second/window)
	}
}

// Windows that were closed while a source was silent are amended when it returns; other windows are not.
func TestFollowSilent(t *testing.T) {
	x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
	before, after := x.writer(event.Name("eth1", time.Unix(50, 0))), x.writer(event.Name("eth1", time.Unix(130, 0)))
	other := x.writer("leaf1")
	x.message(before, 105*second, 106*second)
	x.now = x.now.Add(DefaultSilence)
	x.message(other, 170*second, 95*second, 125*second)
	if got, _ := x.cut(); got[10] != result.Silent || got[12] != result.Silent {
		t.Errorf("flags %v: want that a source was silent", got)
	}
	after.Miss(175*second, 175*second)
	x.message(after, 175*second)
	want := []result.Amend{{From: 105 * second, To: 170*second - 1, Flags: result.Gap}}
	if _, got := x.cut(); !slices.Equal(got, want) {
		t.Errorf("amended %+v, want %+v", got, want)
	}
}

// Ended sources free capacity for others, so that a source may be restarted any number of times.
func TestManyStarts(t *testing.T) {
	x := &reported{t: t, now: time.Unix(100, 0), p: New("stamps-0", Options{}, result.Position{}, time.Unix(100, 0))}
	for i := range int64(maxSources + 10) {
		w := x.writer(event.Name("eth1", time.Unix(50, i)))
		x.message(w, 100*second+i)
		if i%100 == 0 {
			x.cut()
		}
	}
	if len(x.p.order) != maxSources || len(x.p.sources) != maxSources {
		t.Errorf("%d sources, want %d", len(x.p.order), maxSources)
	}
}

// An expected source is matched by its name without the start time.
func TestExpectStarted(t *testing.T) {
	x := &reported{t: t, now: time.Unix(100, 0)}
	x.p = New("stamps-0", Options{Expect: []string{"host:eth1"}}, result.Position{}, x.now)
	x.message(x.writer("leaf1"), 100*second, 85*second)
	if got, _ := x.cut(); len(got) != 0 {
		t.Errorf("flags %v: want no window without host:eth1", got)
	}
	x.message(x.writer(event.Name("host:eth1", time.Unix(90, 0))), 100*second)
	if got, _ := x.cut(); len(got) != 1 || got[8] != 0 {
		t.Errorf("flags %v: want window 8 without flags", got)
	}
}
