package objectids

import (
	"fmt"
	"slices"
	"sync"

	"tamtam/sai"
)

// A Map translates virtual and real object ids. Reading is safe at any time. Everything else needs the server's lock.
type Map struct {
	mu       sync.RWMutex
	RIDs     map[sai.OID]sai.OID // by virtual id
	vids     map[sai.OID]sai.OID // by real id
	Own      map[sai.OID]bool    // virtual ids of objects that came with the switch or a port
	Children map[sai.OID][]sai.OID
}

// NewMap returns a map without ids.
func NewMap() *Map {
	return &Map{
		RIDs: map[sai.OID]sai.OID{}, vids: map[sai.OID]sai.OID{},
		Own: map[sai.OID]bool{}, Children: map[sai.OID][]sai.OID{},
	}
}

// Add adds an object's two ids.
func (m *Map) Add(vid, rid sai.OID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.RIDs[vid], m.vids[rid] = rid, vid
}

// Remove removes an object's two ids.
func (m *Map) Remove(vid, rid sai.OID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.RIDs, vid)
	delete(m.vids, rid)
	delete(m.Own, vid)
	delete(m.Children, rid)
}

// Known reports whether an object with a virtual id exists.
func (m *Map) Known(vid sai.OID) bool { _, ok := m.RID(vid); return ok }

// RID returns the real id. The null object maps to itself.
func (m *Map) RID(vid sai.OID) (sai.OID, bool) {
	if vid == sai.NullOID {
		return vid, true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	rid, ok := m.RIDs[vid]
	return rid, ok
}

// VID returns the virtual id. The null object maps to itself.
func (m *Map) VID(rid sai.OID) (sai.OID, bool) {
	if rid == sai.NullOID {
		return rid, true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	vid, ok := m.vids[rid]
	return vid, ok
}

// OwnVIDs returns the virtual ids of the objects that came with the switch or a port, sorted.
func (m *Map) OwnVIDs() []sai.OID {
	var l []sai.OID
	for vid := range m.Own {
		l = append(l, vid)
	}
	slices.Sort(l)
	return l
}

// RealKey translates the key of an object that must exist.
func (m *Map) RealKey(k sai.Key) (sai.Key, error) {
	var unknown sai.OID
	if k.Entry == nil && k.OID == sai.NullOID {
		return k, fmt.Errorf("%s: %w", k, sai.StatusInvalidObjectID)
	}
	real := sai.MapKey(k, func(vid sai.OID) sai.OID {
		rid, ok := m.RID(vid)
		if !ok {
			unknown = vid
		}
		return rid
	})
	if unknown != 0 {
		return real, fmt.Errorf("%s: virtual object id %s is not known: %w", k, unknown, sai.StatusInvalidObjectID)
	}
	return real, nil
}

// RealAttrs translates the values of attributes.
func (m *Map) RealAttrs(attrs []sai.Attr) ([]sai.Attr, error) {
	real := make([]sai.Attr, len(attrs))
	for i, a := range attrs {
		var unknown sai.OID
		real[i] = sai.Attr{ID: a.ID, Value: sai.MapOIDs(a.Value, func(vid sai.OID) sai.OID {
			rid, ok := m.RID(vid)
			if !ok {
				unknown = vid
			}
			return rid
		})}
		if unknown != 0 {
			return nil, fmt.Errorf("%s: virtual object id %s is not known: %w", a.ID, unknown, sai.StatusInvalidParameter)
		}
	}
	return real, nil
}

// OwnCopy returns a map of the objects that came with the switch or a port, except those in without.
func (m *Map) OwnCopy(without map[sai.OID]bool) *Map {
	c := NewMap()
	c.Children = m.Children
	for vid := range m.Own {
		if rid, ok := m.RID(vid); ok && !without[vid] {
			c.Add(vid, rid)
			c.Own[vid] = true
		}
	}
	return c
}
