package swss

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// fieldTurn is the field of [KeyMark] that holds the revision.
const fieldTurn = "turn"

// A client that writes many rows at once to CONFIG_DB creates a revision, called a turn: the transaction of the rows
// also sets the field "turn" of [KeyMark] to a unique word. If the connection breaks before the answer, the field
// reveals whether the rows were written. A client that began its work under an earlier revision can detect this, and
// refuse to overwrite rows that it has not read.

// NewTurn returns a unique word for a revision.
func NewTurn() string { return rand.Text() }

// Turn returns the word of the last revision. It is "" if there was none, or if the database was emptied since.
func (d *DB) Turn(ctx context.Context) (string, error) {
	turn, err := d.client.HGet(ctx, KeyMark, fieldTurn).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return turn, d.wrap(err, "read the turn")
}

// SetRevision adds to a transaction the command that makes the transaction a revision.
func SetRevision(ctx context.Context, p redis.Pipeliner, turn string) {
	p.HSet(ctx, KeyMark, fieldTurn, turn)
}

// KeyInitialized is the string key by which SONiC's utilities detect that CONFIG_DB holds a configuration: they wait
// until it exists. The process that loads a configuration sets it after the last row. Daemons never do.
const KeyInitialized = "CONFIG_DB_INITIALIZED"

// SetInitialized sets or deletes [KeyInitialized].
func (d *DB) SetInitialized(ctx context.Context, loaded bool) error {
	if !loaded {
		return d.wrap(d.client.Del(ctx, KeyInitialized).Err(), "delete", KeyInitialized)
	}
	return d.wrap(d.client.Set(ctx, KeyInitialized, "1", 0).Err(), "set", KeyInitialized)
}

// Empty reports whether a database has no rows. The marks and [KeyInitialized] do not count.
func (d *DB) Empty(ctx context.Context) (bool, error) {
	tx := d.client.TxPipeline() // atomic, since a mark may be added meanwhile
	size, marks := tx.DBSize(ctx), tx.Exists(ctx, KeyMark, KeyInitialized)
	_, err := tx.Exec(ctx)
	return size.Val() == marks.Val(), d.wrap(err, "count the keys")
}

// confirmText replaces the revision with another, unless it was written. A late write of the revision is then refused.
const confirmText = `
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return 1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 0`

// Bounds of [DB.ConfirmTurn].
const (
	confirmPause = 100 * time.Millisecond
	confirmAsk   = 2 * time.Second // maximum time of one query
)

// ConfirmTurn reports whether a revision was written, if the answer of its transaction was lost. It asks until Redis
// answers or ctx ends. If the revision was not written, a client that checks the revision first cannot write it later.
// For an emptied database it returns false, which is correct.
func (d *DB) ConfirmTurn(ctx context.Context, turn string) (taken bool, err error) {
	script, other := NewScript(confirmText), NewTurn()
	for {
		ask, cancel := context.WithTimeout(ctx, confirmAsk)
		res, err := d.Run(ask, script, []string{KeyMark}, fieldTurn, turn, other)
		cancel()
		if err == nil {
			n, _ := res.(int64)
			return n == 1, nil
		}
		select {
		case <-ctx.Done():
			return false, d.wrap(err, "settle a turn")
		case <-time.After(confirmPause):
		}
	}
}
