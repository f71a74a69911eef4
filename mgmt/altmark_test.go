package mgmt

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

const (
	altMarks   = "/tam/alt-mark-sessions"
	altMarkM1  = altMarks + "/alt-mark-session[name=m1]"
	altMarkRow = "CONFIG_DB TAM_ALTMARK_TABLE|m1"
)

// altMarked returns the rows of a switch with an active alternate-marking session. It has two periods of the session
// and the results of a collector.
func altMarked() map[string]string {
	rows := someSwitch()
	maps.Copy(rows, map[string]string{
		altMarkRow: "flowgroup=f1 role=terminator method=muxed interval=0 mark=dscp0 clear=true",
		"APPL_DB TAM_ALTMARK_TABLE:m1": "acl-table-name=TAM acl-rule-name=f1 role=terminator method=muxed interval=0 " +
			"mark=dscp0 clear=true " +
			"slot-sync=true mean-delay=false foreign-marks=count clock-trust=checked clock-error=15625000 delay-min=0 " +
			"delay-max=125000000",
		"STATE_DB TAM_STATE_ALTMARK_TABLE|m1": "status=active reason= since=2026-01-02T03:04:05Z by=orchagent",
		"COUNTERS_DB TAM_ALTMARK_COUNTERS:m1": "ENGINE=chip TIMING=exact GUARD=140625000 PERIOD=1700000001 COLOUR=1 " +
			"PACKETS=101 BYTES=6464 CAPTURES=1 " +
			"OUT_OF_WINDOW=0 READ_AT=1700000002.500000123 TIMESTAMP=1700000001.250000001 FLAGS=",
		"COUNTERS_DB TAM_ALTMARK_RESULTS:p1:s1:s4": "PERIOD=1700000001 START=1700000001.000000000 STATUS=flagged " +
			"REASONS=s1:_first;_s4:_late-read REVISED=true " +
			"SENT=101 RECEIVED=103 LOST=-2 RAW_DELAY=-7 WINDOW_DELAYS=0",
	})
	return rows
}

// period returns a period whose counts are derived from its number.
func period(k uint64, flags altmark.Flags) altmark.Period {
	return altmark.Period{Number: k, Colour: uint8(k & 1), Packets: k, Bytes: 64 * k, Captures: 1,
		Timestamp: altmark.Time{Seconds: k, Nanoseconds: 5},
		ReadAt:    altmark.Time{Seconds: k + 1, Nanoseconds: 500_000_000}, Flags: flags}
}

// history writes periods of a session as orchagent does.
func (b *bed) history(session string, periods ...altmark.Period) {
	b.t.Helper()
	fields := swss.FieldValues{}
	for _, p := range periods {
		f, v := schema.FormatAltMarkPeriod(p)
		fields[f] = v
	}
	if err := swss.NewTable(b.redis.DB(swss.CountersDB), schema.CountersAltMarkPast).Set(b.ctx, session,
		fields); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) forget(session string, number uint64) {
	b.t.Helper()
	key := schema.CountersAltMarkPast + ":" + session
	if err := b.redis.DB(swss.CountersDB).Client().HDel(b.ctx, key, fmt.Sprint(number)).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// A new period is sent when it arrives, with one delete of the period that it replaces. Other periods are not sent.
func TestAltMarkOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(altMarked())
	b.history("m1", period(8, 0))
	packets := altMarkM1 + "/periods/period[number=%d]/state/packets"
	s := b.subscribe(
		streamOf(subOf(onChange, altMarks+"/alt-mark-session[name=*]/periods/period[number=*]/state/packets")))
	s.want("U "+fmt.Sprintf(packets, 8)+` "8"`, "S")
	b.history("m1", period(9, 0))
	s.want("U " + fmt.Sprintf(packets, 9) + ` "9"`)
	b.history("m1", period(9, 0)) // unchanged, so nothing is sent
	b.forget("m1", 8)
	s.want("D " + fmt.Sprintf(packets, 8))
	late := period(9, 0)
	late.Packets = 10
	b.history("m1", late)
	s.want("U " + fmt.Sprintf(packets, 9) + ` "10"`)

	result := "/tam/alt-mark-results/alt-mark-result[from=s1][path=p1][to=s4]/state"
	s = b.subscribe(streamOf(subOf(onChange, result+"/lost-packets"),
		subOf(onChange, altMarkM1+"/state/last-period/packets")))
	s.want("U "+result+`/lost-packets "-2"`, "U "+altMarkM1+`/state/last-period/packets "101"`, "S")
	b.rows(map[string]string{"COUNTERS_DB TAM_ALTMARK_RESULTS:p1:s1:s4": "PERIOD=1700000002 STATUS=ok LOST=0"})
	s.want("U " + result + `/lost-packets "0"`)
	b.rows(map[string]string{"COUNTERS_DB TAM_ALTMARK_RESULTS:p1:s1:s4": ""})
	s.want("D " + result + "/lost-packets")
}

// Periods are sampled, too, if a client requests that.
func TestAltMarkSample(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.history("m1", period(8, 0))
	list := streamOf(subOf(sample, altMarkM1+"/periods/period[number=8]/state/packets"))
	list.Subscription[0].SampleInterval = uint64(time.Second)
	s := b.subscribe(list)
	s.want("U "+altMarkM1+`/periods/period[number=8]/state/packets "8"`, "S")
	clock.advance(time.Second)
	s.want("U " + altMarkM1 + `/periods/period[number=8]/state/packets "8"`)
}
