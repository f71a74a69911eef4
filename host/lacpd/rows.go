package lacpd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tamtam/host/lacp"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// load reads the state in which an earlier agent left the members.
func (s *Speaker) load(ctx context.Context) error {
	if s.loaded {
		return nil
	}
	rows, err := s.written[schema.StateLACPMember].Read(ctx)
	if err != nil {
		return err
	}
	s.before = map[string]before{}
	for key, row := range rows {
		if b, ok := beforeOf(row); ok {
			s.before[key] = before{b, row[schema.FieldIncarnation]}
		}
	}
	s.configured, s.loaded, s.unsure = false, true, true
	return nil
}

// write writes the state of each PortChannel and member to STATE_DB, as differences.
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
	if err := s.written[schema.StateLACPMember].Write(ctx, members); err != nil {
		return err
	}
	if err := s.written[schema.StateLACP].Write(ctx, lags); err != nil {
		return err
	}
	s.unsure = false
	return nil
}

// report updates what changes only with time: the counters, and churn.
func (s *Speaker) report(ctx context.Context, _ time.Time) error {
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
	return s.written[schema.CountersLACP].Write(ctx, counts)
}

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

// memberRow returns the row of a member: fields of SONiC's tlm_teamd, and additional ones.
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

// A before is the state in which an earlier agent left a member, with its incarnation.
type before struct {
	is          *lacp.Before
	incarnation string
}

// of returns the state if it is for that incarnation of the member. Otherwise it returns nil, since nothing was
// negotiated for that incarnation.
func (b before) of(incarnation string) *lacp.Before {
	if b.incarnation != incarnation {
		return nil
	}
	return b.is
}

// beforeOf parses the row of a member, which memberRow has written. It returns false if the member cannot continue from
// it.
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
