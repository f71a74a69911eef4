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

// The row of STATE_DB that contains the settings of Redis from before it was made full, in case the process is killed
// meanwhile.
const (
	undoTable = "TAMTAM_FAULT_UNDO"
	undoKey   = "redis"
	fieldBy   = "by" // name of the daemon
)

// Settings of Redis.
const (
	maxMemory = "maxmemory"
	policy    = "maxmemory-policy"
	noRoom    = "1" // memory limit in bytes that leaves no space
)

func (d *Controller) server() swss.Client { return d.redis.DB(swss.ConfigDB).Client() }

// pause pauses Redis, and answers in the same transaction, since messages cannot be delivered afterwards. A pause
// cannot be ended early, only by its duration.
func (d *Controller) pause(ctx context.Context, n *rule, done func(redis.Cmdable, Injected) error) error {
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

// slow pauses Redis repeatedly, each time for the delay of a command.
func (d *Controller) slow(ctx context.Context, n *rule) error {
	if err := d.server().ClientPause(ctx, time.Millisecond).Err(); err != nil {
		return fmt.Errorf("redis takes no CLIENT PAUSE: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_ = d.server().ClientPause(ctx, n.Delay).Err() // if Redis is away, it is slow enough
			select {
			case <-ctx.Done():
			// delayed commands are executed between two pauses
			case <-time.After(n.Delay + max(n.Delay/4, 5*time.Millisecond)):
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

// fill sets the memory limit of Redis so that it rejects writes.
func (d *Controller) fill(ctx context.Context, n *rule) error {
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
	// The alarm is written first, since mgmtd could not write it to a full Redis.
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

// setRoom restores the memory limit of Redis, unless another client has changed it.
func (d *Controller) setRoom(ctx context.Context, room string) error {
	is, err := d.server().ConfigGet(ctx, maxMemory).Result()
	if err != nil || is[maxMemory] != noRoom {
		return err
	}
	return d.server().ConfigSet(ctx, maxMemory, room).Err()
}

// makeRoom undoes the full Redis that a killed process has left.
func (d *Controller) makeRoom(ctx context.Context, its func(by string, until time.Time) bool) error {
	undo := swss.NewTable(d.redis.DB(swss.StateDB), undoTable)
	row, there, err := undo.Get(ctx, undoKey)
	if err != nil || !there {
		return err
	}
	until, _ := time.Parse(time.RFC3339Nano, row[fieldUntil]) // zero in a row of an unknown format
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

// LeftFull returns the daemon that ended while it held Redis full, "" if there is none.
func LeftFull(ctx context.Context, r *swss.Redis) (string, error) {
	row, there, err := swss.NewTable(r.DB(swss.StateDB), undoTable).Get(ctx, undoKey)
	if err != nil || !there {
		return "", err
	}
	reported, _, err := Reported(ctx, r)
	for _, n := range reported {
		if n.Kind == RedisFull && n.Over == "" {
			return "", nil
		}
	}
	return row[fieldBy], err
}

// empty empties databases. That cannot be undone, so the fault ends immediately.
func (d *Controller) empty(ctx context.Context, n *rule) error {
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

// At returns the daemons that inject faults of a kind, in the order in which they are asked.
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
