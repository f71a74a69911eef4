// Package metrics says how a switch is, for Prometheus: what its databases have of daemons, ports, configured rows and
// their state, and drops, read when it is asked.
//
// What belongs here: which rows are which metrics, and the server that tells them. What is not known has no metric; 0
// is always a count. There are bounds on how many series rows can make: what is beyond is counted.
package metrics

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// Bounds on what one look at the databases takes and makes.
const (
	lookLimit  = 8 * time.Second
	mostSeries = 1000 // of one table's rows
	mostWords  = 8    // that are told apart as the status of one table's rows

	mostReasons = 100 // for which frames of one port are lost
)

// chip is the daemon with whose process the chip's counters begin.
const chip = "syncd"

// A Collector reads the databases of a switch, each time that it is asked: what it finds is the same for all who tell
// it, [Handler] to Prometheus and package otlp to collectors.
type Collector struct {
	redis   *swss.Redis
	daemons []string

	mu     sync.Mutex
	starts starts
}

// New returns the collector of a switch with these daemons.
func New(r *swss.Redis, daemons []string) *Collector {
	return &Collector{redis: r, daemons: daemons, starts: starts{}}
}

// Read looks once, and returns all families, in the order in which they are declared; what is not known has no points.
func (c *Collector) Read(ctx context.Context, now time.Time) []Family {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	l := &look{ctx: ctx, redis: c.redis, families: newFamilies(), epochs: map[string]string{}}
	up := c.redis.DB(swss.StateDB).Ping(ctx) == nil
	l.gauge(l.families.redis, bit(up))
	if up {
		l.health(c.daemons)
		l.alarms()
		l.ports()
		l.wires()
		l.status()
		l.stamps()
		l.analysed()
		l.resources()
		l.outputs()
	}
	all := l.families.list()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts.date(all, now)
	return all
}

// A look is one look at the databases. What cannot be read is left out.
type look struct {
	ctx      context.Context
	redis    *swss.Redis
	families families
	epochs   map[string]string // by daemon: which process it is
}

func (l *look) gauge(f *Family, v float64, labels ...string) {
	f.Points = append(f.Points, Point{Labels: labels, Value: v})
}

// number tells the number that a field has; what is none is not told.
func (l *look) number(f *Family, field string, labels ...string) {
	if n, err := strconv.ParseUint(field, 10, 64); err == nil {
		l.gauge(f, float64(n), labels...)
	}
}

// counter tells the count that a field has, which began anew where epoch is another; what is none is not told.
func (l *look) counter(f *Family, epoch, field string, labels ...string) {
	if n, err := strconv.ParseUint(field, 10, 64); err == nil {
		f.Points = append(f.Points, Point{Labels: labels, Value: float64(n), Count: n, epoch: epoch})
	}
}

func (l *look) dump(db swss.DBName, table string) map[string]swss.FieldValues {
	rows, err := swss.NewTable(l.redis.DB(db), table).Dump(l.ctx)
	if err != nil {
		return nil
	}
	return rows
}

// some returns rows, as many as may have series, and says how many it leaves out.
func (l *look) some(table string, rows map[string]swss.FieldValues) map[string]swss.FieldValues {
	some := make(map[string]swss.FieldValues, min(len(rows), mostSeries))
	for _, key := range sortedKeys(rows) {
		if len(some) < mostSeries && utf8.ValidString(key) {
			some[key] = rows[key]
		}
	}
	if n := len(rows) - len(some); n > 0 {
		l.gauge(l.families.leftOut, float64(n), table)
	}
	return some
}

func (l *look) health(daemons []string) {
	states, compared := l.dump(swss.StateDB, schema.StateHealth), l.dump(swss.StateDB, drift.Table)
	if states == nil {
		return
	}
	names := slices.Clone(daemons) // and those that a switch may do without, if they are there
	for _, name := range sortedKeys(states) {
		if !slices.Contains(daemons, name) && utf8.ValidString(name) && len(names) < len(daemons)+mostWords {
			names = append(names, name)
		}
	}
	for _, name := range names {
		row, heard := states[name]
		l.epochs[name] = row["owner"]
		l.gauge(l.families.heard, bit(heard), name)
		if heard {
			l.gauge(l.families.ready, bit(row["state"] == "ready"), name)
		}
		c := compared[name]
		l.number(l.families.compared, c[drift.FieldObjects], name)
		l.counter(l.families.drift, row["owner"], c[drift.FieldDrift], name)
		l.counter(l.families.healed, row["owner"], c[drift.FieldHealed], name)
	}
}

func (l *look) alarms() {
	count := map[string]int{}
	rows := l.dump(swss.StateDB, schema.StateAlarm)
	if rows == nil {
		return
	}
	for _, row := range rows {
		tally(count, row[schema.AlarmSeverity])
	}
	for severity, n := range count {
		l.gauge(l.families.alarms, float64(n), severity)
	}
}

func (l *look) ports() {
	oids, err := l.redis.DB(swss.CountersDB).Client().HGetAll(l.ctx, schema.CountersPortNameMap).Result()
	if err != nil {
		return
	}
	names := map[string]swss.FieldValues{}
	for name, oid := range oids {
		names[name] = swss.FieldValues{"oid": oid}
	}
	applied, counters := swss.NewTable(l.redis.DB(swss.ApplDB), schema.AppPort), swss.NewTable(l.redis.DB(swss.CountersDB),
		schema.CountersTable)
	f := l.families
	for name, at := range l.some(schema.CfgPort, names) {
		if row, _, err := applied.Get(l.ctx, name); err == nil && row["oper_status"] != "" {
			l.gauge(f.portUp, bit(row["oper_status"] == "up"), name)
		}
		row, _, err := counters.Get(l.ctx, at["oid"])
		if err != nil {
			continue
		}
		epoch := l.epochs[chip] + at["oid"]
		for direction, stat := range map[string]string{
			"in": "SAI_PORT_STAT_IF_IN_", "out": "SAI_PORT_STAT_IF_OUT_",
		} {
			l.counter(f.portBytes, epoch, row[stat+"OCTETS"], name, direction)
			for _, cast := range []string{"ucast", "multicast", "broadcast"} {
				l.counter(f.portPackets, epoch, row[stat+strings.ToUpper(cast)+"_PKTS"], name, direction, cast)
			}
			l.counter(f.portDiscards, epoch, row[stat+"DISCARDS"], name, direction)
			l.counter(f.portErrs, epoch, row[stat+"ERRORS"], name, direction)
		}
	}
}

func (l *look) wires() {
	f := l.families
	for port, row := range l.some(schema.StateWire, l.dump(swss.StateDB, schema.StateWire)) {
		l.gauge(f.wireUp, bit(row[schema.WireStatus] == schema.WireUp), port)
		l.counter(f.wireFrames, l.epochs[chip], row[schema.WireReceived], port, "in")
		l.counter(f.wireFrames, l.epochs[chip], row[schema.WireSent], port, "out")
		l.reasons(f.wireLost, row, schema.WireLost, port)
		l.reasons(f.wireDropped, row, schema.WireDropped, port)
	}
}

// reasons tells the counts of a row whose fields are a prefix and a reason, as many as may have series.
func (l *look) reasons(f *Family, row swss.FieldValues, prefix, port string) {
	told := 0
	for _, field := range sortedKeys(row) {
		if why, is := strings.CutPrefix(field, prefix); is && told < mostReasons && utf8.ValidString(why) {
			l.counter(f, l.epochs[chip], row[field], port, why)
			told++
		}
	}
}

func (l *look) status() {
	for _, t := range schema.StatusTables() {
		count := map[string]int{}
		for _, row := range l.dump(swss.StateDB, t.State) {
			tally(count, row[t.Status])
		}
		for word, n := range count {
			l.gauge(l.families.rows, float64(n), t.Rows(), word)
		}
	}
}

func (l *look) stamps() {
	for session, row := range l.some(schema.CfgTAMTailStamp, l.dump(swss.CountersDB, schema.CountersTailStamp)) {
		for _, f := range schema.CountersIn(schema.CountersTailStamp) {
			if f.Outcome != "" {
				l.counter(l.families.stamped, l.epochs[chip], row[f.Name], session, f.Outcome)
			}
		}
	}
}

// analysed tells what became of the packets of sessions of IFA; each row says since when it counts.
func (l *look) analysed() {
	for session, row := range l.some(schema.CfgTAMSession, l.dump(swss.CountersDB, schema.CountersIFA)) {
		for field, count := range row {
			l.counter(l.families.analysed, row["COUNTED_SINCE"], count, session, strings.ToLower(field)) // if it is a number
		}
	}
}

// resources tells how much of the ASIC is in use.
func (l *look) resources() {
	row, _, err := swss.NewTable(l.redis.DB(swss.CountersDB), schema.CountersCRM).Get(l.ctx, "STATS")
	if err != nil {
		return
	}
	told := 0
	for _, field := range sortedKeys(row) {
		name, is := strings.CutSuffix(strings.TrimPrefix(field, "crm_stats_"), "_used")
		if is && told < mostReasons && utf8.ValidString(name) {
			l.number(l.families.used, row[field], name)
			l.number(l.families.free, row["crm_stats_"+name+"_available"], name)
			told++
		}
	}
}

// outputs tells what the outputs of the switch have sent, and not sent.
func (l *look) outputs() {
	f := l.families
	for name, row := range l.some(schema.StateOutput, l.dump(swss.StateDB, schema.StateOutput)) {
		epoch := l.epochs["mgmtd"] + row[schema.OutputBegan]
		l.gauge(f.outputUp, bit(row[schema.OutputStatus] == schema.OutputActive), name)
		l.counter(f.outputSent, epoch, row[schema.OutputSent], name)
		l.counter(f.outputBytes, epoch, row[schema.OutputSentBytes], name)
		for _, reason := range schema.OutputLosses {
			l.counter(f.outputDropped, epoch, row[schema.OutputDropped+reason.Name], name, reason.Name)
		}
		l.counter(f.outputFailures, epoch, row[schema.OutputFailures], name)
		l.number(f.outputWaiting, row[schema.OutputWaiting], name)
		l.number(f.outputWaitingBytes, row[schema.OutputWaitingBytes], name)
	}
}

// tally counts a word; of more than a few, and of what is no text, all others are "other".
func tally(count map[string]int, word string) {
	if _, known := count[word]; !known && (len(count) >= mostWords || !utf8.ValidString(word) || word == "") {
		word = "other"
	}
	count[word]++
}

func bit(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
