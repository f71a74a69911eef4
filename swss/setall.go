package swss

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// confirmLimit is the maximum time that SetAll spends on finding out the outcome of a transaction whose answer was
// lost.
const confirmLimit = 10 * time.Second

// SetAll merges fields into rows of many tables, by table and key, as [Table.Set] does. It writes all of them in one
// transaction, or none. The error contains the known part of the outcome.
func (d *DB) SetAll(ctx context.Context, tables map[string]map[string]FieldValues) error {
	if d.redis.embedded != nil {
		return d.setEach(ctx, tables) // in this process no answer is lost, and transactions are six times slower
	}
	turn := NewTurn()
	var keys []string
	cmds, err := d.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			for _, key := range slices.Sorted(maps.Keys(tables[table])) {
				k := d.rowKey(table, key)
				keys = append(keys, k)
				p.HSet(ctx, k, appendPairs(nil, OrNull(Pairs(tables[table][key])))...)
			}
		}
		SetRevision(ctx, p, turn)
		return nil
	})
	switch {
	case err == nil:
		return nil
	case IsMisuse(err):
		return d.wrap(misused(keys, cmds), "set")
	case NothingSent(err):
		return d.nothing(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmLimit)
	defer cancel()
	done, unknown := d.ConfirmTurn(ctx, turn)
	switch {
	case unknown != nil:
		return d.wrap(fmt.Errorf("it is not known whether rows were written, all or none: %w", err), "set")
	case done:
		return nil
	}
	return d.nothing(err)
}

// setEach does SetAll without a transaction.
func (d *DB) setEach(ctx context.Context, tables map[string]map[string]FieldValues) error {
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		if err := NewTable(d, table).SetMany(ctx, tables[table]); err != nil {
			return err
		}
	}
	return d.wrap(d.client.HSet(ctx, KeyMark, fieldTurn, NewTurn()).Err(), "take a turn")
}

func (d *DB) nothing(err error) error {
	return d.wrap(fmt.Errorf("no row was written: %w", err), "set")
}

// mostNamed is the maximum number of keys in an error's text.
const mostNamed = 10

// misused returns the error of a transaction that found keys that are not hashes. Redis has executed its other
// commands.
func misused(keys []string, cmds []redis.Cmder) error {
	var bad []string
	for i, key := range keys {
		if i < len(cmds) && cmds[i].Err() != nil {
			bad = append(bad, key)
		}
	}
	text := strings.Join(bad[:min(len(bad), mostNamed)], ", ")
	if n := len(bad) - mostNamed; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return errors.New("keys that are no hashes, and were not written: " + text + "; all other rows were")
}
