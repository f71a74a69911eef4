package swss

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// KeyMark is the hash in a database that contains the marks of its daemons. It maps the name of each daemon to the
// process that runs it. In CONFIG_DB it also holds the revision (see [DB.TakeTurn]).
const KeyMark = "TAMTAM_MARK"

// A Claim is a daemon's mark in the databases that it uses. The mark lets the daemon detect that a database was
// emptied, restored from an earlier time, or claimed by another process.
type Claim struct {
	name, owner string
	dbs         []*DB
	server      string // run id of the Redis server at the time of the claim
}

// An EmptiedError reports that a database was emptied, or replaced by an empty one.
type EmptiedError struct{ DB DBName }

func (e *EmptiedError) Error() string { return string(e.DB) + " was emptied" }

// Unwrap returns [ErrReset].
func (e *EmptiedError) Unwrap() error { return ErrReset }

// ErrRestarted reports that Redis was restarted: its data may be older than the last writes.
var ErrRestarted = fmt.Errorf("Redis was started again, maybe with older data: %w", ErrReset)

// A ClaimedError reports that another process has claimed a database.
type ClaimedError struct {
	DB          DBName
	Name, Owner string // the daemon, and the process that holds the claim
}

func (e *ClaimedError) Error() string {
	return fmt.Sprintf("%s is of another %s, process %q, or restored from an earlier time", e.DB, e.Name, e.Owner)
}

// Unwrap returns [ErrReset].
func (e *ClaimedError) Unwrap() error { return ErrReset }

// Claim marks databases as used by the daemon name, whose process is owner. It fails while one of the databases refuses
// writes.
func (r *Redis) Claim(ctx context.Context, name, owner string, dbs ...DBName) (*Claim, error) {
	c := &Claim{name: name, owner: owner}
	for _, n := range dbs {
		c.dbs = append(c.dbs, r.DB(n))
	}
	var err error
	if c.server, err = r.RunID(ctx); err != nil {
		return nil, err
	}
	for _, d := range c.dbs {
		if err := d.client.HSet(ctx, KeyMark, name, owner).Err(); err != nil && !IsMisuse(err) {
			return nil, d.wrap(err, "mark as that of", name)
		}
	}
	return c, nil
}

// Check returns nil if, since the claim, Redis was not restarted and no database was emptied or claimed by another
// process. Otherwise it fails with [ErrReset]. It fails with [ErrUnavailable] if Redis does not answer.
func (c *Claim) Check(ctx context.Context) error {
	_, err := c.Pulse(ctx)
	return err
}

// Pulse does the same as Check, and returns the state of the claimed databases, and of more.
func (c *Claim) Pulse(ctx context.Context, more ...DBName) (*Pulse, error) {
	r := c.dbs[0].redis
	if _, err := r.Mend(ctx); err != nil {
		return nil, err
	}
	for _, d := range c.dbs {
		more = append(more, d.name)
	}
	p, err := r.Pulse(ctx, more...)
	if err != nil {
		return nil, err
	}
	if p.Run != c.server {
		return nil, ErrRestarted
	}
	for _, d := range c.dbs {
		if err := c.compare(d, p.DBs[d.name].Marks[c.name]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// compare returns an error if the mark in a database is not that of the claim.
func (c *Claim) compare(d *DB, owner string) error {
	switch owner {
	case c.owner:
		return nil
	case "":
		return &EmptiedError{d.name}
	}
	return &ClaimedError{DB: d.name, Name: c.name, Owner: owner}
}

// Ours does a part of the work of Check, without a script. It fails with [ErrReset] if a database was emptied, or
// claimed by another process.
func (c *Claim) Ours(ctx context.Context) error {
	for _, d := range c.dbs {
		if err := c.check(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// Mine checks only the first database, as Ours does.
func (c *Claim) Mine(ctx context.Context) error { return c.check(ctx, c.dbs[0]) }

func (c *Claim) check(ctx context.Context, d *DB) error {
	owner, err := d.client.HGet(ctx, KeyMark, c.name).Result()
	if err != nil && !errors.Is(err, redis.Nil) && !IsMisuse(err) {
		return d.wrap(err, "read the mark of", c.name)
	}
	return c.compare(d, owner)
}

// RunID returns the id of the server process of CONFIG_DB. It is empty if the server does not report one. For example,
// the embedded server does not, since it cannot be restarted.
func (r *Redis) RunID(ctx context.Context) (string, error) {
	d := r.DB(ConfigDB)
	if r.embedded != nil {
		return "", d.Ping(ctx)
	}
	info, err := d.client.Info(ctx, "server").Result()
	if err != nil {
		return "", d.Ping(ctx)
	}
	_, id, _ := strings.Cut(info, "run_id:")
	id, _, _ = strings.Cut(id, "\r")
	return id, nil
}
