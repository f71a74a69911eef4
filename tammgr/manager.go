package tammgr

import (
	"context"
	"maps"
	"slices"

	"tamtam/cfgmgr/forward"
	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
)

// A kind of rows, in the order of settling.
type kind uint8

const (
	kindFeature kind = iota
	kindSwitch
	kindCollector
	kindSampler
	kindType
	kindTable
	kindRule
	kindGroup
	kindSession
	kindAltMark
	kindTask
	kindQuery
	kindRecord
	kindCount
)

// set is a set of keys.
type set map[string]struct{}

// A Manager holds the rows of TAM and ACLs. It lives on its daemon.
type Manager struct {
	// FallbackMAC gives the default ids where DEVICE_METADATA has no mac; zero:
	// there are none then. It is set before the daemon's first step.
	FallbackMAC schema.MAC

	book    *forward.Book
	started bool
	dirty   [kindCount]set
	settle  [kindCount]func(key string)

	meta     schema.DeviceMetadata
	metaErr  error
	caps     swss.FieldValues // SWITCH_TABLE:switch; nil: not there
	sw       swss.FieldValues // TAM_SWITCH_TABLE|global; nil: not there
	ports    ports
	plain    [kindCount]map[string]swss.FieldValues // features, collectors, samplers, queries
	active   set                                    // features wanted in APPL_DB
	types    map[string]*typeRow
	tables   map[string]*tableRow
	rules    map[string]*ruleRow // by CONFIG_DB key
	groups   map[string]*groupRow
	sessions map[string]*sessionRow
	altMarks map[string]*altMarkRow
	tasks    map[string]*taskRow
	records  map[string]*recordRow
	qos      qos

	tablesOfType       index
	rulesOfTable       index // rows of any validity
	groupsOfTable      index
	sessionsOfGroup    index
	altMarksOfGroup    index
	tasksOfGroup       index
	recordsOfGroup     index
	recordsOfCollector index
	recordsOfSampler   index
	tablesOfPort       index // by name as written
	rulesOfPort        index // by name as written
	claims             map[uint32]set
	claimsChanged      map[uint32]struct{}
	winner             map[uint32]string
}

// index holds the keys that refer to a name.
type index map[string]set

func (x index) add(name, key string) {
	if x[name] == nil {
		x[name] = set{}
	}
	x[name][key] = struct{}{}
}

func (x index) remove(name, key string) {
	delete(x[name], key)
	if len(x[name]) == 0 {
		delete(x, name)
	}
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	m := &Manager{
		book: forward.New(d, r,
			forward.TableOf(schema.CfgTAMSwitch), forward.TableOf(schema.CfgTAMCollector), forward.TableOf(schema.CfgTAMSampler),
			forward.TableOf(schema.CfgACLTableType), forward.TableOf(schema.CfgACLTable), forward.TableOf(schema.CfgACLRule),
			forward.TableOf(schema.CfgTAMFlowGroup), forward.TableOf(schema.CfgTAMFeature),
			forward.TableOf(schema.CfgTAMTailStamp), forward.TableOf(schema.CfgTAMAltMark),
			forward.TableOf(schema.CfgTAMFlyMonTask), forward.TableOf(schema.CfgTAMFlyMonQuery),
			forward.TableOf(schema.CfgTAMTableRecord),
		),
		ports: newPorts(), active: set{},
		types: map[string]*typeRow{}, tables: map[string]*tableRow{}, rules: map[string]*ruleRow{},
		groups: map[string]*groupRow{}, sessions: map[string]*sessionRow{}, altMarks: map[string]*altMarkRow{}, tasks: map[string]*taskRow{}, records: map[string]*recordRow{}, qos: newQoS(),
		tablesOfType: index{}, rulesOfTable: index{}, groupsOfTable: index{}, sessionsOfGroup: index{}, altMarksOfGroup: index{}, tasksOfGroup: index{},
		recordsOfGroup: index{}, recordsOfCollector: index{}, recordsOfSampler: index{},
		tablesOfPort: index{}, rulesOfPort: index{},
		claims: map[uint32]set{}, claimsChanged: map[uint32]struct{}{},
	}
	for k := range kindCount {
		m.dirty[k], m.plain[k] = set{}, map[string]swss.FieldValues{}
	}
	m.settle = [kindCount]func(string){
		kindFeature: m.settleFeature, kindSwitch: m.settleSwitch,
		kindCollector: m.settleCollector, kindSampler: m.settleSampler,
		kindType: m.settleType, kindTable: m.settleTable, kindRule: m.settleRule,
		kindGroup: m.settleGroup, kindSession: m.settleSession, kindAltMark: m.settleAltMark,
		kindTask: m.settleTask, kindQuery: m.settleQuery, kindRecord: m.settleRecord,
	}
	m.mark(kindSwitch, schema.TAMGlobalKey)
	m.consume(d, r)
	return m
}

// consume registers the tables. The order does not matter: nothing is decided
// before all that is there has come in.
func (m *Manager) consume(d *orch.Daemon, r *swss.Redis) {
	config := r.DB(swss.ConfigDB)
	for _, t := range []struct {
		table string
		f     func(key string, fields swss.FieldValues)
	}{
		{schema.CfgDeviceMetadata, m.metadata}, {schema.CfgPort, m.port}, {schema.CfgPortChannel, m.portChannel},
		{schema.CfgACLTableType, m.aclType}, {schema.CfgACLTable, m.aclTable}, {schema.CfgACLRule, m.aclRule},
		{schema.CfgTAMSwitch, m.tamSwitch}, {schema.CfgTAMCollector, m.plainRow(kindCollector)},
		{schema.CfgTAMSampler, m.plainRow(kindSampler)}, {schema.CfgTAMFeature, m.plainRow(kindFeature)},
		{schema.CfgTAMFlowGroup, m.flowGroup}, {schema.CfgTAMTailStamp, m.session}, {schema.CfgTAMAltMark, m.altMark},
		{schema.CfgTAMFlyMonTask, m.task}, {schema.CfgTAMFlyMonQuery, m.plainRow(kindQuery)},
		{schema.CfgTAMTableRecord, m.recording}, {schema.CfgDSCPToTC, m.dscpMap}, {schema.CfgPortQoS, m.portQoS},
	} {
		forward.Consume(d, config, t.table, t.f)
	}
	forward.Consume(d, r.DB(swss.ApplDB), schema.AppSwitch, m.capabilities)
	forward.Settle(d, "tammgr", m.due, m.flush)
}

func (m *Manager) mark(k kind, key string) { m.dirty[k][key] = struct{}{} }

func (m *Manager) markAll(k kind, keys set) { maps.Copy(m.dirty[k], keys) }

// due says whether there is something to settle.
func (m *Manager) due() bool {
	if !m.started || len(m.claimsChanged) > 0 || m.qos.changed && len(m.altMarks) > 0 {
		return true
	}
	return slices.ContainsFunc(m.dirty[:], func(s set) bool { return len(s) > 0 })
}

// flush decides about every row that changed or depends on one that did, and
// writes what follows.
func (m *Manager) flush(ctx context.Context) error {
	if err := m.book.Load(ctx); err != nil {
		return err
	}
	m.winner = map[uint32]string{}
	for id := range m.claimsChanged {
		m.markAll(kindGroup, m.claims[id])
	}
	if m.qos.changed {
		for key := range m.altMarks {
			m.mark(kindAltMark, key)
		}
	}
	for k := range kindCount {
		// Settling a row marks rows of later kinds only.
		for key := range m.dirty[k] {
			m.settle[k](key)
		}
	}
	if err := m.book.Flush(ctx); err != nil {
		return err
	}
	for k := range kindCount {
		clear(m.dirty[k])
	}
	clear(m.claimsChanged)
	m.qos.changed = false
	m.started = true
	return nil
}

// metadata takes the MAC address that default ids come from.
func (m *Manager) metadata(key string, fields swss.FieldValues) {
	if key != schema.MetadataKey {
		return
	}
	m.meta, m.metaErr = schema.ParseDeviceMetadata(key, fields)
	m.mark(kindSwitch, schema.TAMGlobalKey)
}

// capabilities takes what orchagent says about the switch.
func (m *Manager) capabilities(key string, fields swss.FieldValues) {
	if key != "switch" {
		return
	}
	m.caps = fields
	for f := range m.plain[kindFeature] {
		m.mark(kindFeature, f)
	}
}

// plainRow takes rows that stand alone.
func (m *Manager) plainRow(k kind) func(string, swss.FieldValues) {
	return func(key string, fields swss.FieldValues) {
		if fields == nil {
			delete(m.plain[k], key)
		} else {
			m.plain[k][key] = fields
		}
		m.mark(k, key)
	}
}

func (m *Manager) settleCollector(key string) {
	m.markAll(kindRecord, m.recordsOfCollector[key])
	appl := forward.Row{Table: schema.AppTAMCollector, Key: key}
	state := forward.Row{Table: schema.StateTAMCollector, Key: key}
	fields, ok := m.plain[kindCollector][key]
	if !ok {
		m.book.Drop(appl)
		m.book.Forget(state)
		return
	}
	c, err := schema.ParseCollector(key, fields)
	m.keep(appl, c.Fields, state, err)
}

func (m *Manager) settleSampler(key string) {
	m.markAll(kindRecord, m.recordsOfSampler[key])
	appl := forward.Row{Table: schema.AppTAMSampler, Key: key}
	state := forward.Row{Table: schema.StateTAMSampler, Key: key}
	fields, ok := m.plain[kindSampler][key]
	if !ok {
		m.book.Drop(appl)
		m.book.Forget(state)
		return
	}
	s, err := schema.ParseSampler(key, fields)
	m.keep(appl, s.Fields, state, err)
}

// keep wants a row that nothing but its own fields decides about.
func (m *Manager) keep(appl forward.Row, fields func() map[string]string, state forward.Row, err error) {
	if err != nil {
		m.book.Drop(appl)
		m.book.Tell(state, schema.StatusFailed, schema.Reason(err))
		return
	}
	m.book.Keep(appl, fields())
	m.book.Tell(state, schema.StatusActive, "")
}
