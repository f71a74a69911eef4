package web

import (
	"context"
	"net/http"
	"time"

	"tamtam/collector/alarm"
	"tamtam/collector/result"
	"tamtam/mgmt/hftrecords"
	"tamtam/mgmt/web/rows"
)

// Config configures a page: its data, and the clients that may see it.
type Config struct {
	// Title is the name of the network, the experiment, or the switch.
	Title string
	// Note describes the network, the experiment or the switch in a sentence; empty means no description.
	Note string
	// Store has the collector's rows; nil means that there is no collector, which the page reports.
	Store Store
	// Own means that the page belongs to one switch: Store and Switches read that switch's data directly.
	Own bool
	// Lacks holds, by the paths of views, the reason why they cannot have data here. The navigation omits these views;
	// their addresses answer with the reason.
	Lacks map[string]string
	// Troubles returns why rows may be missing that should be in the store by now; nil means that this is unknown.
	Troubles func() []string
	// Topology and Switches return the network and the state of its switches. Each is nil if that is unknown.
	Topology Topology
	Switches Switches
	// Counters returns the counters of ports over time. It is nil if they are unknown.
	Counters Counters
	// Records are those of high-frequency telemetry. Nil means that there is no view of them.
	Records *hftrecords.Store
	// Scanner answers questions about more rows than the page can hold; nil means that there is no view of them.
	Scanner result.Scanner
	// Alarms are the alarm rules of alternate marking; nil means no alarms, and no view of them.
	Alarms *alarm.Rules
	// Enter admits a request. It returns the request's context, with its caller, and a function that ends the visit. An
	// error that is a *[Refusal] determines the response. nil admits every client.
	Enter func(r *http.Request) (ctx context.Context, leave func(), err error)
	// Now returns the time by the clock of the rows. nil means time.Now.
	Now func() time.Time
	// Zero is the start of a simulation, from which times are shown. The zero time means times of day.
	Zero time.Time
	// Listeners bounds the clients that are notified of changes; 0 means [DefaultListeners].
	Listeners int
}

// An Unready is an error of a data source that is temporarily unreadable, with the reason.
type Unready struct{ Why string }

// Error implements error.
func (u *Unready) Error() string { return u.Why }

// A Refusal is a refused request.
type Refusal struct {
	Code int // HTTP status code; for 401 the browser asks for a name and a password
	Why  string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Why }

// A Topology returns the structure of the network.
type Topology interface {
	Network(ctx context.Context) (*Network, error)
}

// A Network is switches and hosts, and the links between them.
type Network struct {
	Nodes []Node
	Links []Link
	// Source is the origin of the data, such as a file.
	Source string
}

// A Node is a switch, a host, or a device of unknown kind.
type Node struct {
	Name    string
	Host    bool
	Unknown bool   // the kind is unknown
	ID      uint32 // id of a switch, as in stamps; 0 if unknown
}

func (n Node) isSwitch() bool { return !n.Host && !n.Unknown }

// A Link joins two ports.
type Link struct {
	Name string
	A, B End
	Mbps int64  // 0 if unknown
	Oper string // up or down; empty if unknown
	// AB is the traffic from A to B, and BA is the traffic from B to A.
	AB, BA Traffic
}

// An End is a port of a node.
type End struct {
	Node   string
	Port   string // empty for a host
	Number uint16 // as in stamps, see [PortNumber]
}

// Traffic describes the packets that one direction of a link carried.
type Traffic struct {
	Counted bool // true if Frames and Load are known
	Frames  int64
	Load    float64 // fraction of the rate, from 0 to 1
	// Within holds bounds of the load if counters give only these; nil if they give none.
	Within *Load
	// LostKnown means that Lost is the true loss on the wire, which only simulations have.
	LostKnown bool
	Lost      int64
}

// Counters returns readings of the counters of ports.
type Counters interface {
	// Counters returns the readings of each port from a time on and before another, and the nearest ones before and
	// behind.
	// The caller must not change them.
	Counters(ctx context.Context, from, to int64) ([]result.PortReadings, error)
}

// Switches returns the state of switches: the outcome of their configuration, and their ports.
type Switches interface {
	Switches(ctx context.Context) ([]Switch, error)
}

// A Switch is the state that one switch reports.
type Switch struct {
	Name string
	// Read is the time of the last successful read. It is zero if there was none; Error then holds the cause.
	Read    time.Time
	Error   string
	Objects []Object
	Ports   []Port
	// Troubles holds reasons why the reported state may differ from the actual one.
	Troubles []string
	// DropAccount, Marking and Stamping belong to the page of the switch itself.
	DropAccount *DropAccount
	Marking     []MarkingSession
	Stamping    []StampingSession
	Stamped     []string // the counters that sessions of tail-stamping may have, in order
	// Alarms are raised; PastAlarms are the last ones that were cleared. Both are sorted, the latest first.
	Alarms, PastAlarms []SwitchAlarm
}

// A SwitchAlarm is an alarm of a switch about itself.
type SwitchAlarm struct {
	Type, Resource, Severity, Text string
	Count                          string    // number of objects with this cause
	Raised                         time.Time // zero if unknown
	Cleared                        time.Time // zero for an alarm that is raised
}

// A Status is the outcome of a configured object, one of [words.Statuses].
type Status string

// An Object is a configured object.
type Object struct {
	Name   string // TABLE|key as in CONFIG_DB, or a table that the switch does not have
	Status Status
	Reason string // empty if there is none
	Since  time.Time
	// Unapplied holds the parts that the switch does not apply, with the reasons.
	Unapplied []string
}

// A Port is an interface with its counters. A missing counter is unknown.
type Port struct {
	Name     string
	Oper     string // up or down; empty if unknown
	Admin    string
	Mbps     int64 // 0 if unknown
	Counters map[string]uint64
	In, Out  *Load // nil if unknown
}

// A Store is the part of a [result.Store] that the page needs.
type Store = rows.Store
