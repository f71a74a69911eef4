package cpuport

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Queue is how many punted frames wait for a client, SendQueue how many of a client's wait for the chip.
const (
	Queue     = 1024
	SendQueue = 256
)

// MaxFrame is the longest frame that goes either way, in bytes without FCS.
const MaxFrame = 16383

// A Packet is a frame that the chip has punted to the CPU.
type Packet struct {
	// Port is the name of the port that it came in at; "" if that has none any more.
	Port string
	// VLAN is that in which it came in, 0 at a router interface of a port or PortChannel. It may be in the frame's
	// tag.
	VLAN uint16
	// Trap is why the CPU has it, as SONiC's COPP_TRAP calls it; "": an ACL, a route or a neighbour said so.
	Trap string
	// Time is the chip's, which follows the wall clock in a live switch.
	Time time.Time
	Data []byte
	// Len is the length of the frame, without FCS; more than that of Data if a capture cut it.
	Len int
	// Sample says of a packet that was sampled, or dropped, what the chip knows of that; of others it is empty.
	Sample Sample
}

// A Sample is what the chip says of a packet that it has sampled or dropped, on a line that is for those alone.
type Sample struct {
	Rate uint32 // of one in so many that it was sampled by; 0: it was dropped
	// Rule is the label of the ACL rule whose sampler has chosen it, Pool and Lost are that one's; "": that of a port has.
	Rule   string
	Egress bool // sampled as it left by Out; else as it came in
	// Pool is how many packets there were to sample from at its port and in its direction, up to it; Lost how many
	// samples of those, or how many that were dropped, have been lost before.
	Pool, Lost uint64
	Copies     uint16 // that go to ports, the last to Out
	Out        string // "": none, or one that has no name any more
	OutVLAN    uint16 // in which it leaves; 0: none
	// NextHop is the neighbour that a routed packet leaves for, and Prefix the length of the prefix that led there. Not
	// valid: it is not routed.
	NextHop netip.Addr
	Prefix  uint8
	Why     string // it was dropped, as reports have it; "": it was not
	Queued  bool   // it had asked Queue of Out for room, where Depth bytes were before it
	Queue   uint8
	Depth   uint32
}

// A sampledAt is what has chosen a sample: a port, or a rule.
type sampledAt struct {
	port uint16
	rule string
}

// A Frame is one that a client sends. It has a port or a VLAN.
type Frame struct {
	// Port is that at which it leaves as it is, behind the ingress pipe (SAI_HOSTIF_TX_TYPE_PIPELINE_BYPASS).
	Port string
	// VLAN is that in which it enters the ingress pipe (SAI_HOSTIF_TX_TYPE_PIPELINE_LOOKUP), to go where the bridge
	// says, with the tags of each member: 1 to 4094. It has no tag of its own.
	VLAN uint16
	Data []byte

	from *Line
}

// Check says what is wrong with a frame.
func (f *Frame) Check() error {
	switch {
	case f.Port == "" && f.VLAN == 0:
		return errors.New("a frame with neither port nor VLAN, want one of them")
	case f.Port != "" && f.VLAN != 0:
		return fmt.Errorf("a frame for port %q and VLAN %d, want one of them", f.Port, f.VLAN)
	case f.VLAN > 4094:
		return fmt.Errorf("a frame for VLAN %d, want 1 to 4094", f.VLAN)
	case len(f.Port) > maxName:
		return fmt.Errorf("a frame for a port whose name has %d bytes, want at most %d", len(f.Port), maxName)
	case len(f.Data) < 14 || len(f.Data) > MaxFrame:
		return fmt.Errorf("a frame of %d bytes, want 14 to %d", len(f.Data), MaxFrame)
	}
	return nil
}

// A Refusal says why a frame of a client's was not sent.
type Refusal struct{ Reason string }

// Error returns the reason.
func (r *Refusal) Error() string { return "refused: " + r.Reason }

// ErrClosed is what a line that is closed returns.
var ErrClosed = errors.New("the line to the CPU port is closed")

// Counts are what a CPU port has counted since it began: frames.
type Counts struct {
	Punted   uint64 `json:"punted"`    // by the chip
	NoClient uint64 `json:"no-client"` // of these: nobody listened
	Full     uint64 `json:"full"`      // of these: the queue was full, or its client went before it had them
	Sent     uint64 `json:"sent"`      // given to the chip
	SendFull uint64 `json:"send-full"` // of a client, dropped because too many waited for the chip
	Refused  uint64 `json:"refused"`   // of a client, refused by Check or by the chip
}

// A punted frame waits in the queue.
type punted struct {
	Packet
	in, out uint16 // numbers of its ports
}

// noPort is the number of no port.
const noPort = 1<<16 - 1

// A Hub stands between one chip and one client. Its methods may be called from any goroutine; those on a nil Hub do
// nothing.
type Hub struct {
	frames chan Frame

	mu     sync.Mutex
	counts Counts
	line   *Line  // of the client; nil: there is none
	host   *Line  // of the host interfaces, which have all frames while they are there; nil: there are none
	keeper Keeper // of host interfaces; nil: there can be none
	name   func(port uint16) string
	lost   map[sampledAt]uint64 // samples that found the queue full, by what they are of
	holds  holds
}

// New returns a hub without a client, of a chip that is still to come.
func New() *Hub {
	return &Hub{frames: make(chan Frame, SendQueue), name: func(uint16) string { return "" }}
}

// SetNames tells the hub how to find the name of a port by its number, of the chip that is there now; it is called
// when a client takes a frame, by the client's goroutine.
func (h *Hub) SetNames(name func(port uint16) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.name = name
}

// Punt takes a frame that the chip has punted at the port with a number; p.Port is not used. It never waits, copies
// the data, and in the long run allocates nothing, so that a chip may call it from its packet path.
func (h *Hub) Punt(p Packet, in uint16) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.punt(p, in, noPort)
}

// PuntSample is Punt for a packet that was sampled, or dropped, with the number of the port that p.Sample.Out is to
// name. Samples that find no room are counted by the port or rule that they are of, and the next one says so.
func (h *Hub) PuntSample(p Packet, in, out uint16) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	of := sampledAt{port: in}
	switch {
	case p.Sample.Rule != "":
		of = sampledAt{rule: p.Sample.Rule}
	case p.Sample.Egress:
		of.port = out
	}
	if l := h.taker(); l != nil && l.len == Queue {
		if h.lost == nil {
			h.lost = map[sampledAt]uint64{}
		}
		h.lost[of]++
	}
	p.Sample.Lost += h.lost[of]
	h.punt(p, in, out)
}

// Listens reports whether somebody has a line.
func (h *Hub) Listens() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.taker() != nil
}

// taker returns the line that has what the chip punts; nil: there is none.
func (h *Hub) taker() *Line {
	if h.host != nil {
		return h.host
	}
	return h.line
}

func (h *Hub) punt(p Packet, in, out uint16) {
	h.counts.Punted++
	if l := h.taker(); l == nil {
		h.counts.NoClient++
	} else {
		l.put(p, in, out)
	}
}

// put puts a frame into the queue of a line, with the hub locked.
func (l *Line) put(p Packet, in, out uint16) {
	if l.len == Queue || len(p.Data) > MaxFrame {
		l.hub.counts.Full++
		return
	}
	slot := &l.queue[(l.first+l.len)%Queue]
	data := append(slot.Data[:0], p.Data...)
	slot.Packet, slot.in, slot.out, slot.Data = p, in, out, data
	l.len++
	l.wake()
}

// wake has the line look.
func (l *Line) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// Frames is where the chip's driver takes the frames that are to be sent; nil for a nil hub.
func (h *Hub) Frames() <-chan Frame {
	if h == nil {
		return nil
	}
	return h.frames
}

// Done says what became of a frame of Frames: nil if the chip has it, else why not, which its sender is told.
func (h *Hub) Done(f Frame, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.counts.Sent++
		return
	}
	h.counts.Refused++
	h.tell(f.from, err)
}

// maxRefusals is how many refusals wait for a line; a client that sends nonsense and does not listen is told of
// these.
const maxRefusals = 64

// tell tells a line why a frame of its was not sent, if it is still there.
func (h *Hub) tell(l *Line, err error) {
	if l != nil && h.has(l) && len(l.refused) < maxRefusals {
		l.refused = append(l.refused, err.Error())
		l.wake()
	}
}

// Counts returns what has been counted.
func (h *Hub) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// has reports whether a line is still there.
func (h *Hub) has(l *Line) bool { return h.line == l || h.host == l }

// Attach makes the caller the client. It fails, naming who is, if there is one: the frames of one interface are
// never for two. Host interfaces that are left without a client end. who is the caller's name in such messages, at most
// 255 bytes.
func (h *Hub) Attach(who string) (*Line, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.taken(); err != nil {
		return nil, err
	}
	if h.host != nil {
		h.host.end()
	}
	h.line = h.newLine(who)
	return h.line, nil
}

func (h *Hub) taken() error {
	if h.line == nil {
		return nil
	}
	return fmt.Errorf("the CPU port is taken by %s: never both on one interface; stop that one first", h.line.who)
}

func (h *Hub) newLine(who string) *Line {
	return &Line{
		hub: h, who: who, closed: make(chan struct{}), more: make(chan struct{}, 1), queue: make([]punted, Queue),
	}
}

// A Line is a client's in the process of the chip.
type Line struct {
	hub    *Hub
	who    string
	closed chan struct{}
	more   chan struct{} // something is there for it
	holds  bool          // it is handed the devices of host interfaces

	// What follows is guarded by hub.mu.
	refused    []string
	queue      []punted // a ring of Queue slots, which keep their memory
	first, len int
}

// Receive returns the next frame that was punted, whose data is the caller's. It waits for one until ctx ends. An
// error of type [*Refusal] is about a frame that was sent, and the line goes on.
func (l *Line) Receive(ctx context.Context) (Packet, error) {
	for {
		p, ok, err := l.take()
		if ok || err != nil {
			return p, err
		}
		select {
		case <-ctx.Done():
			return Packet{}, ctx.Err()
		case <-l.closed:
			return Packet{}, ErrClosed
		case <-l.more:
		}
	}
}

// take takes what is there.
func (l *Line) take() (Packet, bool, error) {
	h := l.hub
	h.mu.Lock()
	if !h.has(l) {
		h.mu.Unlock()
		return Packet{}, false, ErrClosed
	}
	if len(l.refused) > 0 {
		r := &Refusal{l.refused[0]}
		l.refused = l.refused[1:]
		h.mu.Unlock()
		return Packet{}, false, r
	}
	if l.len == 0 {
		h.mu.Unlock()
		return Packet{}, false, nil
	}
	slot := &l.queue[l.first]
	p, in, out, name := slot.Packet, slot.in, slot.out, h.name
	p.Data = slices.Clone(p.Data)
	l.first, l.len = (l.first+1)%Queue, l.len-1
	h.mu.Unlock()
	if in != noPort {
		p.Port = name(in) // unlocked: it asks the chip, which may be punting
	}
	if out != noPort {
		p.Sample.Out = name(out)
	}
	return p, true, nil
}

// Send gives a frame to the chip, without waiting: it fails if SendQueue frames wait, and if the frame is none. That
// the chip refuses it is told by Receive. The data must not be changed afterwards.
func (l *Line) Send(f Frame) error {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.has(l) {
		return ErrClosed
	}
	if err := f.Check(); err != nil {
		h.counts.Refused++
		return err
	}
	f.from = l
	select {
	case h.frames <- f:
		return nil
	default:
		h.counts.SendFull++
		return fmt.Errorf("%d frames wait for the chip, which is as many as may", SendQueue)
	}
}

// Counts returns what the CPU port has counted.
func (l *Line) Counts(context.Context) (Counts, error) { return l.hub.Counts(), nil }

// Close ends the line; the next client may come.
func (l *Line) Close() error {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.end()
	return nil
}

// end ends the line, with the hub locked.
func (l *Line) end() {
	h := l.hub
	switch l {
	case h.line:
		h.line = nil
	case h.host:
		h.host = nil
	default:
		return
	}
	h.counts.Full += uint64(l.len)
	l.len = 0
	close(l.closed)
}
