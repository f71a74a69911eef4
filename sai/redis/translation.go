package sairedis

import (
	"context"
	"slices"

	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/redis/objectids"
)

// A translation is the SAI API of a client for orchs that use other ids for adopted objects than ASIC_DB.
type translation struct {
	sai.API                // the client
	ids     *objectids.Map // adopted objects: from the orchs' ids to those of ASIC_DB
}

// public translates an orch's id.
func (tr *translation) public(o sai.OID) sai.OID {
	if adopted, ok := tr.ids.RID(o); ok {
		return adopted
	}
	return o
}

// private translates an id of ASIC_DB.
func (tr *translation) private(o sai.OID) sai.OID {
	if known, ok := tr.ids.VID(o); ok {
		return known
	}
	return o
}

func (tr *translation) publicKey(k sai.Key) sai.Key { return sai.MapKey(k, tr.public) }

func (tr *translation) publicKeys(keys []sai.Key) []sai.Key {
	list := make([]sai.Key, len(keys))
	for i, k := range keys {
		list[i] = tr.publicKey(k)
	}
	return list
}

func (tr *translation) publicOIDs(objs []sai.OID) []sai.OID {
	list := make([]sai.OID, len(objs))
	for i, o := range objs {
		list[i] = tr.public(o)
	}
	return list
}

func (tr *translation) publicAttrs(attrs []sai.Attr) []sai.Attr { return mapAttrs(attrs, tr.public) }

func (tr *translation) privateAttrs(attrs []sai.Attr) []sai.Attr { return mapAttrs(attrs, tr.private) }

// mapAttrs returns attributes with translated object ids. Most attributes name no objects.
func mapAttrs(attrs []sai.Attr, to func(sai.OID) sai.OID) []sai.Attr {
	var list []sai.Attr
	for i, x := range attrs {
		if !asicview.NamesObjects(x.Value) {
			continue
		}
		if list == nil {
			list = slices.Clone(attrs)
		}
		list[i].Value = sai.MapOIDs(x.Value, to)
	}
	if list == nil {
		return attrs
	}
	return list
}

// forget drops the translation of a removed object, whose id is no longer in use.
func (tr *translation) forget(k sai.Key) {
	if k.Entry != nil {
		return
	}
	if adopted, ok := tr.ids.RID(k.OID); ok && k.OID != sai.NullOID {
		tr.ids.Remove(k.OID, adopted)
	}
}

// Create implements [sai.API].
func (tr *translation) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	return tr.API.Create(ctx, t, tr.publicAttrs(attrs))
}

// CreateEntry implements [sai.API].
func (tr *translation) CreateEntry(ctx context.Context, e sai.Entry, attrs []sai.Attr) error {
	return tr.API.CreateEntry(ctx, sai.MapEntry(e, tr.public), tr.publicAttrs(attrs))
}

// Remove implements [sai.API].
func (tr *translation) Remove(ctx context.Context, k sai.Key) error {
	err := tr.API.Remove(ctx, tr.publicKey(k))
	if err == nil {
		tr.forget(k)
	}
	return err
}

// Set implements [sai.API].
func (tr *translation) Set(ctx context.Context, k sai.Key, x sai.Attr) error {
	x.Value = sai.MapOIDs(x.Value, tr.public)
	return tr.API.Set(ctx, tr.publicKey(k), x)
}

// Get implements [sai.API].
func (tr *translation) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	got, err := tr.API.Get(ctx, tr.publicKey(k), want)
	return tr.privateAttrs(got), err
}

// BulkCreate implements [sai.API].
func (tr *translation) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	public := make([][]sai.Attr, len(objs))
	for i, attrs := range objs {
		public[i] = tr.publicAttrs(attrs)
	}
	return tr.API.BulkCreate(ctx, t, public)
}

// BulkCreateEntries implements [sai.API].
func (tr *translation) BulkCreateEntries(ctx context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	public, values := make([]sai.Entry, len(entries)), make([][]sai.Attr, len(entries))
	for i, e := range entries {
		public[i], values[i] = sai.MapEntry(e, tr.public), tr.publicAttrs(attrs[i])
	}
	return tr.API.BulkCreateEntries(ctx, public, values)
}

// BulkRemove implements [sai.API].
func (tr *translation) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	errs := tr.API.BulkRemove(ctx, tr.publicKeys(keys))
	for i, err := range errs {
		if err == nil {
			tr.forget(keys[i])
		}
	}
	return errs
}

// BulkSet implements [sai.API].
func (tr *translation) BulkSet(ctx context.Context, keys []sai.Key, attrs []sai.Attr) []error {
	return tr.API.BulkSet(ctx, tr.publicKeys(keys), tr.publicAttrs(attrs))
}

// Stats implements [sai.API].
func (tr *translation) Stats(ctx context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	return tr.API.Stats(ctx, tr.publicKey(k), ids)
}

// ClearStats implements [sai.API].
func (tr *translation) ClearStats(ctx context.Context, k sai.Key, ids []sai.StatID) error {
	return tr.API.ClearStats(ctx, tr.publicKey(k), ids)
}

// FlushFDB implements [sai.API].
func (tr *translation) FlushFDB(ctx context.Context, attrs []sai.Attr) error {
	return tr.API.FlushFDB(ctx, tr.publicAttrs(attrs))
}

// Availability implements [sai.API].
func (tr *translation) Availability(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	return tr.API.Availability(ctx, t, tr.publicAttrs(attrs))
}
