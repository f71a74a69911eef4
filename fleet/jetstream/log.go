package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tamtam/fleet/stream"
)

// Options configure where messages are kept, and how many.
type Options struct {
	Server   *Server  // server inside this process
	URLs     []string // addresses of servers elsewhere, if Server is nil
	Replicas int      // number of replicas: 1 (also if 0), or 3 in a cluster
	MaxBytes int64    // maximum number of bytes per topic; 0 means DefaultBytes
	MaxAge   time.Duration
	HoldTime time.Duration // time for which work is held; 0 means DefaultHold
	Access   Access        // as configured at the servers
	Logger   *slog.Logger  // nil discards the messages
}

// Defaults of Options.
const (
	DefaultBytes = 1 << 30
	DefaultHold  = 30 * time.Second
)

const (
	oneTry     = 5 * time.Second // time limit of one request to the server
	duplicates = 2 * time.Minute // time for which ids are remembered
)

// A Log is a stream.Log in JetStream.
type Log struct {
	o     Options
	where string // URL of the server, for errors
	conn  *nats.Conn
	js    jetstream.JetStream

	mu     sync.Mutex
	topics map[string]*topic
}

// A topic is the state that this process has about one topic.
type topic struct {
	name   string
	stream jetstream.Stream

	mu    sync.Mutex
	use   use
	first uint64 // messages with lower sequences are acknowledged
	// Time at which the server created the stream, as last seen, and whether it was another time before although the
	// sequences are of the same generation.
	created  time.Time
	replaced bool
	// Sequence of the last message that this process appended; 0 if there is none.
	appended uint64
	// Sequence of the last message that could not be read, and the time since when.
	unread uint64
	since  time.Time
	work   jetstream.Consumer // nil until the topic is shared out
}

type use int

const (
	unused use = iota
	inOrder
	sharedOut
)

// Open connects to the servers where messages are kept.
func Open(ctx context.Context, o Options) (*Log, error) {
	o.Replicas, o.MaxBytes = cmp.Or(o.Replicas, 1), cmp.Or(o.MaxBytes, DefaultBytes)
	o.HoldTime = cmp.Or(o.HoldTime, DefaultHold)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if (o.Server == nil) == (len(o.URLs) == 0) {
		return nil, errors.New("the log: want a server in this process, or URLs of servers elsewhere")
	}
	if o.Replicas < 1 || o.Replicas > 5 || min(o.MaxBytes, int64(o.MaxAge), int64(o.HoldTime)) < 0 {
		return nil, fmt.Errorf("the log: %d replicas, %d bytes, age %s, hold time %s: "+
			"want 1 to 5 replicas, and nothing negative", o.Replicas, o.MaxBytes, o.MaxAge, o.HoldTime)
	}
	if err := o.Access.Check(nil, o.URLs); err != nil {
		return nil, fmt.Errorf("the log: %w", err)
	}
	l := &Log{o: o, where: strings.Join(o.URLs, ","), topics: map[string]*topic{}}
	if o.Server != nil {
		l.where = "this process"
	}
	if err := l.connect(ctx); err != nil {
		return nil, fmt.Errorf("the log at %s: %w", l.where, err)
	}
	return l, nil
}

// connect waits for a server until ctx ends. Later, NATS reconnects by itself.
func (l *Log) connect(ctx context.Context) error {
	options := []nats.Option{
		nats.Name("tamtam"), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectBufSize(-1), // no buffer: a sender gets an error, and retries
		nats.DisconnectErrHandler(func(c *nats.Conn, err error) {
			if !c.IsClosed() && !l.troubled() { // closed by this process, or reported already
				l.o.Logger.Warn("the log's server is away", "url", l.where, "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			if !l.troubled() {
				l.o.Logger.Info("the log's server is there again", "url", c.ConnectedUrl())
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !errors.Is(err, nats.ErrSlowConsumer) && !l.troubled() { // more wake-up signals than needed
				l.o.Logger.Warn("the log's server", "url", l.where, "error", err)
			}
		}),
	}
	access, err := l.o.Access.options(l.o.Server != nil)
	if err != nil {
		return err
	}
	options = append(options, access...)
	if l.o.Server != nil {
		options = append(options, nats.InProcessServer(l.o.Server))
	}
	for p := new(pause); ; {
		conn, err := nats.Connect(strings.Join(l.o.URLs, ","), options...)
		if err == nil {
			l.conn = conn
			l.js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(oneTry))
			return err
		}
		if !errors.Is(err, nats.ErrNoServers) {
			return err
		}
		if ended := p.wait(ctx); ended != nil {
			return fmt.Errorf("%w: %w", err, ended)
		}
	}
}

// troubled reports whether the log is in this process, and its folder cannot be written.
func (l *Log) troubled() bool { return l.o.Server != nil && l.o.Server.Trouble() != "" }

// Close closes the connection; a server in this process continues.
func (l *Log) Close() { l.conn.Close() }

// topic returns a topic, and creates its stream if needed.
func (l *Log) topic(ctx context.Context, name string) (*topic, error) {
	if err := stream.CheckTopic(name); err != nil {
		return nil, err
	}
	l.mu.Lock()
	t := l.topics[name]
	l.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t = &topic{name: name}
	err := l.try(ctx, func(ctx context.Context) (err error) {
		t.stream, err = l.js.CreateOrUpdateStream(ctx, l.config(name, 0))
		return err
	})
	if err != nil {
		return nil, l.failed(name, "cannot be made", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.topics[name]; known != nil {
		return known, nil
	}
	l.topics[name] = t
	return t, nil
}

func subject(topic string) string { return "tamtam." + topic }

// wakeUp returns the subject that receives a message when one is appended to the topic.
func wakeUp(topic string) string { return "tamtam-bell." + topic }

func (l *Log) failed(topic, what string, err error) error {
	return fmt.Errorf("topic %s at %s: %s: %w", topic, l.where, what, err)
}

// used sets the use of a topic. It fails if the topic is in another use already.
func (t *topic) used(as use) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.use == unused:
		t.use = as
	case t.use != as && as == inOrder:
		return fmt.Errorf("topic %s is shared out: it cannot be read, and its messages are done one by one", t.name)
	case t.use != as:
		return fmt.Errorf("topic %s is read in order: it cannot be shared out", t.name)
	}
	return nil
}

// Append implements stream.Log.
func (l *Log) Append(ctx context.Context, name, id string, data []byte) (uint64, error) {
	if err := stream.CheckData(name, data); err != nil {
		return 0, err
	}
	t, err := l.topic(ctx, name)
	if err != nil {
		return 0, err
	}
	if int64(len(data)) > l.o.MaxBytes {
		return 0, fmt.Errorf("topic %s: a message of %d bytes, and the topic keeps %d", name, len(data), l.o.MaxBytes)
	}
	id = cmp.Or(id, nats.NewInbox()) // with an id, the message may be sent again
	var ack *jetstream.PubAck
	err = l.try(ctx, func(ctx context.Context) (err error) {
		if l.troubled() {
			return errTrouble
		}
		ack, err = l.js.Publish(ctx, subject(name), data, jetstream.WithMsgID(id),
			jetstream.WithExpectStream(t.stream.CachedInfo().Config.Name))
		if err != nil {
			if _, failed := l.renew(ctx, t, 0, err); failed != nil {
				return failed
			}
		}
		return err
	})
	if err != nil {
		return 0, l.failed(name, "message not kept", err)
	}
	t.mu.Lock()
	t.appended = max(t.appended, ack.Sequence)
	t.mu.Unlock()
	_ = l.conn.Publish(wakeUp(name), nil) // error ignored: a reader that misses it polls
	return ack.Sequence, nil
}

// Acknowledge implements stream.Log.
func (l *Log) Acknowledge(ctx context.Context, name string, upTo uint64) error {
	t, err := l.topic(ctx, name)
	if err != nil {
		return err
	}
	if err := t.used(inOrder); err != nil {
		return err
	}
	state, err := l.state(ctx, t)
	if err != nil {
		return l.failed(name, "not acknowledged", err)
	}
	if upTo > state.LastSeq {
		return fmt.Errorf("topic %s at %s: message %d cannot be acknowledged, the last is %d",
			name, l.where, upTo, state.LastSeq)
	}
	if upTo >= state.FirstSeq && state.Msgs > 0 {
		err = l.try(ctx, func(ctx context.Context) error {
			return t.stream.Purge(ctx, jetstream.WithPurgeSequence(upTo+1))
		})
		if err != nil {
			return l.failed(name, "not acknowledged", err)
		}
	}
	t.mu.Lock()
	t.first = max(t.first, upTo+1)
	t.mu.Unlock()
	return nil
}

// see notes when the stream was created.
func (t *topic) see(info *jetstream.StreamInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.created.IsZero() && !info.Created.Equal(t.created) && generation(info.State.FirstSeq) == generation(t.first) {
		t.replaced = true
	}
	t.created = info.Created
}

func (l *Log) state(ctx context.Context, t *topic) (state jetstream.StreamState, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		info, err := t.stream.Info(ctx)
		if err == nil {
			t.see(info)
			state = info.State
		}
		return err
	})
	return state, err
}
