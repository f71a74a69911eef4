package qos

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/orch/forward"
	"tamtam/swss/schema"
)

// SONiC refuses some changes of trimming, and what is in force stays. So here the rows of APPL_DB also depend on those
// that were forwarded before:
//
//   - What SWITCH_TRIMMING has set once can be changed, but not removed.
//   - A profile that trims cannot be that of priority groups, nor in a list of profiles. If both are configured, the
//     row that came later is refused.

// trimming forwards the row of SWITCH_TRIMMING. If it is refused or gone, the former row stays.
func (d *decision) trimming() {
	at := forward.Row{Table: schema.AppTrimming, Key: schema.TrimmingKey}
	was := d.out.Written(at)
	if was != nil {
		d.out.Keep(at, was)
	}
	for _, key := range d.rows[schema.CfgTrimming].Sorted() {
		row, err := schema.ParseSwitchTrimming(key, d.rows[schema.CfgTrimming][key])
		state := forward.Row{Table: schema.AppTrimming, Key: key}
		if err != nil {
			why := schema.Reason(err)
			if key == schema.TrimmingKey {
				why += kept(was, "")
			}
			d.out.Report(state, schema.StatusFailed, why)
			continue
		}
		fields := row.Fields()
		if gone := removed(was, fields); len(gone) > 0 {
			d.out.Report(state, schema.StatusFailed, fmt.Sprintf(
				"%s cannot be removed, only changed: want the row with %s", strings.Join(gone, ", "), settings(was, gone)))
			continue
		}
		d.out.Forward(at, fields, state)
	}
	if was != nil && d.rows[schema.CfgTrimming][schema.TrimmingKey] == nil {
		d.out.Report(at, schema.StatusFailed, "the row is gone, but trimming cannot be removed, only changed"+
			kept(was, "; want the row again"))
	}
}

// removed returns the fields of a row that are no longer in it, in the order of the table.
func removed(was, now map[string]string) (gone []string) {
	for _, f := range schema.TrimmingFields() {
		if was[f] != "" && now[f] == "" {
			gone = append(gone, f)
		}
	}
	return gone
}

// settings formats fields of a row.
func settings(row map[string]string, fields []string) string {
	var list []string
	for _, f := range fields {
		if row[f] != "" {
			list = append(list, f+" "+row[f])
		}
	}
	return strings.Join(list, ", ")
}

// kept describes the row that stays, if there is one.
func kept(row map[string]string, more string) string {
	if row == nil {
		return ""
	}
	return "; the switch keeps " + settings(row, schema.TrimmingFields()) + more
}

// untrimmed checks that a profile does not trim, for what it does not apply to.
func (d *decision) untrimmed(what string, profiles ...string) verdict {
	for _, name := range profiles {
		if d.profiles[name].trim {
			v := failed("%s %q has %s %s: want one without for %s, only packets of queues are trimmed",
				kinds[schema.CfgBufferProfile], name, schema.FieldDiscardAction, schema.ActionTrim, what)
			v.stays = true
			return v
		}
	}
	return verdict{}
}

// bufferProfiles checks a list of profiles of ports. Their pools are all for ingress, or all for egress.
func (d *decision) bufferProfiles(key string, b schema.BufferProfiles) verdict {
	refs, ingress := portRefs(b.Ports), b.Table == schema.CfgBufferIngress
	for _, name := range b.Profiles {
		if v := d.side(name, ingress); v != (verdict{}) {
			return v
		}
		refs = append(refs, ref{schema.CfgBufferProfile, name})
	}
	if v := d.untrimmed("the ports' lists of profiles", b.Profiles...); v != (verdict{}) {
		return v
	}
	if v := d.named(refs...); v != (verdict{}) {
		return v
	}
	side := map[bool]string{true: "ingress", false: "egress"}[ingress]
	var things []string
	for _, port := range b.Ports {
		things = append(things, "the list of "+side+" profiles of "+port)
	}
	return d.reserve(key, things...)
}

// groupUser returns a row about priority groups, or with a list of profiles, that uses a profile and still names it.
// It returns "" if there is none.
func (d *decision) groupUser(profile string) string {
	for _, table := range []string{schema.CfgBufferPG, schema.CfgBufferIngress, schema.CfgBufferEgress} {
		for _, key := range d.rows[table].Sorted() {
			if was := d.out.Written(appl(table, key)); was != nil &&
				names(table, key, was, profile) && names(table, key, d.rows[table][key], profile) {
				return table + "|" + key
			}
		}
	}
	return ""
}

// names reports whether a row names a buffer profile.
func names(table, key string, fields map[string]string, profile string) bool {
	if table == schema.CfgBufferPG {
		row, _ := schema.ParseBufferPG(key, fields)
		return row.Profile == profile
	}
	row, _ := schema.ParseBufferProfiles(table, key, fields)
	return slices.Contains(row.Profiles, profile)
}

// stay keeps a row as it was forwarded before, if it can be forwarded now.
func (d *decision) stay(table, key string) {
	at := appl(table, key)
	was := d.out.Written(at)
	if was == nil {
		return
	}
	row, check, err := d.parse(table, key, was)
	if err != nil || check() != (verdict{}) {
		return
	}
	d.there[table][key] = true
	d.out.Keep(at, row.Fields())
}
