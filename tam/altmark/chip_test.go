package altmark_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"tamtam/tam/altmark"
)

// The words of the clock and of flows decode to the encoded values.
func TestChipWords(t *testing.T) {
	clock := altmark.ChipClock{At: altmark.Time{Seconds: 1700000001, Nanoseconds: 5}, Synchronised: true, Steps: 2,
		Started: 1600000000}
	if got, err := altmark.ParseChipClock(clock.Words()); err != nil || got != clock {
		t.Errorf("%+v, %v, want %+v", got, err, clock)
	}
	kernel := altmark.KernelClock{Boot: [2]uint64{1, 2}, Known: true, MaxError: time.Millisecond, Ahead: -time.Second}
	if got, err := altmark.ParseKernelClock(kernel.Words()); err != nil || got != kernel {
		t.Errorf("%+v, %v, want %+v", got, err, kernel)
	}
	flow := altmark.ChipFlow{Generation: 7, Of: [2]altmark.ChipCounts{
		{Packets: 1, Bytes: 64, Captures: 1, Captured: altmark.Time{Seconds: 9}, Unsynchronised: true, Outside: 2,
			PulseBytes: 3, Digest: 1<<32 - 1},
		{Packets: 5, Foreign: 2, ForeignBytes: 128},
	}, Late: altmark.LatePeriods{First: 6, Last: 8},
		Outer: altmark.OuterCounts{Encapsulated: 1, Decapsulated: 2, TooLong: 3, Damaged: 4}}
	words := flow.Of[1].Words(flow.Of[0].Words(nil))
	got, err := altmark.ParseChipFlows(1, []uint64{7}, words, []uint64{6, 8}, []uint64{1, 2, 3, 4})
	if want := []altmark.ChipFlow{flow}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// Lists that are too short and invalid times are refused.
func TestChipWordsRefused(t *testing.T) {
	_, short := altmark.ParseChipClock([]uint64{1, 2})
	_, late := altmark.ParseChipClock([]uint64{1, 1e9, 1, 0, 0})
	_, kernel := altmark.ParseKernelClock([]uint64{0, 0, 1, 1, 1<<62 + 1, 0})
	_, missing := altmark.ParseChipFlows(2, []uint64{1}, nil, nil, nil)
	_, few := altmark.ParseChipFlows(1, []uint64{1}, make([]uint64, 21), nil, nil)
	_, lates := altmark.ParseChipFlows(1, []uint64{1}, make([]uint64, 22), []uint64{1}, nil)
	_, order := altmark.ParseChipFlows(1, []uint64{1}, make([]uint64, 22), []uint64{2, 1}, nil)
	for want, err := range map[string]error{
		"2 numbers as time, want 5": short, "nanoseconds below 10^9": late, "want at most 2^62": kernel,
		"1 numbers as generations, want 2": missing, "21 numbers as counters, want 22": few,
		"1 numbers as late, want 2": lates, "periods 2 to 1, want the first not behind the last": order,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
