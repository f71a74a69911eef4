package daemons

import (
	"context"
	"errors"
	"slices"

	"tamtam/swss"
)

// optional lists the optional daemons. hostd makes the switch act as a host, and sflowd is its sFlow agent. fpmsyncd
// and hostifd replace hostd if FRR and other Linux daemons run.
var optional = []string{"hostd", "sflowd", "fpmsyncd", "hostifd"}

// Beside returns the names of the optional daemons.
func Beside() []string { return slices.Clone(optional) }

// BesideHere returns the optional daemons that work on the databases, or did so and ended unexpectedly.
func BesideHere(ctx context.Context, r *swss.Redis) ([]string, error) {
	p, err := r.Pulse(ctx, swss.StateDB)
	if err != nil {
		return nil, err
	}
	return besideOn(p), nil
}

// besideOn returns the optional daemons that have marked STATE_DB.
func besideOn(p *swss.Pulse) []string {
	return slices.DeleteFunc(Beside(), func(name string) bool { return p.DBs[swss.StateDB].Marks[name] == "" })
}

// runBeside runs an optional daemon until ctx ends.
func runBeside(
	ctx context.Context, name string, r *swss.Redis, c Common, live func(context.Context, Common) error,
	dbs ...swss.DBName,
) error {
	c = c.Named(name)
	h := newHealth(name)
	c.faults = newFaultController(h, r, c)
	err := runRepeatedly(ctx, r, h, logOf(c), func(ctx context.Context, h *health, claim *swss.Claim) error {
		return live(ctx, c.of(h, claim))
	}, dbs...)
	return errors.Join(err, leave(ctx, r, h))
}

// leave removes the mark of a daemon that was asked to end, so that it is not reported as missing.
func leave(ctx context.Context, r *swss.Redis, h *health) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatPeriod)
	defer cancel()
	db := r.DB(swss.StateDB).Client()
	if owner, err := db.HGet(ctx, swss.KeyMark, h.name).Result(); err != nil || owner != h.owner {
		// Another process has replaced this one, or Redis does not answer. The daemon then counts as missing until one
		// starts.
		return nil
	}
	return db.HDel(ctx, swss.KeyMark, h.name).Err()
}
