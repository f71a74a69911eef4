package daemons

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// outputSilent is how long an output that has something to deliver may deliver nothing before an alarm is raised.
const outputSilent = time.Minute

// An outputSeen holds what is known of an output since it last delivered a message, or had none to deliver.
type outputSeen struct {
	sent, refused uint64    // counts at the last look
	since         time.Time // time since which nothing was delivered that should have been
	lost          uint64    // number of messages that were lost before
	until         time.Time // time until which the alarm of refused messages stays
	cause         string    // cause of the raised alarm without its numbers; "" if there is no alarm
	reason        string    // reason of that alarm, which stays while the cause does
}

// outputs adds an alarm for each output that delivers nothing, whose messages are refused, or whose row is not valid.
func (a *Alarms) outputs(now time.Time, rows, want map[string]swss.FieldValues) {
	maps.DeleteFunc(a.sending, func(name string, _ *outputSeen) bool { return rows[name] == nil })
	for name, row := range rows {
		seen := a.sending[name]
		if seen == nil {
			seen = &outputSeen{since: now}
			a.sending[name] = seen
		}
		text, n := seen.look(now, row)
		if text == "" {
			seen.cause, seen.reason = "", ""
			continue
		}
		raise(want, name, schema.AlarmOutput, schema.SeverityMajor, text)
		if n > 0 {
			want[alarmID(name, schema.AlarmOutput)][schema.AlarmCount] = strconv.FormatUint(n, 10)
		}
	}
}

// look compares an output's row with the last look. It returns the text of the output's alarm, "" if there is none, and
// the least number of messages that are not delivered.
func (s *outputSeen) look(now time.Time, row swss.FieldValues) (text string, n uint64) {
	count := func(field string) uint64 {
		v, _ := strconv.ParseUint(row[field], 10, 64) // a missing count is 0
		return v
	}
	sent, refused, waiting := count(schema.OutputSent), count(schema.OutputDropped+"refused"), count(schema.OutputWaiting)
	lost := uint64(0)
	for _, l := range schema.OutputLosses {
		lost += count(schema.OutputDropped + l.Name)
	}
	failed := row[schema.OutputStatus] == schema.OutputFailed
	// Other counts than before mean that messages were delivered, or that the output began again.
	if sent != s.sent || lost < s.lost || waiting == 0 && !failed {
		s.since, s.lost = now, lost
	}
	if refused > s.refused || row[schema.OutputStatus] == schema.OutputActive && row[schema.OutputReason] != "" {
		s.until = now.Add(alarmsStay)
	}
	s.sent, s.refused = sent, refused
	kind := "silent"
	switch {
	case row[schema.OutputStatus] == schema.OutputInvalid:
		return "its row is not valid: " + s.stable("invalid", row), 0
	case now.Sub(s.since) >= outputSilent:
		n = powerOfTen(waiting + lost - s.lost)
		text = "nothing was delivered since " + s.since.UTC().Format(time.RFC3339)
	case now.Before(s.until):
		n, text, kind = powerOfTen(refused), "messages are refused", "refused"
	default:
		return "", 0
	}
	if n > 1 {
		text += fmt.Sprintf(", %d messages or more", n)
	}
	return text + ": " + s.stable(kind, row), n
}

// stable returns the reason of an alarm. It stays while only its numbers change, such as the port of a connection,
// because each other text is reported as a change of the alarm.
func (s *outputSeen) stable(kind string, row swss.FieldValues) string {
	reason := row[schema.OutputReason]
	if reason == "" && s.reason == "" {
		reason = "it has no connection yet"
		if row[schema.OutputStatus] == schema.OutputActive {
			reason = "the receiver accepts none of those that wait"
		}
	}
	if cause := kind + " " + causeOf(reason); reason != "" && cause != s.cause {
		s.cause, s.reason = cause, reason
	}
	return s.reason
}

// powerOfTen returns the largest power of ten that is not above n, or 0.
func powerOfTen(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	p := uint64(1)
	for n /= 10; n > 0; n /= 10 {
		p *= 10
	}
	return p
}

// OutputAlarms returns the alarms of outputs as "OUTPUT: TEXT", sorted.
func OutputAlarms(ctx context.Context, r *swss.Redis) (texts []string, err error) {
	rows, err := swss.NewTable(r.DB(swss.StateDB), schema.StateAlarm).Dump(ctx)
	for _, row := range rows {
		if row[schema.AlarmType] == schema.AlarmOutput {
			texts = append(texts, row[schema.AlarmResource]+": "+row[schema.AlarmText])
		}
	}
	slices.Sort(texts)
	return texts, err
}
