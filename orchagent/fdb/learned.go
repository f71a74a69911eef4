package fdb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Notify handles a notification of the ASIC.
func (o *Orch) Notify(ctx context.Context, n sai.Notification) error {
	e, ok := n.(sai.FDBEvent)
	if !ok {
		return nil
	}
	bp, _ := sai.Find(e.Attrs, sai.FDBEntryAttrBridgePortID)
	bridgePort, _ := bp.(sai.OID)
	switch e.Event {
	case sai.FDBEventLearned, sai.FDBEventMove:
		o.learn(e.Entry, bridgePort)
	case sai.FDBEventAged:
		o.forget(e.Entry)
	case sai.FDBEventFlushed:
		o.flushed(e.Entry, bridgePort)
	}
	return nil
}

// learn records the location of an address. Static entries are not learned. If the location has no name, the address
// has no row: it is no longer where the row says.
func (o *Orch) learn(e sai.FDBEntry, bridgePort sai.OID) {
	key, ok := o.stateKey(e)
	port := o.ports.BridgePortName(bridgePort)
	if _, static := o.owner[e]; !ok || static {
		return
	}
	if port == "" {
		o.log.Warn("an address was learned at an unknown bridge port", "address", key, "bridge port", bridgePort)
		o.forget(e)
		return
	}
	row := swss.FieldValues{"port": port, "type": schema.FDBDynamic}
	if !maps.Equal(o.learned[key], row) {
		o.learned[key] = row
		o.dirty[key] = struct{}{}
	}
}

// Learned replaces the learned addresses by those that the ASIC has, after events may have been lost. Dynamic entries
// of FDB_TABLE that the ASIC no longer has have aged.
func (o *Orch) Learned(all []sai.FDBEvent) {
	had := o.learned
	o.learned = make(map[string]swss.FieldValues, len(all))
	there := make(map[sai.FDBEntry]bool, len(all))
	for _, e := range all {
		there[e.Entry] = true
		key, ok := o.stateKey(e.Entry)
		if row := had[key]; ok && row != nil {
			o.learned[key] = row // it is written
		}
		bp, _ := sai.Find(e.Attrs, sai.FDBEntryAttrBridgePortID)
		bridgePort, _ := bp.(sai.OID)
		o.learn(e.Entry, bridgePort)
	}
	for key := range had {
		if o.learned[key] == nil {
			o.dirty[key] = struct{}{}
		}
	}
	for key, e := range o.entries {
		if e.spec.kind == sai.FDBEntryTypeDynamic && !there[e.key] {
			o.age(key)
		}
	}
}

func (o *Orch) forget(e sai.FDBEntry) {
	if key, ok := o.stateKey(e); ok {
		delete(o.learned, key)
		o.dirty[key] = struct{}{}
	}
	if key, ok := o.owner[e]; ok && o.entries[key].spec.kind == sai.FDBEntryTypeDynamic {
		o.age(key)
	}
}

// age records that a dynamic entry of FDB_TABLE has aged, as its row lets it.
func (o *Orch) age(key string) {
	o.drop(key)
	delete(o.rows, key)
	delete(o.ledger.Rows, rowKey(key))
}

// forgetAll forgets the addresses learned in a VLAN and at a port. "" stands for any.
func (o *Orch) forgetAll(vlan, port string) {
	for key, f := range o.learned {
		row, err := schema.ParseFDB(schema.ConfigKey(key), f)
		if err == nil && (vlan == "" || row.VLAN == vlan) && (port == "" || row.Port == port) {
			delete(o.learned, key)
			o.dirty[key] = struct{}{}
		}
	}
}

// flushed forgets one address or, as some ASICs report it, all addresses of a VLAN, a bridge port or both. In that case
// the address is zero, and the VLAN is zero if any VLAN is meant.
func (o *Orch) flushed(e sai.FDBEntry, bridgePort sai.OID) {
	if e.MAC != (sai.MAC{}) {
		o.forget(e)
		return
	}
	vlan, port := o.ports.VLANName(e.BV), o.ports.BridgePortName(bridgePort)
	if e.BV != 0 && vlan == "" || bridgePort != 0 && port == "" {
		o.log.Warn("addresses of an unknown VLAN or bridge port were flushed", "VLAN", e.BV, "bridge port", bridgePort)
		return
	}
	o.forgetAll(vlan, port)
}

// stateKey returns the key of an entry in STATE_DB.
func (o *Orch) stateKey(e sai.FDBEntry) (string, bool) {
	vlan := o.ports.VLANName(e.BV)
	return schema.FDBEntry{VLAN: vlan, MAC: schema.MAC(e.MAC)}.Key(), vlan != ""
}

// portDown flushes the addresses learned at a port or PortChannel that is now down.
func (o *Orch) portDown(ctx context.Context, name string) {
	if bp := o.ports.BridgePortOf(name); bp != 0 {
		o.flushLearned(ctx, name, sai.Attr{ID: sai.FDBFlushAttrBridgePortID, Value: bp})
	}
}

// flushLearned flushes learned addresses. If the ASIC refuses, it is tried again soon, unless the bridge port or VLAN
// is gone.
func (o *Orch) flushLearned(ctx context.Context, what string, attrs ...sai.Attr) {
	attrs = append(attrs, sai.Attr{ID: sai.FDBFlushAttrEntryType, Value: sai.FDBFlushEntryTypeDynamic})
	o.flushAgain(ctx, what, attrs)
}

func (o *Orch) flushAgain(ctx context.Context, what string, attrs []sai.Attr) {
	err := o.api.FlushFDB(ctx, attrs)
	_, known := o.unflushed[what]
	delete(o.unflushed, what)
	if err == nil || errors.Is(err, sai.StatusItemNotFound) || errors.Is(err, sai.StatusInvalidObjectID) {
		return
	}
	if o.unflushed[what] = attrs; !known {
		o.log.Error("addresses learned stay for now", "at", what, "err", err)
	}
}

// retryFlushes repeats the flushes that the ASIC refused.
func (o *Orch) retryFlushes(ctx context.Context, _ time.Time) error {
	for _, what := range slices.Sorted(maps.Keys(o.unflushed)) {
		o.flushAgain(ctx, what, o.unflushed[what])
	}
	return nil
}

// flushPeriod is the interval at which refused flushes are repeated.
const flushPeriod = time.Second

// flushRequest flushes the addresses that a message of [schema.FlushFDBChannel] names. Static entries stay, as in
// SONiC. A port or VLAN without a member has learned nothing.
func (o *Orch) flushRequest(ctx context.Context, m swss.KeyOpFieldsValues) error {
	port, vlan := "", ""
	switch m.Op {
	case "ALL":
		o.flushLearned(ctx, "all ports")
		return nil
	case "PORT":
		port = m.Key
	case "VLAN":
		vlan = m.Key
	case "PORTVLAN":
		port, vlan, _ = strings.Cut(m.Key, "|")
	default:
		o.log.Warn("a request to flush the FDB is not known: want ALL, PORT, VLAN or PORTVLAN", "request", m.Op, "of", m.Key)
		return nil
	}
	var attrs []sai.Attr
	if m.Op != "VLAN" {
		bp := o.ports.BridgePortOf(port)
		if bp == 0 {
			o.log.Warn("a request to flush the FDB is of no bridge port", "request", m.Op, "port", port)
			return nil
		}
		attrs = append(attrs, sai.Attr{ID: sai.FDBFlushAttrBridgePortID, Value: bp})
	}
	if m.Op != "PORT" {
		oid := o.vlanOID("Vlan" + strings.TrimPrefix(vlan, "Vlan"))
		if oid == 0 {
			o.log.Warn("a request to flush the FDB is of no VLAN with members", "request", m.Op, "VLAN", vlan)
			return nil
		}
		attrs = append(attrs, sai.Attr{ID: sai.FDBFlushAttrBvID, Value: oid})
	}
	o.flushLearned(ctx, m.Key, attrs...)
	return nil
}

// vlanOID returns the VLAN called name, or 0 if the VLAN has no members.
func (o *Orch) vlanOID(name string) sai.OID {
	for member, oids := range o.members {
		if member[0] == name {
			return oids[0]
		}
	}
	return 0
}

// layoutChanged flushes the addresses learned at members that are about to leave their VLAN, and removes static entries
// before their members leave.
func (o *Orch) layoutChanged(ctx context.Context, _ struct{}) {
	members := map[[2]string][2]sai.OID{}
	changed := false
	for _, m := range o.ports.VLANMembers() {
		vlan, bp, err := o.ports.BridgePort(m[0], m[1])
		if err != nil {
			continue
		}
		members[m] = [2]sai.OID{vlan, bp}
		changed = changed || o.members[m] != members[m]
	}
	for _, m := range slices.SortedFunc(maps.Keys(o.members), compareMembers) {
		if oids := o.members[m]; members[m] != oids {
			changed = true
			o.flushLearned(ctx, m[1]+" in "+m[0],
				sai.Attr{ID: sai.FDBFlushAttrBridgePortID, Value: oids[1]},
				sai.Attr{ID: sai.FDBFlushAttrBvID, Value: oids[0]})
			o.forgetAll(m[0], m[1])
		}
	}
	if !changed {
		return
	}
	o.members = members
	if err := o.ledger.Reconcile(ctx); err != nil {
		o.log.Error("static FDB entries are behind", "err", err)
	}
}

func compareMembers(a, b [2]string) int {
	if c := schema.CompareNames(a[0], b[0]); c != 0 {
		return c
	}
	return schema.CompareNames(a[1], b[1])
}

// unwritten is the source of one task while rows of STATE_DB must be written.
type unwritten struct{ o *Orch }

func (u unwritten) Name() string { return schema.StateFDB }

func (u unwritten) Pops(context.Context) ([]swss.KeyOpFieldsValues, error) {
	if len(u.o.dirty) == 0 {
		return nil, nil
	}
	return []swss.KeyOpFieldsValues{{Key: "learned", Op: swss.OpSet}}, nil
}

// flush writes the changed rows of STATE_DB's FDB_TABLE, one for each entry of the ASIC, as in SONiC.
func (o *Orch) flush(ctx context.Context) error {
	var gone []string
	changed := map[string]swss.FieldValues{}
	for key := range o.dirty {
		switch f, learned := o.fixed[key], o.learned[key]; {
		case f != nil:
			changed[key] = f
		case learned != nil:
			changed[key] = learned
		default:
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	if err := o.state.DelMany(ctx, gone); err != nil {
		return err
	}
	if err := o.state.SetMany(ctx, changed); err != nil {
		return err
	}
	clear(o.dirty)
	return nil
}
