package lacpd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tamtam/host/lacp"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// load reads what the databases have: what an earlier one has left, or what is left where a database was emptied.
func (s *Speaker) load(ctx context.Context) error {
	if s.loaded {
		return nil
	}
	for _, t := range written {
		rows, err := swss.NewTable(s.redis.DB(t.db), t.name).Dump(ctx)
		if err != nil {
			return err
		}
		first := s.told[t.name] == nil
		s.told[t.name] = rows
		if t.name != schema.StateLACPMember || !first {
			continue
		}
		s.before = map[string]before{}
		for key, row := range rows {
			if b, ok := beforeOf(row); ok {
				s.before[key] = before{b, row[schema.FieldIncarnation]}
			}
		}
		s.configured = false
	}
	s.loaded, s.unsure = true, true
	return nil
}

var written = []struct {
	db   swss.DBName
	name string
}{{swss.StateDB, schema.StateLACP}, {swss.StateDB, schema.StateLACPMember}, {swss.CountersDB, schema.CountersLACP}}

// write says in STATE_DB how each PortChannel and member is, as differences.
func (s *Speaker) write(ctx context.Context) error {
	if !s.unsure {
		return nil
	}
	members, lags := map[string]swss.FieldValues{}, map[string]swss.FieldValues{}
	links := map[string]int{}
	partner := map[string]string{}
	for _, p := range s.agent.Statuses(s.now()) {
		key := p.Aggregate + "|" + p.Name
		members[key] = memberRow(p)
		if p.Mux == lacp.MuxDistributing {
			links[p.Aggregate]++
		}
		if p.Selected && !p.Fallback {
			partner[p.Aggregate] = p.Partner.System.String()
		}
		if p.Mux != s.was[key] {
			s.log.Info("LACP", "member", key, "mux", p.Mux.String(), "was", s.was[key].String(), "because", p.Reason)
			s.was[key] = p.Mux
		}
	}
	for name, fields := range s.rows[schema.AppLAG] {
		if row, err := schema.ParsePortChannel(name, fields); err == nil && s.negotiates(name) {
			lags[name] = s.lagRow(row, links[name], partner[name])
		}
	}
	if err := s.differences(ctx, swss.StateDB, schema.StateLACPMember, members); err != nil {
		return err
	}
	if err := s.differences(ctx, swss.StateDB, schema.StateLACP, lags); err != nil {
		return err
	}
	s.unsure = false
	return nil
}

func (s *Speaker) differences(
	ctx context.Context, db swss.DBName, table string, want map[string]swss.FieldValues,
) error {
	if err := forward.Differences(ctx, swss.NewTable(s.redis.DB(db), table), s.told[table], want); err != nil {
		return err
	}
	s.told[table] = want
	return nil
}

// found takes how a row of STATE_DB is: somebody else may have written there, by mistake or not, and that is put right.
// Fields that are none of ours do not count.
func (s *Speaker) found(table, key string, fields swss.FieldValues) {
	told := s.told[table]
	same := (told[key] == nil) == (fields == nil)
	for name, value := range told[key] {
		same = same && fields[name] == value
	}
	if !s.loaded || same {
		return
	}
	if told[key] = fields; fields == nil {
		delete(told, key)
	}
	s.unsure = true
}

// tell brings what changes with time alone up to date: the counters, and who churns.
func (s *Speaker) tell(ctx context.Context, _ time.Time) error {
	if !s.loaded || !s.configured {
		return nil
	}
	s.unsure = true
	if err := s.write(ctx); err != nil {
		return err
	}
	counts := map[string]swss.FieldValues{}
	for _, p := range s.agent.Statuses(s.now()) {
		row := countRow(p.Counts)
		row["drop-cpu-port"] = strconv.FormatUint(s.lost[p.Name], 10)
		counts[p.Aggregate+":"+p.Name] = row
	}
	return s.differences(ctx, swss.CountersDB, schema.CountersLACP, counts)
}

// lagRow is the row of a PortChannel.
func (s *Speaker) lagRow(row schema.PortChannel, links int, partner string) swss.FieldValues {
	mac := schema.MAC(s.mac)
	if !row.SystemMAC.IsZero() {
		mac = row.SystemMAC
	}
	f := swss.FieldValues{
		"runner.active": "true", "runner.fast_rate": strconv.FormatBool(row.FastRate),
		"runner.fallback":             strconv.FormatBool(row.Fallback),
		"team_device.ifinfo.dev_addr": mac.String(),
		"key":                         strconv.Itoa(int(row.LACPKey())),
		"partner":                     partner,
		"links":                       strconv.Itoa(links),
		schema.FieldIncarnation:       s.rows[schema.AppLAG][row.Name][schema.FieldIncarnation],
		schema.FieldReason:            "",
	}
	if links < int(row.MinLinks) {
		f[schema.FieldReason] = fmt.Sprintf("%d of its members carry traffic, want %d", links, row.MinLinks)
	}
	return f
}

// memberRow is the row of a member: fields of SONiC's tlm_teamd, and what that has no field for.
func memberRow(p lacp.Status) swss.FieldValues {
	f := swss.FieldValues{
		schema.FieldMux: p.Mux.String(), schema.FieldReason: p.Reason, schema.FieldIncarnation: p.Incarnation,
		"link.up":      strconv.FormatBool(p.Up),
		"runner.state": p.Receiver.String(), "runner.selected": strconv.FormatBool(p.Selected),
		"runner.aggregator.selected": strconv.FormatBool(p.Mux == lacp.MuxDistributing),
		"fallback":                   strconv.FormatBool(p.Fallback),
	}
	var churn []string
	if p.ActorChurned {
		churn = append(churn, "actor")
	}
	if p.PartnerChurned {
		churn = append(churn, "partner")
	}
	f["churned"] = strings.Join(churn, ",")
	for who, i := range map[string]lacp.Info{"actor": p.Actor, "partner": p.Partner} {
		at := "runner." + who + "_lacpdu_info."
		for name, n := range map[string]int{
			"system_priority": int(i.System.Priority), "key": int(i.Key), "port": int(i.Port),
			"port_priority": int(i.PortPriority), "state": int(i.State),
		} {
			f[at+name] = strconv.Itoa(n)
		}
		f[at+"system"] = i.System.String()
	}
	return f
}

// A before is how an earlier agent has left a member, and of which incarnation.
type before struct {
	is          *lacp.Before
	incarnation string
}

// of is what counts for a member of that incarnation: nil where it is another, with which nothing was negotiated.
func (b before) of(incarnation string) *lacp.Before {
	if b.incarnation != incarnation {
		return nil
	}
	return b.is
}

// beforeOf reads what memberRow has written of a member that may go on.
func beforeOf(row swss.FieldValues) (*lacp.Before, bool) {
	mux, ok := lacp.MuxOf(row[schema.FieldMux])
	const at = "runner.partner_lacpdu_info."
	mac, valid := schema.ParseMAC(row[at+"system"])
	if !ok || !valid || row["fallback"] == "true" || row["runner.state"] != lacp.ReceiverCurrent.String() {
		return nil, false
	}
	number := func(name string, bits int) uint64 {
		n, err := strconv.ParseUint(row[at+name], 10, bits)
		ok = ok && err == nil
		return n
	}
	b := &lacp.Before{Mux: mux, Partner: lacp.Info{
		System: lacp.System{Priority: uint16(number("system_priority", 16)), MAC: mac},
		Key:    uint16(number("key", 16)), PortPriority: uint16(number("port_priority", 16)),
		Port: uint16(number("port", 16)), State: lacp.State(number("state", 8)),
	}}
	return b, ok
}

// countRow is what a member has counted.
func countRow(c lacp.Counts) swss.FieldValues {
	f := swss.FieldValues{}
	for name, n := range map[string]uint64{
		"lacpdu-sent": c.Sent, "lacpdu-received": c.Received, "marker-received": c.Markers,
		"marker-response-sent": c.Answered, "marker-response-received": c.Answers,
		"expired": c.Expired, "defaulted": c.Defaulted, "changed": c.Changed,
	} {
		f[name] = strconv.FormatUint(n, 10)
	}
	for _, why := range lacp.Reasons() {
		f["discarded-"+string(why)] = strconv.FormatUint(c.Discarded[why], 10)
	}
	return f
}
