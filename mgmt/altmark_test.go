package mgmt

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const (
	altMarks   = "/tam/alt-mark-sessions"
	altMarkM1  = altMarks + "/alt-mark-session[name=m1]"
	altMarkRow = "CONFIG_DB TAM_ALTMARK_TABLE|m1"
)

// altMarked is a switch with a session of alternate marking in effect, two
// periods of it, and what a collector says.
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

// period is a period of counts that follow from its number.
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

// wantAltMark checks the session's row of CONFIG_DB.
func (b *bed) wantAltMark(want string) {
	b.t.Helper()
	if got := b.row("TAM_ALTMARK_TABLE|m1"); got != want {
		b.t.Errorf("session m1 is\n%s\nwant\n%s", got, want)
	}
}

func TestAltMarkGet(t *testing.T) {
	b := newBed(t, nil)
	b.rows(altMarked())
	b.history("m1", period(8, altmark.First|altmark.LateRead), period(9, 0))
	b.history("gone", period(9, 0))
	config := `"flowgroup":"f1","role":"terminator","method":"muxed","interval":0,"mark":"dscp0","clear":true,` +
		`"slot-sync":true,"mean-delay":false,"foreign-marks":"count","clock-trust":"checked"`
	eight := `"number":"8","colour":0,"packets":"8","octets":"512","captures":1,"timestamp":"8000000005",` +
		`"out-of-window":"0","foreign-marks":"0","digest":0,"read-at":"9500000000","flags":["first","late-read"]`
	nine := `"number":"9","colour":1,"packets":"9","octets":"576","captures":1,"timestamp":"9000000005",` +
		`"out-of-window":"0","foreign-marks":"0","digest":0,"read-at":"10500000000"`
	for _, c := range []struct{ path, want string }{
		{altMarkM1 + "/config", `{"name":"m1",` + config + `}`},
		{altMarkM1 + "/state", `{"name":"m1",` + config + `,"clock-error":"15625000","delay-min":"0","delay-max":"125000000",
			"engine":"chip","timing":"exact","guard":"140625000","status":"active","status-number":1,
			 "since":"2026-01-02T03:04:05Z",
			"last-period":{"number":"1700000001","colour":1,"packets":"101","octets":"6464","captures":1,
			 "timestamp":"1700000001250000001","out-of-window":"0","read-at":"1700000002500000123"}}`},
		{altMarkM1 + "/periods", `{"period":[{"number":"8","state":{` + eight + `}},{"number":"9","state":{` + nine + `}}]}`},
		{altMarkM1 + "/periods/period[number=9]", `{"number":"9","state":{` + nine + `}}`},
		{altMarkM1 + "/periods/period[number=9]/state/read-at", `"10500000000"`},
		{"/tam/alt-mark-results", `{"alt-mark-result":[{"path":"p1","from":"s1","to":"s4","state":{"path":"p1","from":"s1",
		 "to":"s4",
			"period":"1700000001","start":"1700000001000000000","status":"flagged","reasons":["s1: first","s4: late-read"],
			 "revised":true,
			"sent-packets":"101","received-packets":"103","lost-packets":"-2","raw-delay":"-7","window":{"delays":"0"}}}]}`},
		{"/tam/tamtam-altmark:alt-mark-results/alt-mark-result[path=p1][from=s1][to=s4]/state/lost-packets", `"-2"`},
	} {
		got, err := b.get(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		sameJSON(t, strings.NewReplacer("tamtam-altmark:", "", "tamtam-status:", "").Replace(got), c.want)
	}
	for _, p := range []string{altMarkM1 + "/periods/period[number=7]",
		altMarks + "/alt-mark-session[name=m2]/periods/period[number=8]"} {
		_, err := b.get(p)
		wantErr(t, err, "NotFound")
	}
	numbers, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{
		path(altMarks + "/alt-mark-session[name=*]/periods/period[number=9]/state/number")}, Encoding: gpb.Encoding_PROTO})
	if err != nil || len(numbers.GetNotification()[0].GetUpdate()) != 2 {
		t.Errorf("period 9 of all sessions: %v, %v", numbers, err)
	}
}

// The arrivals of a period and the mean delay are there where sessions ask for them, and nowhere else. A sum has more
// bits than any number of YANG.
func TestAltMarkMeanDelay(t *testing.T) {
	b := newBed(t, nil)
	b.rows(altMarked())
	b.rows(map[string]string{
		"COUNTERS_DB TAM_ALTMARK_RESULTS:p2:s1:s4": "PERIOD=1 START=1.000000000 STATUS=ok REVISED=false SENT=3 RECEIVED=3 " +
			"LOST=0 WINDOW_DELAYS=0 " +
			"MEAN_DELAY=7 DELAY_SUM=22",
		"COUNTERS_DB TAM_ALTMARK_RESULTS:p3:s1:s4": "PERIOD=1 START=1.000000000 STATUS=ok REVISED=false SENT=3 RECEIVED=2 " +
			"LOST=1 WINDOW_DELAYS=0 " +
			"MEAN_DELAY_UNKNOWN=1_of_3_packets_were_lost",
	})
	p := period(8, 0)
	p.Arrivals = altmark.Arrivals{Summed: true, Packets: 8, Sum: altmark.Sum{Hi: 1}}
	b.history("m1", p, period(9, 0))
	state, result := altMarkM1+"/periods/period[number=%d]/state/%s",
		"/tam/alt-mark-results/alt-mark-result[path=%s][from=s1][to=s4]/state/%s"
	for _, c := range []struct{ path, want string }{
		{fmt.Sprintf(state, 8, "arrivals"), `"8"`},
		{fmt.Sprintf(state, 8, "arrival-sum"), `"18446744073709551616"`},
		{fmt.Sprintf(result, "p2", "mean-delay"), `"7"`},
		{fmt.Sprintf(result, "p2", "delay-sum"), `"22"`},
		{fmt.Sprintf(result, "p3", "mean-delay-unknown"), `"1 of 3 packets were lost"`},
	} {
		if got, err := b.get(c.path); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.path, got, err, c.want)
		}
	}
	for _, p := range []string{fmt.Sprintf(state, 9, "arrivals"), fmt.Sprintf(state, 9, "arrival-sum"),
		fmt.Sprintf(result, "p1", "mean-delay"),
		fmt.Sprintf(result, "p3", "mean-delay"), fmt.Sprintf(result, "p3", "delay-sum"),
		fmt.Sprintf(result, "p2", "mean-delay-unknown")} {
		_, err := b.get(p)
		wantErr(t, err, "NotFound")
	}
}

// What vouches for a clock is there where a period says it, zeroes too: an offset of 0 is one that is
// known. Numbers of 64 bits are strings.
func TestAltMarkClock(t *testing.T) {
	b := newBed(t, nil)
	b.rows(altMarked())
	b.rows(map[string]string{"COUNTERS_DB TAM_ALTMARK_COUNTERS:m1": "PERIOD=9 " +
		"CLOCK=declared_by_the_operator KERNEL_CLOCK= KERNEL_CLOCK_OFFSET=0 KERNEL_CLOCK_ERROR=0"})
	p := period(8, 0)
	p.Foreign = 1<<64 - 1
	p.Clock = altmark.Clock{Says: "the kernel's clock says a maximum error of 2ms",
		Kernel: "01234567-89ab-cdef-ffff-ffffffffffff", Ahead: -3,
		Error: 2*time.Millisecond + 1}
	b.history("m1", p, period(9, 0))
	state := altMarkM1 + "/periods/period[number=%d]/state/%s"
	for _, c := range []struct{ path, want string }{
		{fmt.Sprintf(state, 8, "clock"), `"the kernel's clock says a maximum error of 2ms"`},
		{fmt.Sprintf(state, 8, "kernel-clock"), `"01234567-89ab-cdef-ffff-ffffffffffff"`},
		{fmt.Sprintf(state, 8, "kernel-clock-offset"), `"-3"`},
		{fmt.Sprintf(state, 8, "kernel-clock-error"), `"2000001"`},
		{fmt.Sprintf(state, 8, "foreign-marks"), `"18446744073709551615"`},
		{fmt.Sprintf(state, 9, "foreign-marks"), `"0"`},
		{altMarkM1 + "/state/last-period/clock", `"declared by the operator"`},
		{altMarkM1 + "/state/last-period/kernel-clock-offset", `"0"`},
	} {
		got, err := b.get(c.path)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.path, got, err, c.want)
		}
	}
	for _, leaf := range []string{"clock", "kernel-clock", "kernel-clock-offset", "kernel-clock-error"} {
		_, err := b.get(fmt.Sprintf(state, 9, leaf))
		wantErr(t, err, "NotFound")
	}
	_, err := b.get(altMarkM1 + "/state/last-period/kernel-clock")
	wantErr(t, err, "NotFound")
}

// What a database holds that is no period is left out.
func TestAltMarkBadHistory(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"COUNTERS_DB TAM_ALTMARK_HISTORY:m1": `x={} 1=nonsense 2=null 3=["PERIOD"] ` +
			`4={"PACKETS":"many","COLOUR":"1","FLAGS":"first,odd"} *={}`,
		"COUNTERS_DB TAM_ALTMARK_RESULTS:p": "STATUS=ok",
	})
	got, err := b.get(altMarkM1 + "/periods")
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, `{"tamtam-altmark:period":[{"number":"4","state":{"number":"4","colour":1,"flags":["first"]}}]}`)
}

func TestAltMarkSet(t *testing.T) {
	up := func(p, v string) *gpb.SetRequest { return &gpb.SetRequest{Update: []*gpb.Update{update(p, v)}} }
	const session = `{"flowgroup":"f1","role":"initiator","method":"double","interval":-3,"mark":"dscp0",` +
		`"mark2":"dscp1","delay-max":1000000}`
	b := newBed(t, nil)
	b.rows(someSwitch())
	b.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update(altMarkM1+"/config", session)}})
	b.wantAltMark("delay-max=1000000 flowgroup=f1 interval=-3 mark=dscp0 mark2=dscp1 method=double role=initiator")
	for _, tt := range []struct {
		name, code string
		req        *gpb.SetRequest
		words      []string
	}{
		{"no such flow group", "InvalidArgument", up(altMarkM1+"/config/flowgroup", `"f2"`),
			[]string{"[name=m1]/config/flowgroup", "there is no flowgroup f2"}},
		{"flow group in use", "FailedPrecondition", &gpb.SetRequest{
			Delete: []*gpb.Path{path("/tam/flowgroups/flowgroup[name=f1]"), path(sessions)}},
			[]string{"in use by alt-mark-session m1"}},
		{"flow group of another", "InvalidArgument", up(altMarks+"/alt-mark-session[name=m2]/config", session),
			[]string{"/config/flowgroup", "f1 is that of alt-mark-session m1 already"}},
		{"nothing said", "InvalidArgument", up(altMarks+"/alt-mark-session[name=m2]/config", `{}`),
			[]string{"config/flowgroup: is missing", "config/role: is missing", "config/method: is missing",
				"config/interval: is missing", "config/mark: is missing"}},
		{"no role", "InvalidArgument", up(altMarkM1+"/config/role", `"observer"`),
			[]string{"config/role", `"observer" is none of initiator, terminator, transit`}},
		{"no interval", "InvalidArgument", up(altMarkM1+"/config/interval", `9`),
			[]string{"config/interval", `"9" is no number in -10..8`}},
		{"ECN", "InvalidArgument", up(altMarkM1+"/config/mark", `"ecn0"`), []string{"config/mark", `"ecn0" is none of`}},
		{"one bit for both", "InvalidArgument", up(altMarkM1+"/config/mark2", `"dscp0"`),
			[]string{"[name=m1]", "mark2 is dscp0, as mark is"}},
		{"no second bit", "InvalidArgument", &gpb.SetRequest{Delete: []*gpb.Path{path(altMarkM1 + "/config/mark2")}},
			[]string{"mark2 is not given"}},
		{"an initiator that clears", "InvalidArgument", up(altMarkM1+"/config/clear", `true`),
			[]string{"only a terminator clears the mark"}},
		{"too short for its delay", "InvalidArgument", up(altMarkM1+"/config/delay-max", `100000000`),
			[]string{"interval of 125ms is too short", "want less than L/2 = 62.5ms"}},
		{"no such word of foreign marks", "InvalidArgument", up(altMarkM1+"/config/foreign-marks", `"wash"`),
			[]string{altMarkM1 + `/config/foreign-marks: "wash" is none of clean, count, drop`}},
		{"no such word of a clock", "InvalidArgument", up(altMarkM1+"/config/clock-trust", `"believed"`),
			[]string{altMarkM1 + `/config/clock-trust: "believed" is none of checked, declared`}},
		{"two words that there are not", "InvalidArgument", up(altMarkM1+"/config",
			`{"foreign-marks":"","clock-trust":"Declared"}`),
			[]string{altMarkM1 + `/config/foreign-marks: "" is none of`,
				altMarkM1 + `/config/clock-trust: "Declared" is none of`}},
		{"a word that is a number", "InvalidArgument", up(altMarkM1+"/config/clock-trust", `1`),
			[]string{altMarkM1 + `/config/clock-trust: 1 is no JSON value`}},
		{"a terminator that keeps marks out", "InvalidArgument", up(altMarkM1+"/config",
			`{"role":"terminator","foreign-marks":"drop"}`),
			[]string{altMarkM1, "foreign-marks is drop, but the role is terminator: only an initiator keeps other marks out"}},
		{"state", "InvalidArgument", up(altMarkM1+"/state/guard", `1`), []string{"state/guard"}},
		{"a period", "InvalidArgument", up(altMarkM1+"/periods/period[number=1]/state/packets", `1`),
			[]string{"periods/period[number=1]"}},
		{"a result", "InvalidArgument", &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/alt-mark-results")}},
			[]string{"alt-mark-results"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := b.client.Set(b.ctx, tt.req)
			wantErr(t, err, tt.code, tt.words...)
		})
	}
	b.wantAltMark("delay-max=1000000 flowgroup=f1 interval=-3 mark=dscp0 mark2=dscp1 method=double role=initiator")
	b.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path("/tam/flowgroups"), path(altMarks), path(sessions)}})
	b.wantAltMark("")
}

// TestAltMarkOnChange: a new period is sent as it comes, with one delete of the
// one that it takes the place of, and nothing of those that stay.
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
	b.history("m1", period(9, 0)) // the same again: nothing
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

// TestAltMarkSample: periods are sampled too, if a client wants that.
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
