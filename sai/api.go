package sai

import (
	"context"
	"time"
)

// API is the SAI API. Three kinds of types implement it: the client of sairedis (the orchs' side of ASIC_DB), the
// simulated ASIC, and test doubles.
//
// A nil error is SAI_STATUS_SUCCESS. For any other status, errors.As finds a [Status] in the error. An error without
// a Status means that the state of the ASIC is unknown, because syncd did not answer.
//
// The switch object is created first, by Create(ObjectTypeSwitch). All other objects belong to it, so no call names
// the switch again.
type API interface {
	Create(ctx context.Context, t ObjectType, attrs []Attr) (OID, error)
	CreateEntry(ctx context.Context, e Entry, attrs []Attr) error
	Remove(ctx context.Context, k Key) error
	Set(ctx context.Context, k Key, a Attr) error

	// Get returns the wanted attributes in the order of want. The values of want are placeholders: a list placeholder
	// must have as many items as the caller accepts (see [Want]). A longer answer fails with StatusBufferOverflow;
	// the returned Attr then holds a list of the needed length.
	Get(ctx context.Context, k Key, want []Attr) ([]Attr, error)

	// The bulk calls apply each item separately. errs has one entry per item, nil if it succeeded. All items are of
	// one object type.
	BulkCreate(ctx context.Context, t ObjectType, objs [][]Attr) (oids []OID, errs []error)
	BulkCreateEntries(ctx context.Context, entries []Entry, attrs [][]Attr) (errs []error)
	BulkRemove(ctx context.Context, keys []Key) (errs []error)
	BulkSet(ctx context.Context, keys []Key, attrs []Attr) (errs []error)

	// Stats returns the counters in the order of ids.
	Stats(ctx context.Context, k Key, ids []StatID) ([]uint64, error)
	ClearStats(ctx context.Context, k Key, ids []StatID) error

	// FlushFDB removes the dynamic FDB entries that the attributes (of ObjectTypeFDBFlush) select.
	FlushFDB(ctx context.Context, attrs []Attr) error

	AttrCapability(ctx context.Context, id AttrID) (Capability, error)
	EnumCapability(ctx context.Context, id AttrID) ([]Enum, error)
	StatsCapability(ctx context.Context, t ObjectType) ([]StatID, error)
	// StreamCapability is sai_query_stats_st_capability: it returns the statistics that can be streamed.
	StreamCapability(ctx context.Context, t ObjectType) ([]StreamedStat, error)
	// Availability is sai_object_type_get_availability: it returns how many more objects of this type, with these
	// resource-type attributes, can be created.
	Availability(ctx context.Context, t ObjectType, attrs []Attr) (uint64, error)
}

// A Checker is an [API] that can check an object while the objects that it names do not exist yet, as in a view. The
// ids of objects mean nothing to it. What passes may still be refused later.
type Checker interface {
	// CheckCreate checks a new object. others is the number of other objects of its type.
	CheckCreate(k Key, attrs []Attr, others int) error
	// CheckSet checks the change of an attribute.
	CheckSet(k Key, a Attr) error
}

// A ReadClearer is an [API] that reads counters and clears them at one instant, as sai_get_..._stats_ext does with
// SAI_STATS_MODE_READ_AND_CLEAR. With two calls, what is counted between them would be lost.
type ReadClearer interface {
	// StatsAndClear returns the counters in the order of ids.
	StatsAndClear(ctx context.Context, k Key, ids []StatID) ([]uint64, error)
}

// StatsAndClear returns counters and clears them: at one instant if a is a [ReadClearer].
func StatsAndClear(ctx context.Context, a API, k Key, ids []StatID) ([]uint64, error) {
	if both, ok := a.(ReadClearer); ok {
		return both.StatsAndClear(ctx, k, ids)
	}
	values, err := a.Stats(ctx, k, ids)
	if err != nil {
		return nil, err
	}
	return values, a.ClearStats(ctx, k, ids)
}

// A StreamedStat is a statistic that can be streamed, with the least interval between two values.
type StreamedStat struct {
	ID    StatID
	Least time.Duration
}

// A Capability lists the operations that a backend implements for an attribute.
type Capability struct{ Create, Set, Get bool }

// A Notification is an event that the ASIC reports by itself.
type Notification interface{ isNotification() }

type (
	// PortState is one element of port_state_change.
	PortState struct {
		Port OID
		Oper Enum // a value PortOperStatus...
	}
	// FDBEvent is one element of fdb_event.
	FDBEvent struct {
		Event Enum // a value FDBEvent...
		Entry FDBEntry
		Attrs []Attr
	}
	// TelTypeConfigChange is tam_tel_type_config_change: the templates of a telemetry type are ready.
	TelTypeConfigChange struct{ TelType OID }
	// ShutdownRequest is switch_shutdown_request: the ASIC side has given up.
	ShutdownRequest struct{ Switch OID }
)

// MapNotification returns a notification with other object ids. An FDBEvent stays as it is: its entry and its
// attributes have ids of several kinds.
func MapNotification(n Notification, f func(OID) OID) Notification {
	switch e := n.(type) {
	case PortState:
		e.Port = f(e.Port)
		return e
	case TelTypeConfigChange:
		e.TelType = f(e.TelType)
		return e
	case ShutdownRequest:
		e.Switch = f(e.Switch)
		return e
	}
	return n
}

func (PortState) isNotification()           {}
func (FDBEvent) isNotification()            {}
func (TelTypeConfigChange) isNotification() {}
func (ShutdownRequest) isNotification()     {}
