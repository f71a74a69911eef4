package swss

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of the wait between attempts to connect again.
const (
	minBackoff  = 50 * time.Millisecond
	maxBackoff  = 2 * time.Second
	syncTimeout = 30 * time.Second
)

// A Listener is the one pub/sub connection of a daemon: it feeds all of the
// daemon's sources. When Redis goes away it connects again by itself, and the
// sources then look for what they missed.
type Listener struct {
	db     *DB
	ready  chan struct{}
	hurry  chan struct{} // holds a value when the next attempt to connect must not wait
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	subs    map[subscription][]intake
	times   func(channel string) int
	conn    Subscription  // nil while there is no connection
	change  chan struct{} // closed when conn changes
	lastErr error         // why there is no connection; nil if not yet tried
	waiting map[string]chan error
	pings   int
	conns   int // that were made
}

type subscription struct {
	name    string
	pattern bool
}

// An intake takes what the connection receives.
type intake interface {
	// message delivers one message.
	message(channel, text string)
	// stale says that messages may have been lost.
	stale()
}

// NewListener returns a listener on the server, connecting in the background. It
// ends with Close, or when the server's connections are closed.
func NewListener(r *Redis) *Listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Listener{
		db:      r.DB(ConfigDB),
		ready:   make(chan struct{}, 1),
		hurry:   make(chan struct{}, 1),
		cancel:  cancel,
		done:    make(chan struct{}),
		subs:    map[subscription][]intake{},
		change:  make(chan struct{}),
		waiting: map[string]chan error{},
	}
	go l.run(ctx)
	return l
}

// Ready returns a channel that holds a value when something arrived since it was last read.
func (l *Listener) Ready() <-chan struct{} { return l.ready }

// Connections returns how many connections were made so far: after one more, what was known may be of
// another server.
func (l *Listener) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conns
}

// Down returns why there is no connection, nil if there is one or it was not tried yet.
func (l *Listener) Down() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil || l.lastErr == nil {
		return nil
	}
	return l.db.wrap(fmt.Errorf("%w: %w", ErrUnavailable, l.lastErr), "connect")
}

// Distrust makes the sources look at everything again: Redis publishes nothing of what is lost when a database is
// emptied or replaced.
func (l *Listener) Distrust() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.staleAll()
}

// staleAll tells all sources that messages may have been lost. The caller holds mu.
func (l *Listener) staleAll() {
	for _, ins := range l.subs {
		for _, in := range ins {
			in.stale()
		}
	}
	l.wake()
}

// Close ends the listener; its sources deliver nothing new.
func (l *Listener) Close() error {
	l.cancel()
	l.mu.Lock()
	if l.conn != nil {
		l.conn.Close()
	}
	l.mu.Unlock()
	<-l.done
	return nil
}

// Disturb has messages lost, or delivered more than once: times says how often each is. It is for faults on purpose.
func (l *Listener) Disturb(times func(channel string) int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = times
}

func (l *Listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// add subscribes an intake. Before its first use the source calls Sync.
func (l *Listener) add(sub subscription, in intake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := len(l.subs[sub]) > 0
	l.subs[sub] = append(l.subs[sub], in)
	if l.conn != nil && !known {
		// A failure breaks the connection, which makes run subscribe anew.
		_ = subscribe(context.Background(), l.conn, []subscription{sub})
	}
	l.wake()
}

func subscribe(ctx context.Context, conn Subscription, subs []subscription) error {
	for _, pattern := range []bool{false, true} {
		var names []string
		for _, s := range subs {
			if s.pattern == pattern {
				names = append(names, s.name)
			}
		}
		slices.Sort(names)
		if len(names) == 0 {
			continue
		}
		do := conn.Subscribe
		if pattern {
			do = conn.PSubscribe
		}
		if err := do(ctx, names...); err != nil {
			return err
		}
	}
	return nil
}

// Sync returns when everything that was published before the call has been received, and every
// subscription made before it is active. It fails with [ErrUnavailable] while there is no
// connection.
func (l *Listener) Sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	for {
		l.mu.Lock()
		conn, change, lastErr := l.conn, l.change, l.lastErr
		if conn != nil {
			l.pings++
			text := "sync-" + strconv.Itoa(l.pings)
			pong := make(chan error, 1)
			l.waiting[text] = pong
			l.mu.Unlock()
			return l.await(ctx, conn, text, pong)
		}
		l.mu.Unlock()
		if lastErr != nil {
			return l.db.wrap(fmt.Errorf("%w: %w", ErrUnavailable, lastErr), "sync")
		}
		select {
		case <-change:
		case <-l.done:
			return l.db.wrap(redis.ErrClosed, "sync")
		case <-ctx.Done():
			return l.db.wrap(ctx.Err(), "sync")
		}
	}
}

// up returns at once if there is a connection; if not, it triggers one attempt without delay, and
// returns the result.
func (l *Listener) up(ctx context.Context) error {
	for tried := false; ; tried = true {
		l.mu.Lock()
		conn, change, lastErr := l.conn, l.change, l.lastErr
		l.mu.Unlock()
		if conn != nil {
			return nil
		}
		if tried && lastErr != nil {
			return l.db.wrap(fmt.Errorf("%w: %w", ErrUnavailable, lastErr), "connect")
		}
		select {
		case l.hurry <- struct{}{}:
		default:
		}
		select {
		case <-change:
		case <-l.done:
			return l.db.wrap(redis.ErrClosed, "connect")
		case <-ctx.Done():
			return l.db.wrap(ctx.Err(), "connect")
		}
	}
}

// down reports whether there is no connection just now.
func (l *Listener) down() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn == nil
}

// await sends the ping and waits for its pong.
func (l *Listener) await(ctx context.Context, conn Subscription, text string, pong chan error) error {
	err := conn.Ping(ctx, text)
	if err == nil {
		select {
		case err = <-pong:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	l.mu.Lock()
	delete(l.waiting, text)
	l.mu.Unlock()
	return l.db.wrap(err, "sync")
}

// run keeps the connection up until ctx ends.
func (l *Listener) run(ctx context.Context) {
	defer close(l.done)
	backoff := minBackoff
	for ctx.Err() == nil {
		conn, err := l.connect(ctx)
		if err == nil {
			backoff = minBackoff
			err = l.receive(ctx, conn)
			conn.Close()
		}
		l.disconnected(err)
		if errors.Is(err, redis.ErrClosed) {
			return
		}
		select {
		case <-ctx.Done():
		case <-l.hurry:
		case <-time.After(backoff):
			backoff = min(2*backoff, maxBackoff)
		}
	}
}

// connect makes the connection and subscribes to all. The sources are then
// stale: what they have may be old.
func (l *Listener) connect(ctx context.Context) (Subscription, error) {
	if err := l.db.enableEvents(ctx); err != nil {
		return nil, err
	}
	conn := l.db.Subscribe(ctx)
	err := conn.Ping(ctx, "hello") // dials
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		err = subscribe(ctx, conn, slices.Collect(maps.Keys(l.subs)))
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		conn.Close()
		return nil, err
	}
	l.conn, l.lastErr = conn, nil
	l.conns++
	close(l.change)
	l.change = make(chan struct{})
	l.staleAll()
	return conn, nil
}

// disconnected records why there is no connection and fails all waiting calls.
func (l *Listener) disconnected(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.lastErr = nil, err
	close(l.change)
	l.change = make(chan struct{})
	for text, pong := range l.waiting {
		delete(l.waiting, text)
		pong <- fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	l.wake()
}

// silence is how long a connection may be silent before it is tried. One that then gives no answer for as long as any
// may take counts as dead: where the network is parted, nothing else would ever say so.
const silence = 5 * time.Second

// hear returns the next message of the connection. It fails when that is dead.
func (l *Listener) hear(ctx context.Context, conn Subscription) (any, error) {
	if l.db.redis.embedded != nil {
		return conn.Receive(ctx)
	}
	for patience := silence; ; patience = answerTimeout {
		msg, err := conn.ReceiveTimeout(ctx, patience)
		if !IsTimeout(err) || ctx.Err() != nil {
			return msg, err
		}
		if patience == answerTimeout {
			l.db.redis.Cut() // the others are no better
			return nil, fmt.Errorf("%w: the connection gives no answer for %s", ErrUnavailable, answerTimeout)
		}
		if err := conn.Ping(ctx, "alive"); err != nil {
			return nil, err
		}
	}
}

// receive hands messages to the intakes until the connection breaks.
func (l *Listener) receive(ctx context.Context, conn Subscription) error {
	for {
		msg, err := l.hear(ctx, conn)
		if err != nil {
			return err
		}
		switch m := msg.(type) {
		case *redis.Message:
			sub := subscription{name: m.Channel}
			if m.Pattern != "" {
				sub = subscription{name: m.Pattern, pattern: true}
			}
			l.mu.Lock()
			ins, n := l.subs[sub], 1
			if l.times != nil {
				n = l.times(m.Channel)
			}
			l.mu.Unlock()
			for range n {
				for _, in := range ins {
					in.message(m.Channel, m.Payload)
				}
			}
			l.wake()
		case *redis.Pong:
			l.mu.Lock()
			if pong, ok := l.waiting[m.Payload]; ok {
				delete(l.waiting, m.Payload)
				pong <- nil
			}
			l.mu.Unlock()
		}
	}
}
