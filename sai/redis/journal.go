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

// KeySyncd is the hash of ASIC_DB by which a syncd knows that the database is what its chip was made of: the syncd
// that writes it, and how many outcomes it has written.
const KeySyncd = "TAMTAM_SYNCD"

const (
	fieldRun      = "run"
	fieldOutcomes = "outcomes"
)

// Run names the syncd that writes ASIC_DB, "" if that does not say: one that begins anew has a fresh chip and another
// name.
func Run(ctx context.Context, r *swss.Redis) (string, error) {
	run, err := r.DB(swss.ASICDB).Client().HGet(ctx, KeySyncd, fieldRun).Result()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return run, err
}

// Listens reports whether there is a syncd, ours or SONiC's, that hears of requests: one that has died does not.
func Listens(ctx context.Context, r *swss.Redis) (bool, error) {
	channel := swss.NewQueue(r.DB(swss.ASICDB), protocol.ASICState).Channel()
	n, err := r.DB(swss.ASICDB).Client().PubSubNumSub(ctx, channel).Result()
	return n[channel] > 0, err
}

// A journal is what a syncd knows of its own writing: one more for each outcome, in the same transaction. So it is
// never in doubt for long whether an outcome has been written, and no database of another, nor an older one, is taken
// for that of the chip.
type journal struct {
	db       *swss.DB
	run      string // of this syncd
	outcomes int64  // that are in the database
}

// newJournal is that of a syncd that has not begun. owner names its process.
func newJournal(db *swss.DB, owner string) *journal {
	return &journal{db: db, run: owner + "." + rand.Text()}
}

// begin makes the database this syncd's. It fails while the database takes no writes.
func (j *journal) begin(ctx context.Context) error {
	_, err := j.db.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, KeySyncd)
		j.rewrite(ctx, p)
		return nil
	})
	return err
}

// rewrite adds to a pipeline what makes the database this syncd's.
func (j *journal) rewrite(ctx context.Context, p redis.Pipeliner) {
	p.HSet(ctx, KeySyncd, fieldRun, j.run, fieldOutcomes, j.outcomes)
}

// note notes one more outcome in its transaction.
func (j *journal) note(ctx context.Context, p redis.Pipeliner) {
	p.HIncrBy(ctx, KeySyncd, fieldOutcomes, 1)
}

// ask adds the question to a pipeline that [journal.has] reads the answer of.
func (j *journal) ask(ctx context.Context, p redis.Pipeliner) *redis.SliceCmd {
	return p.HMGet(ctx, KeySyncd, fieldRun, fieldOutcomes)
}

// has returns how many outcomes the database has, of this syncd's. It fails with [swss.ErrAnew] if the
// database is another's.
func (j *journal) has(answer *redis.SliceCmd) (int64, error) {
	words, err := answer.Result()
	if err != nil {
		return 0, err
	}
	run, _ := words[0].(string)
	text, _ := words[1].(string)
	switch {
	case run == "" && text == "":
		return 0, fmt.Errorf("ASIC_DB was emptied: %w", swss.ErrAnew)
	case run != j.run:
		owner, _, _ := strings.Cut(run, ".")
		return 0, &swss.TakenError{DB: swss.ASICDB, Name: "syncd", Owner: owner}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("ASIC_DB: %s %s is %.40q, want a number: %w", KeySyncd, fieldOutcomes, text, swss.ErrAnew)
	}
	return n, nil
}

// fits reports, as an error, whether the database has just the outcomes that this syncd has written.
func (j *journal) fits(answer *redis.SliceCmd) error {
	n, err := j.has(answer)
	if err == nil && n != j.outcomes {
		err = fmt.Errorf("ASIC_DB has %d outcomes of the %d that the chip has: %w", n, j.outcomes, swss.ErrAnew)
	}
	return err
}

// written reports whether the transaction of one more outcome, whose reply was lost, was executed.
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
	return false, fmt.Errorf("ASIC_DB has %d outcomes of the %d that the chip has: %w", n, j.outcomes, swss.ErrAnew)
}
