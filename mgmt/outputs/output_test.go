package outputs

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tamtam/internal/randtest"
)

// A receiver is a link that the test controls.
type receiver struct {
	mu       sync.Mutex
	got      []string
	connects []time.Time
	err      func(data string) error // nil accepts everything
	down     bool
	gone     chan struct{}
}

func (r *receiver) Connect(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.connects = append(r.connects, time.Now())
	if r.down {
		return errors.New("connection refused")
	}
	r.gone = make(chan struct{})
	return nil
}

func (r *receiver) Send(ctx context.Context, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return errors.New("broken pipe")
	}
	if r.err != nil {
		if err := r.err(string(data)); err != nil {
			return err
		}
	}
	r.got = append(r.got, string(data))
	return nil
}

func (r *receiver) Gone() <-chan struct{} { return r.gone }

func (r *receiver) Close() {}

// set changes the receiver's behaviour.
func (r *receiver) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// run starts an output, and returns the function that ends it.
func run(t *testing.T, o *Output) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- o.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// While a receiver is unavailable, messages wait, and those that do not fit are counted. When it is back, all waiting
// messages are sent, in order, and none twice.
func TestReceiverIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		o := New(r, Bounds{Bytes: 100 * (overhead + 3), Age: time.Hour})
		end := run(t, o)
		defer end()
		for i := range 100 {
			o.Put(time.Now(), []byte(strconv.Itoa(100+i)))
			synctest.Wait()
		}
		r.set(func() { r.down = true; close(r.gone) })
		synctest.Wait()
		for i := range 150 {
			o.Put(time.Now(), []byte(strconv.Itoa(200+i)))
			<-time.After(time.Second)
		}
		if s := o.Status(time.Now()); s.State != Failed || s.Reason != "connection refused" || s.Sent != 100 ||
			s.Losses != (Losses{Full: 50}) || s.Waiting != 100 {
			t.Errorf("while it is away: %+v", s)
		}
		r.set(func() { r.down = false })
		<-time.After(2 * mostWait)
		synctest.Wait()
		if s := o.Status(time.Now()); s.State != Active || s.Reason != "" || s.Sent != 200 || s.Waiting != 0 {
			t.Errorf("when it is back: %+v", s)
		}
		if len(r.got) != 200 || !slices.IsSorted(r.got) || r.got[100] != "250" {
			t.Errorf("%d came: %v", len(r.got), r.got)
		}
	})
}

// Each wait between attempts is twice the previous one, varied by a quarter, up to a minute.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{down: true}
		o := New(r, DefaultBounds())
		end := run(t, o)
		<-time.After(10 * time.Minute)
		end()
		want := time.Second
		for i := 1; i < len(r.connects); i++ {
			d := r.connects[i].Sub(r.connects[i-1])
			if d < want*3/4 || d > want*5/4+1 {
				t.Errorf("wait %d: %v, want %v give or take a quarter", i, d, want)
			}
			want = min(2*want, mostWait)
		}
		if n := len(r.connects); n < 12 || n > 20 {
			t.Errorf("%d tries in ten minutes", n)
		}
		if s := o.Status(time.Now()); s.Failures != uint64(len(r.connects)) {
			t.Errorf("%d tries: %+v", len(r.connects), s)
		}
	})
}

// A refused message does not block others. A message for which the receiver is busy stays, and so does the connection.
func TestRefusedAndBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := 2
		r := &receiver{err: func(data string) error {
			switch {
			case data == "bad":
				return &RefusedError{errors.New("no such metric")}
			case data == "later" && busy > 0:
				busy--
				return &BusyError{Err: errors.New("too much"), After: 20 * time.Second}
			}
			return nil
		}}
		o := New(r, DefaultBounds())
		defer run(t, o)()
		began := time.Now()
		for _, m := range []string{"a", "bad", "later", "b"} {
			o.Put(time.Now(), []byte(m))
		}
		synctest.Wait()
		if s := o.Status(time.Now()); s.State != Failed || s.Losses.Refused != 1 || s.Waiting != 2 {
			t.Errorf("busy: %+v", s)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		o.Put(time.Now(), []byte("bad"))
		synctest.Wait()
		if s := o.Status(time.Now()); s.State != Active || !strings.Contains(s.Reason, "refused: no such metric") {
			t.Errorf("refused: %+v", s)
		}
		if !slices.Equal(r.got, []string{"a", "later", "b"}) || len(r.connects) != 1 || time.Since(began) < 40*time.Second {
			t.Errorf("%v came, by %d connections", r.got, len(r.connects))
		}
	})
}

// Messages that wait when the switch ends are still sent if that is possible within a moment.
func TestEndSendsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		o := New(r, DefaultBounds())
		end := run(t, o)
		synctest.Wait()
		o.Put(time.Now(), []byte("last"))
		end()
		if !slices.Equal(r.got, []string{"last"}) {
			t.Errorf("%v came", r.got)
		}
	})
}

func TestParseTarget(t *testing.T) {
	schemes := map[string]Scheme{"grpc": {Port: "4317"}, "http": {Port: "4318", Path: true}, "sonic": {}}
	for text, want := range map[string]string{
		"grpc://collector":       "grpc://collector:4317",
		"grpc://[2001:db8::1]:9": "grpc://[2001:db8::1]:9",
		"http://10.0.0.1/a/b/":   "http://10.0.0.1:4318/a/b",
		"sonic://10.0.0.1:8080":  "sonic://10.0.0.1:8080",
		"sonic://10.0.0.1":       "",
		"grpc://a/path":          "",
		"grpc://":                "",
		"grpc://user:secret@a":   "",
		"grpc://a:0":             "",
		"grpc://a:65536":         "",
		"http://a?x=y":           "",
		"ftp://a":                "",
		"collector:4317":         "",
		"":                       "",
		"grpc://a b":             "",
		"http://a#f":             "",
	} {
		got, err := ParseTarget(text, schemes)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
}

// Any text is either an error, or a target that is the same after it is written and parsed again.
func FuzzParseTarget(f *testing.F) {
	schemes := map[string]Scheme{"grpc": {Port: "4317"}, "http": {Port: "4318", Path: true}}
	for _, text := range []string{"grpc://a", "http://[::1]:1/x", "http://a/%2f", "http://a//",
		"grpc://[fe80::1%25eth0]:1", "grpC://::1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTarget(text, schemes)
		if err != nil {
			return
		}
		again, err := ParseTarget(got.String(), schemes)
		if err != nil || again != got {
			t.Errorf("%q is %+v, and that %+v, %v", text, got, again, err)
		}
	})
}

// endingLink ends a context at the call with number at. If the context of a message ends, the message is sent
// incompletely, which corrupts the connection.
type endingLink struct {
	receiver
	end   context.CancelFunc
	at    int // the number of the call
	calls int
	torn  bool
}

func (l *endingLink) Send(ctx context.Context, data []byte) error {
	if l.calls++; l.calls == l.at {
		l.end()
	}
	if l.torn || ctx.Err() != nil {
		l.torn = true
		return errors.New("the connection has half of a message")
	}
	return l.receiver.Send(ctx, data)
}

// A context that ends at any call loses no earlier message: each is sent once, complete and in order.
func TestEndedContextSendsAll(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 40}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 1 + r.IntN(20)
		l := &endingLink{end: cancel, at: 1 + r.IntN(n)}
		o := New(l, DefaultBounds())
		var want []string
		for i := range n {
			want = append(want, strconv.Itoa(i))
			o.Put(time.Now(), []byte(want[i]))
		}
		if err := o.Run(ctx); err != nil || !slices.Equal(l.got, want) {
			t.Errorf("%v; the end came with message %d of %d, and these came: %v", err, l.at, n, l.got)
		}
	})
}
