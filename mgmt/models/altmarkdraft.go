package models

import (
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// altMarkDraftModule returns the mapping of tamtam-ietf-altmark: the rows of tamtam-altmark by the names of the IETF's
// draft. A leaf has no value where the draft has no term for the configured one.
func altMarkDraftModule() tree.Module {
	return tree.Module{Name: "tamtam-ietf-altmark", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMFeature, Key: schema.FeatureAltMark, Leaves: []tree.Leaf{
				leaf("altmark/admin-config/enabled", readOnly(words("status", "", "true", schema.FeatureActive,
					"false", schema.FeatureInactive))),
			}},
		}},
		{Path: "/altmark/available-interfaces/available-interface", Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{if-name}", Only: "Ethernet", Entry: true},
		}},
		{Path: "/altmark/altmark-profiles/altmark-profile", View: "it is written in /tam/alt-mark-sessions", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMAltMark, Key: "{altmark-profile-name}", Entry: true, Leaves: []tree.Leaf{
				leaf("filter/filter-type", constant("acl-filter")), leaf("filter/ace-name", readOnly(text("flowgroup"))),
				leaf("direction", readOnly(words("role", "", "ingress", "initiator", "transit", "transit", "egress",
					"terminator"))),
				leaf("interface-action", tree.Codec{Get: altMarkAction}), leaf("protocol-type", tree.Codec{Get: altMarkCarrier}),
				leaf("flow-mon-id", readOnly(text("flow-mon-id"))),
				leaf("method-type", readOnly(words("method", "", "single-marking", "step", "double-marking", "double"))),
				leaf("measurement-period", tree.Codec{Get: picosecondsOfPeriod}),
				leaf("enable-loss-measurement", tree.Codec{Get: func(r tree.Record) []string {
					return measures(r, altmark.Method.Loss)
				}}),
				leaf("enable-delay-measurement", tree.Codec{Get: func(r tree.Record) []string {
					return measures(r, func(m altmark.Method) bool { return m.Delay() || r.Field("mean-delay") == "true" })
				}}),
			}},
		}},
	}}
}

func altMarkAction(r tree.Record) []string {
	switch role, err := altmark.ParseRole(r.Field("role")); {
	case err != nil:
		return nil
	case role == altmark.Initiator:
		return tree.One("action-marking")
	case role == altmark.Terminator && r.Field("clear") == "true":
		return tree.One("action-unmarking")
	}
	return tree.One("action-read")
}

// altMarkCarrier returns the header that carries the marks, if the draft has a term for it.
func altMarkCarrier(r tree.Record) []string {
	if strings.HasPrefix(r.Field("mark"), "ipv6-altmark-") {
		return tree.One("ipv6")
	}
	return nil
}

func picosecondsOfPeriod(r tree.Record) []string {
	n, err := strconv.ParseInt(r.Field("interval"), 10, 8)
	if i := altmark.Interval(n); err != nil || !i.Valid() {
		return nil
	}
	const second, shortest = 1_000_000_000_000, int64(altmark.MinInterval)
	return tree.One(strconv.FormatInt(second>>-shortest<<(n-shortest), 10))
}

// measures returns, as a boolean, whether the session's method has the property what.
func measures(r tree.Record, what func(altmark.Method) bool) []string {
	m, err := altmark.ParseMethod(r.Field("method"))
	if err != nil {
		return nil
	}
	return tree.One(strconv.FormatBool(what(m)))
}
