// Package ports is the manager of ports, PortChannels and VLANs. It copies the configuration in CONFIG_DB, validated
// and with aliases resolved, to APPL_DB, and reports the outcome of every row in STATE_DB.
//
// APPL_DB is a function of the current rows of CONFIG_DB, never of their order. Some rows exclude each other: two ports
// with one lane, or a port in two PortChannels or untagged in two VLANs. Then the one with the smaller name wins. A row
// without its port, PortChannel or VLAN waits for it. There are not many such rows, so all of them are decided at every
// change.
//
// What belongs here: decisions about those tables of CONFIG_DB. SAI calls do not.
package ports

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Manager holds the rows of ports, PortChannels and VLANs. It runs on its daemon's goroutine.
type Manager struct {
	// LACP is set if a LACP daemon runs on this switch. Then PortChannels use LACP, unless they are static or
	// CONFIG_DB's FEATURE|teamd is disabled.
	LACP bool

	out   *forward.Output
	due   bool
	rows  forward.Tables
	lacp  lacp
	wires map[string]uint16 // MTUs of live interfaces, by port
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	ports := owned(schema.CfgPort, "count")
	ports.Others = []string{schema.PortInitDone}
	m := &Manager{
		out: forward.New(d, r,
			ports, teamd(owned(schema.CfgPortChannel)), teamd(owned(schema.CfgPortChannelMbr, schema.FieldAlias)),
			owned(schema.CfgVLAN), owned(schema.CfgVLANMember, schema.FieldAlias), forward.TableOf(schema.CfgBreakout),
		),
		due: true, rows: forward.Tables{}, lacp: lacp{said: map[string]lacpState{}, lags: map[string]swss.FieldValues{}},
		wires: map[string]uint16{},
	}
	m.rows.Follow(d, r.DB(swss.ConfigDB), func() { m.due = true }, schema.CfgPort, schema.CfgPortChannel,
		schema.CfgPortChannelMbr, schema.CfgVLAN, schema.CfgVLANMember, schema.CfgBreakout, schema.CfgFeature)
	forward.Consume(d, r.DB(swss.StateDB), schema.StateLACP, func(key string, fields swss.FieldValues) {
		m.lacp.saw(fields[schema.FieldIncarnation])
		m.due = m.due || !maps.Equal(fields, m.lacp.lags[key])
		if m.lacp.lags[key] = fields; fields == nil {
			delete(m.lacp.lags, key)
		}
	})
	forward.Consume(d, r.DB(swss.StateDB), schema.StateLACPMember, func(key string, fields swss.FieldValues) {
		m.due = m.lacp.says(key, fields) || m.due
	})
	d.Receive(func(l *swss.Listener) swss.Source { // no Consume, because its counts change every second
		return swss.NewSubscriber(l, r.DB(swss.StateDB), schema.StateWire)
	}, m.sawWire)
	m.out.Decide(&m.due, m.decide)
	return m
}

// teamd adds to a table of PortChannels or members the fields of status rows that SONiC's teamd daemons write.
func teamd(t forward.Table) forward.Table {
	t.Says = schema.TeamdFields(t.State)
	return t
}

// owned returns a table in which the manager owns the fields of CONFIG_DB and the given others.
func owned(config string, others ...string) forward.Table {
	t := forward.TableOf(config)
	t.Fields = append(schema.TableOf(config).FieldNames(), others...)
	return t
}

// decide decides on all rows.
func (m *Manager) decide(context.Context) error {
	d := decision{
		out: m.out, requests: map[forward.Row]request{}, speaks: m.speaksLACP(), lacp: &m.lacp,
		vlansOf: map[string][]string{},
	}
	m.lacp.begin()
	d.decidePorts(m.rows[schema.CfgPort])
	d.decideLAGs(m.rows[schema.CfgPortChannel])
	d.decideLAGMembers(m.rows[schema.CfgPortChannelMbr])
	d.decideVLANs(m.rows[schema.CfgVLAN])
	d.decideVLANMembers(m.rows[schema.CfgVLANMember])
	d.decideBreakouts(m.rows[schema.CfgBreakout])
	m.lacp.end()
	d.fitWires(m.wires)
	for appl, r := range d.requests {
		m.out.Forward(appl, r.fields, r.state)
	}
	return nil
}

// decision is one pass over all rows, with the rows accepted so far.
type decision struct {
	out      *forward.Output
	requests map[forward.Row]request // by the row in APPL_DB
	speaks   bool                    // whether LACP is used
	lacp     *lacp
	ports    map[string]schema.Port
	order    []string          // names of ports
	aliases  map[string]string // port by alias
	lags     map[string]schema.PortChannel
	master   map[string]string // PortChannel by member
	vlans    map[string]bool
	vlansOf  map[string][]string // VLANs by member
}

// A request is an accepted row of APPL_DB, with the row of STATE_DB for its outcome.
type request struct {
	fields map[string]string
	state  forward.Row
}

// accept forwards a row, or reports the reason for not doing so. err is the error in the row. missing lists the things
// that the row waits for.
func (d *decision) accept(appl, state forward.Row, fields func() map[string]string, err error, missing string) bool {
	switch {
	case err != nil:
		d.out.Report(state, schema.StatusFailed, schema.Reason(err))
	case missing != "":
		d.out.Report(state, schema.StatusPending, missing)
	default:
		d.requests[appl] = request{fields(), state}
		return true
	}
	return false
}

// refuse reports that a row is not applied, because another row precedes it.
func (d *decision) refuse(state forward.Row, reason string, args ...any) {
	d.out.Report(state, schema.StatusFailed, fmt.Sprintf(reason, args...))
}

func (d *decision) decidePorts(ports forward.Rows) {
	d.ports, d.aliases = map[string]schema.Port{}, map[string]string{}
	owner := map[uint32]string{} // port by lane
	for _, key := range ports.Sorted() {
		appl, state := forward.Row{Table: schema.AppPort, Key: key}, forward.Row{Table: schema.StatePort, Key: key}
		p, err := schema.ParsePort(key, ports[key])
		i := slices.IndexFunc(p.Lanes, func(l uint32) bool { return owner[l] != "" })
		if err == nil && i >= 0 {
			d.refuse(state, "lane %d is already used by port %q", p.Lanes[i], owner[p.Lanes[i]])
			continue
		}
		if !d.accept(appl, state, p.Fields, err, "") {
			continue
		}
		d.ports[key] = p
		d.order = append(d.order, key)
		for _, l := range p.Lanes {
			owner[l] = key
		}
		if _, taken := d.aliases[p.Alias]; p.Alias != "" && !taken {
			d.aliases[p.Alias] = key
		}
	}
	done := forward.Row{Table: schema.AppPort, Key: schema.PortConfigDone}
	d.out.Keep(done, swss.FieldValues{"count": strconv.Itoa(len(d.ports))})
}

// port returns the name of a port that is given as name or alias.
func (d *decision) port(name string) (string, bool) {
	if _, ok := d.ports[name]; ok {
		return name, true
	}
	if p, ok := d.aliases[name]; ok {
		return p, true
	}
	return name, false
}

func (d *decision) decideLAGs(lags forward.Rows) {
	d.lags = map[string]schema.PortChannel{}
	for _, key := range lags.Sorted() {
		appl, state := forward.Row{Table: schema.AppLAG, Key: key}, forward.Row{Table: schema.StateLAG, Key: key}
		c, err := schema.ParsePortChannel(key, lags[key])
		fields := func() map[string]string {
			f := c.Fields()
			if !c.Static && d.speaks {
				f[schema.FieldProtocol] = schema.ProtocolLACP
				d.incarnate(f, appl, c)
			}
			return f
		}
		taken := d.accept(appl, state, fields, err, "")
		c.Static = c.Static || !d.speaks
		d.describeLAG(state, c, taken)
		if taken {
			d.lags[key] = c
		}
	}
}

// decideLAGMembers decides on members. As in SONiC's teammgrd, a member gets the MTU of its PortChannel. As in SONiC's
// teamsyncd, its row states whether it carries traffic.
func (d *decision) decideLAGMembers(members forward.Rows) {
	d.master = map[string]string{}
	for _, key := range members.Sorted() {
		state := forward.Row{Table: schema.StateLAGMember, Key: key}
		m, err := schema.ParsePortChannelMember(key, members[key])
		port, ok := d.port(m.Port)
		lag, found := d.lags[m.PortChannel]
		appl := forward.Row{Table: schema.AppLAGMember, Key: m.PortChannel + ":" + port}
		if port != "" { // otherwise the row names no member
			d.describeMember(state, appl, lag, false)
		}
		missing := ""
		switch {
		case err != nil:
		case !found:
			missing = fmt.Sprintf("PortChannel %q does not exist", m.PortChannel)
		case !ok:
			missing = fmt.Sprintf("port %q does not exist", m.Port)
		case port != m.Port && members[m.PortChannel+"|"+port] != nil:
			d.refuse(state, "%q is port %q, which has a row of its own", m.Port, port)
			continue
		case d.master[port] != "":
			d.refuse(state, "port %q is already a member of PortChannel %q", port, d.master[port])
			continue
		}
		fields := func() map[string]string {
			f := aliased(m.Fields(), port, m.Port)
			d.traffic(f, appl, lag, port)
			return f
		}
		if !d.accept(appl, state, fields, err, missing) {
			continue
		}
		d.describeMember(state, appl, lag, true)
		d.master[port] = m.PortChannel
		d.requests[forward.Row{Table: schema.AppPort, Key: port}].fields[fieldMTU] = strconv.Itoa(int(lag.MTU))
	}
}

func (d *decision) decideVLANs(vlans forward.Rows) {
	d.vlans = map[string]bool{}
	for _, key := range vlans.Sorted() {
		appl, state := forward.Row{Table: schema.AppVLAN, Key: key}, forward.Row{Table: schema.StateVLAN, Key: key}
		v, err := schema.ParseVLAN(key, vlans[key])
		d.vlans[key] = d.accept(appl, state, v.Fields, err, "")
	}
}

func (d *decision) decideVLANMembers(members forward.Rows) {
	untagged := map[string]string{} // VLAN by port
	for _, key := range members.Sorted() {
		state := forward.Row{Table: schema.StateVLANMember, Key: key}
		m, err := schema.ParseVLANMember(key, members[key])
		port, ok := d.port(m.Port)
		missing := ""
		switch {
		case err != nil:
		case !d.vlans[m.VLAN]:
			missing = fmt.Sprintf("VLAN %q does not exist", m.VLAN)
		case !ok && d.lags[m.Port].Name == "":
			missing = fmt.Sprintf("port %q does not exist", m.Port)
		case d.master[port] != "":
			missing = fmt.Sprintf("port %q is a member of PortChannel %q", port, d.master[port])
		case port != m.Port && members[m.VLAN+"|"+port] != nil:
			d.refuse(state, "%q is port %q, which has a row of its own", m.Port, port)
			continue
		case m.Tagging == schema.Untagged && untagged[port] != "":
			d.refuse(state, "port %q is already untagged in VLAN %q", port, untagged[port])
			continue
		}
		appl := forward.Row{Table: schema.AppVLANMember, Key: m.VLAN + ":" + port}
		fields := func() map[string]string { return aliased(m.Fields(), port, m.Port) }
		if !d.accept(appl, state, fields, err, missing) {
			continue
		}
		d.vlansOf[port] = append(d.vlansOf[port], m.VLAN)
		if m.Tagging == schema.Untagged {
			untagged[port] = m.VLAN
		}
	}
}

// aliased adds the port of a member as written in CONFIG_DB, if that is not the port's name. orchagent reports on the
// row under the written name.
func aliased(fields map[string]string, port, written string) map[string]string {
	if port != written {
		fields[schema.FieldAlias] = written
	}
	return fields
}
