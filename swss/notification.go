package swss

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// A NotificationProducer publishes messages to the current listeners of a channel.
type NotificationProducer struct {
	db      *DB
	channel string
}

// NewNotificationProducer returns a producer on a channel. Channels are independent of databases.
func NewNotificationProducer(db *DB, channel string) *NotificationProducer {
	return &NotificationProducer{db: db, channel: channel}
}

// Send publishes one message and returns the number of receivers.
func (p *NotificationProducer) Send(ctx context.Context, op, data string, fields []Pair) (int64, error) {
	n, err := p.db.client.Publish(ctx, p.channel, encodeMessage(op, data, fields)).Result()
	return n, p.db.wrap(err, "publish", p.channel)
}

// SendAll publishes messages in one round trip. Op, Key and Fields of each are the message's op, data and fields.
func (p *NotificationProducer) SendAll(ctx context.Context, messages []KeyOpFieldsValues) error {
	_, err := p.db.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, m := range messages {
			pipe.Publish(ctx, p.channel, encodeMessage(m.Op, m.Key, m.Fields))
		}
		return nil
	})
	return p.db.wrap(err, "publish", p.channel)
}

func encodeMessage(op, data string, fields []Pair) string {
	flat := []string{op, data}
	for _, f := range fields {
		flat = append(flat, f.Field, f.Value)
	}
	return encodeStrings(flat)
}

// maxQueued is the maximum size in bytes of the messages that wait in a [NotificationConsumer].
const maxQueued = 8 << 20

// queuedCost is what a waiting message costs in addition to its text, in bytes.
const queuedCost = 64

// A NotificationConsumer receives the messages of a channel. Messages published while there is no connection are
// lost, and so are those that exceed the capacity of the queue. [NotificationConsumer.Lost] reports this.
type NotificationConsumer struct {
	channel string
	l       *Listener

	mu        sync.Mutex
	queue     []string
	size      int  // bytes that the queue occupies
	connected bool // true if there was a connection: from then on, each new one means that messages may be lost
	lost      bool // true if messages may be lost since the last call of Lost
}

// NewNotificationConsumer returns a consumer of a channel.
func NewNotificationConsumer(l *Listener, db *DB, channel string) *NotificationConsumer {
	l.mu.Lock()
	connected := l.conn != nil
	l.mu.Unlock()
	c := &NotificationConsumer{channel: channel, l: l, connected: connected}
	l.add(subscription{name: channel}, c)
	return c
}

// Name returns the channel's name.
func (c *NotificationConsumer) Name() string { return c.channel }

func (c *NotificationConsumer) message(_, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size+len(text)+queuedCost > maxQueued && len(c.queue) > 0 {
		c.lost = true
		return
	}
	c.queue = append(c.queue, text)
	c.size += len(text) + queuedCost
}

func (c *NotificationConsumer) stale() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = c.lost || c.connected
	c.connected = true
}

// Lost reports whether messages may have been lost since the last call. Call it after Pops, and then read again what
// the messages are about: nothing published after the call is lost unless Lost reports it again.
func (c *NotificationConsumer) Lost(ctx context.Context) (bool, error) {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	if !lost {
		return false, nil
	}
	if err := c.l.Sync(ctx); err != nil { // the subscription of a new connection may not be active yet
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = false
	return true, nil
}

// Pops returns the received messages, oldest first. Op and Key are the message's op and data. It skips text that is
// not a message.
func (c *NotificationConsumer) Pops(context.Context) ([]KeyOpFieldsValues, error) {
	c.mu.Lock()
	queue := c.queue
	c.queue, c.size = nil, 0
	c.mu.Unlock()
	var out []KeyOpFieldsValues
	for _, text := range queue {
		words, err := decodeStrings(text)
		if err != nil || len(words) < 2 {
			continue
		}
		e := KeyOpFieldsValues{Op: words[0], Key: words[1]}
		for i := 2; i+1 < len(words); i += 2 {
			e.Fields = append(e.Fields, Pair{words[i], words[i+1]})
		}
		out = append(out, e)
	}
	return out, nil
}
