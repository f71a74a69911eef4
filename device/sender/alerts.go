package sender

import (
	"context"
	"strconv"
	"time"

	"tamtam/mgmt/outputs"
	"tamtam/mgmt/outputs/alertmanager"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// alertsTo returns a function that makes an output of alarms. A message contains all alarms, so that one that waits is
// never older than the last change.
func alertsTo(to outputs.Target, host string) func(*Sender, spec) *running {
	return func(s *Sender, _ spec) *running {
		bounds := s.cfg.Bounds
		bounds.Latest = true
		out := outputs.New(alertmanager.NewLink(to, s.cfg.TLS), bounds)
		return &running{out: out, run: func(ctx context.Context) error {
			done := make(chan struct{})
			go func() {
				defer close(done)
				s.alert(ctx, out, host)
			}()
			defer func() { <-done }()
			return out.Run(ctx)
		}}
	}
}

// alert puts a message with all alarms into a spool when one of them changes and after each period, until ctx ends.
func (s *Sender) alert(ctx context.Context, out *outputs.Output, host string) {
	listener := swss.NewListener(s.cfg.Redis)
	defer listener.Close()
	a := &alerts{
		table:  swss.NewSubscriber(listener, s.cfg.Redis.DB(swss.StateDB), schema.StateAlarm).Bound(),
		alarms: alertmanager.NewAlarmStore(host),
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	var sent time.Time
	for {
		now := time.Now()
		changed := a.read(ctx, now)
		if ctx.Err() != nil {
			return
		}
		if changed || now.Sub(sent) >= alertmanager.Resend {
			sent = now
			if message := a.alarms.Message(now); message != nil {
				out.Put(now, message)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-listener.Ready():
		case <-tick.C:
		}
	}
}

// alerts are the alarms of the databases, and that of databases that do not answer.
type alerts struct {
	table  *swss.Subscriber
	alarms *alertmanager.AlarmStore
	away   time.Time // time at which the databases stopped answering; zero means that they answer
	quiet  bool      // true while the alarm of databases that do not answer is raised
}

// databaseAlarm is the id of the alarm that is raised while the databases do not answer. It is not in STATE_DB.
const databaseAlarm = "databases-silent"

// read records the changes since the last call, and reports whether there were any. While the databases do not answer,
// the last known alarms stay.
func (a *alerts) read(ctx context.Context, now time.Time) (changed bool) {
	ctx, cancel := context.WithTimeout(ctx, redisFor)
	defer cancel()
	items, err := a.table.Pops(ctx)
	if err != nil {
		if a.away.IsZero() {
			a.away = now
		}
		if a.quiet || now.Sub(a.away) < quiet {
			return false
		}
		a.quiet = true
		a.alarms.Raise(now, alertmanager.Alarm{ID: databaseAlarm, Type: "DATABASES_SILENT", Resource: "Redis",
			Severity: schema.SeverityCritical, Text: "the databases do not answer: " + swss.Why(err), Raised: a.away})
		return true
	}
	if a.quiet {
		a.alarms.Clear(now, databaseAlarm)
		changed = true
	}
	a.away, a.quiet = time.Time{}, false
	for _, item := range items {
		changed = true
		if item.Op != swss.OpSet {
			a.alarms.Clear(now, item.Key)
			continue
		}
		row := fields(item)
		alarm := alertmanager.Alarm{ID: item.Key, Type: row[schema.AlarmType], Resource: row[schema.AlarmResource],
			Severity: row[schema.AlarmSeverity], Text: row[schema.AlarmText]}
		alarm.Count, _ = strconv.Atoi(countOf(row)) // an invalid count is that of one object
		if at, err := strconv.ParseInt(row[schema.AlarmCreated], 10, 64); err == nil {
			alarm.Raised = time.Unix(0, at)
		}
		a.alarms.Raise(now, alarm)
	}
	return changed
}
