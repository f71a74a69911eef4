package ports

import (
	"maps"
	"strconv"
	"strings"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// lacp holds LACP's reports on members, and the incarnation that each report refers to.
//
// The rows of LACP outlive their writer. They remain valid while no LACP daemon runs, so that a restart changes
// nothing. They are invalid for a member that was meanwhile deleted and recreated, or has a new key, because no
// negotiation has used that key. So tammgrd gives each member an incarnation, a text that no earlier row of the member
// can have had. It keeps the text while the member is in APPL_DB with the same key and system address. A row of LACP is
// valid if it repeats the text. The text is only in the member's row in APPL_DB, so a daemon may be killed between any
// two writes.
type lacp struct {
	said map[string]lacpState        // by "PortChannel1|Ethernet0"
	lags map[string]swss.FieldValues // rows of PortChannels
	last uint64                      // the largest number that was seen or assigned

	given map[forward.Row]string // incarnations of the last pass; nil means that the incarnations in APPL_DB apply
	next  map[forward.Row]string // incarnations of the current pass
}

// lacpState is the content of a row of LACP: what tammgrd follows, and all fields.
type lacpState struct {
	mux, incarnation string
	fields           swss.FieldValues
}

// says records LACP's report on a member. Nil fields mean that the report was deleted. It returns true if the report
// has changed.
func (l *lacp) says(key string, fields swss.FieldValues) (news bool) {
	is := lacpState{fields[schema.FieldMux], fields[schema.FieldIncarnation], fields}
	news = !maps.Equal(fields, l.said[key].fields)
	l.saw(is.incarnation)
	if l.said[key] = is; fields == nil {
		delete(l.said, key)
	}
	return news
}

// saw records that the number of an incarnation is in use.
func (l *lacp) saw(incarnation string) {
	n, _, _ := numberOf(incarnation)
	l.last = max(l.last, n)
}

// numberOf splits an incarnation into its number and its content. The number has 63 bits, so there is always a larger
// one.
func numberOf(incarnation string) (n uint64, about string, ok bool) {
	number, about, ok := strings.Cut(incarnation, "/")
	n, err := strconv.ParseUint(number, 10, 63)
	if !ok || err != nil {
		return 0, "", false
	}
	return n, about, true
}

func (l *lacp) begin() { l.next = map[forward.Row]string{} }
func (l *lacp) end()   { l.given, l.next = l.next, nil }

// incarnation returns the incarnation of a row of APPL_DB. It stays the same while the content of the row is the same.
// Otherwise a new incarnation is assigned.
func (l *lacp) incarnation(appl forward.Row, lag schema.PortChannel, written swss.FieldValues) string {
	about := strconv.Itoa(int(lag.LACPKey()))
	if !lag.SystemMAC.IsZero() {
		about += "/" + lag.SystemMAC.String()
	}
	is := l.given[appl]
	if l.given == nil {
		is = written[schema.FieldIncarnation]
	}
	n, was, ok := numberOf(is)
	l.last = max(l.last, n)
	if !ok || was != about {
		l.last++
		is = strconv.FormatUint(l.last, 10) + "/" + about
	}
	l.next[appl] = is
	return is
}

// speaksLACP reports whether non-static PortChannels run LACP. In SONiC this depends on the feature teamd.
func (m *Manager) speaksLACP() bool {
	state := strings.ToLower(m.rows[schema.CfgFeature][schema.FeatureTeamd]["state"])
	return m.LACP && state != "disabled" && state != "always_disabled"
}

// incarnate writes the current incarnation into a row. While the PortChannel is set down, it writes no incarnation.
func (d *decision) incarnate(fields map[string]string, appl forward.Row, lag schema.PortChannel) {
	if lag.AdminUp {
		fields[schema.FieldIncarnation] = d.lacp.incarnation(appl, lag, d.out.Written(appl))
	}
}

// traffic sets whether a member carries traffic. A member carries none while its PortChannel is set down. With LACP, it
// carries traffic only if LACP reports so for this incarnation.
func (d *decision) traffic(fields map[string]string, appl forward.Row, lag schema.PortChannel, port string) {
	if lag.AdminUp && lag.Static {
		return
	}
	fields["status"] = schema.MemberDisabled
	if lag.Static || !lag.AdminUp {
		return
	}
	d.incarnate(fields, appl, lag)
	is := d.lacp.said[lag.Name+"|"+port]
	switch {
	case is.incarnation != fields[schema.FieldIncarnation]:
	case is.mux == schema.MuxDistributing:
		fields["status"] = schema.MemberEnabled
	case is.mux == schema.MuxCollecting:
		fields[schema.FieldCollecting] = "true"
	}
}

// describeLAG describes a PortChannel in its status row as SONiC's teamd does. One that is static, or not in force,
// runs no LACP, so it is not active.
func (d *decision) describeLAG(state forward.Row, lag schema.PortChannel, inForce bool) {
	says := swss.FieldValues{}
	for _, f := range schema.TeamdFields(state.Table) {
		says[f] = d.lacp.lags[state.Key][f]
	}
	says["runner.active"] = strconv.FormatBool(inForce && !lag.Static)
	says["runner.fast_rate"] = strconv.FormatBool(lag.FastRate)
	says["runner.fallback"] = strconv.FormatBool(lag.Fallback)
	d.out.Describe(state, says)
}

// describeMember describes a member in its status row as SONiC's teamd does. LACP's report counts only if it is about
// this incarnation of the member. A member of a static PortChannel is selected while that is set up.
func (d *decision) describeMember(state, appl forward.Row, lag schema.PortChannel, inForce bool) {
	says := swss.FieldValues{}
	selected := inForce && lag.Static && lag.AdminUp
	is := d.lacp.said[strings.Replace(appl.Key, ":", "|", 1)]
	if given := d.lacp.next[appl]; inForce && given != "" && is.incarnation == given {
		for _, f := range schema.TeamdFields(state.Table) {
			says[f] = is.fields[f]
		}
		selected = is.mux == schema.MuxDistributing
	}
	says["runner.aggregator.selected"] = strconv.FormatBool(selected)
	d.out.Describe(state, says)
}
