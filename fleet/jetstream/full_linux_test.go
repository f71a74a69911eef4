package jetstream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/internal/disktest"
)

// diskSize is the size of the disks that become full, in KiB.
const diskSize = 24 << 10

// until waits for a condition, a minute at most.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	limit, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// message returns 32 KiB that end with n.
func message(n uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 32<<10), n) }

func sameMessages(t *testing.T, l *Log, from, to uint64) {
	t.Helper()
	for seq := from; seq <= to; {
		got, err := l.Read(t.Context(), "t", seq, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got {
			if e.Seq != seq || !bytes.Equal(e.Data, message(seq)) {
				t.Fatalf("message %d, where %d is due: %d bytes, that say %d", e.Seq, seq, len(e.Data),
					binary.BigEndian.Uint64(e.Data[len(e.Data)-8:]))
			}
			seq++
		}
	}
}

// A log whose disk is full logs that once, and accepts nothing; its messages can be read and acknowledged. When there
// is space again it continues by itself: each acknowledged append is kept, once.
func TestDiskWithoutRoom(t *testing.T) {
	for name, sync := range map[string]time.Duration{"synced": 0, "unsynced": time.Minute} {
		t.Run(name, func(t *testing.T) {
			dir := disktest.Small(t, diskSize)
			var reported bytes.Buffer
			var kept atomic.Uint64
			s := startServer(t, ServerOptions{Dir: dir, Sync: sync, Logger: slog.New(slog.NewTextHandler(&reported, nil))})
			l := openLog(t, Options{Server: s})
			const first, most = 50, 200
			appendAll := func(from, to uint64) {
				for n := from; n <= to; n++ {
					if seq, err := l.Append(t.Context(), "t", fmt.Sprint(n), message(n)); err != nil || seq != n {
						t.Errorf("message %d: sequence %d, %v", n, seq, err)
						return
					}
					kept.Store(n)
				}
			}
			appendAll(1, first)
			free := disktest.Fill(t, dir, 100<<10) // leaves space for three messages more, and a part of one
			ended := make(chan struct{})
			go func() { defer close(ended); appendAll(first+1, most) }()
			until(t, "there is no room, and NATS was started again", func() bool {
				return s.Trouble() != "" && s.Restarts() > 0
			})
			last := kept.Load()
			if last <= first || last == most {
				t.Errorf("message %d is the last for which there was room: want one behind %d, and not all", last, first)
			}
			sameMessages(t, l, 1, last)
			if err := l.Acknowledge(t.Context(), "t", last-10); err != nil {
				t.Error(err)
			}
			sameMessages(t, l, last-9, last)
			free()
			<-ended
			sameMessages(t, l, last-9, most)
			until(t, "it says that there is room", func() bool { return s.Trouble() == "" })
			l.Close()
			s.Close()
			if n := strings.Count(reported.String(), "the log cannot be written: sources wait"); n != 1 {
				t.Errorf("told %d times, want once:\n%s", n, reported.String())
			}
			if n := strings.Count(reported.String(), "the log can be written again"); n != 1 ||
				strings.Contains(reported.String(), "nats:") {
				t.Errorf("told %d times, want once, and nothing that NATS says:\n%s", n, reported.String())
			}
		})
	}
}
