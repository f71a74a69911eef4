package sai

import "context"

// API is the SAI API. Three kinds of things implement it: the client of
// sairedis (the orchs' side of ASIC_DB), the simulated ASIC, and test doubles.
//
// A nil error is SAI_STATUS_SUCCESS; any other status is an error for which
// errors.As finds a [Status]. An error without a Status means that the ASIC's
// state is unknown (syncd did not answer).
//
// The switch object is created first, by Create(ObjectTypeSwitch); all other
// objects belong to it, so no call names the switch again.
type API interface {
	Create(ctx context.Context, t ObjectType, attrs []Attr) (OID, error)
	CreateEntry(ctx context.Context, e Entry, attrs []Attr) error
	Remove(ctx context.Context, k Key) error
	Set(ctx context.Context, k Key, a Attr) error

	// Get returns the wanted attributes in the order asked for. The values of want are
	// placeholders: a list placeholder must have as many items as the caller has room for (see
	// [Want]); a longer answer is StatusBufferOverflow, and the returned Attr then holds a list of
	// the needed length.
	Get(ctx context.Context, k Key, want []Attr) ([]Attr, error)

	// The bulk calls apply each item on its own; errs has one entry per item,
	// nil where it succeeded. All items are of one object type.
	BulkCreate(ctx context.Context, t ObjectType, objs [][]Attr) (oids []OID, errs []error)
	BulkCreateEntries(ctx context.Context, entries []Entry, attrs [][]Attr) (errs []error)
	BulkRemove(ctx context.Context, keys []Key) (errs []error)
	BulkSet(ctx context.Context, keys []Key, attrs []Attr) (errs []error)

	// Stats returns the counters asked for, in that order.
	Stats(ctx context.Context, k Key, ids []StatID) ([]uint64, error)
	ClearStats(ctx context.Context, k Key, ids []StatID) error

	// FlushFDB removes the dynamic FDB entries that the attributes (of
	// ObjectTypeFDBFlush) select.
	FlushFDB(ctx context.Context, attrs []Attr) error

	AttrCapability(ctx context.Context, id AttrID) (Capability, error)
	EnumCapability(ctx context.Context, id AttrID) ([]Enum, error)
	StatsCapability(ctx context.Context, t ObjectType) ([]StatID, error)
	// Availability is sai_object_type_get_availability: how many more objects of this type, with
	// these resource-type attributes, there is room for.
	Availability(ctx context.Context, t ObjectType, attrs []Attr) (uint64, error)
}

// A Capability says which operations a backend implements for an attribute.
type Capability struct{ Create, Set, Get bool }

// A Notification is an event that the ASIC reports unasked.
type Notification interface{ isNotification() }

type (
	// PortState is one element of port_state_change.
	PortState struct {
		Port OID
		Oper Enum // PortOperStatus...
	}
	// FDBEvent is one element of fdb_event.
	FDBEvent struct {
		Event Enum // FDBEvent...
		Entry FDBEntry
		Attrs []Attr
	}
	// ShutdownRequest is switch_shutdown_request: the ASIC side has given up.
	ShutdownRequest struct{ Switch OID }
)

func (PortState) isNotification()       {}
func (FDBEvent) isNotification()        {}
func (ShutdownRequest) isNotification() {}
