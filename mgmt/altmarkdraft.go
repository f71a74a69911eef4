package mgmt

import (
	"strconv"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// altMarkDraftModule is tamtam-ietf-altmark in the databases: the rows of tamtam-altmark by the names of the IETF's
// draft. A leaf says nothing where the draft has no word for what is configured.
func altMarkDraftModule() Module {
	return Module{Name: "tamtam-ietf-altmark", Groups: []Group{
		{Path: "/", Rows: []Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMFeature, Key: schema.FeatureAltMark, Leaves: []Leaf{
				{"altmark/admin-config/enabled", readOnly(words("status", "", "true", schema.FeatureActive,
					"false", schema.FeatureInactive))},
			}},
		}},
		{Path: "/altmark/available-interfaces/available-interface", Rows: []Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{if-name}", Only: "Ethernet", Entry: true},
		}},
		{Path: "/altmark/altmark-profiles/altmark-profile", View: "it is written in /tam/alt-mark-sessions", Rows: []Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMAltMark, Key: "{altmark-profile-name}", Entry: true, Leaves: []Leaf{
				{"filter/filter-type", constant("acl-filter")}, {"filter/ace-name", readOnly(text("flowgroup"))},
				{"direction", readOnly(words("role", "", "ingress", "initiator", "transit", "transit", "egress", "terminator"))},
				{"interface-action", Codec{Get: altMarkAction}}, {"protocol-type", Codec{Get: altMarkCarrier}},
				{"flow-mon-id", readOnly(text("flow-mon-id"))},
				{"method-type", readOnly(words("method", "", "single-marking", "step", "double-marking", "double"))},
				{"measurement-period", Codec{Get: picosecondsOfPeriod}},
				{"enable-loss-measurement", Codec{Get: func(r Record) []string { return measures(r, altmark.Method.Loss) }}},
				{"enable-delay-measurement", Codec{Get: func(r Record) []string {
					return measures(r, func(m altmark.Method) bool { return m.Delay() || r.Field("mean-delay") == "true" })
				}}},
			}},
		}},
	}}
}

func altMarkAction(r Record) []string {
	switch role, err := altmark.ParseRole(r.Field("role")); {
	case err != nil:
		return nil
	case role == altmark.Initiator:
		return one("action-marking")
	case role == altmark.Terminator && r.Field("clear") == "true":
		return one("action-unmarking")
	}
	return one("action-read")
}

// altMarkCarrier is what carries the marks, where the draft has a word for it.
func altMarkCarrier(r Record) []string {
	if strings.HasPrefix(r.Field("mark"), "ipv6-altmark-") {
		return one("ipv6")
	}
	return nil
}

func picosecondsOfPeriod(r Record) []string {
	n, err := strconv.ParseInt(r.Field("interval"), 10, 8)
	if i := altmark.Interval(n); err != nil || !i.Valid() {
		return nil
	}
	const second, shortest = 1_000_000_000_000, int64(altmark.MinInterval)
	return one(strconv.FormatInt(second>>-shortest<<(n-shortest), 10))
}

// measures says whether a method measures something.
func measures(r Record, what func(altmark.Method) bool) []string {
	m, err := altmark.ParseMethod(r.Field("method"))
	if err != nil {
		return nil
	}
	return one(strconv.FormatBool(what(m)))
}
