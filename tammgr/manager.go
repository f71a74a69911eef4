package tammgr

import (
	"context"
	"slices"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// set is a set of keys.
type set map[string]struct{}

// A Manager holds the rows of TAM and ACLs. It runs on its daemon's goroutine.
type Manager struct {
	// FallbackMAC is the source of the default ids if DEVICE_METADATA has no mac. If it is zero, there are no default
	// ids. It is set before the daemon's first step.
	FallbackMAC schema.MAC
	// MostRows is the maximum number of rows accepted in each table of sessions, of tasks, or of objects that they
	// refer to. If there are more rows, the first by name are accepted. It is set before the daemon's first step.
	MostRows int

	out     *forward.Output
	started bool
	refused bool // true if the status of a row that needs no decision must be written
	dirty   [kindCount]set

	meta     schema.DeviceMetadata
	metaErr  error
	caps     swss.FieldValues // SWITCH_CAPABILITY|switch; nil if it does not exist
	sw       swss.FieldValues // TAM_SWITCH_TABLE|global; nil if it does not exist
	ports    ports
	features map[string]swss.FieldValues
	active   set                        // features that should be in APPL_DB
	rows     [kindCount]map[string]*row // rows of each kind in the variable kinds, by key
	over     [kindCount]set             // keys of the rows beyond the maximum
	tableOf  [kindCount]schema.Table    // the table of each kind, with its outputs
	tables   map[string]*tableRow
	rules    map[string]*ruleRow // by CONFIG_DB key
	groups   map[string]*groupRow
	ids      ids // ids of flow groups
	qos      qos
	users    users
	idsWait  string // why configured ids are not in use yet
	ofTAM    int    // number of rules, and of rows with a flow group, that need the implicit table TAM
}

// An id identifies a row.
type id struct {
	kind kind
	key  string
}

// users contains the rows that name another row, which need not exist.
type users map[id]orch.SmallSet[id]

func (x users) add(name, user id) {
	x[name] = x[name].With(user)
}

func (x users) remove(name, user id) {
	if x[name] = x[name].Without(user); x[name].Empty() {
		delete(x, name)
	}
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	m := &Manager{
		out:      forward.New(d, r, tables()...),
		features: map[string]swss.FieldValues{}, active: set{},
		tables: map[string]*tableRow{}, rules: map[string]*ruleRow{}, groups: map[string]*groupRow{},
		MostRows: schema.MaxRows,
		ids: ids{
			wanted:  map[uint32]orch.SmallSet[string]{},
			changed: map[uint32]struct{}{},
		}, qos: newQoS(), users: users{},
	}
	m.ports = ports{
		alias: map[string]string{}, named: map[string]set{}, lags: set{},
		changed: func(name string) { m.markUsers(id{kindPort, name}) },
	}
	for k := range kindCount {
		m.dirty[k], m.rows[k] = set{}, map[string]*row{}
		if kinds[k] != nil {
			m.tableOf[k] = kinds[k].table()
		}
	}
	m.mark(kindSwitch, schema.TAMGlobalKey)
	m.consume(d, r)
	return m
}

// consume registers the tables. Their order does not matter: nothing is decided before all existing rows have been
// read.
func (m *Manager) consume(d *orch.Daemon, r *swss.Redis) {
	config := r.DB(swss.ConfigDB)
	for _, t := range []struct {
		table string
		f     func(key string, fields swss.FieldValues)
	}{
		{schema.CfgDeviceMetadata, m.metadata}, {schema.CfgPort, m.ports.port}, {schema.CfgPortChannel, m.ports.portChannel},
		{schema.CfgACLTable, configuredACL(m, schema.CfgACLTable, m.aclTable)},
		{schema.CfgACLRule, configuredACL(m, schema.CfgACLRule, m.aclRule)}, {schema.CfgTAMSwitch, m.tamSwitch},
		{schema.CfgTAMGroup, tamGroupRow(m)}, {schema.CfgTAMSession, tamSessionRow(m)},
		{schema.CfgTAMFeature, m.feature}, {schema.CfgTAMFlowGroup, m.flowGroup},
		{schema.CfgDSCPToTC, m.qos.dscpMap}, {schema.CfgPortQoS, m.qos.portQoS},
	} {
		forward.Consume(d, config, t.table, t.f)
	}
	for k := range kindCount {
		if what := kinds[k]; what != nil && what.config != schema.CfgTAMGroup && what.config != schema.CfgTAMSession {
			forward.Consume(d, config, kinds[k].config, m.handler(k))
		}
	}
	forward.Consume(d, r.DB(swss.StateDB), schema.StateSwitchCap, m.capabilities)
	d.AfterRows(m.due, m.flush)
}

func (m *Manager) mark(k kind, key string) { m.dirty[k][key] = struct{}{} }

// markUsers marks the rows that name a row dirty.
func (m *Manager) markUsers(name id) {
	for u := range m.users[name].All() {
		m.mark(u.kind, u.key)
	}
}

// markRows marks all rows of a kind dirty.
func (m *Manager) markRows(k kind) {
	for key := range m.rows[k] {
		m.mark(k, key)
	}
}

// due reports whether a row must be decided.
func (m *Manager) due() bool {
	if !m.started || m.refused || len(m.ids.changed) > 0 || m.qos.changed && len(m.rows[kindAltMark]) > 0 {
		return true
	}
	return slices.ContainsFunc(m.dirty[:], func(s set) bool { return len(s) > 0 })
}

// flush decides on every row that changed or depends on a changed row, and writes the results.
func (m *Manager) flush(ctx context.Context) error {
	if err := m.out.Load(ctx); err != nil {
		return err
	}
	m.ids.winner = map[uint32]string{}
	for id := range m.ids.changed {
		for key := range m.ids.wanted[id].All() {
			m.mark(kindGroup, key)
		}
	}
	if m.qos.changed {
		m.markRows(kindAltMark)
	}
	for k := range kindCount {
		m.limit(k)
		// Deciding on a row marks only rows of later kinds.
		for key := range m.dirty[k] {
			m.decide(k, key)
		}
	}
	if err := m.out.Flush(ctx); err != nil {
		return err
	}
	for k := range kindCount {
		m.dirty[k] = orch.Emptied(m.dirty[k])
	}
	m.ids.changed = orch.Emptied(m.ids.changed)
	m.qos.changed, m.refused = false, false
	m.started = true
	return nil
}

// decide decides on a row.
func (m *Manager) decide(k kind, key string) {
	switch k {
	case kindFeature:
		m.decideFeature(key)
	case kindSwitch:
		m.decideSwitch()
	case kindTable:
		m.decideTable(key)
	case kindRule:
		m.decideRule(key)
	case kindGroup:
		m.decideGroup(key)
	default:
		m.decideRow(k, key)
	}
}

// metadata applies the MAC address that default ids are derived from.
func (m *Manager) metadata(key string, fields swss.FieldValues) {
	if key != schema.MetadataKey {
		return
	}
	m.meta, m.metaErr = schema.ParseDeviceMetadata(key, fields)
	m.mark(kindSwitch, schema.TAMGlobalKey)
}

// capabilities applies the capabilities of the switch that orchagent reports.
func (m *Manager) capabilities(key string, fields swss.FieldValues) {
	if key != "switch" {
		return
	}
	m.caps = fields
	for _, f := range schema.Features() {
		m.mark(kindFeature, f)
	}
	for f := range m.features {
		m.mark(kindFeature, f)
	}
}

// feature applies a row of a TAM feature.
func (m *Manager) feature(key string, fields swss.FieldValues) {
	delete(m.features, key)
	if fields != nil {
		m.features[key] = fields
	}
	m.mark(kindFeature, key)
}
