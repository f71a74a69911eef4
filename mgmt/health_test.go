package mgmt

import "testing"

// Alarms are sent on change. The results of consistency checks are sampled, as they are written continually.
func TestAlarms(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"STATE_DB TAMTAM_HEALTH|tammgrd": "state=waiting reason=a_row_is_missing since=2026-01-15T12:00:00Z",
		"STATE_DB TAMTAM_CONSISTENCY|tammgrd": "state=drift reason=a_row_is_missing objects=56 drift=1 healed=0 open=1 " +
			"pass=2026-01-15T12:00:01Z",
	})
	const daemon = "/health/daemons/daemon[name=tammgrd]/state/"
	for leaf, want := range map[string]string{
		"ready": "false", "reason": `"a row is missing"`, "consistency": `"drift"`, "objects": `"56"`, "drift": `"1"`,
		"last-pass": `"2026-01-15T12:00:01Z"`,
	} {
		s := b.subscribe(streamOf(subOf(sample, daemon+leaf)))
		s.want("U "+daemon+leaf+" "+want, "S")
	}
	const text = "/health/alarms/alarm[id=syncd-silent]/state/text"
	alarm := func(text string) {
		b.rows(map[string]string{"STATE_DB TAMTAM_ALARM|syncd-silent": text})
	}
	s := b.subscribe(streamOf(subOf(onChange, "/health/alarms/alarm[id=*]/state/text")))
	s.want("S")
	alarm("resource=syncd text=it_is_gone severity=CRITICAL type-id=SILENT time-created=1")
	s.want("U " + text + ` "it is gone"`)
	alarm("text=it_is_gone_for_good")
	s.want("U " + text + ` "it is gone for good"`)
	alarm("")
	s.want("D " + text)
}
