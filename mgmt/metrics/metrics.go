// Package metrics exports the state of a switch to Prometheus: daemons, ports, configured rows and their status, and
// what its features measure, read from its databases on request.
//
// What belongs here: the mapping of rows to metrics, and the server. The metrics of features, queues and rules are
// declared with their fields in package schema. Unknown values have no metric; 0 is always a count. The number of
// series is bounded; rows beyond the bound are counted.
package metrics

import (
	"cmp"
	"context"
	"iter"
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

// Bounds on one read of the databases.
const (
	lookLimit  = 8 * time.Second
	dropsLimit = 2 * time.Second // for the answer of the chip
	mostSeries = 1000            // number of rows of one table that have series
	mostWords  = 8               // number of distinct statuses of one table's rows

	mostReasons = 100 // number of distinct reasons for which frames of one port are lost
)

// chip is the daemon whose restart restarts the chip's counters.
const chip = "syncd"

// A Collector reads the databases of a switch on each request. [Handler] exports the result to Prometheus, and package
// otlp to collectors.
type Collector struct {
	redis   *swss.Redis
	daemons []string
	drops   func(ctx context.Context) (Drops, error) // nil if the chip is not asked

	mu     sync.Mutex
	starts starts
}

// New returns the collector of a switch with these daemons.
func New(r *swss.Redis, daemons []string) *Collector {
	return &Collector{redis: r, daemons: daemons, starts: starts{}}
}

// AskDrops sets the function that asks the chip for its account of dropped packets. It must be called before the first
// read.
func (c *Collector) AskDrops(ask func(ctx context.Context) (Drops, error)) { c.drops = ask }

// Drops is the account of the packets that a chip has dropped.
type Drops struct {
	Since string // when the chip was made
	// Reasons counts the packets by port and reason. The port of packets without a port is "". A reason that is absent
	// has no packets.
	Reasons map[string]map[string]uint64
}

// Read returns all families, in the order in which they are declared. Unknown values have no points.
func (c *Collector) Read(ctx context.Context, now time.Time) []Family {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	l := &look{ctx: ctx}
	if c.redis.DB(swss.StateDB).Ping(ctx) == nil {
		l.redis = c.redis
	}
	l.asked = c.drops
	all := l.look(c.daemons)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts.date(all, now)
	return all
}

// A look is one read of the databases. Unreadable rows are omitted.
type look struct {
	ctx     context.Context
	redis   *swss.Redis // nil if Redis does not answer; the families are then empty
	all     []*Family   // in the order in which they are declared
	leftOut *Family
	epochs  map[string]string // identifies the process of each daemon
	asked   func(ctx context.Context) (Drops, error)
}

// look returns all families, with the values in the databases.
func (l *look) look(daemons []string) []Family {
	l.epochs = map[string]string{}
	l.leftOut = &Family{Name: "tamtam_series_left_out", Unit: "{row}", Labels: []string{"table"},
		Help: "Rows of a table that have no series, for there are too many."}
	l.gauge(l.family("redis_up", "", "1: Redis answers."), bit(l.redis != nil))
	l.health(daemons)
	l.alarms()
	l.ports()
	l.wires()
	l.status()
	l.dropped()
	l.measured()
	l.estimates()
	l.all = append(l.all, l.leftOut)
	l.resources()
	l.outputs()
	list := make([]Family, len(l.all))
	for i, one := range l.all {
		list[i] = *one
	}
	return list
}

// family declares a family; its name determines whether it is a counter.
func (l *look) family(name, unit, help string, labels ...string) *Family {
	one := &Family{Name: "tamtam_" + name, Help: help, Unit: unit, Labels: labels}
	if strings.HasSuffix(name, "_total") {
		one.Kind = Counter
	}
	l.all = append(l.all, one)
	return one
}

func (l *look) gauge(f *Family, v float64, labels ...string) {
	f.Points = append(f.Points, Point{Labels: labels, Value: v})
}

// number adds the number in a field, or nothing if it is invalid.
func (l *look) number(f *Family, field string, labels ...string) {
	if n, err := strconv.ParseUint(field, 10, 64); err == nil {
		l.gauge(f, float64(n), labels...)
	}
}

// counter adds the count in a field, or nothing if it is invalid. Another epoch means that it has restarted.
func (l *look) counter(f *Family, epoch, field string, labels ...string) {
	if n, err := strconv.ParseUint(field, 10, 64); err == nil {
		f.Points = append(f.Points, Point{Labels: labels, Value: float64(n), Count: n, epoch: epoch})
	}
}

func (l *look) row(db swss.DBName, table, key string) (row swss.FieldValues) {
	if l.redis != nil {
		row, _, _ = swss.NewTable(l.redis.DB(db), table).Get(l.ctx, key)
	}
	return row
}

func (l *look) dump(db swss.DBName, table string) map[string]swss.FieldValues {
	if l.redis == nil {
		return nil
	}
	rows, err := swss.NewTable(l.redis.DB(db), table).Dump(l.ctx)
	if err != nil {
		return nil
	}
	return rows
}

// some returns the rows that may have series, by ascending key, and records how many rows it omits.
func some[V any](l *look, table string, rows map[string]V) iter.Seq2[string, V] {
	keys := slices.DeleteFunc(sortedKeys(rows), func(key string) bool { return !utf8.ValidString(key) })
	keys = keys[:min(len(keys), mostSeries)]
	if n := len(rows) - len(keys); n > 0 {
		l.gauge(l.leftOut, float64(n), table)
	}
	return func(yield func(string, V) bool) {
		for _, key := range keys {
			if !yield(key, rows[key]) {
				return
			}
		}
	}
}

func (l *look) health(daemons []string) {
	hears := l.family("daemon_heard", "", "1: the daemon reported its health within the last seconds.", "daemon")
	ready := l.family("daemon_ready", "", "1: the configuration is in force, or reported as pending or failed.", "daemon")
	objects := l.family("daemon_compared_objects", "{object}", "Objects in the last whole pass that compared.", "daemon")
	drifted := l.family("daemon_drift_total", "{difference}",
		"Differences that were seen between the target and the actual state.", "daemon")
	healed := l.family("daemon_healed_total", "{difference}", "Differences that were healed.", "daemon")
	states, compared := l.dump(swss.StateDB, schema.StateHealth), l.dump(swss.StateDB, drift.Table)
	if states == nil {
		return
	}
	names := slices.Clone(daemons) // and optional daemons, if they run
	for _, name := range sortedKeys(states) {
		if !slices.Contains(daemons, name) && utf8.ValidString(name) && len(names) < len(daemons)+mostWords {
			names = append(names, name)
		}
	}
	for _, name := range names {
		row, heard := states[name]
		l.epochs[name] = row["owner"]
		l.gauge(hears, bit(heard), name)
		if heard {
			l.gauge(ready, bit(row["state"] == "ready"), name)
		}
		c := compared[name]
		l.number(objects, c[drift.FieldObjects], name)
		l.counter(drifted, row["owner"], c[drift.FieldDrift], name)
		l.counter(healed, row["owner"], c[drift.FieldHealed], name)
	}
}

func (l *look) alarms() {
	f, count := l.family("alarms", "{alarm}", "Alarms that stand.", "severity"), map[string]int{}
	rows := l.dump(swss.StateDB, schema.StateAlarm)
	if rows == nil {
		return
	}
	for _, row := range rows {
		tally(count, row[schema.AlarmSeverity])
	}
	for _, severity := range sortedKeys(count) {
		l.gauge(f, float64(count[severity]), severity)
	}
}

func (l *look) ports() {
	up := l.family("port_up", "", "1: the port has a link.", "port")
	families := map[string]*Family{
		"bytes":    l.family("port_bytes_total", "By", "Bytes.", "port", "direction"),
		"packets":  l.family("port_packets_total", "{packet}", "Packets.", "port", "direction", "cast"),
		"discards": l.family("port_discards_total", "{packet}", "Packets dropped, for whatever reason.", "port", "direction"),
		"errors":   l.family("port_errors_total", "{frame}", "Frames that were not valid.", "port", "direction"),
	}
	debug := l.debugCounters()
	for name, oid := range some(l, schema.CfgPort, l.row(swss.CountersDB, schema.CountersPortNameMap, "")) {
		if oper := l.row(swss.ApplDB, schema.AppPort, name)["oper_status"]; oper != "" {
			l.gauge(up, bit(oper == "up"), name)
		}
		row := l.row(swss.CountersDB, schema.CountersTable, oid)
		for _, s := range schema.PortStatistics() {
			labels := []string{name, s.Direction, s.Cast}[:len(families[s.Name].Labels)]
			if len(s.Of) == 1 { // a sum is exported as its parts
				l.counter(families[s.Name], l.epochs[chip]+oid, row[s.Of[0]], labels...)
			}
		}
		debug(oid, row, name)
	}
}

// dropped adds the packets that the chip has dropped. It does not ask a chip whose daemon is silent.
func (l *look) dropped() {
	known := l.family("drops_known", "",
		"1: the chip's account of drops was read; a port and reason without series has none.")
	f := l.family("dropped_packets_total", "{packet}",
		"Packets that the chip has dropped, by port and reason; the label port is absent if there is none.", "port", "reason")
	if l.asked == nil || l.epochs[chip] == "" {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, dropsLimit)
	defer cancel()
	all, err := l.asked(ctx)
	l.gauge(known, bit(err == nil))
	for port, reasons := range some(l, "drops", all.Reasons) {
		for _, reason := range sortedKeys(reasons)[:min(len(reasons), mostReasons)] {
			n := reasons[reason]
			f.Points = append(f.Points, Point{Labels: []string{port, reason}, Value: float64(n), Count: n,
				epoch: l.epochs[chip] + all.Since})
		}
	}
}

// debugCounters declares the counters of drops by SAI's reasons, and adds those of the switch. It returns the function
// that adds those of a port.
func (l *look) debugCounters() (ofPort func(oid string, row swss.FieldValues, port string)) {
	f := l.family("debug_dropped_packets_total", "{packet}",
		"Drops of a debug counter, at a port or, without the label, at the whole switch.", "counter", "port")
	alerts := l.family("persistent_drop_alerts_total", "{alert}",
		"Alerts of a debug counter at a port: its drops persisted.", "counter", "port")
	objects := l.row(swss.CountersDB, schema.CountersDebugOIDMap, "")
	for name, stat := range some(l, schema.CfgDebugCounter, l.row(swss.CountersDB, schema.CountersDebugSwitchMap, "")) {
		if _, whole, found := strings.Cut(objects[name], " "); found {
			row := l.row(swss.CountersDB, schema.CountersTable, whole)
			l.counter(f, l.epochs[chip]+objects[name], row[stat], name, "")
		}
	}
	stats := l.row(swss.CountersDB, schema.CountersDebugPortMap, "")
	rows := l.dump(swss.ConfigDB, schema.CfgDebugCounter)
	return func(oid string, row swss.FieldValues, port string) {
		for _, name := range sortedKeys(stats) {
			if stat := stats[name]; utf8.ValidString(name) {
				l.counter(f, l.epochs[chip]+objects[name]+oid, row[stat], name, port)
				if c, err := schema.ParseDebugCounter(name, rows[name]); err != nil || !c.Watch.On {
					continue
				}
				table, _ := schema.DropStats(name, port)
				if known := l.row(swss.CountersDB, table, ""); known[schema.FieldLastCount] != "" {
					l.counter(alerts, objects[name]+oid, cmp.Or(known[schema.FieldAlerts], "0"), name, port)
				}
			}
		}
	}
}

func (l *look) wires() {
	up := l.family("wire_up", "", "1: the live interface behind the port is there, up and has a carrier.", "port")
	frames := l.family("wire_frames_total", "{frame}", "Frames between a live interface and the chip.",
		"port", "direction")
	lost := l.family("wire_lost_frames_total", "{frame}", "Frames that were lost there.", "port", "reason")
	dropped := l.family("wire_dropped_frames_total", "{frame}", "Frames that the chip dropped at such a port.",
		"port", "reason")
	for port, row := range some(l, schema.StateWire, l.dump(swss.StateDB, schema.StateWire)) {
		l.gauge(up, bit(row[schema.WireStatus] == schema.WireUp), port)
		l.counter(frames, l.epochs[chip], row[schema.WireReceived], port, "in")
		l.counter(frames, l.epochs[chip], row[schema.WireSent], port, "out")
		l.reasons(lost, row, schema.WireLost, port)
		l.reasons(dropped, row, schema.WireDropped, port)
	}
}

// reasons adds the counts of a row whose fields are a prefix and a reason, up to the bound.
func (l *look) reasons(f *Family, row swss.FieldValues, prefix, port string) {
	reported := 0
	for _, field := range sortedKeys(row) {
		if why, is := strings.CutPrefix(field, prefix); is && reported < mostReasons && utf8.ValidString(why) {
			l.counter(f, l.epochs[chip], row[field], port, why)
			reported++
		}
	}
}

func (l *look) status() {
	f := l.family("rows", "{row}", "Configured rows by status.", "table", "status")
	for _, t := range schema.StatusTables() {
		count := map[string]int{}
		for _, row := range l.dump(swss.StateDB, t.State) {
			tally(count, row[t.Status])
		}
		for _, word := range sortedKeys(count) {
			l.gauge(f, float64(count[word]), t.Rows(), word)
		}
	}
}

// resources adds the usage of the ASIC's resources.
func (l *look) resources() {
	used := l.family("resource_used", "{object}", "Objects of the ASIC that are in use.", "resource")
	free := l.family("resource_free", "{object}", "Objects of the ASIC for which there is room.", "resource")
	row := l.row(swss.CountersDB, schema.CountersCRM, "STATS")
	reported := 0
	for _, field := range sortedKeys(row) {
		name, is := strings.CutSuffix(strings.TrimPrefix(field, "crm_stats_"), "_used")
		if is && reported < mostReasons && utf8.ValidString(name) {
			l.number(used, row[field], name)
			l.number(free, row["crm_stats_"+name+"_available"], name)
			reported++
		}
	}
}

// outputs adds what the outputs of the switch have sent and lost.
func (l *look) outputs() {
	up := l.family("output_up", "", "1: the receiver takes what the switch sends.", "output")
	sent := l.family("output_sent_total", "{message}", "Messages that an output has sent.", "output")
	bytes := l.family("output_sent_bytes_total", "By", "Bytes of them.", "output")
	dropped := l.family("output_dropped_total", "{message}", "Messages that were never sent.", "output", "reason")
	failures := l.family("output_failures_total", "{attempt}", "Attempts to connect or to send that failed.", "output")
	waiting := l.family("output_waiting_messages", "{message}", "Messages that wait to be sent.", "output")
	waitingBytes := l.family("output_waiting_bytes", "By", "Bytes of them.", "output")
	for name, row := range some(l, schema.StateOutput, l.dump(swss.StateDB, schema.StateOutput)) {
		epoch := l.epochs["mgmtd"] + row[schema.OutputBegan]
		l.gauge(up, bit(row[schema.OutputStatus] == schema.OutputActive), name)
		l.counter(sent, epoch, row[schema.OutputSent], name)
		l.counter(bytes, epoch, row[schema.OutputSentBytes], name)
		for _, reason := range schema.OutputLosses {
			l.counter(dropped, epoch, row[schema.OutputDropped+reason.Name], name, reason.Name)
		}
		l.counter(failures, epoch, row[schema.OutputFailures], name)
		l.number(waiting, row[schema.OutputWaiting], name)
		l.number(waitingBytes, row[schema.OutputWaitingBytes], name)
	}
}

// tally counts a word. Beyond a bound, and for invalid text, it counts "other".
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
