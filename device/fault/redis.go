package fault

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// The row of STATE_DB where it stands what Redis was like before it was made full, for a process that is killed
// meanwhile.
const (
	undoTable = "TAMTAM_FAULT_UNDO"
	undoKey   = "redis"
	fieldBy   = "by" // the daemon
)

// Settings of Redis.
const (
	maxMemory = "maxmemory"
	policy    = "maxmemory-policy"
	noRoom    = "1" // bytes
)

func (d *Desk) server() swss.Client { return d.redis.DB(swss.ConfigDB).Client() }

// pause has Redis wait, and answers in the same transaction: afterwards nobody hears anything. Nothing ends a pause, so
// that it is over by itself.
func (d *Desk) pause(ctx context.Context, n *rule, done func(redis.Cmdable, Injected) error) error {
	if err := d.server().ClientPause(ctx, time.Millisecond).Err(); err != nil {
		return fmt.Errorf("redis takes no CLIENT PAUSE: %w", err)
	}
	n.From = d.now()
	n.Until = n.From.Add(n.For)
	_, err := d.server().TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ClientPause(ctx, n.For)
		return done(p, n.Injected)
	})
	return err
}

// slow pauses Redis for as long as a command is to be late, again and again.
func (d *Desk) slow(ctx context.Context, n *rule) error {
	if err := d.server().ClientPause(ctx, time.Millisecond).Err(); err != nil {
		return fmt.Errorf("redis takes no CLIENT PAUSE: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_ = d.server().ClientPause(ctx, n.Delay).Err() // where Redis is away it is slow enough
			select {
			case <-ctx.Done():
			case <-time.After(n.Delay + max(n.Delay/4, 5*time.Millisecond)): // what has waited is done in between
			}
		}
	}()
	n.undo = func(context.Context) error {
		cancel()
		<-ended
		return nil
	}
	return nil
}

// fill leaves Redis no room.
func (d *Desk) fill(ctx context.Context, n *rule) error {
	is, err := d.server().ConfigGet(ctx, maxMemory+"*").Result()
	if err != nil {
		return fmt.Errorf("redis takes no CONFIG GET: %w", err)
	}
	if p := is[policy]; p != "" && p != "noeviction" {
		return fmt.Errorf("%s of Redis is %q: a full one would delete rows; want noeviction", policy, p)
	}
	if is[maxMemory] == noRoom {
		return fmt.Errorf("%s of Redis is %s already", maxMemory, noRoom)
	}
	undo := swss.NewTable(d.redis.DB(swss.StateDB), undoTable)
	was := swss.FieldValues{fieldBy: d.at, maxMemory: is[maxMemory], fieldUntil: n.Until.UTC().Format(time.RFC3339Nano)}
	if err := undo.Set(ctx, undoKey, was); err != nil {
		return err
	}
	// mgmtd could not write this any more.
	alarms := swss.NewTable(d.redis.DB(swss.StateDB), schema.StateAlarm)
	for id, row := range Alarms(append(of(d.at, d.List()), n.Injected)) {
		row[schema.AlarmCreated] = strconv.FormatInt(d.now().UnixNano(), 10)
		if err := alarms.Set(ctx, id, row); err != nil {
			return err
		}
	}
	if err := d.server().ConfigSet(ctx, maxMemory, noRoom).Err(); err != nil {
		return fmt.Errorf("redis takes no CONFIG SET: %w", err)
	}
	n.undo = func(ctx context.Context) error {
		if err := d.setRoom(ctx, is[maxMemory]); err != nil {
			return err
		}
		return undo.Del(ctx, undoKey)
	}
	return nil
}

// setRoom gives Redis the room that it had, unless somebody else has.
func (d *Desk) setRoom(ctx context.Context, room string) error {
	is, err := d.server().ConfigGet(ctx, maxMemory).Result()
	if err != nil || is[maxMemory] != noRoom {
		return err
	}
	return d.server().ConfigSet(ctx, maxMemory, room).Err()
}

// makeRoom takes back what a process has left that was killed while it kept Redis full.
func (d *Desk) makeRoom(ctx context.Context, its func(by string, until time.Time) bool) error {
	undo := swss.NewTable(d.redis.DB(swss.StateDB), undoTable)
	row, there, err := undo.Get(ctx, undoKey)
	if err != nil || !there {
		return err
	}
	until, _ := time.Parse(time.RFC3339Nano, row[fieldUntil]) // a foreign row: the zero time
	if !its(row[fieldBy], until) {
		return nil
	}
	room := row[maxMemory]
	if _, err := strconv.ParseUint(room, 10, 64); err != nil || room == noRoom {
		room = "0"
	}
	if err := d.setRoom(ctx, room); err != nil {
		return err
	}
	return undo.Del(ctx, undoKey)
}

// LeftFull returns the daemon that has ended while it kept Redis full; "": none has.
func LeftFull(ctx context.Context, r *swss.Redis) (string, error) {
	row, there, err := swss.NewTable(r.DB(swss.StateDB), undoTable).Get(ctx, undoKey)
	if err != nil || !there {
		return "", err
	}
	told, _, err := Told(ctx, r)
	for _, n := range told {
		if n.Kind == RedisFull && n.Over == "" {
			return "", nil
		}
	}
	return row[fieldBy], err
}

// empty empties databases. That cannot be taken back: the fault is over at once.
func (d *Desk) empty(ctx context.Context, n *rule) error {
	dbs := []swss.DBName{n.DB}
	if n.DB == AllDBs {
		dbs = databases
	}
	for _, name := range dbs {
		if err := d.redis.DB(name).Client().FlushDB(ctx).Err(); err != nil {
			return fmt.Errorf("empty %s: %w", name, err)
		}
	}
	n.why = "it is done"
	return nil
}

// At returns the daemons that inject faults of a kind, that which is asked first in front.
func At(kind Kind) []string {
	switch kind {
	case SAIFail, SAIDelay, ClockStep:
		return []string{"syncd"}
	case NotificationsLose, NotificationsDouble:
		return []string{"syncd", "orchagent", "tammgrd"}
	case RedisPause, RedisSlow, RedisFull, RedisEmpty:
		return []string{"syncd", "orchagent", "tammgrd", "mgmtd"}
	}
	return nil
}
