package ports

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// writeOper sets oper_status of the row KEYS[1] to ARGV[1]. If the row does not exist, it does nothing, since the
// daemon may be handling the row's deletion. If the status differs from the previous one, or ARGV[3] is not empty,
// the time of the change is ARGV[2]. If ARGV[2] is empty or the previous status is unknown, the time is removed. A row
// without a status gets the time ARGV[6], since which it is so; empty means that this is not known.
// ARGV[4] is the time in SONiC's form. If it is not empty, the row also has SONiC's count of changes, and the times
// of the last ones. ARGV[5] is the speed of a LAG; empty means none.
const writeOper = `
if redis.call('EXISTS', KEYS[1]) == 0 then
  return
end
if ARGV[5] ~= '' and redis.call('HGET', KEYS[1], 'active_speed') ~= ARGV[5] then
  redis.call('HSET', KEYS[1], 'active_speed', ARGV[5])
end
local was = redis.call('HGET', KEYS[1], 'oper_status')
if was == ARGV[1] and ARGV[3] == '' then
  return
end
if ARGV[2] ~= '' and (was == 'up' or was == 'down') then
  redis.call('HSET', KEYS[1], 'oper_status', ARGV[1], 'last_change', ARGV[2])
  if ARGV[4] ~= '' then
    redis.call('HSET', KEYS[1], 'last_' .. ARGV[1] .. '_time', ARGV[4])
    local n = 1
    if was == ARGV[1] then
      redis.call('HSET', KEYS[1], 'last_' .. (was == 'up' and 'down' or 'up') .. '_time', ARGV[4])
      n = 2
    end
    redis.call('HINCRBY', KEYS[1], 'flap_count', n)
  end
elseif not was and ARGV[6] ~= '' then
  redis.call('HSET', KEYS[1], 'oper_status', ARGV[1], 'last_change', ARGV[6])
else
  redis.call('HSET', KEYS[1], 'oper_status', ARGV[1])
  redis.call('HDEL', KEYS[1], 'last_change')
end`

// lastTime contains SONiC's fields with the times of the last changes of a port, by the state that it changed to.
var lastTime = map[string]string{schema.OperUp: schema.FieldLastUpTime, schema.OperDown: schema.FieldLastDownTime}

// sonicTime is the format of these times, in UTC.
const sonicTime = "Mon Jan 02 15:04:05 2006"

// operNatively does the same as writeOper for the embedded server.
func operNatively(r *swss.ScriptRun) (reply string, ok bool) {
	if len(r.Keys) != 1 || len(r.Args) != 6 {
		return "", false
	}
	key, word, at, turned, flap := r.Keys[0], r.Args[0], r.Args[1], r.Args[2], r.Args[3]
	bulk := func(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
	if r.Do("EXISTS", key) != ":1\r\n" {
		return "", true
	}
	if speed := r.Args[4]; speed != "" && r.Do("HGET", key, schema.FieldActiveSpeed) != bulk(speed) {
		r.Do("HSET", key, schema.FieldActiveSpeed, speed)
	}
	was := ""
	if r.Do("HEXISTS", key, schema.FieldOperStatus) == ":1\r\n" {
		was = r.Do("HGET", key, schema.FieldOperStatus)
	}
	switch {
	case was == bulk(word) && turned == "":
	case at != "" && (was == bulk(schema.OperUp) || was == bulk(schema.OperDown)):
		r.Do("HSET", key, schema.FieldOperStatus, word, schema.FieldLastChange, at)
		if flap == "" {
			break
		}
		r.Do("HSET", key, lastTime[word], flap)
		n := "1"
		if was == bulk(word) {
			other := map[string]string{schema.OperUp: schema.OperDown, schema.OperDown: schema.OperUp}[word]
			r.Do("HSET", key, lastTime[other], flap)
			n = "2"
		}
		r.Do("HINCRBY", key, schema.FieldFlapCount, n)
	case was == "" && r.Args[5] != "":
		r.Do("HSET", key, schema.FieldOperStatus, word, schema.FieldLastChange, r.Args[5])
	default:
		r.Do("HSET", key, schema.FieldOperStatus, word)
		r.Do("HDEL", key, schema.FieldLastChange)
	}
	return "", true
}

// An operWriter maintains oper_status of ports, LAGs and their members in APPL_DB and STATE_DB, and of VLANs in
// APPL_DB, once the view of the ASIC is complete. Before that, a LAG whose members are yet to be created is not down.
// In APPL_DB it also writes the time of the change, which is unknown for changes before the view was complete.
type operWriter struct {
	appl, state *swss.DB
	ports       *swss.Table // of APPL_DB
	script      swss.Script
	now         func() time.Time
	touched     map[string]touched // ports, LAGs and VLANs to be written
	seen        map[string]seen    // ports, LAGs and VLANs as last written
	initDone    bool               // whether PortInitDone was written
}

// seen is the state of a port, LAG or VLAN.
type seen struct {
	word  string
	since time.Time // when it became so, or was seen first; zero if this is not known
}

// touched records that a port, LAG or VLAN may have changed, and the time.
type touched struct {
	at     time.Time
	turned bool // true if the state has certainly changed, even if it has returned to its previous value
}

func (w *operWriter) open(ctx context.Context, r *swss.Redis, now func() time.Time) error {
	w.now = now
	w.appl, w.state = r.DB(swss.ApplDB), r.DB(swss.StateDB)
	w.ports = swss.NewTable(w.appl, schema.AppPort)
	w.script = swss.NewScript(writeOper).Natively(operNatively)
	w.touched, w.seen = map[string]touched{}, map[string]seen{}
	return w.ports.Del(ctx, schema.PortInitDone)
}

// operAdds reports whether this orch writes a field of a port's, LAG's or VLAN's row.
func operAdds(key, field string) bool {
	switch field {
	case schema.FieldOperStatus, schema.FieldLastChange, schema.FieldFlapCount, schema.FieldLastUpTime,
		schema.FieldLastDownTime, schema.FieldActiveSpeed:
		return true
	}
	return key == schema.PortInitDone
}

// Report writes the state of all ports, LAGs, LAG members and VLANs that have rows again.
func (o *Orch) Report(ctx context.Context) error {
	vlans := o.asic.vlansUp()
	for k := range o.ledger.Rows {
		if marker(k.Key) || k.Table == schema.AppVLANMember {
			continue
		}
		appl, state, word, there := o.operOf(k.Key, vlans)
		if err := o.oper.writeAppl(ctx, appl, k.Key, word, o.asic.speedOf(k.Key), touched{}); err != nil {
			return err
		}
		if err := o.oper.writeState(ctx, state, k.Key, word, there); err != nil {
			return err
		}
	}
	return nil
}

// operOf returns the tables of a port, LAG, LAG member or VLAN, its state, and whether it is in the ASIC. If it is not,
// it is down. A member is up while it does what its row requests. A VLAN is up while its row requests it and one of its
// members is up; vlans holds those. The states of members and VLANs are written only to APPL_DB.
func (o *Orch) operOf(name string, vlans map[string]bool) (appl, state, word string, there bool) {
	if group, port, ok := strings.Cut(name, ":"); ok {
		is := o.asic.lagMembers[member{group, port}]
		if is == nil {
			return schema.AppLAGMember, "", schema.OperDown, false
		}
		return schema.AppLAGMember, "", is.traffic.String(), true
	}
	if _, is := schema.VLANNumber(name); is {
		row, err := schema.ParseVLAN(name, o.ledger.Rows[orch.Row(schema.AppVLAN, name)])
		_, there = o.asic.vlans[name]
		if there && err == nil && row.AdminUp && vlans[name] {
			return schema.AppVLAN, "", schema.OperUp, true
		}
		return schema.AppVLAN, "", schema.OperDown, there
	}
	appl, state, word = schema.AppPort, schema.StatePort, schema.OperDown
	if schema.IsPortChannelName(name) {
		appl, state = schema.AppLAG, schema.StateLAG
	}
	p, lag := o.asic.ports[name], o.asic.lags[name]
	if p != nil && p.oper == sai.PortOperStatusUp || lag != nil && o.asic.lagUp(name) {
		word = schema.OperUp
	}
	return appl, state, word, p != nil || lag != nil
}

func (w *operWriter) touch(name string) {
	if !w.touched[name].turned {
		w.touched[name] = touched{at: w.now()}
	}
}

// touchVLANs also touches the VLANs of the ports and LAGs touched, and reports whether any VLAN is touched.
func (w *operWriter) touchVLANs(members map[member]*vlanMember) (any bool) {
	for m := range members {
		if when, is := w.touched[m.port]; is && w.touched[m.group].at.IsZero() {
			w.touched[m.group] = touched{at: when.at}
		}
	}
	for name := range w.touched {
		_, vlan := schema.VLANNumber(name)
		any = any || vlan
	}
	return any
}

// turn records that a port was seen to change.
func (w *operWriter) turn(name string) { w.touched[name] = touched{w.now(), true} }

// operChanged updates a port's host interface, and marks the port and its LAG for writing.
func (o *Orch) operChanged(ctx context.Context, name string) {
	p := o.asic.ports[name]
	up := sai.Bool(p.oper == sai.PortOperStatusUp)
	if p.hostif != 0 {
		if err := o.asic.set(ctx, sai.ObjectTypeHostif, p.hostif, sai.HostifAttrOperStatus, up); err != nil {
			o.asic.log.Warn("the host interface does not show the port's state", "port", name, "err", err)
		}
	}
	o.oper.touch(name)
	if p.lag != "" {
		o.oper.touch(p.lag)
	}
	o.asic.log.Info("port state", "port", name, "up", bool(up))
}

// waits reports whether something has not been written yet.
func (w *operWriter) waits(o *Orch) bool {
	return o.applied && (len(w.touched) > 0 || !w.initDone && o.ready)
}

// flush writes the changes, and PortInitDone once. A port or LAG that is not in the ASIC is down, as long as its rows
// exist.
func (w *operWriter) flush(ctx context.Context, o *Orch) error {
	if !o.applied {
		return nil
	}
	var vlans map[string]bool
	if len(w.touched) > 0 && w.touchVLANs(o.asic.vlanMembers) {
		vlans = o.asic.vlansUp()
	}
	for _, name := range slices.SortedFunc(maps.Keys(w.touched), schema.CompareNames) {
		appl, state, word, there := o.operOf(name, vlans)
		when := w.touched[name]
		if !w.initDone {
			when = touched{}
		}
		if err := w.writeAppl(ctx, appl, name, word, o.asic.speedOf(name), when); err != nil {
			return err
		}
		if err := w.writeState(ctx, state, name, word, there); err != nil {
			return err
		}
		delete(w.touched, name)
		if !there {
			delete(w.seen, name)
		}
	}
	if !w.initDone && o.ready {
		if err := w.ports.Set(ctx, schema.PortInitDone, swss.FieldValues{"lanes": "0"}); err != nil {
			return err
		}
		w.initDone = true
	}
	return nil
}

// speedOf returns the sum of the speeds of the members of a LAG that send, in Mbit/s, or "" if the name is no LAG's.
func (a *asic) speedOf(name string) string {
	if !schema.IsPortChannelName(name) {
		return ""
	}
	sum := uint64(0)
	for m, is := range a.lagMembers {
		if p := a.ports[m.port]; m.group == name && is.distributes && p.oper == sai.PortOperStatusUp {
			sum += uint64(p.spec.speed)
		}
	}
	return strconv.FormatUint(sum, 10)
}

// writeAppl writes the state and the speed, and the time of the change if the state has changed.
func (w *operWriter) writeAppl(ctx context.Context, table, name, word, speed string, when touched) error {
	at, turned, flap, since := "", "", "", ""
	if table != schema.AppLAGMember {
		at, since = nanoseconds(when.at), nanoseconds(w.see(name, word, when))
	}
	if at != "" {
		if when.turned {
			turned = "turned"
		}
		if table == schema.AppPort {
			flap = when.at.UTC().Format(sonicTime)
		}
	}
	_, err := w.appl.Run(ctx, w.script, []string{table + w.appl.Separator() + name}, word, at, turned, flap, speed,
		since)
	return err
}

// see records the state of a port, LAG or VLAN, and returns since when it is so.
func (w *operWriter) see(name, word string, when touched) time.Time {
	was, is := w.seen[name]
	now := seen{word, when.at}
	switch {
	case !is && now.since.IsZero():
		now.since = w.now()
	case is && was.word == word && !when.turned:
		now = was
	}
	w.seen[name] = now
	return now.since
}

// nanoseconds returns a time in ns since 1970, or "" if it is zero.
func nanoseconds(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.UnixNano(), 10)
}

// writeState writes the state of a port or LAG in the ASIC. If it is not there, the state is written only to a row that
// contains the reason.
func (w *operWriter) writeState(ctx context.Context, table, name, word string, there bool) error {
	if table == "" {
		return nil
	}
	if there {
		row := swss.FieldValues{schema.FieldOperStatus: word}
		if table == schema.StatePort {
			row[schema.FieldNetdevOperStatus] = word
		}
		return swss.NewTable(w.state, table).Set(ctx, name, row)
	}
	keys := []string{table + w.state.Separator() + name}
	if _, err := w.state.Run(ctx, w.script, keys, word, "", "", "", "", ""); err != nil {
		return err
	}
	return swss.NewTable(w.state, table).HDel(ctx, name, schema.FieldNetdevOperStatus)
}
