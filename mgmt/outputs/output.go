package outputs

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"tamtam/internal/grace"
)

// A Link is the way to a receiver. It is used from one goroutine.
type Link interface {
	// Connect makes the connection anew; what there was before is closed.
	Connect(ctx context.Context) error
	// Send sends one message. An error that is no [RefusedError] means that the connection is to be made anew.
	Send(ctx context.Context, data []byte) error
	// Close ends the connection.
	Close()
}

// A Broken is a Link that notices by itself that its connection is gone: as long as it is there, the output is active.
type Broken interface {
	// Gone has a value, or is closed, when the connection is gone. It is of the last connection.
	Gone() <-chan struct{}
}

// A RefusedError says that the receiver does not want a message, now or later: it is given up.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns what the receiver said.
func (e *RefusedError) Unwrap() error { return e.Err }

// A BusyError says that the receiver wants to be asked again, not before some time has passed. The connection stays.
type BusyError struct {
	Err   error
	After time.Duration // 0: it has not said
}

func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap returns what the receiver said.
func (e *BusyError) Unwrap() error { return e.Err }

// How long is waited between tries, and for each.
const (
	firstWait = time.Second
	mostWait  = time.Minute
	sendLimit = 10 * time.Second
)

// A State is how an output is.
type State uint8

// The states that there are.
const (
	Connecting State = iota // for the first time
	Active
	Failed // and is tried again
)

// A Status is how an output is, and what it has done since it began.
type Status struct {
	State  State
	Reason string // why it is not active
	Since  time.Time
	Began  time.Time

	Sent, SentBytes, Failures uint64
	Losses                    Losses
	Waiting, WaitingBytes     int
	Oldest                    time.Time // of what waits
}

// An Output sends what is put into its spool.
type Output struct {
	*Spool
	link Link
	// Least is the first wait behind a failure; 0: a second.
	Least time.Duration
	// Connected, if set, is called when there is a connection, before anything is sent.
	Connected func()

	mu     sync.Mutex
	status Status
}

// New returns an output on a link.
func New(link Link, b Bounds) *Output {
	now := time.Now()
	return &Output{Spool: NewSpool(b), link: link, status: Status{Since: now, Began: now}}
}

// Status says how the output is.
func (o *Output) Status(now time.Time) Status {
	o.mu.Lock()
	s := o.status
	o.mu.Unlock()
	s.Waiting, s.WaitingBytes, s.Oldest, s.Losses = o.Fill(now)
	return s
}

// tell notes how it is.
func (o *Output) tell(state State, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status.State != state {
		o.status.Since = time.Now()
	}
	o.status.State, o.status.Reason = state, reason
	if state == Failed {
		o.status.Failures++
	}
}

// Run sends until ctx ends. Then it tries for a moment to send what is left; what is being sent is sent to its end.
func (o *Output) Run(ctx context.Context) error {
	defer o.link.Close()
	defer o.rest(ctx)
	for waits := (waits{least: o.Least}); ; {
		err := o.connect(ctx)
		if err == nil {
			err = o.send(ctx, &waits)
		}
		if ctx.Err() != nil {
			return nil
		}
		o.tell(Failed, err.Error())
		if !pause(ctx, waits.next()) {
			return nil
		}
	}
}

func (o *Output) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	if err := o.link.Connect(ctx); err != nil {
		return err
	}
	if o.Connected != nil {
		o.Connected()
	}
	return nil
}

// send sends what comes, until the connection fails.
func (o *Output) send(ctx context.Context, waits *waits) error {
	var gone <-chan struct{}
	if b, ok := o.link.(Broken); ok {
		gone = b.Gone()
		o.tell(Active, "")
	} // else there is nothing behind a connection before something is sent
	for {
		m, ok := o.Take(time.Now())
		if !ok {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-gone:
				return errors.New("the receiver has closed the connection")
			case <-o.ready:
			}
			continue
		}
		err := o.one(ctx, m)
		var busy *BusyError
		switch {
		case err == nil:
			waits.tries = 0
			o.tell(Active, "")
		case errors.As(err, &busy):
			o.tell(Failed, err.Error())
			if !pause(ctx, max(waits.next(), min(busy.After, mostWait))) {
				return ctx.Err()
			}
		default:
			return err
		}
	}
}

// one sends a message; nil: it needs not be sent again.
func (o *Output) one(ctx context.Context, m Message) error {
	whole, done := grace.After(ctx, restLimit) // half of a message would spoil the connection for those that are left
	defer done()
	limited, cancel := context.WithTimeout(whole, sendLimit)
	defer cancel()
	err := o.link.Send(limited, m.Data)
	var refused *RefusedError
	switch {
	case err == nil:
		o.mu.Lock()
		o.status.Sent++
		o.status.SentBytes += uint64(len(m.Data))
		o.mu.Unlock()
		o.Done(false)
	case errors.As(err, &refused):
		o.Done(true)
		o.tell(Active, "refused: "+err.Error())
		return nil
	default:
		o.Back()
	}
	return err
}

// restLimit bounds how long the end may take.
const restLimit = time.Second

// rest sends what is left, if the connection works.
func (o *Output) rest(ctx context.Context) {
	o.mu.Lock()
	state := o.status.State
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restLimit)
	defer cancel()
	for state == Active && ctx.Err() == nil {
		m, ok := o.Take(time.Now())
		if !ok || o.one(ctx, m) != nil {
			return
		}
	}
}

// waits are the waits between tries: each twice the last, give or take a quarter, so that many switches do not come at
// once when their collector is back.
type waits struct {
	least time.Duration // 0: firstWait
	tries int
}

func (w *waits) next() time.Duration {
	least := w.least
	if least == 0 {
		least = firstWait
	}
	d := min(least<<min(w.tries, 16), max(mostWait, least))
	w.tries++
	return d*3/4 + rand.N(d/2+1)
}

// pause waits, and says whether ctx still goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
