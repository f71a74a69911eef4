package device

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tamtam/schema"
	"tamtam/swss"
	"tamtam/swss/drift"
)

// alarmsStay is how long an alarm of drift is there at least: drift is often healed before anybody looks.
const alarmsStay = 10 * time.Second

// silentAfter is how long nothing may be heard of a daemon before that is an alarm: all start at once.
const silentAfter = 2 * beatLife

// alarms are kept in STATE_DB by mgmtd, since a daemon that is gone cannot say so.
type alarms struct {
	redis *swss.Redis
	rows  *swss.Table
	heard map[string]time.Time // when something was last heard of a daemon, or the looking began
	drift map[string]driftSeen
	// doubted is set when it was said that the state of the ASIC is unknown since nothing was heard.
	doubted bool
	up      map[string]swss.FieldValues // those that are raised, by id; nil: it is not known what is in the table
}

// driftSeen is what was heard of a daemon's drift.
type driftSeen struct {
	count uint64
	until time.Time // the alarm stays
}

func newAlarms(r *swss.Redis) *alarms {
	return &alarms{
		redis: r, rows: swss.NewTable(r.DB(swss.StateDB), schema.StateAlarm),
		heard: map[string]time.Time{}, drift: map[string]driftSeen{},
	}
}

// run looks once per beat, until ctx ends.
func (a *alarms) run(ctx context.Context) error {
	tick := time.NewTicker(beatPeriod)
	defer tick.Stop()
	for {
		look, cancel := context.WithTimeout(ctx, beatLife/2) // a connection may hang, and a new one not
		err := a.look(look, time.Now())
		cancel()
		if err != nil {
			a.up = nil // Redis is away, or was: nobody can be told, and what is there is not known
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look raises and clears alarms by what the daemons say of themselves.
func (a *alarms) look(ctx context.Context, now time.Time) error {
	want := map[string]swss.FieldValues{}
	for _, name := range daemons {
		if err := a.ask(ctx, now, name, want); err != nil {
			return err
		}
	}
	if err := a.vouched(ctx, now); err != nil {
		return err
	}
	if a.up == nil {
		there, err := a.rows.Dump(ctx)
		if err != nil {
			return err
		}
		a.up = there
	}
	for id := range a.up {
		if want[id] == nil {
			if err := a.rows.Del(ctx, id); err != nil {
				return err
			}
			delete(a.up, id)
		}
	}
	for id, row := range want {
		was := a.up[id]
		if was != nil && was[schema.AlarmText] == row[schema.AlarmText] {
			continue
		}
		row[schema.AlarmCreated] = strconv.FormatInt(now.UnixNano(), 10)
		if was[schema.AlarmCreated] != "" {
			row[schema.AlarmCreated] = was[schema.AlarmCreated]
		}
		if err := a.rows.Set(ctx, id, row); err != nil {
			return err
		}
		a.up[id] = row
	}
	return nil
}

// ask adds the alarms of a daemon.
func (a *alarms) ask(ctx context.Context, now time.Time, name string, want map[string]swss.FieldValues) error {
	state, heard, err := ReadState(ctx, a.redis, name)
	if err != nil {
		return err
	}
	if last, asked := a.heard[name]; heard || !asked {
		a.heard[name] = now
	} else if now.Sub(last) > silentAfter {
		text := fmt.Sprintf("nothing was heard of %s since %s", name, last.UTC().Format(time.RFC3339))
		raise(want, name, schema.AlarmSilent, schema.SeverityCritical, text)
	}
	if !heard {
		// A row from before Redis' clock was set back would stay, for all who read it, until that time has come.
		row := a.redis.DB(swss.StateDB)
		return row.Client().PExpire(ctx, healthTable+row.Separator()+name, beatLife).Err()
	}
	if state.State != StateReady {
		raise(want, name, schema.AlarmNotReady, schema.SeverityMajor, state.Reason)
	}
	row, _, err := swss.NewTable(a.redis.DB(swss.StateDB), drift.Table).Get(ctx, name)
	if err != nil {
		return err
	}
	count, _ := strconv.ParseUint(row[drift.FieldDrift], 10, 64) // no row: it compares nothing
	seen := a.drift[name]
	if count > seen.count || row[drift.FieldState] == drift.Differs {
		seen.until = now.Add(alarmsStay)
	}
	seen.count = count
	if a.drift[name] = seen; now.Before(seen.until) && count > 0 {
		text := fmt.Sprintf("drift was seen %d times and healed %s times since the process began",
			count, row[drift.FieldHealed])
		if row[drift.FieldReason] != "" {
			text += "; now: " + row[drift.FieldReason]
		}
		raise(want, name, schema.AlarmDrift, schema.SeverityWarning, text)
	}
	return nil
}

func raise(want map[string]swss.FieldValues, resource, kind, severity, text string) {
	id := resource + "-" + strings.ToLower(strings.ReplaceAll(kind, "_", "-"))
	want[id] = swss.FieldValues{
		schema.AlarmResource: resource, schema.AlarmType: kind, schema.AlarmSeverity: severity, schema.AlarmText: text,
	}
}
