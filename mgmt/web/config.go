package web

import (
	"context"
	"net/http"
	"time"

	"tamtam/collector/alarm"
	"tamtam/collector/result"
)

// Config says what is shown, and to whom.
type Config struct {
	// Title is what this is: the name of the network, the experiment, or the switch.
	Title string
	// Note says more of it in a sentence; "": there is nothing to say.
	Note string
	// Store has the collector's rows; nil: there is no collector here, and the page says so.
	Store Store
	// Own says that the page is one switch's: Store and Switches read what the switch says as it is.
	Own bool
	// Lacks says of views, by their paths, why they have nothing here: it is shown instead of them.
	Lacks map[string]string
	// Troubles says in words why rows may be missing that should be in the store by now; nil: nobody says it.
	Troubles func() []string
	// Topology and Switches; nil: not known here.
	Topology Topology
	Switches Switches
	// Alarms say what is an alarm of alternate marking; nil: nothing is, and there is no view of them.
	Alarms *alarm.Rules
	// Enter lets a request in: it returns the request's context, with what tells who it is from, and what ends it. An
	// error that is a *[Refusal] says how it is answered. nil: everybody may see everything.
	Enter func(r *http.Request) (ctx context.Context, leave func(), err error)
	// Now tells the time by the clock of the rows. nil: time.Now.
	Now func() time.Time
	// Zero is when a simulation began: times are told from there. The zero time: times of day.
	Zero time.Time
	// Listeners is how many may be told of changes at a time; 0: [DefaultListeners].
	Listeners int
}

// A Store is what the page needs of a [result.Store].
type Store interface {
	// Each calls yield with the batches that may have rows in the time asked for, until it returns false.
	Each(ctx context.Context, from, to int64, yield func(*result.Batch) bool) error
}

// An Unready is an error of those whom the page asks: nothing can be read now, and it says why.
type Unready struct{ Why string }

// Error implements error.
func (u *Unready) Error() string { return u.Why }

// A Refusal is a request that is not let in.
type Refusal struct {
	Code int // of HTTP; of 401 the browser asks for a name and a password
	Why  string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Why }

// A Topology tells what the network is made of.
type Topology interface {
	Network(ctx context.Context) (*Network, error)
}

// A Network is switches and hosts, and the links between them.
type Network struct {
	Nodes []Node
	Links []Link
	// Source says where this is from, such as a file.
	Source string
}

// A Node is a switch, a host, or something of which nobody told what it is.
type Node struct {
	Name    string
	Host    bool
	Unknown bool   // what it is
	ID      uint32 // of a switch, as it stands in stamps; 0: not known
}

func (n Node) isSwitch() bool { return !n.Host && !n.Unknown }

// A Link joins two ports.
type Link struct {
	Name string
	A, B End
	Mbps int64  // 0: not known
	Oper string // up, down; "": not known
	// To B, and to A.
	AB, BA Traffic
}

// An End is a port of a node.
type End struct {
	Node   string
	Port   string // "" of a host
	Number uint16 // as in stamps, see [PortNumber]
}

// Traffic is what one direction of a link carried.
type Traffic struct {
	Counted bool // Frames and Load are known
	Frames  int64
	Load    float64 // of the rate, from 0 to 1
	// Within is the load where counters say no more than that it lies between two values; nil: they do not even say that.
	Within *Load
	// Lost is what truly was lost on the wire, where that is known: in simulations.
	LostKnown bool
	Lost      int64
}

// Switches tells what became of the configuration of switches, and their ports.
type Switches interface {
	Switches(ctx context.Context) ([]Switch, error)
}

// A Switch is what one says of itself.
type Switch struct {
	Name string
	// Read is when; the zero time: not at all, and Error says why.
	Read    time.Time
	Error   string
	Objects []Object
	Ports   []Port
	// Troubles say in words why what the switch says may not be how it is.
	Troubles []string
	// Book, Marking and Stamping are of a page that is the switch's own.
	Book     *Book
	Marking  []MarkingSession
	Stamping []StampingSession
	Stamped  []string // the counters that sessions of tail-stamping may have, in order
}

// A Standing is what became of a configured object.
type Standing string

// These are all. What a switch says in a word of its own is Object.Status.
const (
	InForce    Standing = "in force"
	Waiting    Standing = "waiting"
	Failed     Standing = "failed"
	Off        Standing = "off" // it asks for nothing
	InDoubt    Standing = "in doubt"
	NotKnown   Standing = "not known"
	InPart     Standing = "in force in part" // it has parts that are not applied
	NotApplied Standing = "not applied"      // it has no status, and it or parts of it are not applied
)

// An Object is a configured object.
type Object struct {
	Name     string // TABLE|key as in CONFIG_DB, or a table that the switch does not have
	Standing Standing
	Status   string // the switch's word
	Reason   string // "": it gives none
	Since    time.Time
	// Unapplied are the parts that the switch does not apply, and why.
	Unapplied []string
}

// A Port is an interface with its counters. A counter that is missing is not known.
type Port struct {
	Name     string
	Oper     string // up, down; "": not known
	Admin    string
	Mbps     int64 // 0: not known
	Counters map[string]uint64
	In, Out  *Load // nil: not known
}
