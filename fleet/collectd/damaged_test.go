package collectd

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/jetstream"
	"tamtam/fleet/join"
)

// flip inverts one byte in each file of a topic that contains a text: the byte at an offset from that text.
func flip(t *testing.T, dir, topic string, text []byte, behind int) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "tamtam-"+topic, "msgs", "*.blk"))
	found := false
	for _, path := range blocks {
		block, readErr := os.ReadFile(path)
		if at := bytes.Index(block, text); readErr == nil && at >= 0 {
			block[at+behind] ^= 0xff
			found = true
			err = os.WriteFile(path, block, 0o600)
		}
	}
	if err != nil || !found {
		t.Fatalf("topic %s: %v, and what is to be damaged was found: %v", topic, err, found)
	}
}

// damagedLog is a log with partitions of stamps: a frame each second, from two sources in turn.
type damagedLog struct {
	t      *testing.T
	dir    string
	said   bytes.Buffer
	losses join.Losses
	store  *result.Memory
}

const testSecond = int64(time.Second)

// with calls do with a running server and its log.
func (d *damagedLog) with(do func(log *jetstream.Log)) {
	d.t.Helper()
	server, err := jetstream.StartServer(jetstream.ServerOptions{Dir: d.dir})
	if err != nil {
		d.t.Fatal(err)
	}
	defer server.Close()
	log, err := jetstream.Open(d.t.Context(), jetstream.Options{Server: server, HoldTime: time.Second})
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	do(log)
}

// join joins the log until the first partition is joined up to a message, and the pool holds another partition.
func (d *damagedLog) join(log *jetstream.Log, last uint64) {
	d.t.Helper()
	ctx, stop := context.WithTimeout(d.t.Context(), time.Minute)
	defer stop()
	pool := &join.Pool{
		Worker: join.Worker{Log: log, Store: d.store, Logger: slog.New(slog.NewTextHandler(&d.said, nil)),
			Lost: d.losses.Add, Options: join.Options{Window: time.Second}},
		Work: log, Partitions: []string{"tailstamp-0", "tailstamp-1"}, Hold: 100 * time.Millisecond,
	}
	if err := pool.Reach(ctx); err != nil {
		d.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := pool.Run(ctx); err != nil {
			d.t.Error(err)
		}
	})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		at, _ := d.store.Last(ctx, "tailstamp-0")
		if at.Last >= last && pool.Held("tailstamp-0") && pool.Held("tailstamp-1") {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		d.t.Errorf("partitions are held: %v, %v", pool.Held("tailstamp-0"), pool.Held("tailstamp-1"))
	}
	stop()
	running.Wait()
}

type stampSource struct {
	d      *damagedLog
	writer *event.Writer
}

func (d *damagedLog) source(name string) *stampSource {
	d.t.Helper()
	w, err := event.NewWriter(result.Stamps, name)
	if err != nil {
		d.t.Fatal(err)
	}
	return &stampSource{d, w}
}

// send sends a frame of the flow with a source port, at a second.
func (s *stampSource) send(log *jetstream.Log, second int64, port byte) {
	at := second * testSecond
	s.writer.Stamped(&event.Frame{Time: at,
		Flow: event.Flow{Form: event.IPv4, Protocol: 17, SourcePort: uint16(port)<<8 | uint16(second)},
		Hops: []event.Hop{{Switch: 1, In: 1, Out: 2, Arrival: at, Departure: at + 1}}})
	s.finish(log, at)
}

func (s *stampSource) finish(log *jetstream.Log, watermark int64) {
	if _, err := log.Append(s.d.t.Context(), "tailstamp-0", "", s.writer.Finish(watermark)); err != nil {
		s.d.t.Fatal(err)
	}
}

// rows returns, up to a time, the seconds whose rows lack the flag, those whose rows have it, and those that are
// amended.
func (d *damagedLog) rows(until int64) (whole, flagged, uncertain []int64) {
	_ = d.store.Each(d.t.Context(), 0, 1<<62, func(b *result.Batch) bool {
		for _, h := range b.Hops {
			if h.Flags&result.Gap == 0 {
				whole = append(whole, h.Window.Start/testSecond)
			} else {
				flagged = append(flagged, h.Window.Start/testSecond)
			}
		}
		for _, a := range b.Amends {
			for s := a.From / testSecond; s <= min(a.To, until)/testSecond; s++ {
				uncertain = append(uncertain, s)
			}
		}
		return true
	})
	slices.Sort(whole)
	slices.Sort(uncertain)
	return whole, flagged, slices.Compact(uncertain)
}

// The files of a log are damaged while it is stopped. Unreadable messages are reported with their partition, and only
// the rows of their time are flagged. Each partition is joined, though the topic that assigns partitions to workers
// cannot be read any more.
func TestDamagedLog(t *testing.T) {
	d := &damagedLog{t: t, dir: t.TempDir(), store: result.NewMemory(0)}
	d.with(func(log *jetstream.Log) {
		d.join(log, 0)
		one, other := d.source("leaf1"), d.source("leaf2")
		for s := int64(100); s < 120; s++ {
			one.send(log, s, 0x55)
			other.send(log, s, 0x66)
		}
		one.finish(log, event.Ended)
		other.finish(log, event.Ended)
	})
	flip(t, d.dir, "tailstamp-0", frameOf(0x55, 110), 0)
	flip(t, d.dir, "tailstamp-0", frameOf(0x66, 110), 0)
	flip(t, d.dir, "partitions-2", []byte("a partition"), 0)
	d.with(func(log *jetstream.Log) { d.join(log, 42) })
	whole, flagged, uncertain := d.rows(200 * testSecond)
	for s := int64(100); s < 120; s++ {
		near := s >= 109 && s <= 111
		if n := len(slices.DeleteFunc(slices.Clone(whole), func(x int64) bool { return x != s })); n != 2 && !near {
			t.Errorf("second %d: %d rows are whole, want 2", s, n)
		}
	}
	if slices.Contains(whole, 110) || !slices.Contains(uncertain, 110) || slices.Contains(uncertain, 105) ||
		slices.Contains(uncertain, 115) {
		t.Errorf("whole %v, flagged %v, in doubt %v: want that 110 is in doubt, and not 105 and 115",
			whole, flagged, uncertain)
	}
	for _, want := range []string{"the log is damaged: messages that were not joined cannot be read",
		"partition=tailstamp-0 from=21 to=22", "a partition would have no worker"} {
		if !strings.Contains(d.said.String(), want) {
			t.Errorf("%q is not said: %s", want, d.said.String())
		}
	}
	reported := d.losses.Troubles()
	if len(reported) != 1 ||
		!strings.Contains(reported[0], "2 messages of partition tailstamp-0, between 21 and 22, are lost since ") ||
		!strings.Contains(reported[0], "the log is damaged") || d.losses.Count("tailstamp-0") != 2 {
		t.Errorf("told %q, want 2 messages", reported)
	}
}

// frameOf returns the encoding of a source's frame of a second, from its source port on.
func frameOf(port, second byte) []byte {
	return []byte{port, second, 0, 0, 1, 1, 1, 2, 0} // number of hops; switch, ports and flags of the hop
}

// recordLeft is the offset from the source port of a batch's only frame to a byte of the length of the next record: the
// rest of the frame, a hash, and two bytes of the length.
const recordLeft = 11 + 8 + 2

// Damage to messages of open windows flags their rows, too, even if the messages were in batches before the stop. A log
// that lost its end does not confuse new messages with the lost ones. The same holds while the log runs.
func TestDamagedOpenWindows(t *testing.T) {
	for name, c := range map[string]struct {
		port   byte // source port of leaf1's frame
		behind int
		runs   bool
	}{
		"one": {port: 104}, "the last": {port: 109}, "while it runs": {port: 104, runs: true},
		"the end": {port: 108, behind: recordLeft},
	} {
		d := &damagedLog{t: t, dir: t.TempDir(), store: result.NewMemory(0)}
		one, other := d.source("leaf1"), d.source("leaf2")
		d.with(func(log *jetstream.Log) {
			for s := int64(100); s < 110; s++ {
				if s == 105 { // after the damage: the next message contains nothing about its time
					other.send(log, 100, 0x66)
					other.send(log, 101, 0x66)
				}
				one.send(log, s, 0x55)
			}
			d.join(log, 12)
			if c.runs {
				flip(t, d.dir, "tailstamp-0", frameOf(0x55, c.port), c.behind)
				d.join(log, 12)
			}
		})
		if !c.runs {
			flip(t, d.dir, "tailstamp-0", frameOf(0x55, c.port), c.behind)
		}
		d.with(func(log *jetstream.Log) {
			d.join(log, 12)
			for s := int64(102); s < 120; s++ {
				other.send(log, s, 0x66)
				if s >= 110 {
					one.send(log, s, 0x55)
				}
			}
			one.finish(log, event.Ended)
			other.finish(log, event.Ended)
			d.join(log, 42)
		})
		whole, flagged, uncertain := d.rows(200 * testSecond)
		for s := int64(100); s < 120; s++ {
			n := len(slices.DeleteFunc(slices.Clone(whole), func(x int64) bool { return x != s }))
			if n != 2 && !slices.Contains(uncertain, s) {
				t.Errorf("%s: second %d: %d rows are whole of 2, and there is no doubt: flagged %v, in doubt %v",
					name, s, n, flagged, uncertain)
			}
		}
		if slices.Contains(uncertain, 115) || slices.Contains(uncertain, 100) || len(d.losses.Troubles()) != 1 {
			t.Errorf("%s: in doubt %v, told %q: want neither 100 nor 115, and that it is told", name, uncertain,
				d.losses.Troubles())
		}
	}
}
