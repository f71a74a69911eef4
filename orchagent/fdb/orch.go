package fdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ports is the view of ports, PortChannels and VLANs that the orch needs.
type Ports interface {
	// BridgePort returns the VLAN and the bridge port of a member that is not about to leave. The error is the reason
	// why there is none.
	BridgePort(vlan, port string) (vlanOID, bridgePort sai.OID, err error)
	BridgePortOf(port string) sai.OID  // 0 if there is none
	BridgePortName(oid sai.OID) string // "" if there is none
	VLANName(oid sai.OID) string       // "" if there is none
	VLANMembers() [][2]string          // VLAN and port of the members that are not about to leave, sorted
	Layout() *orch.Topic[struct{}]     // publishes that the result of one of the methods above changed
	Downs() *orch.Topic[string]        // publishes a port or PortChannel that went down
}

// Config is the configuration of an [Orch].
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
	log      *slog.Logger
	ports    Ports
	switchID sai.OID
	state    *swss.Table // FDB_TABLE of STATE_DB

	ledger  *orch.Ledger
	rows    map[string]row    // rows of FDB_TABLE, by key
	entries map[string]*entry // in the ASIC, by key of the row

	learned map[string]swss.FieldValues // entries reported by the ASIC, by key of STATE_DB
	fixed   map[string]swss.FieldValues // rows of entries from FDB_TABLE, by key of STATE_DB
	owner   map[sai.FDBEntry]string     // key of the row that an entry belongs to
	dirty   map[string]struct{}         // rows of STATE_DB to be written
	// unflushed holds the flushes that the ASIC refused, by what they flush.
	unflushed map[string][]sai.Attr
	members   map[[2]string][2]sai.OID // VLAN and bridge port of members, to flush them when they leave
}

// A row is a row of FDB_TABLE.
type row struct {
	entry schema.FDBEntry
	err   error
}

// An entry is a static FDB entry in the ASIC.
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
		api: cfg.SAI, log: cfg.Daemon.Logger(), ports: cfg.Ports, switchID: cfg.Switch,
		state: swss.NewTable(cfg.Redis.DB(swss.StateDB), schema.StateFDB),
		rows:  map[string]row{}, entries: map[string]*entry{},
		learned: map[string]swss.FieldValues{}, fixed: map[string]swss.FieldValues{}, owner: map[sai.FDBEntry]string{},
		dirty: map[string]struct{}{}, members: map[[2]string][2]sai.OID{}, unflushed: map[string][]sai.Attr{},
	}
	old, err := o.state.Keys(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.state.DelMany(ctx, old); err != nil {
		return nil, err
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass, orch.LedgerTable{
		Name: schema.AppFDB, State: schema.StateStaticFDB,
		StateKey: func(_ string, fields swss.FieldValues) string { return fields[schema.FieldConfigKey] },
	})
	cfg.Daemon.Consume(func(*swss.Listener) swss.Source { return unwritten{o} }, schema.StateFDB,
		orch.Each(func(ctx context.Context, _ orch.Task) error { return o.flush(ctx) }), orch.Reporting{None: true})
	cfg.Daemon.Receive(func(l *swss.Listener) swss.Source {
		return swss.NewNotificationConsumer(l, cfg.Redis.DB(swss.ApplDB), schema.FlushFDBChannel)
	}, o.flushRequest)
	cfg.Daemon.OnFlush(func() {
		for _, rows := range []map[string]swss.FieldValues{o.learned, o.fixed} {
			for key := range rows {
				o.dirty[key] = struct{}{}
			}
		}
	})
	cfg.Daemon.Every(func() time.Duration {
		if len(o.unflushed) == 0 {
			return 0
		}
		return flushPeriod
	}, o.retryFlushes)
	o.ports.Layout().Subscribe(o.layoutChanged)
	o.ports.Downs().Subscribe(o.portDown)
	return o, nil
}

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Addresses learned for a previous orchagent
// are flushed, since it is unknown which of them remain.
func (o *Orch) ViewApplied(ctx context.Context) error {
	learned := []sai.Attr{{ID: sai.FDBFlushAttrEntryType, Value: sai.FDBFlushEntryTypeDynamic}}
	if err := o.api.FlushFDB(ctx, learned); err != nil {
		return fmt.Errorf("flush the addresses learned: %w", err)
	}
	return nil
}

// pass brings the static entries of the ASIC to the target state.
func (o *Orch) pass(ctx context.Context) error {
	for _, k := range o.ledger.Changed {
		delete(o.rows, k.Key)
		if fields, ok := o.ledger.Rows[k]; ok {
			e, err := schema.ParseFDB(schema.ConfigKey(k.Key), fields)
			o.rows[k.Key] = row{e, err}
		}
	}
	wanted := o.plan()
	o.remove(ctx, wanted)
	o.move(ctx, wanted)
	o.create(ctx, wanted)
	return nil
}

func rowKey(key string) orch.RowKey { return orch.Row(schema.AppFDB, key) }

// plan returns the entries that the rows request, and records the reason for each row without one. If two rows have the
// same address, the first one wins.
func (o *Orch) plan() (wanted map[string]entry) {
	wanted = map[string]entry{}
	taken := map[string]string{}
	for _, key := range o.ledger.Keys(schema.AppFDB) {
		r := o.rows[key]
		if r.err != nil {
			o.ledger.Why[rowKey(key)] = r.err
			continue
		}
		if o.ledger.Refused(rowKey(key)) {
			continue
		}
		vlan, bp, err := o.ports.BridgePort(r.entry.VLAN, r.entry.Port)
		if first := taken[r.entry.Key()]; err == nil && first != "" {
			err = orch.Wait("FDB entry", first, "FDB_TABLE:%s is the same address", first)
		}
		if err != nil {
			o.ledger.Why[rowKey(key)] = err
			continue
		}
		taken[r.entry.Key()] = key
		kind := sai.FDBEntryTypeStatic
		if r.entry.Type == schema.FDBDynamic {
			kind = sai.FDBEntryTypeDynamic
		}
		wanted[key] = entry{sai.FDBEntry{Switch: o.switchID, MAC: sai.MAC(r.entry.MAC), BV: vlan}, entrySpec{bp, kind}, ""}
	}
	return wanted
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
				o.ledger.Fail(rowKey(keys[i]), "remove the FDB entry", err)
			} else {
				o.ledger.Again()
			}
			continue
		}
		o.drop(keys[i])
	}
}

// put records that the entry of a row is in the ASIC. It replaces a learned entry of the address.
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

// drop records that the entry of a row is no longer in the ASIC.
func (o *Orch) drop(key string) {
	e := o.entries[key]
	delete(o.entries, key)
	delete(o.owner, e.key)
	delete(o.fixed, e.state)
	o.dirty[e.state] = struct{}{}
}

// move sets the changed attributes of entries that stay.
func (o *Orch) move(ctx context.Context, wanted map[string]entry) {
	for _, key := range slices.SortedFunc(maps.Keys(wanted), schema.CompareNames) {
		have, want := o.entries[key], wanted[key].spec
		if have == nil || o.ledger.Refused(rowKey(key)) {
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
			o.ledger.Fail(rowKey(key), "set the FDB entry", err)
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
		if w := wanted[key]; o.entries[key] == nil && !o.ledger.Refused(rowKey(key)) {
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
			o.ledger.Fail(rowKey(keys[i]), "create the FDB entry", err)
			continue
		}
		o.put(keys[i], wanted[keys[i]])
	}
}

// Used returns the number of entries in the ASIC, by the switch attribute that reports how many are left.
func (o *Orch) Used() map[sai.AttrID]int {
	return map[sai.AttrID]int{sai.SwitchAttrAvailableFDBEntry: len(o.entries) + len(o.learned)}
}
