package streamtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tamtam/fleet/stream"
)

// Open returns an empty log for a test, with a capacity of about this many bytes; 0 means enough for any test here.
type Open func(t *testing.T, most int64) stream.Log

// Test checks that the logs that open returns do what stream.Log documents.
func Test(t *testing.T, open Open) {
	for _, tt := range []struct {
		name string
		most int64
		test func(*testing.T, stream.Log)
	}{
		{"order", 0, order}, {"names", 0, names}, {"ids", 0, ids}, {"together", 0, together}, {"waits", 0, waits},
		{"acknowledged", 0, acknowledged}, {"full", full, fills}, {"shared", 0, shared}, {"returned", 0, returned},
		{"once", 0, once}, {"either", 0, either},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, open(t, tt.most))
		})
	}
}

// appendAll appends messages, and checks that their sequences count up from first.
func appendAll(t *testing.T, log stream.Log, topic string, first uint64, data ...string) {
	t.Helper()
	for i, d := range data {
		seq, err := log.Append(t.Context(), topic, "", []byte(d))
		if err != nil || seq != first+uint64(i) {
			t.Fatalf("topic %s: message %q got sequence %d, %v; want %d", topic, d, seq, err, first+uint64(i))
		}
	}
}

// readAll reads n messages from a sequence on, and checks that they follow each other.
func readAll(t *testing.T, log stream.Log, topic string, from uint64, n int) (all []string) {
	t.Helper()
	for len(all) < n {
		got, err := log.Read(t.Context(), topic, from, n-len(all))
		if err != nil || len(got) == 0 || len(got) > n-len(all) {
			t.Fatalf("topic %s: %d messages from %d on, %v; want 1 to %d", topic, len(got), from, err, n-len(all))
		}
		for _, e := range got {
			if e.Seq != from {
				t.Fatalf("topic %s: message %d where %d is due", topic, e.Seq, from)
			}
			from++
			all = append(all, string(e.Data))
		}
	}
	return all
}

// Messages are read in the order in which they were appended, per topic, from any sequence on, and again.
func order(t *testing.T, log stream.Log) {
	whole := bytes.Repeat([]byte{0, 0xff, '\n', '\r'}, stream.MaxData/4)
	appendAll(t, log, "stamps-0", 1, "a", "b", "")
	appendAll(t, log, "stamps-1", 1, "x")
	appendAll(t, log, "stamps-0", 4, string(whole), "e")
	want := []string{"a", "b", "", string(whole), "e"}
	for range 2 {
		if got := readAll(t, log, "stamps-0", 1, 5); !slices.Equal(got, want) {
			t.Errorf("read %.40q, want %.40q", got, want)
		}
	}
	if got := readAll(t, log, "stamps-0", 5, 1); got[0] != "e" {
		t.Errorf("from 5 on: %.40q, want e", got)
	}
	if got := readAll(t, log, "stamps-1", 1, 1); got[0] != "x" {
		t.Errorf("the other topic: %q, want x", got)
	}
}

// Invalid topics and messages are refused by each method, with the name of the topic.
func names(t *testing.T, log stream.Log) {
	for _, topic := range []string{"", "A", "a.b", "a b", "a*", "a>", strings.Repeat("a", 65), "ä"} {
		_, appended := log.Append(t.Context(), topic, "", nil)
		_, read := log.Read(t.Context(), topic, 1, 1)
		_, taken := log.Claim(t.Context(), topic)
		for _, err := range []error{appended, read, taken, log.Acknowledge(t.Context(), topic, 1)} {
			if err == nil {
				t.Errorf("topic %q: %v, %v, %v; want that each is refused", topic, appended, read, taken)
			}
		}
	}
	_, err := log.Append(t.Context(), "long", "", make([]byte, stream.MaxData+1))
	if err == nil || !strings.Contains(err.Error(), "long") {
		t.Errorf("a message that is too long: %v; want an error with the topic's name", err)
	}
	appendAll(t, log, strings.Repeat("z", 64), 1, "a name as long as may be")
}

// A message whose id was appended before is not appended again, and an empty id never matches.
func ids(t *testing.T, log stream.Log) {
	for i, tt := range []struct {
		topic, id string
		want      uint64
	}{
		{"t", "a", 1}, {"t", "", 2}, {"t", "a", 1}, {"t", "", 3}, {"t", "b", 4}, {"u", "a", 1}, {"t", "a", 1}, {"t", "b", 4},
	} {
		seq, err := log.Append(t.Context(), tt.topic, tt.id, fmt.Append(nil, i))
		if err != nil || seq != tt.want {
			t.Errorf("topic %s, id %q: sequence %d, %v; want %d", tt.topic, tt.id, seq, err, tt.want)
		}
	}
	if got := readAll(t, log, "t", 1, 4); !slices.Equal(got, []string{"0", "1", "3", "4"}) {
		t.Errorf("%q, want what was appended first", got)
	}
}

// Concurrent writers each get their own sequences, without gaps.
func together(t *testing.T, log stream.Log) {
	const writers, each = 8, 25
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			last := uint64(0)
			for i := range each {
				seq, err := log.Append(t.Context(), "t", fmt.Sprint(w, "/", i), fmt.Append(nil, w))
				if err != nil || seq <= last {
					t.Errorf("writer %d: sequence %d behind %d, %v", w, seq, last, err)
				}
				last = seq
			}
		})
	}
	wait.Wait()
	got := map[string]int{}
	for _, d := range readAll(t, log, "t", 1, writers*each) {
		got[d]++
	}
	for w := range writers {
		if n := got[fmt.Sprint(w)]; n != each {
			t.Errorf("%d messages of writer %d, want %d", n, w, each)
		}
	}
}

// Reading a message that does not exist yet waits for it, or until the context ends.
func waits(t *testing.T, log stream.Log) {
	read := make(chan []stream.Entry)
	for range 2 {
		go func() {
			got, err := log.Read(t.Context(), "later", 1, 10)
			if err != nil {
				t.Error(err)
			}
			read <- got
		}()
	}
	appendAll(t, log, "later", 1, "a")
	for range 2 {
		if got := <-read; len(got) != 1 || got[0].Seq != 1 || string(got[0].Data) != "a" {
			t.Errorf("read %v, want message 1, a", got)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { _, err := log.Read(ended, "later", 2, 1); stopped <- err }()
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("%v: want that it waited until its context ended", err)
	}
}

// Acknowledged messages are gone, the error contains the first sequence of the topic, and sequences continue.
func acknowledged(t *testing.T, log stream.Log) {
	gone := func(from, first uint64) {
		t.Helper()
		var g *stream.Gone
		if _, err := log.Read(t.Context(), "t", from, 1); !errors.As(err, &g) || g.First != first || g.Topic != "t" {
			t.Errorf("from %d on: %v; want that it is gone, and %d the first", from, err, first)
		}
	}
	acknowledge := func(upTo uint64) {
		t.Helper()
		if err := log.Acknowledge(t.Context(), "t", upTo); err != nil {
			t.Errorf("up to %d: %v", upTo, err)
		}
	}
	if err := log.Acknowledge(t.Context(), "t", 1); err == nil {
		t.Error("a message is acknowledged, and there is none")
	}
	appendAll(t, log, "t", 1, "a", "b", "c", "d")
	gone(0, 1)
	acknowledge(2)
	gone(1, 3)
	gone(2, 3)
	acknowledge(1) // a repetition has no effect
	if got := readAll(t, log, "t", 3, 2); !slices.Equal(got, []string{"c", "d"}) {
		t.Errorf("%q, want c and d", got)
	}
	if err := log.Acknowledge(t.Context(), "t", 5); err == nil {
		t.Error("a message that was never appended is acknowledged")
	}
	acknowledge(4)
	gone(4, 5)
	appendAll(t, log, "t", 5, "e")
	if got := readAll(t, log, "t", 5, 1); got[0] != "e" {
		t.Errorf("%q, want e", got)
	}
}

// full is the capacity of the log of fills in bytes.
const full = 64 << 10

// A full log accepts no more messages, and Append waits until something is acknowledged. No appended message is dropped
// in favour of a later one.
func fills(t *testing.T, log stream.Log) {
	data := make([]byte, 1000)
	n := uint64(0)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := log.Append(ctx, "t", "", data)
		cancel()
		if err == nil && n <= full/1000 {
			n++
			continue
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "topic t") {
			t.Fatalf("message %d: %v; want that it waited until its context ended, and the topic's name", n+1, err)
		}
		break
	}
	if n < full/1000/2 {
		t.Fatalf("%d messages of %d bytes are all of %d bytes", n, len(data), full)
	}
	appended := make(chan error)
	go func() { _, err := log.Append(t.Context(), "t", "", data); appended <- err }()
	if got := readAll(t, log, "t", 1, int(n)); uint64(len(got)) != n {
		t.Errorf("%d messages are there, want %d", len(got), n)
	}
	if err := log.Acknowledge(t.Context(), "t", 2); err != nil {
		t.Fatal(err)
	}
	if err := <-appended; err != nil {
		t.Error(err)
	}
}
