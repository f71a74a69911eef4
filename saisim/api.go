package saisim

import (
	"context"
	"fmt"
	"sync"

	"tamtam/sai"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects"
)

var (
	_ sai.API     = (*Chip)(nil)
	_ sai.Checker = (*Chip)(nil)
)

// An api is SAI on a chip: the lock, and the objects and the engine that it protects.
type api struct {
	mu      sync.Mutex
	objects *objects.Store
	engine  *engine.Engine
	notify  func(sai.Notification)
}

// unlock releases the chip and then delivers its notifications.
func (c *api) unlock() {
	notes, done := c.objects.Notes(), c.engine.Done()
	c.mu.Unlock()
	for _, f := range done {
		f()
	}
	if c.notify != nil {
		for _, n := range notes {
			c.notify(n)
		}
	}
}

// Create implements [sai.API].
func (c *api) Create(_ context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.Create(t, attrs)
}

// CreateEntry implements [sai.API].
func (c *api) CreateEntry(_ context.Context, e sai.Entry, attrs []sai.Attr) error {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.CreateEntry(e, attrs)
}

// CheckCreate implements [sai.Checker].
func (c *api) CheckCreate(k sai.Key, attrs []sai.Attr, others int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.CheckCreate(k, attrs, others)
}

// CheckSet implements [sai.Checker].
func (c *api) CheckSet(k sai.Key, a sai.Attr) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.CheckSet(k, a)
}

// BulkCreateEntries implements [sai.API].
func (c *api) BulkCreateEntries(_ context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	c.mu.Lock()
	defer c.unlock()
	errs := make([]error, len(entries))
	for i, e := range entries {
		errs[i] = c.objects.CreateEntry(e, attrs[i])
	}
	return errs
}

// Remove implements [sai.API].
func (c *api) Remove(_ context.Context, k sai.Key) error {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.Remove(k)
}

// Set implements [sai.API].
func (c *api) Set(_ context.Context, k sai.Key, a sai.Attr) error {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.Set(k, a)
}

// Get implements [sai.API].
func (c *api) Get(_ context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.Get(k, want)
}

// BulkCreate implements [sai.API].
func (c *api) BulkCreate(_ context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	c.mu.Lock()
	defer c.unlock()
	oids, errs := make([]sai.OID, len(objs)), make([]error, len(objs))
	for i, attrs := range objs {
		oids[i], errs[i] = c.objects.Create(t, attrs)
	}
	return oids, errs
}

// BulkRemove implements [sai.API].
func (c *api) BulkRemove(_ context.Context, keys []sai.Key) []error {
	c.mu.Lock()
	defer c.unlock()
	errs := make([]error, len(keys))
	for i, k := range keys {
		errs[i] = c.objects.Remove(k)
	}
	return errs
}

// BulkSet implements [sai.API].
func (c *api) BulkSet(_ context.Context, keys []sai.Key, attrs []sai.Attr) []error {
	c.mu.Lock()
	defer c.unlock()
	errs := make([]error, len(keys))
	for i, k := range keys {
		if i >= len(attrs) {
			errs[i] = &sai.CallError{Op: "set", Type: k.Type, Status: sai.StatusInvalidParameter,
				Reason: fmt.Sprintf("%d objects, %d attributes", len(keys), len(attrs))}
			continue
		}
		errs[i] = c.objects.Set(k, attrs[i])
	}
	return errs
}

// Stats implements [sai.API].
func (c *api) Stats(_ context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.Stats(k, ids)
}

// StatsAndClear implements [sai.ReadClearer].
func (c *api) StatsAndClear(_ context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	c.mu.Lock()
	defer c.unlock()
	values, err := c.objects.Stats(k, ids)
	if err != nil {
		return nil, err
	}
	return values, c.objects.ClearStats(k, ids)
}

// ClearStats implements [sai.API].
func (c *api) ClearStats(_ context.Context, k sai.Key, ids []sai.StatID) error {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.ClearStats(k, ids)
}

// FlushFDB implements [sai.API].
func (c *api) FlushFDB(_ context.Context, attrs []sai.Attr) error {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.Flush(attrs)
}

// AttrCapability implements [sai.API]. It returns the capabilities that the chip really implements.
func (c *api) AttrCapability(_ context.Context, id sai.AttrID) (sai.Capability, error) {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.AttrCapability(id)
}

// EnumCapability implements [sai.API].
func (c *api) EnumCapability(_ context.Context, id sai.AttrID) ([]sai.Enum, error) {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.EnumCapability(id)
}

// StreamCapability implements [sai.API].
func (c *api) StreamCapability(_ context.Context, t sai.ObjectType) ([]sai.StreamedStat, error) {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.StreamCapability(t)
}

// StatsCapability implements [sai.API].
func (c *api) StatsCapability(_ context.Context, t sai.ObjectType) ([]sai.StatID, error) {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.StatsCapability(t)
}

// Availability implements [sai.API].
func (c *api) Availability(_ context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.Availability(t, attrs)
}
