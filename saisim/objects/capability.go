package objects

import (
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/objects/counts"
)

// AttrCapability returns the operations that this chip supports for an attribute.
func (s *Store) AttrCapability(id sai.AttrID) (sai.Capability, error) {
	m := sai.Meta(id)
	if m == nil {
		return sai.Capability{}, refuse("query", id.ObjectType(), id, sai.StatusInvalidParameter, "no such attribute")
	}
	k := s.kinds[id.ObjectType()]
	if k == nil || !k.has(id) {
		return sai.Capability{}, nil
	}
	write := !m.Has(sai.ReadOnly)
	return sai.Capability{Create: write && !m.Has(sai.SetOnly), Set: m.Has(sai.CreateAndSet) || m.Has(sai.SetOnly),
		Get: true}, nil
}

// EnumCapability returns the values of an attribute that the chip implements.
func (s *Store) EnumCapability(id sai.AttrID) ([]sai.Enum, error) {
	m, k := sai.Meta(id), s.kinds[id.ObjectType()]
	if m == nil || m.Enum == nil || k == nil || !k.has(id) {
		return nil, refuse("query", id.ObjectType(), id, sai.StatusNotSupported, "no enum attribute of the chip")
	}
	if only := k.enums[id]; only != nil {
		return slices.Clone(only), nil
	}
	return slices.Clone(m.Enum.Values), nil
}

// StatsCapability returns the counters that objects of a type have.
func (s *Store) StatsCapability(t sai.ObjectType) ([]sai.StatID, error) {
	if k := s.kinds[t]; k != nil && !k.countsNothing() {
		stats := slices.Clone(k.stats)
		stats = append(stats, counts.Sorted(k.uncounted)...)
		if k.more != nil {
			stats = append(stats, k.more()...)
		}
		return stats, nil
	}
	return nil, refuse("query", t, 0, sai.StatusNotSupported, "the chip counts nothing there")
}

// StreamCapability returns the counters of a type that can be streamed.
func (s *Store) StreamCapability(t sai.ObjectType) ([]sai.StreamedStat, error) {
	k := s.kinds[t]
	if types := sai.Meta(sai.TAMCounterSubscriptionAttrObjectID).Objects; k == nil || !slices.Contains(types, t) ||
		len(k.stats) == 0 {
		return nil, refuse("query", t, 0, sai.StatusNotSupported, "the chip streams no statistics of them")
	}
	list := make([]sai.StreamedStat, len(k.stats))
	for i, id := range k.stats {
		list[i] = sai.StreamedStat{ID: id, Least: minReadout}
	}
	return list, nil
}

// Availability returns the number of further objects of a type with these attributes that can be created.
func (s *Store) Availability(t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	k := s.kinds[t]
	if k == nil {
		return 0, refuse("query", t, 0, sai.StatusNotSupported, "the chip has no such objects")
	}
	switch t {
	case sai.ObjectTypeGenericProgrammable:
		v, _ := sai.Find(attrs, sai.GenericProgrammableAttrObjectName)
		name, _ := v.(sai.Bytes)
		return s.extensions.Available(string(name)), nil
	case sai.ObjectTypeACLEntry:
		return s.acls.entriesAvailable(attrs)
	case sai.ObjectTypeDebugCounter:
		return s.debug.available(attrs), nil
	case sai.ObjectTypeACLTable:
		return uint64(s.acls.tablesLeft(attrs)), nil
	case sai.ObjectTypeRouteEntry:
		v, ok := sai.Find(attrs, sai.RouteEntryAttrIPAddrFamily)
		return uint64(s.router.routesLeft(ok && v == sai.IPAddrFamilyIPv6)), nil
	case sai.ObjectTypeFDBEntry:
		return uint64(s.engine.AddressesLeft()), nil
	}
	if k.max == 0 {
		return 0, refuse("query", t, 0, sai.StatusNotSupported, "they have no limit of their own")
	}
	return uint64(k.max - s.live[t]), nil
}

// A WithoutEffect is an attribute that the chip stores without effect on packets, or a statistic that it answers with 0
// without counting.
type WithoutEffect struct {
	Type sai.ObjectType
	Name string // of the attribute or the statistic, in SAI's form
	// Counts is true for a statistic.
	Counts bool
	Why    string
}

// WithoutEffect returns everything that the chip accepts although it lacks the function behind it, by type: attributes
// first, then statistics.
func (s *Store) WithoutEffect() (list []WithoutEffect) {
	for _, t := range s.objectTypes() {
		t := sai.ObjectType(t)
		k := s.kinds[t]
		for _, id := range slices.Sorted(maps.Keys(k.stored)) {
			list = append(list, WithoutEffect{Type: t, Name: id.String(), Why: k.stored[id]})
		}
		for _, id := range counts.Sorted(k.uncounted) {
			list = append(list, WithoutEffect{Type: t, Name: id.String(), Counts: true, Why: k.uncounted[id]})
		}
	}
	return list
}
