package swss

import "context"

// A Consumer consumes the operations that a Producer queued, in order. There is one per queue.
type Consumer struct {
	flag
	queue *Queue
	l     *Listener
}

// NewConsumer returns the consumer of the table's queue.
func NewConsumer(l *Listener, db *DB, table string, opts ...QueueOption) *Consumer {
	c := &Consumer{queue: NewQueue(db, table, opts...), l: l}
	c.stale()
	l.add(subscription{name: c.queue.Channel()}, c)
	return c
}

// Name returns the table's name.
func (c *Consumer) Name() string { return c.queue.table }

// DB returns the queue's database.
func (c *Consumer) DB() *DB { return c.queue.db }

// Pops dequeues all operations, oldest first. Op is without the letter. Entries that are not operations are skipped.
// Entries may be lost if Redis fails during the call.
func (c *Consumer) Pops(ctx context.Context) ([]KeyOpFieldsValues, error) {
	if c.isStale() {
		if err := c.l.Sync(ctx); err != nil {
			return nil, err
		}
	}
	if work, _ := c.drain(); !work {
		return nil, nil
	}
	var out []KeyOpFieldsValues
	for {
		batch, err := c.queue.Pop(ctx)
		for _, e := range batch {
			if fields, err := DecodeFields(e.Body); err == nil && e.Op != "" {
				out = append(out, KeyOpFieldsValues{Key: e.Key, Op: e.Op[1:], Fields: fields})
			}
		}
		if err != nil {
			c.stale()
			if len(out) > 0 {
				return out, nil // the next call returns the error
			}
			return nil, err
		}
		if len(batch) < PopSize {
			return out, nil
		}
	}
}

// A Producer queues operations on a table in order.
type Producer struct{ queue *Queue }

// NewProducer returns a producer of the table's queue.
func NewProducer(db *DB, table string) *Producer { return &Producer{NewQueue(db, table)} }

// Set queues an operation with fields. On the wire op gets the letter S. An empty op means SET.
func (p *Producer) Set(ctx context.Context, key string, fields []Pair, op string) error {
	if op == "" {
		op = OpSet
	}
	return p.queue.Push(ctx, Entry{Key: key, Body: EncodeFields(fields), Op: "S" + op})
}

// Del queues an operation without fields. On the wire op gets the letter D. An empty op means DEL.
func (p *Producer) Del(ctx context.Context, key, op string) error {
	if op == "" {
		op = OpDel
	}
	return p.queue.Push(ctx, Entry{Key: key, Body: "{}", Op: "D" + op})
}
