package daemons

import (
	"context"
	"errors"
	"slices"

	"tamtam/swss"
)

// beside are the daemons that a switch may have beside the others: the switch as a host, its sFlow agent, or in the
// place of the first those for who runs FRR and other daemons of Linux.
var beside = []string{"hostd", "sflowd", "fpmsyncd", "hostifd"}

// Beside returns the names of the daemons that a switch may have or not.
func Beside() []string { return slices.Clone(beside) }

// BesideHere returns those of them that work on the databases, or ended there without having been told to.
func BesideHere(ctx context.Context, r *swss.Redis) ([]string, error) {
	marks, err := r.DB(swss.StateDB).Client().HGetAll(ctx, swss.KeyMark).Result()
	if err != nil && !swss.IsMisuse(err) {
		return nil, err
	}
	return slices.DeleteFunc(Beside(), func(name string) bool { return marks[name] == "" }), nil
}

// runBeside runs a daemon that a switch may have or not, until ctx ends.
func runBeside(
	ctx context.Context, name string, r *swss.Redis, c Common, live func(context.Context, Common) error,
	dbs ...swss.DBName,
) error {
	c = c.Named(name)
	h := newHealth(name)
	c.faults = newDesk(h, r, c)
	err := runLives(ctx, r, h, logOf(c), func(ctx context.Context, h *health, claim *swss.Claim) error {
		return live(ctx, c.of(h, claim))
	}, dbs...)
	return errors.Join(err, leave(ctx, r, h))
}

// leave takes back the mark of a daemon that was told to end: nobody is to miss it.
func leave(ctx context.Context, r *swss.Redis, h *health) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatPeriod)
	defer cancel()
	db := r.DB(swss.StateDB).Client()
	if owner, err := db.HGet(ctx, swss.KeyMark, h.name).Result(); err != nil || owner != h.owner {
		return nil // another has come in its place, or Redis is away: then it is missed, until one comes
	}
	return db.HDel(ctx, swss.KeyMark, h.name).Err()
}
