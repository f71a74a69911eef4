package swss

import (
	"context"
	"fmt"
	"strconv"
)

// A Consumer takes the operations that a [Producer] queued, in their order.
// There is one per queue.
type Consumer struct {
	flag
	db     *DB
	table  string
	l      *Listener
	modify string
}

// A ConsumerOption changes how a [Consumer] takes operations.
type ConsumerOption func(*Consumer)

// WithModify makes the taking of an operation also carry it out on the table's
// hashes, as the asynchronous mode of sairedis and FLEX_COUNTER_DB want it.
func WithModify() ConsumerOption { return func(c *Consumer) { c.modify = "1" } }

// NewConsumer returns the consumer of the table's queue.
func NewConsumer(l *Listener, db *DB, table string, opts ...ConsumerOption) *Consumer {
	c := &Consumer{db: db, table: table, l: l, modify: "0"}
	for _, o := range opts {
		o(c)
	}
	c.stale()
	l.add(subscription{name: db.channel(table)}, c)
	return c
}

// Name returns the table's name.
func (c *Consumer) Name() string { return c.table }

// DB returns the queue's database.
func (c *Consumer) DB() *DB { return c.db }

// Pops takes all queued operations, oldest first. Op has no letter. What the
// queue held when Redis failed in the middle of a call may be lost.
func (c *Consumer) Pops(ctx context.Context) ([]KeyOpFieldsValues, error) {
	if c.isStale() {
		if err := c.l.Sync(ctx); err != nil {
			return nil, err
		}
	}
	if work, _ := c.take(); !work {
		return nil, nil
	}
	var out []KeyOpFieldsValues
	for {
		batch, err := c.popBatch(ctx)
		out = append(out, batch...)
		if err != nil {
			c.stale()
			if len(out) > 0 {
				return out, nil // the next call tells of the error
			}
			return nil, err
		}
		if len(batch) < batchSize {
			return out, nil
		}
	}
}

// Drain empties the queue without looking at it, as a client of sairedis does
// with answers meant for the one before it.
func (c *Consumer) Drain(ctx context.Context) error {
	return c.db.wrap(c.db.client.Del(ctx, queueList(c.table)).Err(), "drain", c.table)
}

func (c *Consumer) popBatch(ctx context.Context) ([]KeyOpFieldsValues, error) {
	keys := []string{queueList(c.table), c.table}
	res, err := c.db.Run(ctx, NewScript(queuePopText), keys, strconv.Itoa(batchSize), c.modify)
	if err != nil {
		return nil, c.db.wrap(err, "pop", c.table)
	}
	items, ok := res.([]any)
	if !ok {
		return nil, c.db.wrap(fmt.Errorf("the script returned %T", res), "pop", c.table)
	}
	out := make([]KeyOpFieldsValues, 0, len(items))
	for _, item := range items {
		words, ok := item.([]any)
		if !ok || len(words) < 2 {
			return nil, c.db.wrap(fmt.Errorf("the script returned %v", item), "pop", c.table)
		}
		e := KeyOpFieldsValues{}
		e.Key, _ = words[0].(string)
		e.Op, _ = words[1].(string)
		for i := 2; i+1 < len(words); i += 2 {
			f, _ := words[i].(string)
			v, _ := words[i+1].(string)
			e.Fields = append(e.Fields, Pair{f, v})
		}
		out = append(out, e)
	}
	return out, nil
}
