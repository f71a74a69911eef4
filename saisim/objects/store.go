package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects/extension"
)

// A Store keeps the SAI objects of a chip and their relations.
type Store struct {
	*core
	areas
}

// areas are the parts of the store, by the meaning of objects. An area refers to the other areas that it calls.
type areas struct {
	acls       *acls
	ports      *ports
	debug      *debugCounters
	qos        *qos
	bridge     *bridge
	router     *router
	mirrors    *mirrors
	traps      *traps
	monitors   *monitors
	telemetry  *telemetry
	extensions *extension.Area
}

// newAreas returns the areas in their state before the switch object is created.
func newAreas(c *core) areas {
	a := areas{acls: newACLs(c), router: &router{core: c}, mirrors: &mirrors{core: c}, traps: newTraps(c)}
	a.ports = newPorts(c, a.acls)
	a.debug = &debugCounters{core: c, ports: a.ports, of: map[sai.StatID]*debugCounter{}}
	a.qos = &qos{core: c, ports: a.ports}
	a.bridge = newBridge(c, a.acls)
	a.monitors, a.telemetry = newMonitors(c, a.ports), newTelemetry(c)
	a.traps.users = a.monitors.putCollectors
	a.extensions = extension.New(&extension.Chip{
		Engine: c.engine, Profile: c.prof, Start: c.cfg.Start, Kernel: c.cfg.Kernel, Oracle: c.cfg.Oracle,
		Put: c.put, Drop: c.drop,
	}, a.acls)
	return a
}

// New returns a store without a switch object. It configures the packet path e.
func New(e *engine.Engine, cfg Config) *Store {
	if cfg.Changed == nil {
		cfg.Changed = func(config.Change) {}
	}
	s := &Store{core: &core{engine: e, prof: cfg.Profile, cfg: cfg}}
	e.OnAddress(func(what engine.FDBEvent, e engine.FDBRow) { s.bridge.fdbEvent(what, e) })
	s.reset()
	return s
}

// reset returns the store to its state before the switch object is created.
func (s *Store) reset() {
	s.engine.Reset()
	s.core.reset()
	s.areas = newAreas(s.core)
	s.kinds = s.allKinds()
}

// Notes returns the notifications since the last call.
func (s *Store) Notes() []sai.Notification {
	notes := s.notes
	s.notes = nil
	return notes
}

// Rows returns a copy of the rows that follow from the objects.
func (s *Store) Rows() config.Set { return s.tables.Clone() }

// RowsOf does the same as Rows, for the given tables only.
func (s *Store) RowsOf(tables ...config.Table) config.Set { return s.tables.Of(tables...) }

// Tables returns the rows that follow from the objects.
func (s *Store) Tables() config.Tables { return s.tables.Tables() }
