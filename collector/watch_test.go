package collector

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
)

// A script is a source that gives frames, and then what ends it.
type script struct {
	packets chan capture.Packet
	err     error
	lost    uint64
}

func (s *script) Next(ctx context.Context) (capture.Packet, error) {
	select {
	case p, ok := <-s.packets:
		if !ok {
			return p, s.err
		}
		return p, nil
	case <-ctx.Done():
		return capture.Packet{}, ctx.Err()
	}
}

func (s *script) Lost() (uint64, error) {
	n := s.lost
	s.lost = 0
	return n, nil
}

// Each report is of what came since the one before; frames that were lost before they could be read are told, and so is
// what ended the source.
func TestWatchTailStamp(t *testing.T) {
	frame := stamped(web, hop(7, 0, 4, 100, 600, 0))
	s := &script{packets: make(chan capture.Packet), err: errors.New("the interface is gone"), lost: 3}
	ticks := make(chan time.Time)
	var out strings.Builder
	ended := make(chan error, 1)
	go func() { ended <- WatchTailStamp(t.Context(), &out, "eth1", s, ticks, DecodeOptions{JSON: true}) }()
	give := func(n int) {
		for range n {
			s.packets <- capture.Packet{Time: time.Unix(1000, 0), Data: frame, Len: len(frame)}
		}
	}
	give(2)
	ticks <- time.Time{}
	give(1)
	close(s.packets)
	if err := <-ended; err == nil || err.Error() != "the interface is gone" {
		t.Errorf("error %v", err)
	}
	total, missed, reports := int64(0), uint64(0), 0
	for d := json.NewDecoder(strings.NewReader(out.String())); d.More(); reports++ {
		var r Report
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		total, missed = total+r.Stamped, missed+r.Missed
		if r.File != "eth1" {
			t.Errorf("a report of %q", r.File)
		}
	}
	if total != 3 || missed != 3 || reports != 2 {
		t.Errorf("%d reports with %d stamped frames and %d lost, want 2 with 3 and 3:\n%s", reports, total, missed, &out)
	}
}

// It ends with its context, and reports what it has.
func TestWatchTailStampEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	err := WatchTailStamp(ctx, &out, "eth1", &script{packets: make(chan capture.Packet)}, nil, DecodeOptions{})
	if err != nil || !strings.HasPrefix(out.String(), "0 frames") {
		t.Errorf("%v: %s", err, &out)
	}
}
