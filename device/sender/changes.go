package sender

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"tamtam/mgmt/outputs/syslog"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// changes reports changes in the databases: the results of rows, ports, daemons, alarms.
type changes struct {
	listener *swss.Listener
	tables   []*watched
	report   func(syslog.Message)
	away     time.Time // time at which the databases stopped answering; zero means that they answer
	reported bool      // true if it was reported that the databases do not answer
}

// watched is a table whose rows have a word for their state, such as a status.
type watched struct {
	*swss.Subscriber
	last  map[string]string // the last reported word, by key
	began bool              // true after the first rows were read
	say   func(key string, was string, row map[string]string) (word string, m syslog.Message)
}

// quiet is the time after which it is reported that the databases do not answer.
const quiet = 5 * time.Second

func newChanges(r *swss.Redis, report func(syslog.Message)) *changes {
	c := &changes{listener: swss.NewListener(r), report: report}
	add := func(db swss.DBName, table string, say func(string, string, map[string]string) (string, syslog.Message)) {
		c.tables = append(c.tables, &watched{
			Subscriber: swss.NewSubscriber(c.listener, r.DB(db), table).Bound(), last: map[string]string{}, say: say,
		})
	}
	for _, t := range schema.StatusTables() {
		add(swss.StateDB, t.State, statusOf(t))
	}
	add(swss.ApplDB, schema.AppPort, linkOf("port"))
	add(swss.ApplDB, schema.AppLAG, linkOf("PortChannel"))
	add(swss.StateDB, schema.StateHealth, daemonOf)
	add(swss.StateDB, schema.StateAlarm, alarmOf)
	return c
}

// close ends the subscription and returns nil.
func (c *changes) close() *changes {
	if c != nil {
		c.listener.Close()
	}
	return nil
}

// ready returns a channel that receives a value when something may have changed. It returns nil if c is nil.
func (c *changes) ready() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.listener.Ready()
}

// look reports the changes since the last look. The first look reports only the states that are not as they should
// be.
func (c *changes) look(ctx context.Context) {
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, redisFor)
	defer cancel()
	now := time.Now()
	for _, t := range c.tables {
		items, err := t.Pops(ctx)
		if err != nil {
			c.missed(now, err)
			return
		}
		for _, item := range items {
			t.report(now, item, c.report)
		}
		t.began = true
	}
	if c.reported {
		c.report(syslog.Message{At: now, Severity: syslog.Notice, ID: "DATABASE", Text: "the databases answer again",
			Params: []syslog.Param{{Name: "away", Value: now.Sub(c.away).Round(time.Second).String()}}})
	}
	c.away, c.reported = time.Time{}, false
}

// missed records that the databases do not answer, and reports it once.
func (c *changes) missed(now time.Time, err error) {
	if c.away.IsZero() {
		c.away = now
	}
	if now.Sub(c.away) >= quiet && !c.reported {
		c.reported = true
		c.report(syslog.Message{At: now, Severity: syslog.Critical, ID: "DATABASE",
			Text: "the databases do not answer: " + swss.Why(err)})
	}
}

// report reports a row by calling report, if the row's word has changed.
func (t *watched) report(now time.Time, item swss.KeyOpFieldsValues, report func(syslog.Message)) {
	was, known := t.last[item.Key]
	var row map[string]string
	if item.Op == swss.OpSet {
		row = fields(item)
	} else if !known {
		return
	}
	word, m := t.say(item.Key, was, row)
	if row == nil {
		delete(t.last, item.Key)
	} else {
		t.last[item.Key] = word
	}
	if word == was && known || m.Text == "" || !t.began && m.Severity > syslog.Warning {
		return
	}
	m.At = now
	report(m)
}

// because appends a reason to a text.
func because(text, reason string) string {
	if reason != "" {
		return text + ": " + reason
	}
	return text
}

// statusOf returns the function that reports the status of a table's rows.
func statusOf(t schema.Table) func(string, string, map[string]string) (string, syslog.Message) {
	return func(key, was string, row map[string]string) (string, syslog.Message) {
		object, status, reason := t.Rows()+"|"+key, row[t.Status], row[schema.FieldReason]
		m := syslog.Message{ID: "STATUS", Severity: syslog.Error, Params: []syslog.Param{
			{Name: "table", Value: t.Rows()}, {Name: "key", Value: key}, {Name: "status", Value: status},
			{Name: "reason", Value: reason},
		}}
		switch {
		case row == nil:
			m.Severity, m.Text = syslog.Info, object+" is gone"
			return "", m
		case status == "": // the row also has other purposes and no status
			return "", syslog.Message{}
		case status == t.Good, status == t.Off && reason == "":
			m.Severity = syslog.Notice
		case status == t.Waiting:
			m.Severity = syslog.Warning
		}
		m.Text = because(fmt.Sprintf("%s is %s", object, status), reason)
		return status + " " + reason, m
	}
}

// linkOf returns the function that reports whether ports have a link.
func linkOf(kind string) func(string, string, map[string]string) (string, syslog.Message) {
	return func(key, was string, row map[string]string) (string, syslog.Message) {
		oper := row[schema.FieldOperStatus]
		m := syslog.Message{ID: "LINK", Severity: syslog.Warning, Params: []syslog.Param{
			{Name: "port", Value: key}, {Name: "oper-status", Value: oper},
		}}
		switch {
		case row == nil && was != "":
			m.Severity, m.Text = syslog.Info, kind+" "+key+" is gone"
			return "", m
		case oper == "":
			return "", syslog.Message{}
		case oper == schema.OperUp:
			m.Severity = syslog.Notice
		}
		m.Text = fmt.Sprintf("%s %s is %s", kind, key, oper)
		return oper, m
	}
}

// daemonOf reports the state of a daemon.
func daemonOf(key, _ string, row map[string]string) (string, syslog.Message) {
	state, reason := row["state"], row["reason"]
	m := syslog.Message{ID: "DAEMON", Severity: syslog.Warning, Params: []syslog.Param{
		{Name: "daemon", Value: key}, {Name: "state", Value: state}, {Name: "reason", Value: reason},
	}}
	switch {
	case row == nil:
		m.Severity, m.Text = syslog.Error, "nothing is heard of "+key
		return "", m
	case state == "ready":
		m.Severity = syslog.Notice
	}
	m.Text = because(fmt.Sprintf("%s is %s", key, state), reason)
	return state + " " + reason, m
}

// alarmOf reports alarms that are raised and cleared.
func alarmOf(key, was string, row map[string]string) (string, syslog.Message) {
	m := syslog.Message{ID: "ALARM", Params: []syslog.Param{
		{Name: "alarm", Value: key}, {Name: "resource", Value: row[schema.AlarmResource]},
		{Name: "type", Value: row[schema.AlarmType]}, {Name: "severity", Value: row[schema.AlarmSeverity]},
		{Name: "count", Value: countOf(row)},
	}}
	if row == nil {
		m.Severity, m.Text = syslog.Notice, "alarm "+key+" is over"
		return "", m
	}
	switch row[schema.AlarmSeverity] {
	case schema.SeverityCritical:
		m.Severity = syslog.Critical
	case schema.SeverityMajor:
		m.Severity = syslog.Error
	default:
		m.Severity = syslog.Warning
	}
	m.Text = because("alarm "+key, row[schema.AlarmText])
	return row[schema.AlarmSeverity] + row[schema.AlarmText], m
}

// countOf returns the number of objects of an alarm.
func countOf(row map[string]string) string { return cmp.Or(row[schema.AlarmCount], "1") }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
