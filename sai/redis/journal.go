package sairedis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// KeySyncd is the hash of ASIC_DB by which a syncd recognises the database that matches its chip. It holds the id of
// the syncd that writes the database, and the number of outcomes that it has written.
const KeySyncd = "TAMTAM_SYNCD"

const (
	fieldRun      = "run"
	fieldOutcomes = "outcomes"
)

// Run returns the id of the syncd that writes ASIC_DB, or "" if there is none. A syncd that restarts has a fresh chip
// and another id. listens reports whether a syncd, ours or SONiC's, is subscribed to requests. The subscription of a
// dead syncd has ended.
func Run(ctx context.Context, r *swss.Redis) (run string, listens bool, err error) {
	db := r.DB(swss.ASICDB)
	channel := swss.NewQueue(db, protocol.ASICState).Channel()
	var id *redis.StringCmd
	var n *redis.MapStringIntCmd
	_, err = db.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		id, n = p.HGet(ctx, KeySyncd, fieldRun), p.PubSubNumSub(ctx, channel)
		return nil
	})
	if errors.Is(err, redis.Nil) {
		err = n.Err()
	}
	return id.Val(), n.Val()[channel] > 0, err
}

// A journal records the outcomes that a syncd has written: the transaction of each outcome increments a count. So the
// server can always find out whether an outcome was written. The database of another chip, or an older copy, is
// detected.
type journal struct {
	db       *swss.DB
	run      string // the id of this syncd
	outcomes int64  // the number of outcomes in the database
}

// newJournal returns the journal of a syncd that has not begun. owner names its process.
func newJournal(db *swss.DB, owner string) *journal {
	return &journal{db: db, run: owner + "." + rand.Text()}
}

// begin marks the database as this syncd's. It fails while the database refuses writes.
func (j *journal) begin(ctx context.Context) error {
	_, err := j.db.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, KeySyncd)
		j.rewrite(ctx, p)
		return nil
	})
	return err
}

// rewrite adds the mark of this syncd to a pipeline.
func (j *journal) rewrite(ctx context.Context, p redis.Pipeliner) {
	p.HSet(ctx, KeySyncd, fieldRun, j.run, fieldOutcomes, j.outcomes)
}

// note counts one more outcome in its transaction.
func (j *journal) note(ctx context.Context, p redis.Pipeliner) {
	p.HIncrBy(ctx, KeySyncd, fieldOutcomes, 1)
}

// ask adds a query to a pipeline. [journal.has] decodes its answer.
func (j *journal) ask(ctx context.Context, p redis.Pipeliner) *redis.SliceCmd {
	return p.HMGet(ctx, KeySyncd, fieldRun, fieldOutcomes)
}

// has returns the number of this syncd's outcomes in the database. It fails with [swss.ErrReset] if the database
// belongs to another syncd.
func (j *journal) has(answer *redis.SliceCmd) (int64, error) {
	words, err := answer.Result()
	if err != nil {
		return 0, err
	}
	run, _ := words[0].(string)
	text, _ := words[1].(string)
	switch {
	case run == "" && text == "":
		return 0, fmt.Errorf("ASIC_DB was emptied: %w", swss.ErrReset)
	case run != j.run:
		owner, _, _ := strings.Cut(run, ".")
		return 0, &swss.ClaimedError{DB: swss.ASICDB, Name: "syncd", Owner: owner}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("ASIC_DB: %s %s is %.40q, want a number: %w", KeySyncd, fieldOutcomes, text, swss.ErrReset)
	}
	return n, nil
}

// fits returns nil if the database has exactly the outcomes that this syncd has written, otherwise an error.
func (j *journal) fits(answer *redis.SliceCmd) error {
	n, err := j.has(answer)
	if err == nil && n != j.outcomes {
		err = fmt.Errorf("ASIC_DB has %d outcomes of the %d that the chip has: %w", n, j.outcomes, swss.ErrReset)
	}
	return err
}

// written reports whether the transaction of the next outcome, whose reply was lost, was executed.
func (j *journal) written(ctx context.Context) (bool, error) {
	var answer *redis.SliceCmd
	if _, err := j.db.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		answer = j.ask(ctx, p)
		return nil
	}); err != nil {
		return false, err
	}
	n, err := j.has(answer)
	switch {
	case err != nil:
		return false, err
	case n == j.outcomes, n == j.outcomes+1:
		return n > j.outcomes, nil
	}
	return false, fmt.Errorf("ASIC_DB has %d outcomes of the %d that the chip has: %w", n, j.outcomes, swss.ErrReset)
}
