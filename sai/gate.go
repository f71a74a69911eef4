package sai

import "context"

// An Op is a kind of call of [API].
type Op uint8

// The kinds of calls. Each item of a bulk call is one of them.
const (
	OpCreate Op = iota + 1
	OpRemove
	OpSet
	OpGet
	OpStats
	OpClearStats
	OpFlush
	OpQuery // a query of capabilities or availability
)

// Changes reports whether the call changes the configuration.
func (o Op) Changes() bool { return o <= OpSet || o == OpFlush }

// A Gate passes calls to another API, except those that it refuses. It is for fault injection and tests.
type Gate struct {
	API
	// Refuse is called for every call, and for every item of a bulk call before any of them is passed on. If it
	// returns an error, the call fails with it.
	Refuse func(ctx context.Context, op Op, t ObjectType) error
}

var (
	_ API     = (*Gate)(nil)
	_ Checker = (*Gate)(nil)

	_ ReadClearer = (*Gate)(nil)
)

// CheckCreate implements [Checker]. Nothing is refused if the other API is none.
func (g *Gate) CheckCreate(k Key, attrs []Attr, others int) error {
	if c, ok := g.API.(Checker); ok {
		return c.CheckCreate(k, attrs, others)
	}
	return nil
}

// CheckSet implements [Checker].
func (g *Gate) CheckSet(k Key, a Attr) error {
	if c, ok := g.API.(Checker); ok {
		return c.CheckSet(k, a)
	}
	return nil
}

// Create implements [API].
func (g *Gate) Create(ctx context.Context, t ObjectType, attrs []Attr) (OID, error) {
	if err := g.Refuse(ctx, OpCreate, t); err != nil {
		return 0, err
	}
	return g.API.Create(ctx, t, attrs)
}

// CreateEntry implements [API].
func (g *Gate) CreateEntry(ctx context.Context, e Entry, attrs []Attr) error {
	if err := g.Refuse(ctx, OpCreate, e.EntryType()); err != nil {
		return err
	}
	return g.API.CreateEntry(ctx, e, attrs)
}

// Remove implements [API].
func (g *Gate) Remove(ctx context.Context, k Key) error {
	if err := g.Refuse(ctx, OpRemove, k.Type); err != nil {
		return err
	}
	return g.API.Remove(ctx, k)
}

// Set implements [API].
func (g *Gate) Set(ctx context.Context, k Key, a Attr) error {
	if err := g.Refuse(ctx, OpSet, k.Type); err != nil {
		return err
	}
	return g.API.Set(ctx, k, a)
}

// Get implements [API].
func (g *Gate) Get(ctx context.Context, k Key, want []Attr) ([]Attr, error) {
	if err := g.Refuse(ctx, OpGet, k.Type); err != nil {
		return nil, err
	}
	return g.API.Get(ctx, k, want)
}

// BulkCreate implements [API].
func (g *Gate) BulkCreate(ctx context.Context, t ObjectType, objs [][]Attr) ([]OID, []error) {
	errs, passed := g.items(ctx, OpCreate, len(objs), func(int) ObjectType { return t })
	oids := make([]OID, len(objs))
	if len(passed) > 0 {
		made, failed := g.API.BulkCreate(ctx, t, pick(objs, passed))
		for j, i := range passed {
			oids[i], errs[i] = made[j], failed[j]
		}
	}
	return oids, errs
}

// BulkCreateEntries implements [API].
func (g *Gate) BulkCreateEntries(ctx context.Context, entries []Entry, attrs [][]Attr) []error {
	errs, passed := g.items(ctx, OpCreate, len(entries), func(i int) ObjectType { return entries[i].EntryType() })
	if len(passed) > 0 {
		put(errs, passed, g.API.BulkCreateEntries(ctx, pick(entries, passed), pick(attrs, passed)))
	}
	return errs
}

// BulkRemove implements [API].
func (g *Gate) BulkRemove(ctx context.Context, keys []Key) []error {
	errs, passed := g.items(ctx, OpRemove, len(keys), func(i int) ObjectType { return keys[i].Type })
	if len(passed) > 0 {
		put(errs, passed, g.API.BulkRemove(ctx, pick(keys, passed)))
	}
	return errs
}

// BulkSet implements [API].
func (g *Gate) BulkSet(ctx context.Context, keys []Key, attrs []Attr) []error {
	errs, passed := g.items(ctx, OpSet, len(keys), func(i int) ObjectType { return keys[i].Type })
	if len(passed) > 0 {
		put(errs, passed, g.API.BulkSet(ctx, pick(keys, passed), pick(attrs, passed)))
	}
	return errs
}

// items calls Refuse for each of n items. errs holds the errors of refused items; passed lists the others.
func (g *Gate) items(ctx context.Context, op Op, n int, t func(int) ObjectType) (errs []error, passed []int) {
	errs = make([]error, n)
	for i := range errs {
		if errs[i] = g.Refuse(ctx, op, t(i)); errs[i] == nil {
			passed = append(passed, i)
		}
	}
	return errs, passed
}

// pick returns the items at the given indices.
func pick[T any](all []T, at []int) []T {
	if len(at) == len(all) {
		return all
	}
	some := make([]T, 0, len(at))
	for _, i := range at {
		if i < len(all) { // the API refuses a list that is too short
			some = append(some, all[i])
		}
	}
	return some
}

// put stores the errors of the items at the given indices.
func put(errs []error, at []int, some []error) {
	for j, i := range at {
		errs[i] = some[j]
	}
}

// Stats implements [API].
func (g *Gate) Stats(ctx context.Context, k Key, ids []StatID) ([]uint64, error) {
	if err := g.Refuse(ctx, OpStats, k.Type); err != nil {
		return nil, err
	}
	return g.API.Stats(ctx, k, ids)
}

// ClearStats implements [API].
func (g *Gate) ClearStats(ctx context.Context, k Key, ids []StatID) error {
	if err := g.Refuse(ctx, OpClearStats, k.Type); err != nil {
		return err
	}
	return g.API.ClearStats(ctx, k, ids)
}

// StatsAndClear implements [ReadClearer].
func (g *Gate) StatsAndClear(ctx context.Context, k Key, ids []StatID) ([]uint64, error) {
	for _, op := range []Op{OpStats, OpClearStats} {
		if err := g.Refuse(ctx, op, k.Type); err != nil {
			return nil, err
		}
	}
	return StatsAndClear(ctx, g.API, k, ids)
}

// FlushFDB implements [API].
func (g *Gate) FlushFDB(ctx context.Context, attrs []Attr) error {
	if err := g.Refuse(ctx, OpFlush, ObjectTypeFDBFlush); err != nil {
		return err
	}
	return g.API.FlushFDB(ctx, attrs)
}

// AttrCapability implements [API].
func (g *Gate) AttrCapability(ctx context.Context, id AttrID) (Capability, error) {
	if err := g.Refuse(ctx, OpQuery, id.ObjectType()); err != nil {
		return Capability{}, err
	}
	return g.API.AttrCapability(ctx, id)
}

// EnumCapability implements [API].
func (g *Gate) EnumCapability(ctx context.Context, id AttrID) ([]Enum, error) {
	if err := g.Refuse(ctx, OpQuery, id.ObjectType()); err != nil {
		return nil, err
	}
	return g.API.EnumCapability(ctx, id)
}

// StreamCapability implements [API].
func (g *Gate) StreamCapability(ctx context.Context, t ObjectType) ([]StreamedStat, error) {
	if err := g.Refuse(ctx, OpQuery, t); err != nil {
		return nil, err
	}
	return g.API.StreamCapability(ctx, t)
}

// StatsCapability implements [API].
func (g *Gate) StatsCapability(ctx context.Context, t ObjectType) ([]StatID, error) {
	if err := g.Refuse(ctx, OpQuery, t); err != nil {
		return nil, err
	}
	return g.API.StatsCapability(ctx, t)
}

// Availability implements [API].
func (g *Gate) Availability(ctx context.Context, t ObjectType, attrs []Attr) (uint64, error) {
	if err := g.Refuse(ctx, OpQuery, t); err != nil {
		return 0, err
	}
	return g.API.Availability(ctx, t, attrs)
}
