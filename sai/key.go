package sai

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

// String returns the key in the form of ASIC_DB; see [FormatKey].
func (k Key) String() string { return FormatKey(k) }

// FormatKey returns the text of an object's key in ASIC_DB, without the name of the view: TYPE:oid:0x..., or
// TYPE:{json} for an entry.
func FormatKey(k Key) string {
	if k.Entry != nil {
		return k.Entry.EntryType().String() + ":" + FormatEntry(k.Entry)
	}
	return k.Type.String() + ":" + k.OID.String()
}

// FormatEntry returns the JSON text of an entry, with members in alphabetical order and without blanks.
func FormatEntry(e Entry) string {
	switch e := e.(type) {
	case FDBEntry:
		return fmt.Sprintf(`{"bvid":"%s","mac":"%s","switch_id":"%s"}`, e.BV, e.MAC, e.Switch)
	case NeighborEntry:
		return fmt.Sprintf(`{"ip":"%s","rif":"%s","switch_id":"%s"}`, formatAddr(e.IP), e.RIF, e.Switch)
	case RouteEntry:
		return fmt.Sprintf(`{"dest":"%s","switch_id":"%s","vr":"%s"}`, formatPrefix(e.Dest), e.Switch, e.VR)
	}
	return "{}"
}

func formatPrefix(p netip.Prefix) string {
	return fmt.Sprintf("%s/%d", formatAddr(p.Addr()), p.Bits())
}

// ParseKey parses the output of [FormatKey].
func ParseKey(text string) (Key, error) {
	name, id, _ := strings.Cut(text, ":")
	t, ok := LookupObjectType(name)
	if !ok {
		return Key{}, fmt.Errorf("%.80q: unknown object type: %w", text, StatusInvalidObjectType)
	}
	return ParseKeyOf(t, id)
}

// ParseKeyOf parses the part of a key after the object type.
func ParseKeyOf(t ObjectType, id string) (Key, error) {
	if !strings.HasPrefix(id, "{") {
		o, err := ParseOID(id)
		if err != nil {
			return Key{}, fmt.Errorf("%s: %w", t, err)
		}
		switch t {
		case ObjectTypeFDBEntry, ObjectTypeNeighborEntry, ObjectTypeRouteEntry:
			return Key{}, fmt.Errorf("%s:%s: the key of an entry is a JSON object: %w", t, id, StatusInvalidParameter)
		}
		return Obj(t, o), nil
	}
	e, err := parseEntry(t, id)
	if err != nil {
		return Key{}, fmt.Errorf("%s:%.200s: %w: %w", t, id, err, StatusInvalidParameter)
	}
	return EntryKey(e), nil
}

func parseEntry(t ObjectType, text string) (Entry, error) {
	var j map[string]string
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return nil, err
	}
	sw, err := ParseOID(j["switch_id"])
	if err != nil {
		return nil, err
	}
	switch t {
	case ObjectTypeFDBEntry:
		mac, err := ParseMAC(j["mac"])
		if err != nil {
			return nil, err
		}
		bv, err := ParseOID(j["bvid"])
		return FDBEntry{Switch: sw, MAC: mac, BV: bv}, err
	case ObjectTypeNeighborEntry:
		ip, err := parseAddr(j["ip"])
		if err != nil {
			return nil, err
		}
		rif, err := ParseOID(j["rif"])
		return NeighborEntry{Switch: sw, RIF: rif, IP: ip}, err
	case ObjectTypeRouteEntry:
		p, err := netip.ParsePrefix(j["dest"])
		if err != nil {
			return nil, err
		}
		vr, err := ParseOID(j["vr"])
		return RouteEntry{Switch: sw, VR: vr, Dest: p}, err
	}
	return nil, fmt.Errorf("objects of this type have object ids")
}

// References calls f with each object id in an attribute's value.
func References(v Value, f func(OID)) {
	switch v := v.(type) {
	case OID:
		f(v)
	case OIDs:
		for _, o := range v {
			f(o)
		}
	case Field:
		if v.Enabled {
			References(v.Data, f)
		}
	case Action:
		if v.Enabled {
			References(v.Param, f)
		}
	}
}

// MapOIDs returns v with each object id replaced. It does not change v itself.
func MapOIDs(v Value, f func(OID) OID) Value {
	switch v := v.(type) {
	case OID:
		return f(v)
	case OIDs:
		l := make(OIDs, len(v))
		for i, o := range v {
			l[i] = f(o)
		}
		return l
	case Field:
		if v.Enabled {
			v.Data = MapOIDs(v.Data, f)
		}
		return v
	case Action:
		if v.Enabled {
			v.Param = MapOIDs(v.Param, f)
		}
		return v
	}
	return v
}

// MapEntry returns e with each object id replaced.
func MapEntry(e Entry, f func(OID) OID) Entry {
	switch e := e.(type) {
	case FDBEntry:
		e.Switch, e.BV = f(e.Switch), f(e.BV)
		return e
	case NeighborEntry:
		e.Switch, e.RIF = f(e.Switch), f(e.RIF)
		return e
	case RouteEntry:
		e.Switch, e.VR = f(e.Switch), f(e.VR)
		return e
	}
	return e
}

// MapKey returns k with each object id replaced.
func MapKey(k Key, f func(OID) OID) Key {
	if k.Entry != nil {
		k.Entry = MapEntry(k.Entry, f)
		return k
	}
	k.OID = f(k.OID)
	return k
}
