// Package saitest has doubles of the SAI API for tests. [Fake] stores objects and checks each call as SAI's metadata
// library does. [Recorder] records the calls to another API and fails selected ones. [Contract] holds the tests that
// every backend must pass.
//
// Nothing in this package forwards packets.
package saitest

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"tamtam/sai"
)

// Options configure a [Fake].
type Options struct {
	Ports      int      // number of front panel ports of four lanes each; 0 means 32
	ACLTables  int      // maximum number of ACL tables per stage; 0 means no limit
	ACLEntries int      // maximum number of entries per ACL table; 0 means 1000
	Queues     int      // number of unicast queues of each port
	Groups     int      // number of ingress priority groups of each port
	Extensions []string // names of the generic programmable objects that the switch has
	// Unsupported lists attributes that cannot be created, set or read.
	Unsupported []sai.AttrID
	Uncounted   []sai.StatID           // statistics that are not counted
	Notify      func(sai.Notification) // called by [Fake.Notify]; may be nil
}

// A Fake is a [sai.API] that stores objects. Creating the switch also creates the default objects that SONiC expects.
// Object ids are type<<32 | number.
type Fake struct {
	mu      sync.Mutex
	opts    Options
	check   *sai.Validator
	objects map[sai.Key]map[sai.AttrID]sai.Value
	next    map[sai.ObjectType]uint64
	stats   map[sai.Key]map[sai.StatID]uint64
	sw      sai.Key
	fixed   map[sai.AttrID]sai.Value // read-only attributes of the switch
	own     map[sai.Key]bool         // objects that came with the switch
	entries map[sai.Value]int        // number of ACL entries of each table
}

var _ sai.API = (*Fake)(nil)

// New returns a Fake without a switch.
func New(o Options) *Fake {
	if o.Ports == 0 {
		o.Ports = 32
	}
	if o.ACLEntries == 0 {
		o.ACLEntries = 1000
	}
	f := &Fake{opts: o}
	f.reset()
	return f
}

// NewFake returns a Fake with the default options: 32 ports.
func NewFake() *Fake { return New(Options{}) }

func (f *Fake) reset() {
	f.check = sai.NewValidator()
	f.objects = map[sai.Key]map[sai.AttrID]sai.Value{}
	f.next = map[sai.ObjectType]uint64{}
	f.stats = map[sai.Key]map[sai.StatID]uint64{}
	f.fixed = map[sai.AttrID]sai.Value{}
	f.own = map[sai.Key]bool{}
	f.entries = map[sai.Value]int{}
	f.sw = sai.Key{}
}

// Create implements [sai.API].
func (f *Fake) Create(_ context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.create(t, attrs)
}

func (f *Fake) create(t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if err := f.check.CheckCreate(t, attrs); err != nil {
		return 0, err
	}
	if err := f.supported("create", t, attrs...); err != nil {
		return 0, err
	}
	table, _ := sai.Find(attrs, sai.ACLEntryAttrTableID)
	if t == sai.ObjectTypeACLEntry {
		if f.entries[table] >= f.opts.ACLEntries {
			return 0, &sai.CallError{Op: "create", Type: t, Status: sai.StatusTableFull, Reason: "the ACL table is full"}
		}
	}
	if t == sai.ObjectTypeACLTable && f.opts.ACLTables > 0 {
		stage, _ := sai.Find(attrs, sai.ACLTableAttrACLStage)
		if f.tablesAt(stage) >= f.opts.ACLTables {
			return 0, &sai.CallError{Op: "create", Type: t, Status: sai.StatusInsufficientResources}
		}
	}
	if t == sai.ObjectTypeGenericProgrammable {
		name, _ := sai.Find(attrs, sai.GenericProgrammableAttrObjectName)
		if !f.extension(name) {
			return 0, &sai.CallError{Op: "create", Type: t, Status: sai.StatusNotSupported}
		}
	}
	o := f.add(t, attrs)
	if t == sai.ObjectTypeACLEntry {
		f.entries[table]++
	}
	if t == sai.ObjectTypeSwitch {
		f.sw = sai.Obj(t, o)
		f.addDefaults()
	}
	return o, nil
}

// tablesAt returns the number of ACL tables at a stage.
func (f *Fake) tablesAt(stage sai.Value) (n int) {
	for k, attrs := range f.objects {
		if k.Type == sai.ObjectTypeACLTable && attrs[sai.ACLTableAttrACLStage] == stage {
			n++
		}
	}
	return n
}

// add stores an object without checks.
func (f *Fake) add(t sai.ObjectType, attrs []sai.Attr) sai.OID {
	o := sai.OID(uint64(t)<<32 | f.next[t])
	f.next[t]++
	f.put(sai.Obj(t, o), attrs)
	return o
}

func (f *Fake) put(k sai.Key, attrs []sai.Attr) {
	values := make(map[sai.AttrID]sai.Value, len(attrs))
	for _, a := range attrs {
		values[a.ID] = a.Value
	}
	f.objects[k] = values
	f.check.Created(k, attrs)
}

func (f *Fake) supported(op string, t sai.ObjectType, attrs ...sai.Attr) error {
	for _, a := range attrs {
		for _, u := range f.opts.Unsupported {
			if a.ID == u {
				return &sai.CallError{Op: op, Type: t, Attr: a.ID, Status: sai.StatusAttrNotSupported0}
			}
		}
	}
	return nil
}

func (f *Fake) extension(name sai.Value) bool {
	b, _ := name.(sai.Bytes)
	for _, e := range f.opts.Extensions {
		if e == string(b) {
			return true
		}
	}
	return false
}

// CreateEntry implements [sai.API].
func (f *Fake) CreateEntry(_ context.Context, e sai.Entry, attrs []sai.Attr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check.CheckCreateEntry(e, attrs); err != nil {
		return err
	}
	f.put(sai.EntryKey(e), attrs)
	return nil
}

// Remove implements [sai.API]. Removing the switch removes everything.
func (f *Fake) Remove(_ context.Context, k sai.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check.CheckRemove(k); err != nil {
		return err
	}
	if k.Type == sai.ObjectTypeSwitch && k.Entry == nil {
		f.reset()
		return nil
	}
	if k.Type == sai.ObjectTypeACLEntry {
		f.entries[f.objects[k][sai.ACLEntryAttrTableID]]--
	}
	delete(f.objects, k)
	delete(f.stats, k)
	f.check.Removed(k)
	return nil
}

// Set implements [sai.API].
func (f *Fake) Set(_ context.Context, k sai.Key, a sai.Attr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check.CheckSet(k, a); err != nil {
		return err
	}
	if err := f.supported("set", k.Type, a); err != nil {
		return err
	}
	f.objects[k][a.ID] = a.Value
	f.check.Changed(k, a)
	return nil
}

// Poke sets any attribute, including read-only ones, without checks, as if the ASIC had counted or discovered it.
func (f *Fake) Poke(k sai.Key, a sai.Attr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects[k] != nil {
		f.objects[k][a.ID] = a.Value
	}
}

// PokeStat sets a statistic.
func (f *Fake) PokeStat(k sai.Key, id sai.StatID, n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stats[k] == nil {
		f.stats[k] = map[sai.StatID]uint64{}
	}
	f.stats[k][id] = n
}

// Notify passes a notification to the function of the options.
func (f *Fake) Notify(n sai.Notification) {
	if f.opts.Notify != nil {
		f.opts.Notify(n)
	}
}

// Get implements [sai.API]. It returns the value that was set, a value computed from other objects, or the default of
// SAI's metadata.
func (f *Fake) Get(_ context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check.CheckGet(k, want); err != nil {
		return nil, err
	}
	if err := f.supported("get", k.Type, want...); err != nil {
		return nil, err
	}
	got := make([]sai.Attr, len(want))
	var overflow error
	for i, w := range want {
		v := f.value(k, w.ID)
		if v == nil {
			return nil, &sai.CallError{Op: "get", Type: k.Type, Attr: w.ID, Status: sai.StatusNotImplemented}
		}
		got[i] = sai.Attr{ID: w.ID, Value: v}
		room, list := sai.ListLen(w.Value)
		if n, _ := sai.ListLen(v); list && n > room {
			overflow = &sai.CallError{Op: "get", Type: k.Type, Attr: w.ID, Status: sai.StatusBufferOverflow}
		}
	}
	return got, overflow
}

func (f *Fake) value(k sai.Key, id sai.AttrID) sai.Value {
	if v, ok := f.objects[k][id]; ok {
		return v
	}
	if v := f.computed(k, id); v != nil {
		return v
	}
	return sai.Meta(id).Default
}

// BulkCreate implements [sai.API].
func (f *Fake) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	oids, errs := make([]sai.OID, len(objs)), make([]error, len(objs))
	for i := range objs {
		oids[i], errs[i] = f.Create(ctx, t, objs[i])
	}
	return oids, errs
}

// BulkCreateEntries implements [sai.API].
func (f *Fake) BulkCreateEntries(ctx context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	errs := make([]error, len(entries))
	for i, e := range entries {
		errs[i] = f.CreateEntry(ctx, e, attrs[i])
	}
	return errs
}

// BulkRemove implements [sai.API].
func (f *Fake) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	errs := make([]error, len(keys))
	for i, k := range keys {
		errs[i] = f.Remove(ctx, k)
	}
	return errs
}

// BulkSet implements [sai.API].
func (f *Fake) BulkSet(ctx context.Context, keys []sai.Key, attrs []sai.Attr) []error {
	errs := make([]error, len(keys))
	for i, k := range keys {
		errs[i] = f.Set(ctx, k, attrs[i])
	}
	return errs
}

// Stats implements [sai.API]. Statistics start at zero.
func (f *Fake) Stats(_ context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.counts(k, ids); err != nil {
		return nil, err
	}
	n := make([]uint64, len(ids))
	for i, id := range ids {
		n[i] = f.stats[k][id]
	}
	return n, nil
}

// counts returns an error for an unknown object or for statistics that are not counted.
func (f *Fake) counts(k sai.Key, ids []sai.StatID) error {
	if err := f.check.CheckStats(k, ids); err != nil {
		return err
	}
	for _, id := range ids {
		if slices.Contains(f.opts.Uncounted, id) {
			return fmt.Errorf("%s: %w", id, sai.StatusNotSupported)
		}
	}
	return nil
}

// ClearStats implements [sai.API].
func (f *Fake) ClearStats(_ context.Context, k sai.Key, ids []sai.StatID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.counts(k, ids); err != nil {
		return err
	}
	for _, id := range ids {
		delete(f.stats[k], id)
	}
	return nil
}

// Keys returns the keys of all objects, sorted by type and id or entry text.
func (f *Fake) Keys() []sai.Key {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keys()
}

func (f *Fake) keys() []sai.Key {
	keys := make([]sai.Key, 0, len(f.objects))
	for k := range f.objects {
		keys = append(keys, k)
	}
	sortKeys(keys)
	return keys
}

func sortKeys(keys []sai.Key) {
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		if a.Type != b.Type {
			return a.Type < b.Type
		}
		if a.Entry != nil && b.Entry != nil {
			return sai.FormatEntry(a.Entry) < sai.FormatEntry(b.Entry)
		}
		return a.OID < b.OID
	})
}

// Created returns the keys of the objects that did not come with the switch, sorted.
func (f *Fake) Created() []sai.Key {
	f.mu.Lock()
	defer f.mu.Unlock()
	var keys []sai.Key
	for _, k := range f.keys() {
		if !f.own[k] && k != f.sw {
			keys = append(keys, k)
		}
	}
	return keys
}

// Attrs returns the attributes of an object that were set, sorted, or nil if the object does not exist.
func (f *Fake) Attrs(k sai.Key) []sai.Attr {
	f.mu.Lock()
	defer f.mu.Unlock()
	var attrs []sai.Attr
	for id, v := range f.objects[k] {
		attrs = append(attrs, sai.Attr{ID: id, Value: v})
	}
	sort.Slice(attrs, func(i, j int) bool { return attrs[i].ID < attrs[j].ID })
	return attrs
}

func sortOIDs(l sai.OIDs) { slices.Sort(l) }
