package sairedis

import (
	"fmt"
	"slices"
	"sync"

	"tamtam/sai"
)

// An idMap translates virtual and real object ids. Reading is safe at any
// time; all else is done while the server's lock is held.
type idMap struct {
	mu       sync.RWMutex
	rids     map[sai.OID]sai.OID // by virtual id
	vids     map[sai.OID]sai.OID // by real id
	own      map[sai.OID]bool    // virtual ids of objects that came with the switch or a port
	children map[sai.OID][]sai.OID
}

func newIDMap() *idMap {
	return &idMap{
		rids: map[sai.OID]sai.OID{}, vids: map[sai.OID]sai.OID{},
		own: map[sai.OID]bool{}, children: map[sai.OID][]sai.OID{},
	}
}

func (m *idMap) add(vid, rid sai.OID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rids[vid], m.vids[rid] = rid, vid
}

func (m *idMap) remove(vid, rid sai.OID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rids, vid)
	delete(m.vids, rid)
	delete(m.own, vid)
	delete(m.children, rid)
}

func (m *idMap) known(vid sai.OID) bool { _, ok := m.rid(vid); return ok }

// rid returns the real id; the null object is itself.
func (m *idMap) rid(vid sai.OID) (sai.OID, bool) {
	if vid == sai.NullOID {
		return vid, true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	rid, ok := m.rids[vid]
	return rid, ok
}

// vid returns the virtual id; the null object is itself.
func (m *idMap) vid(rid sai.OID) (sai.OID, bool) {
	if rid == sai.NullOID {
		return rid, true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	vid, ok := m.vids[rid]
	return vid, ok
}

// ownVIDs returns the virtual ids of the objects that nobody created, sorted.
func (m *idMap) ownVIDs() []sai.OID {
	var l []sai.OID
	for vid := range m.own {
		l = append(l, vid)
	}
	slices.Sort(l)
	return l
}

// toRealKey translates the key of an object that must exist.
func (m *idMap) toRealKey(k sai.Key) (sai.Key, error) {
	var unknown sai.OID
	if k.Entry == nil && k.OID == sai.NullOID {
		return k, fmt.Errorf("%s: %w", k, sai.StatusInvalidObjectID)
	}
	real := sai.MapKey(k, func(vid sai.OID) sai.OID {
		rid, ok := m.rid(vid)
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

// toRealAttrs translates the values of attributes.
func (m *idMap) toRealAttrs(attrs []sai.Attr) ([]sai.Attr, error) {
	real := make([]sai.Attr, len(attrs))
	for i, a := range attrs {
		var unknown sai.OID
		real[i] = sai.Attr{ID: a.ID, Value: sai.MapOIDs(a.Value, func(vid sai.OID) sai.OID {
			rid, ok := m.rid(vid)
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
