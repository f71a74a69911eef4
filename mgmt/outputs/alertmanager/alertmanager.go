// Package alertmanager sends the alarms of a switch to Prometheus' Alertmanager, by version 2 of its API.
//
// What belongs here: alarms in the form of the API, how long they are sent, and the API's responses. Grouping, silences
// and notifications are Alertmanager's.
package alertmanager

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/outputs"
)

// Schemes returns the transports to an Alertmanager. A path is the prefix of its --web.route-prefix.
func Schemes() map[string]outputs.Scheme {
	return map[string]outputs.Scheme{"http": {Port: "9093", Path: true}, "https": {Port: "9093", Path: true}}
}

// NewLink returns a link to an Alertmanager. conf is for https.
func NewLink(to outputs.Target, conf *tls.Config) outputs.Link {
	to.Path += "/api/v2/alerts"
	return outputs.NewHTTP(to, conf, "application/json", false, func(resp *http.Response, answer []byte) error {
		switch {
		case resp.StatusCode/100 == 2:
			return nil
		case resp.StatusCode/100 == 5:
			return fmt.Errorf("%s: %.200q", resp.Status, answer)
		}
		return &outputs.RefusedError{Err: fmt.Errorf("%s: %.200q", resp.Status, answer)}
	})
}

const (
	// Resend is the time after which alarms are sent again.
	Resend = time.Minute
	// expiry is the time after which Alertmanager ends an alarm that is not sent again, as Prometheus has it.
	expiry = 4 * Resend
	// keep is how long a cleared alarm is still sent, in case a message with its end is lost.
	keep = 15 * time.Minute
	// mostAlerts bounds the alarms of a message.
	mostAlerts = 1000
	// mostText bounds the bytes of a value.
	mostText = 2000
)

// An Alarm is an alarm of the switch. The labels, which are all but Text and Count, identify it.
type Alarm struct {
	ID       string // distinguishes alarms of the same type and resource
	Type     string // the label alertname
	Resource string
	Severity string
	Text     string
	Count    int       // number of objects with this cause; 0 means one
	Raised   time.Time // zero if unknown
}

// An AlarmStore holds the alarms of a switch: those that are raised, and those that were cleared a while ago.
type AlarmStore struct {
	host     string
	standing map[string]*entry // by alarm id
	cleared  []*entry
}

// An entry is an alarm with its times in the form of the API.
type entry struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// NewAlarmStore returns the book of a switch. host is the value of the label instance; "" if it is unknown.
func NewAlarmStore(host string) *AlarmStore {
	return &AlarmStore{host: host, standing: map[string]*entry{}}
}

// Raise records an alarm that is raised, or has changed. An alarm with other labels than before is another alarm, and
// ends the former one.
func (b *AlarmStore) Raise(now time.Time, a Alarm) {
	e := &entry{Labels: map[string]string{}, Annotations: map[string]string{}, StartsAt: a.Raised}
	for name, value := range map[string]string{
		"alertname": a.Type, "alarm": a.ID, "resource": a.Resource, "severity": strings.ToLower(a.Severity),
		"instance": b.host, "job": "tamtam",
	} {
		put(e.Labels, name, value)
	}
	put(e.Annotations, "summary", a.Text)
	put(e.Annotations, "count", strconv.Itoa(max(a.Count, 1)))
	if e.StartsAt.IsZero() || e.StartsAt.After(now) { // the clock was set back
		e.StartsAt = now
	}
	if was := b.standing[a.ID]; was != nil {
		switch {
		case !maps.Equal(was.Labels, e.Labels):
			b.Clear(now, a.ID)
		case !was.StartsAt.After(now):
			e.StartsAt = was.StartsAt
		}
	}
	b.cleared = slices.DeleteFunc(b.cleared, func(c *entry) bool { return maps.Equal(c.Labels, e.Labels) })
	b.standing[a.ID] = e
}

// Clear records that an alarm is over.
func (b *AlarmStore) Clear(now time.Time, id string) {
	e := b.standing[id]
	if e == nil {
		return
	}
	delete(b.standing, id)
	e.EndsAt = now
	if e.EndsAt.Before(e.StartsAt) {
		e.EndsAt = e.StartsAt
	}
	if b.cleared = append(b.cleared, e); len(b.cleared) > mostAlerts {
		b.cleared = b.cleared[1:]
	}
}

// Message returns all alarms as the body of a request, the gravest first. It returns nil if there are none.
func (b *AlarmStore) Message(now time.Time) []byte {
	b.cleared = slices.DeleteFunc(b.cleared, func(e *entry) bool { return now.Sub(e.EndsAt) > keep })
	list := make([]entry, 0, len(b.standing)+len(b.cleared))
	for _, id := range slices.Sorted(maps.Keys(b.standing)) {
		e := *b.standing[id]
		e.EndsAt = now.Add(expiry)
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(grave(a), grave(b)) })
	for _, e := range b.cleared {
		list = append(list, *e)
	}
	if more := len(list) - mostAlerts; more > 0 {
		rest := Alarm{ID: "alarms-left-out", Type: "ALARMS_LEFT_OUT", Resource: "switch", Severity: "WARNING", Raised: now,
			Text:  fmt.Sprintf("%d alarms of the switch are not sent: a message has %d at most", more+1, mostAlerts),
			Count: more + 1}
		one := NewAlarmStore(b.host)
		one.Raise(now, rest)
		e := *one.standing[rest.ID]
		e.EndsAt = now.Add(expiry)
		list = append(list[:mostAlerts-1], e)
	}
	if len(list) == 0 {
		return nil
	}
	body, _ := json.Marshal(list) // texts and times always encode
	return body
}

// grave orders alarms by severity, the gravest first and unknown ones last.
func grave(e entry) int {
	order := []string{"critical", "major", "warning"}
	if i := slices.Index(order, e.Labels["severity"]); i >= 0 {
		return i
	}
	return len(order)
}

// put sets a value that is not empty, because the API ignores empty labels.
func put(to map[string]string, name, value string) {
	if value = strings.ToValidUTF8(value, "?"); len(value) > mostText {
		value = strings.ToValidUTF8(value[:mostText], "") + "..."
	}
	if value != "" {
		to[name] = value
	}
}
