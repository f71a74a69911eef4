package ports

import (
	"strconv"
	"strings"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// lacp is what LACP says of members, and of which incarnation of each.
//
// Its rows outlive whoever has written them. While nobody speaks LACP they go on to count, so that no restart changes
// anything; but not for a member that was taken away and made anew meanwhile, or is to speak with another key: with
// that nobody has negotiated. So tammgrd gives each member a text that none of its rows can have had, and keeps it for
// as long as what it is about is in APPL_DB; a row counts that repeats it. The text stands in the row of APPL_DB that
// it is about and in no other, so that it does not matter between which two writes a daemon is killed.
type lacp struct {
	said map[string]said // by "PortChannel1|Ethernet0"
	last uint64          // the greatest number that was seen or given

	given map[forward.Row]string // those of the last pass; nil: what stands in APPL_DB counts
	next  map[forward.Row]string // those of this pass
}

// said is what a row of LACP says.
type said struct{ mux, incarnation string }

// says takes what LACP says of a member, nil if nothing more, and reports whether that is something else than before.
func (l *lacp) says(key string, fields swss.FieldValues) (news bool) {
	is := said{fields[schema.FieldMux], fields[schema.FieldIncarnation]}
	news = is != l.said[key]
	l.saw(is.incarnation)
	if l.said[key] = is; fields == nil {
		delete(l.said, key)
	}
	return news
}

// saw notes that a number is in use.
func (l *lacp) saw(incarnation string) {
	n, _, _ := numberOf(incarnation)
	l.last = max(l.last, n)
}

// numberOf splits an incarnation. Its number has 63 bits, so that there is always a greater one.
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

// incarnation is that of a row of APPL_DB: the one that it has, while it is about the same; else a new one.
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

// speaksLACP reports whether PortChannels speak LACP that are not configured to be static: in SONiC that is the
// feature teamd.
func (m *Manager) speaksLACP() bool {
	state := strings.ToLower(m.rows[schema.CfgFeature][schema.FeatureTeamd]["state"])
	return m.LACP && state != "disabled" && state != "always_disabled"
}

// incarnate says in a row which negotiation counts: none while the PortChannel is set down.
func (d *decision) incarnate(fields map[string]string, appl forward.Row, lag schema.PortChannel) {
	if lag.AdminUp {
		fields[schema.FieldIncarnation] = d.lacp.incarnation(appl, lag, d.out.Written(appl))
	}
}

// traffic says whether a member carries traffic: not while its PortChannel is down, and where LACP is spoken only as
// far as that says of this incarnation, so that a member of which it does not say anything carries none.
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
