package daemons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tamtam/device/fault"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
	"tamtam/swss/tick"
)

// alarmsStay is the minimum time for which a transient alarm stays visible, such as that of healed drift or of an
// emptied database.
const alarmsStay = 10 * time.Second

// silentAfter is how long a daemon may send no beat before an alarm is raised. At a start, it is also the time that all
// daemons have to begin.
const silentAfter = 2 * beatTTL

// Alarms maintains the alarms in STATE_DB. It is part of mgmtd, since a daemon that has ended cannot report that.
type Alarms struct {
	redis    *swss.Redis
	rows     *swss.Table
	history  *swss.Table
	received map[string]time.Time // time of each daemon's last beat, or of the first look if there was none
	drift    map[string]driftSeen
	since    map[string]time.Time // time at which each alarm was raised, by alarm id
	odd      map[string]bool      // daemons whose row, at the last look, seemed to be from another process
	// standby reports whether another mgmtd keeps the table; nil means that none does.
	standby func() bool
	// troubles returns why files do not match the configuration in force; nil means that there are no such files.
	troubles func() []string
	// objects holds the configured objects that failed or wait; nil means that objects are not checked.
	objects *badObjects
	// warn logs, once at the start, the configuration that is not in force. It is nil if the configuration was logged
	// already or must not be logged.
	warn  func(text string)
	began time.Time       // time of the first look
	ready map[string]bool // daemons that were ready at the last look
	// sending holds what was seen of each output.
	sending map[string]*outputSeen
	// unknown is true after the state of the ASIC was reported as unknown because no beat arrived.
	unknown bool

	mu        sync.Mutex
	incidents map[string]incident // alarms that stay for a limited time, by id
}

// An incident is an alarm about the databases that ends at a fixed time.
type incident struct {
	row   swss.FieldValues
	until time.Time
}

// driftSeen holds the last known drift counter of a daemon.
type driftSeen struct {
	count uint64
	until time.Time // end of the alarm
}

// NewAlarms returns the alarms of databases, before the first look.
func NewAlarms(r *swss.Redis) *Alarms {
	return &Alarms{
		redis: r, rows: swss.NewTable(r.DB(swss.StateDB), schema.StateAlarm),
		history:  swss.NewTable(r.DB(swss.StateDB), schema.StateAlarmHistory),
		received: map[string]time.Time{}, drift: map[string]driftSeen{}, odd: map[string]bool{},
		since: map[string]time.Time{},
		ready: map[string]bool{}, sending: map[string]*outputSeen{},

		incidents: map[string]incident{},
	}
}

// lost records the reason why mgmtd must start again.
func (a *Alarms) lost(why error) { a.lostAt(time.Now(), why) }

func (a *Alarms) lostAt(now time.Time, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rows := map[string]swss.FieldValues{}
	var emptied *swss.EmptiedError
	switch {
	case errors.As(why, &emptied):
		raise(rows, string(emptied.DB), schema.AlarmEmptied, schema.SeverityMajor, emptied.Error())
	case errors.Is(why, swss.ErrRestarted):
		raise(rows, "Redis", schema.AlarmRestarted, schema.SeverityWarning, "Redis was started again, maybe with older data")
	}
	for id, row := range rows {
		a.incidents[id] = incident{row, now.Add(alarmsStay)}
	}
}

// recent adds the incidents that are still visible.
func (a *Alarms) recent(now time.Time, want map[string]swss.FieldValues) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, m := range a.incidents {
		if now.After(m.until) {
			delete(a.incidents, id)
			continue
		}
		want[id] = maps.Clone(m.row)
	}
}

// Run checks once per beat, until ctx ends.
func (a *Alarms) Run(ctx context.Context) error {
	l := swss.NewListener(a.redis)
	defer l.Close()
	a.objects = newBadObjects(l, a.redis)
	for {
		_ = a.turn(ctx) // an error means that Redis is away: no alarm can be written
		select {
		case <-ctx.Done():
			return nil
		case <-tick.After(beatPeriod):
		}
	}
}

// turn checks the alarms, unless another mgmtd does.
func (a *Alarms) turn(ctx context.Context) error {
	if a.standby != nil && a.standby() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, beatTTL/2) // a connection may hang while a new one would work
	defer cancel()
	return a.Look(ctx, time.Now())
}

// Look raises and clears alarms according to the daemons' own reports.
func (a *Alarms) Look(ctx context.Context, now time.Time) error {
	want := map[string]swss.FieldValues{}
	p, err := a.redis.Pulse(ctx, swss.StateDB, swss.CountersDB)
	if err != nil {
		return err
	}
	rows, err := a.redis.DB(swss.StateDB).Dump(ctx, drift.Table, fault.Table, schema.StateOutput, schema.StateSwitch,
		schema.StateHostAddress, schema.StateWire, schema.StatePersistentDrops, schema.StateAlarm)
	if err != nil {
		return err
	}
	names := slices.Concat(daemons, besideOn(p))
	states, err := readStates(ctx, a.redis, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		state, heard := states[name]
		a.ask(now, name, heard, state, rows[drift.Table][name], want)
		if !heard {
			// If Redis' clock was set back, an older row would stay until the clock reaches the row's time again.
			row := a.redis.DB(swss.StateDB)
			if err := row.Client().PExpire(ctx, healthTable+row.Separator()+name, beatTTL).Err(); err != nil {
				return err
			}
		} else {
			a.stranger(p, name, state, want)
		}
	}
	if err := a.vouched(ctx, now); err != nil {
		return err
	}
	a.faults(rows[fault.Table], want)
	a.outputs(now, rows[schema.StateOutput], want)
	if a.troubles != nil {
		if all := a.troubles(); len(all) > 0 {
			raise(want, "mgmtd", schema.AlarmFile, schema.SeverityMajor, strings.Join(all, "; "))
		}
	}
	a.recent(now, want)
	a.databases(p, rows[schema.StateSwitch][schema.SwitchKey], want)
	conflicts(rows[schema.StateHostAddress], want)
	persistentDrops(rows[schema.StatePersistentDrops], want)
	if err := a.wires(ctx, rows[schema.StateWire], want); err != nil {
		return err
	}
	if err := a.configured(ctx, now, want); err != nil {
		return err
	}
	return a.write(ctx, now, want, rows[schema.StateAlarm])
}

// write makes the table the target state, whatever other clients did to it, and adds the cleared alarms to the history.
// there contains the actual rows.
func (a *Alarms) write(ctx context.Context, now time.Time, want, there map[string]swss.FieldValues) error {
	var cleared []string
	for _, id := range slices.Sorted(maps.Keys(there)) {
		if want[id] == nil {
			cleared = append(cleared, id)
		}
	}
	if len(cleared) > 0 {
		if err := a.remember(ctx, now, cleared, there); err != nil {
			return err
		}
		if err := a.rows.DelMany(ctx, cleared); err != nil {
			return err
		}
	}
	a.date(now, want, there)
	set, extra := map[string]swss.FieldValues{}, map[string][]string{}
	for id, row := range want {
		row[schema.AlarmCreated] = nanoseconds(a.since[id])
		if maps.Equal(there[id], row) {
			continue
		}
		set[id] = row
		for field := range there[id] {
			if _, ok := row[field]; !ok {
				extra[id] = append(extra[id], field)
			}
		}
	}
	if err := a.rows.HDelMany(ctx, extra); err != nil {
		return err
	}
	return a.rows.SetMany(ctx, set)
}

// remember writes alarms that are cleared to the history, and removes the alarms that were cleared first if there are
// too many. Their order does not depend on the clock, which may have been set.
func (a *Alarms) remember(ctx context.Context, now time.Time, ids []string, rows map[string]swss.FieldValues) error {
	past, err := a.history.Dump(ctx)
	if err != nil {
		return err
	}
	number := func(key string) int {
		n, _ := strconv.Atoi(past[key][schema.AlarmNumber]) // a row without a number is older than all with one
		return n
	}
	last := 0
	for key := range past {
		last = max(last, number(key))
	}
	added := map[string]swss.FieldValues{}
	for _, id := range ids {
		row := maps.Clone(rows[id])
		raised := a.raisedAt(now, id, row)
		last++
		row[schema.AlarmCreated], row[schema.AlarmCleared] = nanoseconds(raised), nanoseconds(now)
		row[schema.AlarmNumber] = strconv.Itoa(last)
		key := row[schema.AlarmCreated] + "-" + id
		added[key], past[key] = row, row
	}
	keys := slices.SortedFunc(maps.Keys(past), func(a, b string) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	})
	if err := a.history.SetMany(ctx, added); err != nil {
		return err
	}
	return a.history.DelMany(ctx, keys[:max(0, len(keys)-schema.AlarmHistory)])
}

func nanoseconds(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

// raisedAt returns the time at which an alarm was raised, never after now. If the clock was set back since then, it is
// by the clock as it is now. row is the alarm's row as another process may have left it, or nil.
func (a *Alarms) raisedAt(now time.Time, id string, row swss.FieldValues) time.Time {
	at, known := a.since[id]
	if !known {
		at = now
		if n, err := strconv.ParseInt(row[schema.AlarmCreated], 10, 64); err == nil {
			at = now.Add(-max(0, now.Sub(time.Unix(0, n))))
		}
	}
	if at.Round(0).After(now.Round(0)) { // Round removes the reading of the monotonic clock
		at = now.Add(-max(0, now.Sub(at)))
	}
	return at
}

// configured adds the alarms of objects that failed or wait. At the start it logs the configuration that is not in
// force.
func (a *Alarms) configured(ctx context.Context, now time.Time, want map[string]swss.FieldValues) error {
	if a.objects == nil {
		return nil
	}
	if err := a.objects.look(ctx, now); err != nil {
		return err
	}
	a.objects.raise(now, want)
	if a.began.IsZero() {
		a.began = now
	}
	all := !slices.ContainsFunc(daemons, func(name string) bool { return !a.ready[name] })
	if a.warn == nil || !all && now.Sub(a.began) < startLimit {
		return nil
	}
	text, err := announce(ctx, a.redis)
	if err != nil {
		return err
	}
	if text != "" {
		a.warn(text)
	}
	a.warn = nil
	return nil
}

// date records when each alarm was first raised. The times survive if the table is emptied meanwhile.
func (a *Alarms) date(now time.Time, want, there map[string]swss.FieldValues) {
	since := make(map[string]time.Time, len(want))
	for id := range want {
		since[id] = a.raisedAt(now, id, there[id])
	}
	a.since = since
}

// ask adds the alarms of a daemon. heard is false if it reports no state. compared is its row of [drift.Table]; without
// a row, it compares nothing.
func (a *Alarms) ask(
	now time.Time, name string, heard bool, state DaemonState, compared swss.FieldValues,
	want map[string]swss.FieldValues,
) {
	if last, asked := a.received[name]; heard || !asked {
		a.received[name] = now
	} else if now.Sub(last) > silentAfter {
		text := fmt.Sprintf("nothing was heard of %s since %s", name, last.UTC().Format(time.RFC3339))
		raise(want, name, schema.AlarmSilent, schema.SeverityCritical, text)
	}
	a.ready[name] = heard && state.State == StateReady
	if !heard {
		return
	}
	if state.State != StateReady {
		raise(want, name, schema.AlarmNotReady, schema.SeverityMajor, state.Reason)
	}
	count, _ := strconv.ParseUint(compared[drift.FieldDrift], 10, 64)
	seen := a.drift[name]
	if count > seen.count || compared[drift.FieldState] == drift.Differs {
		seen.until = now.Add(alarmsStay)
	}
	seen.count = count
	if a.drift[name] = seen; now.Before(seen.until) && count > 0 {
		text := fmt.Sprintf("drift was seen %d times and healed %s times since the process began",
			count, compared[drift.FieldHealed])
		if compared[drift.FieldReason] != "" {
			text += "; now: " + compared[drift.FieldReason]
		}
		raise(want, name, schema.AlarmDrift, schema.SeverityWarning, text)
	}
}

// stranger adds an alarm if a daemon's row is not from the process that has the databases. It does so only at the
// second look in a row, since a daemon that starts claims one database after the other.
func (a *Alarms) stranger(p *swss.Pulse, name string, state DaemonState, want map[string]swss.FieldValues) {
	why := stranger(p, name, state)
	if why != "" && a.odd[name] {
		raise(want, name, schema.AlarmNotOwn, schema.SeverityMajor, why)
	}
	a.odd[name] = why != ""
}

// databases adds alarms about the databases: CONFIG_DB has no configuration, or orchagent reports in its row of the
// switch that the state of the ASIC is unknown.
func (a *Alarms) databases(p *swss.Pulse, row swss.FieldValues, want map[string]swss.FieldValues) {
	if p.DBs[swss.ConfigDB].Rows == 0 {
		raise(want, string(swss.ConfigDB), schema.AlarmEmptied, schema.SeverityMajor,
			"CONFIG_DB is empty: no configuration has been loaded, or it was lost")
	}
	if row[schema.FieldStatus] == statusUnknown {
		raise(want, "switch", schema.AlarmStatusUnknown, schema.SeverityCritical, row[schema.FieldReason])
	}
}

// conflicts adds an alarm for each interface whose address another host uses too. rows is the table of addresses.
func conflicts(rows, want map[string]swss.FieldValues) {
	all := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		row := rows[key]
		if state := row["state"]; state == schema.AddressConflict || state == schema.AddressDuplicate {
			on, prefix, _ := strings.Cut(key, "|")
			addr, _, _ := strings.Cut(prefix, "/")
			text := "a host has address " + addr + " too"
			if row[schema.FieldNeigh] != "" {
				text = "host " + row[schema.FieldNeigh] + " has address " + addr + " too"
			}
			all[on] = append(all[on], text)
		}
	}
	for on, texts := range all {
		raise(want, on, schema.AlarmConflict, schema.SeverityMajor, strings.Join(texts, "; ")+
			": want another address at the host, or at the switch")
	}
}

// persistentDrops adds an alarm for each port whose drops persist. rows is the table of such ports.
func persistentDrops(rows, want map[string]swss.FieldValues) {
	all := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		counter, port, _ := strings.Cut(key, "|")
		all[port] = append(all[port], fmt.Sprintf("counter %s has %s alerts, the last at %s", counter,
			rows[key][schema.FieldAlerts], rows[key][schema.FieldLastAlert]))
	}
	for port, texts := range all {
		raise(want, port, schema.AlarmPersistentDrops, schema.SeverityWarning,
			"persistent packet drops: "+strings.Join(texts, "; "))
	}
}

// wires adds alarms of ports whose configured MTU, or that of their PortChannel, is above that of their live interface.
func (a *Alarms) wires(ctx context.Context, wires, want map[string]swss.FieldValues) error {
	if len(wires) == 0 {
		return nil
	}
	members, err := swss.NewTable(a.redis.DB(swss.ApplDB), schema.AppLAGMember).Keys(ctx)
	if err != nil {
		return err
	}
	lagOf := map[string]string{}
	for _, key := range members {
		lag, port, _ := strings.Cut(key, ":")
		lagOf[port] = lag
	}
	for name, wire := range wires {
		most, err := strconv.Atoi(wire[schema.WireMTU])
		if err != nil { // the interface does not exist
			continue
		}
		mtu, of, err := a.configuredMTU(ctx, name, lagOf[name])
		if err != nil {
			return err
		}
		if mtu > most {
			text := "mtu %d%s is above the %d of its interface %s, which is in force; " +
				"want mtu %d, or a larger one at the interface"
			raise(want, name, schema.AlarmMTU, schema.SeverityWarning,
				fmt.Sprintf(text, mtu, of, most, wire[schema.WireInterface], most))
		}
	}
	return nil
}

// configuredMTU returns the configured MTU of a port or of its PortChannel, and in the latter case a suffix that
// names it. It returns 0 if there is no valid row.
func (a *Alarms) configuredMTU(ctx context.Context, port, lag string) (mtu int, of string, err error) {
	table, key := schema.CfgPort, port
	if lag != "" {
		table, key, of = schema.CfgPortChannel, lag, " of "+lag
	}
	row, found, err := swss.NewTable(a.redis.DB(swss.ConfigDB), table).Get(ctx, key)
	switch {
	case err != nil && !swss.IsMisuse(err):
		return 0, "", err
	case !found:
	case lag != "":
		if c, bad := schema.ParsePortChannel(key, row); bad == nil {
			mtu = int(c.MTU)
		}
	default:
		if p, bad := schema.ParsePort(key, row); bad == nil {
			mtu = int(p.MTU)
		}
	}
	return mtu, of, nil
}

// statusUnknown is the status of rows that were in force when the state of the ASIC was last known.
const statusUnknown = "unknown"

func raise(want map[string]swss.FieldValues, resource, kind, severity, text string) {
	want[alarmID(resource, kind)] = swss.FieldValues{
		schema.AlarmResource: resource, schema.AlarmType: kind, schema.AlarmSeverity: severity, schema.AlarmText: text,
	}
}

func alarmID(resource, kind string) string {
	return resource + "-" + strings.ToLower(strings.ReplaceAll(kind, "_", "-"))
}

// vouched reports in orchagent's place that the state of the ASIC is unknown. It does so when neither orchagent nor
// syncd sends beats any more. syncd could continue without orchagent. An orchagent that hung and continues finds its
// mark removed, and starts again.
func (a *Alarms) vouched(ctx context.Context, now time.Time) error {
	for _, name := range []string{"orchagent", "syncd"} {
		if now.Sub(a.received[name]) <= beatTTL {
			a.unknown = false
			return nil
		}
	}
	if a.unknown {
		return nil
	}
	for _, db := range []swss.DBName{swss.StateDB, swss.ApplDB} {
		if err := a.redis.DB(db).Client().HDel(ctx, swss.KeyMark, orch.Orchagent).Err(); err != nil {
			return err
		}
	}
	why := "nothing is heard of orchagent, nor of syncd"
	_, err := orch.ASICMarker{Redis: a.redis}.MarkUnknown(ctx, unknownText(why), now)
	a.unknown = err == nil
	return err
}
