package fdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
)

// Ports is what the orch needs of ports, PortChannels and VLANs.
type Ports interface {
	// BridgePort returns the VLAN and the bridge port of a member that stays one;
	// the error says in words why there is none.
	BridgePort(vlan, port string) (vlanOID, bridgePort sai.OID, err error)
	BridgePortOf(port string) sai.OID  // 0: none
	BridgePortName(oid sai.OID) string // "": none
	VLANName(oid sai.OID) string       // "": none
	VLANMembers() [][2]string          // VLAN and port of those that stay, sorted
	Layout() *orch.Topic[struct{}]     // tells that one of these answers changed
	Downs() *orch.Topic[string]        // tells of a port or PortChannel that went down
}

// Config is what an [Orch] works with.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
	Switch sai.OID
}

// An Orch owns the FDB entries. All its methods run on the daemon's goroutine.
type Orch struct {
	api      sai.API
	daemon   *orch.Daemon
	log      *slog.Logger
	ports    Ports
	switchID sai.OID
	state    *swss.Table // of STATE_DB

	rows    map[string]row    // of FDB_TABLE, by key
	entries map[string]*entry // in the ASIC, by key of the row
	failed  map[string]error  // what SAI said to a row; stays until the row changes
	said    map[string]string // what was last reported of a row

	learned map[string]swss.FieldValues // by key of STATE_DB: what the ASIC told
	fixed   map[string]swss.FieldValues // by key of STATE_DB: those of entries
	owner   map[sai.FDBEntry]string     // key of the row whose entry it is
	dirty   map[string]struct{}         // rows of STATE_DB to be written
	members map[[2]string][2]sai.OID    // VLAN and bridge port of members, to flush them when they leave
}

// A row is one of FDB_TABLE.
type row struct {
	entry schema.FDBEntry
	err   error
	state string // key of STATE_DB's table of outcomes; "": a row of others
}

// An entry is one in the ASIC.
type entry struct {
	key   sai.FDBEntry
	spec  entrySpec
	state string // key of STATE_DB
}

type entrySpec struct {
	bridgePort sai.OID
	kind       sai.Enum
}

// New registers the handler of FDB_TABLE on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, daemon: cfg.Daemon, log: cfg.Daemon.Logger(), ports: cfg.Ports, switchID: cfg.Switch,
		state: swss.NewTable(cfg.Redis.DB(swss.StateDB), schema.StateFDB),
		rows:  map[string]row{}, entries: map[string]*entry{}, failed: map[string]error{}, said: map[string]string{},
		learned: map[string]swss.FieldValues{}, fixed: map[string]swss.FieldValues{}, owner: map[sai.FDBEntry]string{},
		dirty: map[string]struct{}{}, members: map[[2]string][2]sai.OID{},
	}
	old, err := o.state.Keys(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.state.DelMany(ctx, old); err != nil {
		return nil, err
	}
	appl := cfg.Redis.DB(swss.ApplDB)
	cfg.Daemon.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewConsumerState(l, appl, schema.AppFDB)
	}, schema.AppFDB, orch.HandlerFunc(o.handle), orch.Reporting{StateTable: schema.StateStaticFDB, None: true})
	cfg.Daemon.Consume(func(*swss.Listener) swss.Source { return unwritten{o} }, schema.StateFDB,
		orch.Each(func(ctx context.Context, _ orch.Task) error { return o.flush(ctx) }), orch.Reporting{None: true})
	o.ports.Layout().Subscribe(o.layoutChanged)
	o.ports.Downs().Subscribe(o.portDown)
	return o, nil
}

// ViewApplied says that syncd has brought the ASIC to the view. What it learned
// for a former orchagent goes: nobody knows which of it is left.
func (o *Orch) ViewApplied(ctx context.Context) error {
	learned := []sai.Attr{{ID: sai.FDBFlushAttrEntryType, Value: sai.FDBFlushEntryTypeDynamic}}
	if err := o.api.FlushFDB(ctx, learned); err != nil {
		return fmt.Errorf("flush the addresses learned: %w", err)
	}
	return nil
}

// handle takes a batch of rows.
func (o *Orch) handle(ctx context.Context, tasks []orch.Task) []error {
	for _, t := range tasks {
		was := o.rows[t.Key].state
		delete(o.rows, t.Key)
		if t.Op == orch.Set {
			e, err := schema.ParseFDB(schema.ConfigKey(t.Key), t.Fields)
			o.rows[t.Key] = row{e, err, t.Fields[schema.FieldConfigKey]}
		}
		if is := o.rows[t.Key].state; was != "" && was != is {
			o.daemon.Unreport(ctx, schema.StateStaticFDB, was)
		}
		delete(o.failed, t.Key)
		delete(o.said, t.Key)
	}
	o.converge(ctx)
	return make([]error, len(tasks))
}

// converge makes the static entries of the ASIC what the rows ask for, and
// tells.
func (o *Orch) converge(ctx context.Context) {
	maps.DeleteFunc(o.failed, func(_ string, err error) bool { return orch.Classify(err) == orch.Retry })
	wanted, why := o.plan()
	o.remove(ctx, wanted)
	o.move(ctx, wanted)
	o.create(ctx, wanted)
	for _, key := range slices.SortedFunc(maps.Keys(o.rows), schema.CompareNames) {
		err := o.failed[key]
		if err == nil {
			err = why[key]
		}
		status, reason := o.daemon.Verdict(schema.StateStaticFDB, err)
		if said := status + ": " + reason; o.said[key] != said && o.rows[key].state != "" {
			o.said[key] = said
			o.daemon.Report(ctx, schema.StateStaticFDB, o.rows[key].state, status, reason)
		}
	}
}

// plan says which entries the rows ask for, and why of some rows there are none.
// Of two rows of one address the first wins.
func (o *Orch) plan() (wanted map[string]entry, why map[string]error) {
	wanted, why = map[string]entry{}, map[string]error{}
	taken := map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(o.rows), schema.CompareNames) {
		r := o.rows[key]
		if r.err != nil {
			why[key] = r.err
			continue
		}
		if o.failed[key] != nil {
			continue
		}
		vlan, bp, err := o.ports.BridgePort(r.entry.VLAN, r.entry.Port)
		if first := taken[r.entry.Key()]; err == nil && first != "" {
			err = orch.Wait("FDB entry", first, "FDB_TABLE:%s is the same address", first)
		}
		if err != nil {
			why[key] = err
			continue
		}
		taken[r.entry.Key()] = key
		kind := sai.FDBEntryTypeStatic
		if r.entry.Type == schema.FDBDynamic {
			kind = sai.FDBEntryTypeDynamic
		}
		wanted[key] = entry{sai.FDBEntry{Switch: o.switchID, MAC: sai.MAC(r.entry.MAC), BV: vlan}, entrySpec{bp, kind}, ""}
	}
	return wanted, why
}

func (o *Orch) remove(ctx context.Context, wanted map[string]entry) {
	var keys []string
	var objs []sai.Key
	for _, key := range slices.SortedFunc(maps.Keys(o.entries), schema.CompareNames) {
		if w, ok := wanted[key]; !ok || w.key != o.entries[key].key {
			keys, objs = append(keys, key), append(objs, sai.EntryKey(o.entries[key].key))
		}
	}
	if len(objs) == 0 {
		return
	}
	for i, err := range o.api.BulkRemove(ctx, objs) {
		if err != nil && orch.Classify(err) != orch.Benign {
			o.log.Error("an FDB entry stays in the ASIC", "entry", keys[i], "err", err)
			if _, ok := o.rows[keys[i]]; ok {
				o.failed[keys[i]] = fmt.Errorf("remove the FDB entry: %w", err)
			}
			continue
		}
		o.drop(keys[i])
	}
}

// put notes that the entry of a row is in the ASIC. What was learned of the
// address gives way.
func (o *Orch) put(key string, e entry) {
	state, kind := o.rows[key].entry.Key(), schema.FDBStatic
	e.state = state
	o.entries[key] = &e
	o.owner[e.key] = key
	if e.spec.kind == sai.FDBEntryTypeDynamic {
		kind = schema.FDBDynamic
	}
	o.fixed[state] = swss.FieldValues{"port": o.rows[key].entry.Port, "type": kind}
	delete(o.learned, state)
	o.dirty[state] = struct{}{}
}

// drop notes that the entry of a row is not in the ASIC any more.
func (o *Orch) drop(key string) {
	e := o.entries[key]
	delete(o.entries, key)
	delete(o.owner, e.key)
	delete(o.fixed, e.state)
	o.dirty[e.state] = struct{}{}
}

// move sets what differs at entries that stay.
func (o *Orch) move(ctx context.Context, wanted map[string]entry) {
	for _, key := range slices.SortedFunc(maps.Keys(wanted), schema.CompareNames) {
		have, want := o.entries[key], wanted[key].spec
		if have == nil || o.failed[key] != nil {
			continue
		}
		k := sai.EntryKey(have.key)
		var errs []error
		if have.spec.bridgePort != want.bridgePort {
			errs = append(errs, o.api.Set(ctx, k, sai.Attr{ID: sai.FDBEntryAttrBridgePortID, Value: want.bridgePort}))
		}
		if have.spec.kind != want.kind {
			errs = append(errs, o.api.Set(ctx, k, sai.Attr{ID: sai.FDBEntryAttrType, Value: want.kind}))
		}
		if err := errors.Join(errs...); err != nil {
			o.failed[key] = fmt.Errorf("set the FDB entry: %w", err)
			if err := o.api.Remove(ctx, k); err == nil {
				o.drop(key)
			}
			continue
		}
		o.put(key, wanted[key])
	}
}

func (o *Orch) create(ctx context.Context, wanted map[string]entry) {
	var keys []string
	var entries []sai.Entry
	var attrs [][]sai.Attr
	for _, key := range slices.SortedFunc(maps.Keys(wanted), schema.CompareNames) {
		if w := wanted[key]; o.entries[key] == nil && o.failed[key] == nil {
			keys, entries = append(keys, key), append(entries, w.key)
			attrs = append(attrs, []sai.Attr{
				{ID: sai.FDBEntryAttrType, Value: w.spec.kind},
				{ID: sai.FDBEntryAttrBridgePortID, Value: w.spec.bridgePort},
				{ID: sai.FDBEntryAttrPacketAction, Value: sai.PacketActionForward},
			})
		}
	}
	if len(entries) == 0 {
		return
	}
	for i, err := range o.api.BulkCreateEntries(ctx, entries, attrs) {
		if err != nil {
			o.failed[keys[i]] = fmt.Errorf("create the FDB entry: %w", err)
			o.log.Error("SAI failed", "row", schema.AppFDB+":"+keys[i], "err", err)
			continue
		}
		o.put(keys[i], wanted[keys[i]])
	}
}

// Used counts the entries in the ASIC, by the attribute of the switch that says
// how many more there may be.
func (o *Orch) Used() map[sai.AttrID]int {
	return map[sai.AttrID]int{sai.SwitchAttrAvailableFDBEntry: len(o.entries) + len(o.learned)}
}
