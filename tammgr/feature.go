package tammgr

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// decideFeature decides whether a feature is active. It must be requested, and the switch must support it.
func (m *Manager) decideFeature(key string) {
	appl := forward.Row{Table: schema.AppTAMFeature, Key: key}
	state := forward.Row{Table: schema.StateTAMFeature, Key: key}
	fields, ok := m.features[key]
	want := false
	if !ok && m.implied(key) {
		want = m.supported(key, state)
	} else if !ok {
		m.out.Unreport(state)
	} else if f, err := schema.ParseFeature(key, fields); err != nil {
		status := schema.FeatureInactive
		if !slices.Contains(schema.Features(), key) {
			status = schema.FeatureUnsupported
		}
		m.out.Report(state, status, schema.Reason(err))
	} else if !f.Active {
		m.out.Report(state, schema.FeatureInactive, "")
	} else {
		want = m.supported(key, state)
	}
	_, was := m.active[key]
	if want {
		m.out.Forward(appl, schema.Feature{Name: key, Active: true}.Fields(), state)
		m.active[key] = struct{}{}
	} else {
		m.out.Drop(appl)
		delete(m.active, key)
	}
	m.mark(kindSwitch, schema.TAMGlobalKey)
	if was == want {
		return
	}
	for k := range kindCount {
		if kinds[k] != nil && kinds[k].feature == key {
			m.markRows(k)
		}
	}
}

// implied reports whether a feature without a row is requested because a session of it is configured. This follows
// SONiC's own design, which has no such rows. A row with status INACTIVE overrides it.
func (m *Manager) implied(feature string) bool {
	return feature == schema.FeatureDropMonitor && len(m.rows[kindDrop]) > 0 ||
		feature == schema.FeatureIFA && len(m.rows[kindIFA]) > 0
}

// supported reports whether the switch supports a feature. If not, it writes the reason to STATE_DB.
func (m *Manager) supported(feature string, state forward.Row) bool {
	known := false
	for _, f := range schema.Features() {
		known = known || m.caps[schema.CapabilityField(f)] != ""
	}
	switch can := m.caps[schema.CapabilityField(feature)]; {
	case can == "true":
		return true
	case !known:
		m.out.Report(state, schema.FeatureInactive, "waiting for orchagent to report the switch's capabilities")
	case can == "":
		m.out.Report(state, schema.FeatureUnsupported, "the switch does not offer "+feature)
	default:
		reason := m.caps[schema.CapabilityReasonField(feature)]
		m.out.Report(state, schema.FeatureUnsupported, cmp.Or(reason, "the switch cannot do "+feature))
	}
	return false
}

// tamSwitch applies the configured ids of the switch.
func (m *Manager) tamSwitch(key string, fields swss.FieldValues) {
	if key == schema.TAMGlobalKey {
		m.sw = fields
		m.mark(kindSwitch, key)
		m.markIfThere(kindDevice, schema.TAMDeviceKey)
		return
	}
	state := forward.Row{Table: schema.StateTAMSwitch, Key: key}
	if fields == nil {
		m.out.Unreport(state)
	} else {
		_, err := schema.ParseTAMSwitch(key, fields)
		m.out.Report(state, schema.StatusFailed, schema.Reason(err))
	}
	m.mark(kindSwitch, schema.TAMGlobalKey)
}

// decideSwitch decides on the ids in use: the configured ones, or else those derived from the MAC address. While a
// feature is active, the ids in use stay.
func (m *Manager) decideSwitch() {
	appl := forward.Row{Table: schema.AppTAMSwitch, Key: schema.TAMGlobalKey}
	state := forward.Row{Table: schema.StateTAMSwitch, Key: schema.TAMGlobalKey}
	want, reason, err := m.wantedIDs()
	status := schema.StatusActive
	if err != nil {
		status, reason = schema.StatusFailed, schema.Reason(err)
	} else if reason != "" {
		status = schema.StatusPending
	}
	if features := m.latching(); len(features) > 0 {
		old, err := schema.ParseTAMSwitchInUse(schema.TAMGlobalKey, m.out.Written(appl))
		if err == nil {
			var changes []string
			want, changes = latch(old, want)
			if len(changes) > 0 && status == schema.StatusActive {
				status = schema.StatusPending
				reason = fmt.Sprintf("%s takes effect when no TAM feature is active (active: %s)",
					strings.Join(changes, " and "), strings.Join(features, ", "))
			}
		}
	}
	if m.idsWait = ""; status == schema.StatusPending {
		m.idsWait = reason
	}
	m.markIfThere(kindDevice, schema.TAMDeviceKey)
	if fields := want.Fields(); len(fields) > 0 {
		m.out.Keep(appl, fields)
	} else {
		m.out.Drop(appl)
	}
	m.out.Report(state, status, reason)
}

// wantedIDs returns the ids to use while no feature is active, and a reason if an id is missing.
func (m *Manager) wantedIDs() (want schema.TAMSwitchInUse, reason string, err error) {
	var s schema.TAMSwitch
	if m.sw != nil {
		s, err = schema.ParseTAMSwitch(schema.TAMGlobalKey, m.sw)
		if err != nil {
			s = schema.TAMSwitch{} // an invalid row is ignored
		}
	}
	mac := m.meta.MAC
	if mac.IsZero() {
		mac = m.FallbackMAC
	}
	low := uint32(mac.Low16())
	known := !mac.IsZero()
	d := deviceOf(m)
	s.SwitchID, s.EnterpriseID = cmp.Or(s.SwitchID, d.DeviceID), cmp.Or(s.EnterpriseID, d.EnterpriseID)
	want.SwitchID, want.HasSwitchID = cmp.Or(s.SwitchID, low), s.SwitchID != 0 || known
	want.EnterpriseID, want.HasEnterpriseID = cmp.Or(s.EnterpriseID, low), s.EnterpriseID != 0 || known
	want.SwitchIDGiven, want.EnterpriseIDGiven, want.KeepAll = s.SwitchID != 0, s.EnterpriseID != 0, s.KeepAll
	if !want.HasSwitchID {
		reason = "switch-id is not set, and DEVICE_METADATA|localhost has no mac to take it from"
		if m.metaErr != nil {
			reason = "switch-id is not set, and DEVICE_METADATA|localhost is not valid: " + schema.Reason(m.metaErr)
		}
	}
	return want, reason, err
}

// latching returns the sorted features that were active before and stay active. It omits the drop monitor, whose
// sessions use new ids immediately, as in SONiC's own design.
func (m *Manager) latching() []string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(m.active)) {
		if f != schema.FeatureDropMonitor && m.out.Written(forward.Row{Table: schema.AppTAMFeature, Key: f}) != nil {
			out = append(out, f)
		}
	}
	return out
}

// latch keeps the ids that are in use, and returns the changes that it prevented.
func latch(old, want schema.TAMSwitchInUse) (schema.TAMSwitchInUse, []string) {
	var changes []string
	if old.HasSwitchID {
		if want.HasSwitchID && want.SwitchID != old.SwitchID {
			changes = append(changes, fmt.Sprintf("switch-id %d (in use: %d)", want.SwitchID, old.SwitchID))
		}
		if want.SwitchID != old.SwitchID || !want.HasSwitchID {
			want.SwitchIDGiven = old.SwitchIDGiven
		}
		want.SwitchID, want.HasSwitchID = old.SwitchID, true
	}
	if old.HasEnterpriseID {
		if want.HasEnterpriseID && want.EnterpriseID != old.EnterpriseID {
			changes = append(changes, fmt.Sprintf("enterprise-id %d (in use: %d)", want.EnterpriseID, old.EnterpriseID))
		}
		if want.EnterpriseID != old.EnterpriseID || !want.HasEnterpriseID {
			want.EnterpriseIDGiven = old.EnterpriseIDGiven
		}
		want.EnterpriseID, want.HasEnterpriseID = old.EnterpriseID, true
	}
	return want, changes
}
