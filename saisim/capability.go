package saisim

import (
	"context"
	"slices"

	"tamtam/sai"
	"tamtam/tam/altmark"
	"tamtam/tam/flymon"
	"tamtam/tam/record"
)

// AttrCapability implements [sai.API]: it tells what the chip really does.
func (c *Chip) AttrCapability(_ context.Context, id sai.AttrID) (sai.Capability, error) {
	c.mu.Lock()
	defer c.unlock()
	m := sai.Meta(id)
	if m == nil {
		return sai.Capability{}, refuse("query", id.ObjectType(), id, sai.StatusInvalidParameter, "no such attribute")
	}
	k := c.kinds[id.ObjectType()]
	if k == nil || !k.has(id) {
		return sai.Capability{}, nil
	}
	write := !m.Has(sai.ReadOnly)
	return sai.Capability{Create: write && !m.Has(sai.SetOnly), Set: m.Has(sai.CreateAndSet) || m.Has(sai.SetOnly),
		Get: true}, nil
}

// EnumCapability implements [sai.API].
func (c *Chip) EnumCapability(_ context.Context, id sai.AttrID) ([]sai.Enum, error) {
	c.mu.Lock()
	defer c.unlock()
	m, k := sai.Meta(id), c.kinds[id.ObjectType()]
	if m == nil || m.Enum == nil || k == nil || !k.has(id) {
		return nil, refuse("query", id.ObjectType(), id, sai.StatusNotSupported, "no enum attribute of the chip")
	}
	if only := k.enums[id]; only != nil {
		return slices.Clone(only), nil
	}
	return slices.Clone(m.Enum.Values), nil
}

// StatsCapability implements [sai.API].
func (c *Chip) StatsCapability(_ context.Context, t sai.ObjectType) ([]sai.StatID, error) {
	c.mu.Lock()
	defer c.unlock()
	if k := c.kinds[t]; k != nil && k.stat != nil {
		return slices.Clone(k.stats), nil
	}
	return nil, refuse("query", t, 0, sai.StatusNotSupported, "the chip counts nothing there")
}

func (k *kind) counts(id sai.StatID) bool { return slices.Contains(k.stats, id) }

// Availability implements [sai.API].
func (c *Chip) Availability(_ context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	c.mu.Lock()
	defer c.unlock()
	k := c.kinds[t]
	if k == nil {
		return 0, refuse("query", t, 0, sai.StatusNotSupported, "the chip has no such objects")
	}
	switch t {
	case sai.ObjectTypeGenericProgrammable:
		v, _ := sai.Find(attrs, sai.GenericProgrammableAttrObjectName)
		name, _ := v.(sai.Bytes)
		return c.extensionsAvailable(string(name)), nil
	case sai.ObjectTypeACLEntry:
		return c.entriesAvailable(attrs)
	case sai.ObjectTypeACLTable:
		return uint64(c.tablesLeft(attrs)), nil
	case sai.ObjectTypeRouteEntry:
		v, ok := sai.Find(attrs, sai.RouteEntryAttrIPAddrFamily)
		if ok && v == sai.IPAddrFamilyIPv6 {
			return uint64(c.prof.IPv6Routes - c.used6), nil
		}
		return uint64(c.prof.IPv4Routes - c.used4), nil
	case sai.ObjectTypeFDBEntry:
		return uint64(c.fdb.max - c.fdb.n), nil
	}
	if k.max == 0 {
		return 0, refuse("query", t, 0, sai.StatusNotSupported, "they have no limit of their own")
	}
	return uint64(k.max - c.live[t]), nil
}

// extensionsAvailable is what there is of an extension, whatever is in use, for an orch that begins
// anew asks too; of windows it is what is left.
func (c *store) extensionsAvailable(name string) uint64 {
	switch name {
	case altmark.ObjectFlows:
		return uint64(c.prof.AltMark.Flows)
	case altmark.ObjectProfile:
		return uint64(c.prof.AltMark.Profiles)
	case flymon.ObjectTask:
		return c.maxSketchTasks()
	case record.ObjectPlan:
		return uint64(c.prof.TableRecord.Plans)
	case flymon.ObjectGroups:
		return uint64(c.prof.FlyMon.Groups + c.prof.FlyMon.Spliced)
	}
	return c.extensionsLeft(name)
}

// entriesAvailable is how many entries a table still takes; without a table, what the chip has.
func (c *store) entriesAvailable(attrs []sai.Attr) (uint64, error) {
	v, ok := sai.Find(attrs, sai.ACLEntryAttrTableID)
	if !ok {
		return uint64(c.prof.ACL.Entries), nil
	}
	oid, _ := v.(sai.OID)
	table, ok := self[*aclTable](c, oid)
	if !ok {
		return 0, refuse("query", sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID, sai.StatusInvalidParameter,
			"no such table")
	}
	return uint64(c.entriesLeft(table)), nil
}
