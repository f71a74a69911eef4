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
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"tamtam/schema"
	"tamtam/swss"
	"tamtam/swss/drift"
)

// Bounds on what one look at the databases takes and makes.
const (
	lookLimit  = 8 * time.Second
	mostSeries = 1000 // of one table's rows
	mostWords  = 8    // that are told apart as the status of one table's rows

	mostReasons = 100 // for which frames of one port are lost
)

// A Collector reads the databases of a switch, each time that it is collected.
type Collector struct {
	redis   *swss.Redis
	daemons []string
}

// New returns the collector of a switch with these daemons.
func New(r *swss.Redis, daemons []string) *Collector { return &Collector{r, daemons} }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("tamtam_"+name, help, labels, nil)
}

// families are all that there are.
type families struct {
	redis, heard, ready, compared, drift, healed, alarms   *prometheus.Desc
	portUp, portBytes, portPackets, portDiscards, portErrs *prometheus.Desc
	wireUp, wireFrames, wireLost, wireDropped              *prometheus.Desc
	rows, stamped, leftOut                                 *prometheus.Desc
}

func newFamilies() families {
	return families{
		redis:        desc("redis_up", "1: Redis answers."),
		heard:        desc("daemon_heard", "1: the daemon has said how it is within the last seconds.", "daemon"),
		ready:        desc("daemon_ready", "1: what is configured is in force, or told to be pending or failed.", "daemon"),
		compared:     desc("daemon_compared_objects", "Objects in the last whole pass that compared.", "daemon"),
		drift:        desc("daemon_drift_total", "Differences that were seen between what was told and what is.", "daemon"),
		healed:       desc("daemon_healed_total", "Differences that were healed.", "daemon"),
		alarms:       desc("alarms", "Alarms that stand.", "severity"),
		portUp:       desc("port_up", "1: the port has a link.", "port"),
		portBytes:    desc("port_bytes_total", "Bytes.", "port", "direction"),
		portPackets:  desc("port_packets_total", "Packets.", "port", "direction", "cast"),
		portDiscards: desc("port_discards_total", "Packets dropped, for whatever reason.", "port", "direction"),
		portErrs:     desc("port_errors_total", "Frames that were not valid.", "port", "direction"),
		wireUp:       desc("wire_up", "1: the live interface behind the port is there, up and has a carrier.", "port"),
		wireFrames:   desc("wire_frames_total", "Frames between a live interface and the chip.", "port", "direction"),
		wireLost:     desc("wire_lost_frames_total", "Frames that were lost there.", "port", "reason"),
		wireDropped:  desc("wire_dropped_frames_total", "Frames that the chip dropped at such a port.", "port", "reason"),
		rows:         desc("rows", "Configured rows by what became of them.", "table", "status"),
		stamped:      desc("tailstamp_packets_total", "Packets of a session by what became of them.", "session", "outcome"),
		leftOut:      desc("series_left_out", "Rows of a table that have no series, for there are too many.", "table"),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	f := newFamilies()
	for _, d := range []*prometheus.Desc{
		f.redis, f.heard, f.ready, f.compared, f.drift, f.healed, f.alarms, f.portUp, f.portBytes, f.portPackets,
		f.portDiscards, f.portErrs, f.wireUp, f.wireFrames, f.wireLost, f.wireDropped, f.rows, f.stamped, f.leftOut,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	l := &look{ctx: ctx, redis: c.redis, to: to, families: newFamilies()}
	if c.redis.DB(swss.StateDB).Ping(ctx) != nil {
		l.gauge(l.families.redis, 0)
		return
	}
	l.gauge(l.families.redis, 1)
	l.health(c.daemons)
	l.alarms()
	l.ports()
	l.wires()
	l.status()
	l.stamps()
}

// A look is one look at the databases. What cannot be read is left out.
type look struct {
	ctx      context.Context
	redis    *swss.Redis
	to       chan<- prometheus.Metric
	families families
}

func (l *look) gauge(d *prometheus.Desc, v float64, labels ...string) {
	l.put(d, prometheus.GaugeValue, v, labels)
}

func (l *look) put(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels []string) {
	if m, err := prometheus.NewConstMetric(d, kind, v, labels...); err == nil {
		l.to <- m
	}
}

// counter tells the count that a field has; what is none is not told.
func (l *look) counter(d *prometheus.Desc, field string, labels ...string) {
	if n, err := strconv.ParseUint(field, 10, 64); err == nil {
		l.put(d, prometheus.CounterValue, float64(n), labels)
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
		l.gauge(l.families.heard, bit(heard), name)
		if heard {
			l.gauge(l.families.ready, bit(row["state"] == "ready"), name)
		}
		c := compared[name]
		if n, err := strconv.ParseUint(c[drift.FieldObjects], 10, 64); err == nil {
			l.gauge(l.families.compared, float64(n), name)
		}
		l.counter(l.families.drift, c[drift.FieldDrift], name)
		l.counter(l.families.healed, c[drift.FieldHealed], name)
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
		for direction, stat := range map[string]string{
			"in": "SAI_PORT_STAT_IF_IN_", "out": "SAI_PORT_STAT_IF_OUT_",
		} {
			l.counter(f.portBytes, row[stat+"OCTETS"], name, direction)
			for _, cast := range []string{"ucast", "multicast", "broadcast"} {
				l.counter(f.portPackets, row[stat+strings.ToUpper(cast)+"_PKTS"], name, direction, cast)
			}
			l.counter(f.portDiscards, row[stat+"DISCARDS"], name, direction)
			l.counter(f.portErrs, row[stat+"ERRORS"], name, direction)
		}
	}
}

func (l *look) wires() {
	f := l.families
	for port, row := range l.some(schema.StateWire, l.dump(swss.StateDB, schema.StateWire)) {
		l.gauge(f.wireUp, bit(row[schema.WireStatus] == schema.WireUp), port)
		l.counter(f.wireFrames, row[schema.WireReceived], port, "in")
		l.counter(f.wireFrames, row[schema.WireSent], port, "out")
		l.reasons(f.wireLost, row, schema.WireLost, port)
		l.reasons(f.wireDropped, row, schema.WireDropped, port)
	}
}

// reasons tells the counts of a row whose fields are a prefix and a reason, as many as may have series.
func (l *look) reasons(d *prometheus.Desc, row swss.FieldValues, prefix, port string) {
	told := 0
	for _, field := range sortedKeys(row) {
		if why, is := strings.CutPrefix(field, prefix); is && told < mostReasons && utf8.ValidString(why) {
			l.counter(d, row[field], port, why)
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
			l.gauge(l.families.rows, float64(n), t.Config, word)
		}
	}
}

// stampOutcomes are the fields of a session's counters.
var stampOutcomes = map[string]string{
	"MATCHED_PACKETS": "matched", "STAMPED_PACKETS": "stamped",
	"NOT_STAMPED_NOT_TCP_UDP": "not_tcp_udp", "NOT_STAMPED_NOT_ETHERNET_II": "not_ethernet_ii",
	"NOT_STAMPED_CUT": "cut", "NOT_STAMPED_MTU": "exceeds_mtu",
}

func (l *look) stamps() {
	for session, row := range l.some(schema.CfgTAMTailStamp, l.dump(swss.CountersDB, schema.CountersTailStamp)) {
		for field, outcome := range stampOutcomes {
			l.counter(l.families.stamped, row[field], session, outcome)
		}
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
