package swss

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// An Entry is one operation as stored in a queue.
type Entry struct {
	Key  string
	Body string // the fields, see [EncodeFields]; "{}" if the operation cannot have any
	Op   string // the operation followed by its letter: S with fields, D without
}

// A Queue is the list of a table's operations (ASIC_DB, GETRESPONSE, FLEX_COUNTER_DB) with the
// channel that announces them.
type Queue struct {
	db        *DB
	table     string
	modify    string
	push, pop Script
}

// A QueueOption changes how a queue's operations are dequeued.
type QueueOption func(*Queue)

// WithModify makes dequeuing an operation also apply it to the table's hashes, as the asynchronous mode of sairedis
// and FLEX_COUNTER_DB require.
func WithModify() QueueOption { return func(q *Queue) { q.modify = "1" } }

// NewQueue returns the queue of a table.
func NewQueue(db *DB, table string, opts ...QueueOption) *Queue {
	q := &Queue{db: db, table: table, modify: "0", push: NewScript(queuePushText), pop: NewScript(queuePopText)}
	for _, o := range opts {
		o(q)
	}
	return q
}

// Table returns the table's name.
func (q *Queue) Table() string { return q.table }

// DB returns the queue's database.
func (q *Queue) DB() *DB { return q.db }

// Channel returns the name of the channel on which each push is announced.
func (q *Queue) Channel() string { return q.db.channel(q.table) }

func (q *Queue) list() string { return q.table + "_KEY_VALUE_OP_QUEUE" }

func (q *Queue) pushKeys() []string { return []string{q.list(), q.Channel()} }

// Load loads the scripts into Redis, so that no first call finds them missing. The embedded server has them already.
func (q *Queue) Load(ctx context.Context) error {
	if q.db.redis.embedded != nil {
		return nil
	}
	for _, s := range []Script{q.push, q.pop} {
		if err := q.db.client.ScriptLoad(ctx, s.text).Err(); err != nil {
			return q.db.wrap(err, "load the scripts of", q.table)
		}
	}
	return nil
}

// Push queues an entry and announces it. [NothingSent] reports for an error whether it proves that the entry was not
// queued.
func (q *Queue) Push(ctx context.Context, e Entry) error {
	_, err := q.db.Run(ctx, q.push, q.pushKeys(), e.Key, e.Body, e.Op, payload)
	return q.db.wrap(err, "push", q.table, e.Op, e.Key)
}

// PushIn adds a push to a pipeline or transaction. If Redis has not loaded the script, the command does nothing and
// fails with an error for which [IsNoScript] is true: call Push then.
func (q *Queue) PushIn(ctx context.Context, p redis.Pipeliner, e Entry) *redis.Cmd {
	return p.EvalSha(ctx, q.push.digest, q.pushKeys(), e.Key, e.Body, e.Op, payload)
}

// Pop dequeues at most [PopSize] entries, oldest first. The last may be incomplete, if only part of an entry was
// pushed. The entries are lost if Redis fails before its reply arrives.
func (q *Queue) Pop(ctx context.Context) ([]Entry, error) {
	res, err := q.db.Run(ctx, q.pop, []string{q.list(), q.table}, strconv.Itoa(PopSize), q.modify)
	if err != nil {
		return nil, q.db.wrap(err, "pop", q.table)
	}
	words, ok := res.([]any)
	if !ok {
		return nil, q.db.wrap(fmt.Errorf("the script returned %T", res), "pop", q.table)
	}
	list := make([]string, len(words))
	for i, w := range words {
		list[i], _ = w.(string)
	}
	return entries(list), nil
}

// entries decodes the words of a list, which has the newest operation first.
func entries(words []string) []Entry {
	word := func(i int) string {
		if i < 0 {
			return ""
		}
		return words[i]
	}
	out := make([]Entry, 0, (len(words)+2)/3)
	for i := len(words) - 1; i >= 0; i -= 3 {
		out = append(out, Entry{Key: word(i), Body: word(i - 1), Op: word(i - 2)})
	}
	return out
}

// A Peek is a pending read of the oldest entries of a queue, which stay in it.
type Peek struct{ words *redis.StringSliceCmd }

// PeekIn adds a read of the oldest entries, at most [PopSize], to a pipeline.
func (q *Queue) PeekIn(ctx context.Context, p redis.Pipeliner) Peek {
	return Peek{p.LRange(ctx, q.list(), -3*PopSize, -1)}
}

// A Peeked is an entry that is still in its queue.
type Peeked struct {
	Entry
	words int // number of words that the entry occupies in the list
}

// Entries returns the entries, oldest first, once the pipeline has been executed. The last may be incomplete.
func (p Peek) Entries() []Peeked {
	left := len(p.words.Val())
	var out []Peeked
	for _, e := range entries(p.words.Val()) {
		out = append(out, Peeked{e, min(left, 3)})
		left -= 3
	}
	return out
}

// DropIn adds the removal of the oldest entry, as returned by [Peek.Entries], to a pipeline or transaction.
func (q *Queue) DropIn(ctx context.Context, p redis.Pipeliner, e Peeked) {
	if e.words > 0 {
		p.LTrim(ctx, q.list(), 0, int64(-e.words-1))
	}
}

// PopSize is the maximum number of entries that one Pop returns.
const PopSize = batchSize

// Len returns the number of entries in the queue, including an incomplete one.
func (q *Queue) Len(ctx context.Context) (int, error) {
	n, err := q.db.client.LLen(ctx, q.list()).Result()
	return int(n+2) / 3, q.db.wrap(err, "length of", q.table)
}

// EmptyQueues reports whether some queues of the database are all empty.
func (d *DB) EmptyQueues(ctx context.Context, queues ...*Queue) (bool, error) {
	lists := make([]string, len(queues))
	for i, q := range queues {
		lists[i] = q.list()
	}
	n, err := d.client.Exists(ctx, lists...).Result() // Redis removes a list with its last element
	return n == 0, d.wrap(err, "look for queues")
}

// Drain empties the queue without reading it, as a client of sairedis does with answers meant for its predecessor.
func (q *Queue) Drain(ctx context.Context) error {
	return q.db.wrap(q.db.client.Del(ctx, q.list()).Err(), "drain", q.table)
}

// Clear empties the queue, and returns the number of entries that it had.
func (q *Queue) Clear(ctx context.Context) (int, error) {
	var n *redis.IntCmd
	_, err := q.db.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		n = p.LLen(ctx, q.list())
		p.Del(ctx, q.list())
		return nil
	})
	return int(n.Val()+2) / 3, q.db.wrap(err, "take", q.table)
}
