package swss

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// fieldTurn is the field of [KeyMark] with the turn.
const fieldTurn = "turn"

// Who writes many rows at once to CONFIG_DB takes a turn: in the same transaction as the rows, the field "turn" of
// [KeyMark] gets a word that nobody else uses. If the connection breaks before the answer is there, the turn tells
// whether the rows were written. And who began when another's turn was in force can refuse to write on top of what it
// has not seen.

// NewTurn returns a word for a turn.
func NewTurn() string { return rand.Text() }

// Turn returns the word of the last turn, "" if there was none, or the database was emptied since.
func (d *DB) Turn(ctx context.Context) (string, error) {
	turn, err := d.client.HGet(ctx, KeyMark, fieldTurn).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return turn, d.wrap(err, "read the turn")
}

// TakeTurn adds to a transaction what makes it a turn.
func TakeTurn(ctx context.Context, p redis.Pipeliner, turn string) {
	p.HSet(ctx, KeyMark, fieldTurn, turn)
}

// KeyInitialized is the key, a string, by which SONiC's utilities learn that CONFIG_DB holds a configuration: they wait
// until it exists. The process that loads a configuration sets it behind the last row; daemons never do.
const KeyInitialized = "CONFIG_DB_INITIALIZED"

// SetInitialized sets or deletes [KeyInitialized].
func (d *DB) SetInitialized(ctx context.Context, loaded bool) error {
	if !loaded {
		return d.wrap(d.client.Del(ctx, KeyInitialized).Err(), "delete", KeyInitialized)
	}
	return d.wrap(d.client.Set(ctx, KeyInitialized, "1", 0).Err(), "set", KeyInitialized)
}

// Empty reports whether a database has no rows: nothing but the marks, and [KeyInitialized].
func (d *DB) Empty(ctx context.Context) (bool, error) {
	tx := d.client.TxPipeline() // at one moment: a mark may come meanwhile
	size, marks := tx.DBSize(ctx), tx.Exists(ctx, KeyMark, KeyInitialized)
	_, err := tx.Exec(ctx)
	return size.Val() == marks.Val(), d.wrap(err, "count the keys")
}

// settleText takes the turn from who may still come, unless it was taken.
const settleText = `
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return 1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 0`

// Bounds of [DB.Settle].
const (
	settlePause = 100 * time.Millisecond
	settleAsk   = 2 * time.Second // one question
)

// Settle tells whether a turn was taken of which no answer came. It asks until Redis answers or ctx ends. If the turn
// was not taken, nobody takes it later who checks the turn before. An emptied database says no, and so it is.
func (d *DB) Settle(ctx context.Context, turn string) (taken bool, err error) {
	script, other := NewScript(settleText), NewTurn()
	for {
		ask, cancel := context.WithTimeout(ctx, settleAsk)
		res, err := d.Run(ask, script, []string{KeyMark}, fieldTurn, turn, other)
		cancel()
		if err == nil {
			n, _ := res.(int64)
			return n == 1, nil
		}
		select {
		case <-ctx.Done():
			return false, d.wrap(err, "settle a turn")
		case <-time.After(settlePause):
		}
	}
}
