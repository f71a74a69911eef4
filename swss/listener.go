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

// A Listener is the one pub/sub connection of a daemon, and feeds all of its sources. It reconnects by itself when
// Redis goes away. The sources then look for changes that they missed.
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
	lastErr error         // why there is no connection; nil if no attempt was made yet
	waiting map[string]chan error
	pings   int
	conns   int // number of connections made so far
}

type subscription struct {
	name    string
	pattern bool
}

// An intake receives the messages of the connection.
type intake interface {
	// message delivers one message.
	message(channel, text string)
	// stale reports that messages may have been lost.
	stale()
}

// NewListener returns a listener on the server, which connects in the background. It ends with Close, or when the
// server's connections are closed.
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

// Ready returns a channel that holds a value when something has arrived since it was last read.
func (l *Listener) Ready() <-chan struct{} { return l.ready }

// Connections returns the number of connections made so far. A new connection may lead to another server, with other
// data.
func (l *Listener) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conns
}

// Down returns why there is no connection. It returns nil if there is one, or if none was tried yet.
func (l *Listener) Down() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil || l.lastErr == nil {
		return nil
	}
	return l.db.wrap(fmt.Errorf("%w: %w", ErrUnavailable, l.lastErr), "connect")
}

// Distrust makes the sources read everything again. When a database is emptied or replaced, Redis publishes no event
// for the lost rows.
func (l *Listener) Distrust() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.staleAll()
}

// staleAll reports to all sources that messages may have been lost. The caller holds mu.
func (l *Listener) staleAll() {
	for _, ins := range l.subs {
		for _, in := range ins {
			in.stale()
		}
	}
	l.wake()
}

// Close ends the listener. Its sources deliver nothing more.
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

// Disturb injects a fault: messages are lost or duplicated. times returns the number of times that each message is
// delivered.
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

// add subscribes an intake. The source must call Sync before its first use.
func (l *Listener) add(sub subscription, in intake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := len(l.subs[sub]) > 0
	l.subs[sub] = append(l.subs[sub], in)
	if l.conn != nil && !known {
		// A failure breaks the connection, which makes run subscribe again.
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

// up returns immediately if there is a connection. Otherwise it triggers one attempt without delay, and returns the
// result.
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

// down reports whether there is currently no connection.
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

// connect opens the connection and subscribes to all channels. It marks all sources stale, since their data may be
// old.
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

// disconnected records why there is no connection, and fails all waiting calls.
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

// silence is how long a connection may be silent before it is tested. If the test gets no answer within answerTimeout,
// the connection counts as dead. In a partitioned network nothing else would reveal the fault.
const silence = 5 * time.Second

// hear returns the next message of the connection. It fails when the connection is dead.
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
			l.db.redis.Cut() // the other connections to this server are probably dead too
			return nil, fmt.Errorf("%w: the connection gives no answer for %s", ErrUnavailable, answerTimeout)
		}
		if err := conn.Ping(ctx, "alive"); err != nil {
			return nil, err
		}
	}
}

// receive delivers messages to the intakes until the connection breaks.
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
