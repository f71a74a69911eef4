package sai

import (
	"net/netip"
)

// An OID is a SAI object id: a virtual id (VID) above ASIC_DB, a real id (RID) below it. Zero is SAI_NULL_OBJECT_ID.
type OID uint64

// NullOID is SAI_NULL_OBJECT_ID.
const NullOID OID = 0

// An ObjectType is a sai_object_type_t.
type ObjectType uint16

// An AttrID identifies one attribute: the object type in the high 32 bits, SAI's attribute number in the low 32.
type AttrID uint64

// ObjectType returns the type of object that has the attribute.
func (a AttrID) ObjectType() ObjectType { return ObjectType(a >> 32) }

// A StatID identifies one statistic, in the same way as an [AttrID].
type StatID uint64

// ObjectType returns the type of object that has the statistic.
func (s StatID) ObjectType() ObjectType { return ObjectType(s >> 32) }

// An Attr is an attribute with its value.
type Attr struct {
	ID    AttrID
	Value Value
}

// A Value is the value of an attribute. The set of implementations is closed: they are the types of this file.
type Value interface{ isValue() }

type (
	// Bool is a bool.
	Bool bool
	// Uint is a u8, u16, u32 or u64; the attribute's metadata gives the width.
	Uint uint64
	// Int is an s8, s16, s32 or s64 that is not an enum.
	Int int64
	// Enum is an s32 of an enum type; the attribute's metadata names the type.
	Enum int32
	// Pointer is a notification callback; only "set" (non-zero) matters.
	Pointer uint64
	// MAC is an Ethernet address.
	MAC [6]byte
	// IP is an IPv4 or IPv6 address.
	IP struct{ netip.Addr }
	// Prefix is an IPv4 or IPv6 prefix.
	Prefix struct{ netip.Prefix }
	// Text is a chardata: at most 32 bytes.
	Text string
	// Bytes is a u8 or s8 list, and the text of a sai_json_t.
	Bytes []byte
	// OIDs is an object list.
	OIDs []OID
	// Enums is an s32 list of an enum type.
	Enums []Enum
	// Uints is a u16, u32 or u64 list.
	Uints []uint64
	// Range is a closed interval.
	Range struct{ Min, Max uint64 }
	// Ranges is a list of closed intervals.
	Ranges []Range
	// Field is an ACL match. Bool, object and object list data have no mask (nil). The zero Field is disabled.
	Field struct {
		Enabled    bool
		Data, Mask Value
	}
	// Action is an ACL action. The zero Action is disabled.
	Action struct {
		Enabled bool
		Param   Value
	}
	// ACLCapability is a sai_acl_capability_t.
	ACLCapability struct {
		ActionListMandatory bool
		Actions             []Enum
	}
	// ACLResources is a sai_acl_resource_list_t.
	ACLResources []ACLResource
	// QoSMap is a sai_qos_map_list_t.
	QoSMap []QoSMapEntry
)

// An ACLResource is the number of ACL tables or groups that are left at one stage and bind point.
type ACLResource struct {
	Stage, BindPoint Enum
	Available        uint32
}

// A QoSMapEntry is a sai_qos_map_t. It maps the parameters in Key to those in Value. The type of the map selects the
// parameters.
type QoSMapEntry struct{ Key, Value QoSMapParams }

// QoSMapParams is a sai_qos_map_params_t. The type of a map selects the fields that count; the others are zero.
type QoSMapParams struct {
	TC      uint8 // traffic class
	DSCP    uint8
	Dot1p   uint8
	Prio    uint8 // PFC priority
	PG      uint8 // ingress priority group
	Queue   uint8 // index of the queue at its port
	Color   Enum  // a sai_packet_color_t
	MPLSExp uint8
	FC      uint8 // forwarding class
}

func (OID) isValue()           {}
func (Bool) isValue()          {}
func (Uint) isValue()          {}
func (Int) isValue()           {}
func (Enum) isValue()          {}
func (Pointer) isValue()       {}
func (MAC) isValue()           {}
func (IP) isValue()            {}
func (Prefix) isValue()        {}
func (Text) isValue()          {}
func (Bytes) isValue()         {}
func (OIDs) isValue()          {}
func (Enums) isValue()         {}
func (Uints) isValue()         {}
func (Range) isValue()         {}
func (Ranges) isValue()        {}
func (Field) isValue()         {}
func (Action) isValue()        {}
func (ACLCapability) isValue() {}
func (ACLResources) isValue()  {}
func (QoSMap) isValue()        {}

// Match returns an enabled ACL field.
func Match(data, mask Value) Field { return Field{Enabled: true, Data: data, Mask: mask} }

// Do returns an enabled ACL action.
func Do(param Value) Action { return Action{Enabled: true, Param: param} }

// A Key identifies one object of any kind. An object with an object id is identified by Type and OID. Any other object
// is identified by its Entry, which determines Type.
type Key struct {
	Type  ObjectType
	OID   OID
	Entry Entry
}

// An Entry is the key of an object that has no object id. Implementations are
// comparable structs: [FDBEntry], [NeighborEntry], [RouteEntry].
type Entry interface{ EntryType() ObjectType }

type (
	// FDBEntry is a sai_fdb_entry_t.
	FDBEntry struct {
		Switch OID
		MAC    MAC
		BV     OID // object id of the bridge or VLAN
	}
	// NeighborEntry is a sai_neighbor_entry_t.
	NeighborEntry struct {
		Switch OID
		RIF    OID
		IP     netip.Addr
	}
	// RouteEntry is a sai_route_entry_t.
	RouteEntry struct {
		Switch OID
		VR     OID
		Dest   netip.Prefix
	}
)

// EntryType implements [Entry].
func (FDBEntry) EntryType() ObjectType { return ObjectTypeFDBEntry }

// EntryType implements [Entry].
func (NeighborEntry) EntryType() ObjectType { return ObjectTypeNeighborEntry }

// EntryType implements [Entry].
func (RouteEntry) EntryType() ObjectType { return ObjectTypeRouteEntry }

// Obj returns the key of an object with an id.
func Obj(t ObjectType, oid OID) Key { return Key{Type: t, OID: oid} }

// EntryKey returns the key of an object without an id.
func EntryKey(e Entry) Key { return Key{Type: e.EntryType(), Entry: e} }
