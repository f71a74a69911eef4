package outputs

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"tamtam/internal/grace"
)

// A Link is the connection to a receiver. It is used by one goroutine.
type Link interface {
	// Connect makes a new connection, and closes the former one.
	Connect(ctx context.Context) error
	// Send sends one message. After an error other than [RefusedError] and [BusyError], Connect must be called again.
	Send(ctx context.Context, data []byte) error
	// Close ends the connection.
	Close()
}

// A Broken is a Link that detects by itself that its connection is lost. Until then the output is active.
type Broken interface {
	// Gone returns a channel that has a value, or is closed, when the last connection is lost.
	Gone() <-chan struct{}
}

// A RefusedError means that the receiver will never accept a message, so that it is dropped.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the receiver's error.
func (e *RefusedError) Unwrap() error { return e.Err }

// A BusyError means that the message must be sent again after some time. The connection stays.
type BusyError struct {
	Err   error
	After time.Duration // zero if the receiver has not specified it
}

func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap returns the receiver's error.
func (e *BusyError) Unwrap() error { return e.Err }

// Waits between attempts, and the time limit of each.
const (
	firstWait = time.Second
	mostWait  = time.Minute
	sendLimit = 10 * time.Second
)

// A State is the state of an output.
type State uint8

// The states of an output.
const (
	Connecting State = iota // for the first time
	Active
	Failed // the output will try again
)

// A Status is the state of an output, and its counts since it began.
type Status struct {
	State  State
	Reason string // why it is not active
	Since  time.Time
	Began  time.Time

	Sent, SentBytes, Failures uint64
	Losses                    Losses
	Waiting, WaitingBytes     int
	Oldest                    time.Time // arrival of the oldest waiting message
}

// An Output sends the messages of its spool.
type Output struct {
	*Spool
	link Link
	// Least is the first wait after a failure. 0 means one second.
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

// Status returns the present status of the output.
func (o *Output) Status(now time.Time) Status {
	o.mu.Lock()
	s := o.status
	o.mu.Unlock()
	s.Waiting, s.WaitingBytes, s.Oldest, s.Losses = o.Fill(now)
	return s
}

// report records the state of the output, and counts failures.
func (o *Output) report(state State, reason string) {
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

// Run sends until ctx ends. Then it completes the message that is being sent, and briefly tries to send the rest.
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
		o.report(Failed, err.Error())
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

// send sends messages as they arrive, until the connection fails.
func (o *Output) send(ctx context.Context, waits *waits) error {
	var gone <-chan struct{}
	if b, ok := o.link.(Broken); ok {
		gone = b.Gone()
		o.report(Active, "")
	} // without Connected, a connection proves nothing until a message is sent
	for {
		m, ok := o.Next(time.Now())
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
		var refused *RefusedError
		switch {
		case errors.As(err, &refused): // the message is not sent again
			waits.tries = 0
			o.report(Active, "the last message was refused: "+err.Error())
		case err == nil:
			waits.tries = 0
			o.report(Active, "")
		case errors.As(err, &busy):
			o.report(Failed, err.Error())
			if !pause(ctx, max(waits.next(), min(busy.After, mostWait))) {
				return ctx.Err()
			}
		default:
			return err
		}
	}
}

// one sends a message. If the receiver refuses it with a *RefusedError, it is not sent again.
func (o *Output) one(ctx context.Context, m Message) error {
	// An incomplete message would corrupt the connection for the remaining ones.
	whole, done := grace.After(ctx, restLimit)
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
	default:
		o.Back()
	}
	return err
}

// restLimit bounds the time to finish after ctx has ended.
const restLimit = time.Second

// rest sends the remaining messages, if the connection works.
func (o *Output) rest(ctx context.Context) {
	o.mu.Lock()
	state := o.status.State
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restLimit)
	defer cancel()
	for state == Active && ctx.Err() == nil {
		m, ok := o.Next(time.Now())
		if !ok {
			return
		}
		var refused *RefusedError
		if err := o.one(ctx, m); err != nil && !errors.As(err, &refused) {
			return
		}
	}
}

// waits computes the waits between attempts. Each wait is twice the previous one, varied by a quarter, so that many
// switches do not reconnect simultaneously.
type waits struct {
	least time.Duration // 0 means firstWait
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

// pause waits, and reports whether ctx is still active.
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
