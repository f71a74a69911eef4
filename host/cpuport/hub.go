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

// Queue is the maximum number of punted frames that wait for a client, SendQueue that of a client's frames that wait
// for the chip.
const (
	Queue     = 1024
	SendQueue = 256
)

// MaxFrame is the maximum length of a frame in both directions, in bytes without FCS.
const MaxFrame = 16383

// A Packet is a frame that the chip has punted to the CPU.
type Packet struct {
	// Port is the name of the ingress port; "" if the port has no name any more.
	Port string
	// VLAN is the VLAN in which the packet came in, 0 at a router interface of a port or PortChannel. The VLAN may be
	// in the frame's tag.
	VLAN uint16
	// Trap is the reason why the CPU receives the packet, named as in SONiC's COPP_TRAP; "" if that is an ACL, a route
	// or a neighbour.
	Trap string
	// Time is by the chip's clock, which follows the wall clock in a live switch.
	Time time.Time
	Data []byte
	// Len is the length of the frame, without FCS. It is larger than that of Data if the frame was truncated.
	Len int
	// Sample describes how a packet was sampled or dropped; for others it is empty.
	Sample Sample
}

// A Sample describes a packet that the chip has sampled or dropped, on a line for such packets only.
type Sample struct {
	Rate uint32 // one in Rate packets was sampled; 0 if the packet was dropped
	// Rule is the label of the ACL rule whose sampler has chosen the packet, or "" for the sampler of a port. Pool and
	// Lost refer to this rule or to the port.
	Rule   string
	Egress bool // true if Out sampled it at egress; otherwise it was sampled at ingress
	// Pool is the number of packets, up to this one, that could have been sampled at its port and in its direction.
	// Lost is the number of earlier samples of this pool, or of earlier drops, that were lost.
	Pool, Lost uint64
	Copies     uint16 // number of copies to ports, the last of them to Out
	Out        string // "" if there is none, or its port has no name any more
	OutVLAN    uint16 // egress VLAN; 0 if there is none
	// NextHop is the next-hop neighbour of a routed packet, and Prefix the length of the prefix of its route. It is
	// invalid if the packet is not routed.
	NextHop netip.Addr
	Prefix  uint8
	Why     string // reason of the drop, as in reports; "" if it was not dropped
	Queued  bool   // true if its destination was Queue of Out, in which Depth bytes were before it
	Queue   uint8
	Depth   uint32
}

// A sampledAt identifies the sampler: a port, or a rule.
type sampledAt struct {
	port uint16
	rule string
}

// A Frame is a frame that a client sends. It has a port or a VLAN.
type Frame struct {
	// Port is the egress port, at which the frame leaves unchanged, after the ingress pipe
	// (SAI_HOSTIF_TX_TYPE_PIPELINE_BYPASS).
	Port string
	// VLAN is the VLAN, 1 to 4094, in which the frame enters the ingress pipe (SAI_HOSTIF_TX_TYPE_PIPELINE_LOOKUP). The
	// frame is bridged, tagged as each member requires. It must have no tag of its own.
	VLAN uint16
	Data []byte

	from *Line
}

// Check returns an error if the frame is invalid.
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

// A Refusal is the reason why a frame of a client was not sent.
type Refusal struct{ Reason string }

// Error returns the reason.
func (r *Refusal) Error() string { return "refused: " + r.Reason }

// ErrClosed is the error of a line that is closed.
var ErrClosed = errors.New("the line to the CPU port is closed")

// Counts are the counters of a CPU port since its start, in frames.
type Counts struct {
	Punted   uint64 `json:"punted"`    // frames that the chip has punted
	NoClient uint64 `json:"no-client"` // punted frames that came while there was no client
	// punted frames that found the queue full, or whose client disconnected before it received them
	Full     uint64 `json:"full"`
	Sent     uint64 `json:"sent"`      // frames of a client that were passed to the chip
	SendFull uint64 `json:"send-full"` // frames of a client that were dropped because too many waited for the chip
	Refused  uint64 `json:"refused"`   // frames of a client that were refused by Check or by the chip
}

type punted struct {
	Packet
	in, out uint16 // numbers of its ingress and egress port
}

// noPort is the port number that means no port.
const noPort = 1<<16 - 1

// A Hub connects one chip and one client. Its methods may be called from any goroutine; those on a nil Hub do nothing.
type Hub struct {
	frames chan Frame
	hello  time.Duration // how long Serve waits for the first message of a connection

	mu     sync.Mutex
	counts Counts
	line   *Line  // line of the client; nil if there is none
	host   *Line  // line of the host interfaces, which receive all frames while they exist; nil if there are none
	keeper Keeper // keeper of host interfaces; nil if they are not supported
	name   func(port uint16) string
	lost   map[sampledAt]uint64 // number of samples that found the queue full, by sampler
	holds  holds
}

// New returns a hub without a client, for a chip that is set later.
func New() *Hub {
	return &Hub{
		frames: make(chan Frame, SendQueue), hello: helloTime, name: func(uint16) string { return "" },
	}
}

// SetNames sets the function that returns the name of a port of the current chip by its number. It is called when a
// client receives a frame, by the client's goroutine.
func (h *Hub) SetNames(name func(port uint16) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.name = name
}

// Punt queues a frame that the chip has punted at the port with a number; p.Port is not used. It never waits, copies
// the data, and in the long run allocates nothing, so that a chip may call it from its packet path.
func (h *Hub) Punt(p Packet, in uint16) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.punt(p, in, noPort)
}

// PuntSample queues a packet that was sampled, or dropped, like Punt, with the number of the port for p.Sample.Out.
// Samples that find the queue full are counted by port or rule, and the next one contains the count.
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
	if l := h.receiver(); l != nil && l.len == Queue {
		if h.lost == nil {
			h.lost = map[sampledAt]uint64{}
		}
		h.lost[of]++
	}
	p.Sample.Lost += h.lost[of]
	h.punt(p, in, out)
}

// Listens reports whether a client has a line.
func (h *Hub) Listens() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.receiver() != nil
}

// receiver returns the line that receives punted frames, nil if there is none.
func (h *Hub) receiver() *Line {
	if h.host != nil {
		return h.host
	}
	return h.line
}

func (h *Hub) punt(p Packet, in, out uint16) {
	h.counts.Punted++
	if l := h.receiver(); l == nil {
		h.counts.NoClient++
	} else {
		l.put(p, in, out)
	}
}

// put puts a frame into the queue of a line. The caller holds the lock of the hub.
func (l *Line) put(p Packet, in, out uint16) {
	if l.len == Queue || len(p.Data) > MaxFrame {
		l.hub.counts.Full++
		return
	}
	if l.queue == nil {
		l.queue = make([]punted, Queue)
	}
	slot := &l.queue[(l.first+l.len)%Queue]
	data := append(slot.Data[:0], p.Data...)
	slot.Packet, slot.in, slot.out, slot.Data = p, in, out, data
	l.len++
	l.wake()
}

func (l *Line) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// Frames returns the channel of frames that the chip's driver must send, nil for a nil hub.
func (h *Hub) Frames() <-chan Frame {
	if h == nil {
		return nil
	}
	return h.frames
}

// Done reports the result of a frame of Frames: nil if the chip has sent it, otherwise the reason, which its sender
// receives.
func (h *Hub) Done(f Frame, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.counts.Sent++
		return
	}
	h.counts.Refused++
	h.report(f.from, err)
}

// maxRefusals is the maximum number of refusals that wait for a line, as a client may send invalid frames and never
// receive.
const maxRefusals = 64

// report queues a refusal for a line, if it still exists.
func (h *Hub) report(l *Line, err error) {
	if l != nil && h.has(l) && len(l.refused) < maxRefusals {
		l.refused = append(l.refused, err.Error())
		l.wake()
	}
}

// Counts returns the counters.
func (h *Hub) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

func (h *Hub) has(l *Line) bool { return h.line == l || h.host == l }

// Attach makes the caller the client. It fails if there is a client, and the error names that client, since only one
// may use an interface. Attach ends host interfaces that were left without a client. who is the caller's name in such
// messages, at most 255 bytes.
func (h *Hub) Attach(who string) (*Line, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.checkFree(); err != nil {
		return nil, err
	}
	if h.host != nil {
		h.host.end()
	}
	h.line = h.newLine(who)
	return h.line, nil
}

func (h *Hub) checkFree() error {
	if h.line == nil {
		return nil
	}
	return fmt.Errorf("the CPU port is taken by %s: never both on one interface; stop that one first", h.line.who)
}

func (h *Hub) newLine(who string) *Line {
	return &Line{
		hub: h, who: who, closed: make(chan struct{}), more: make(chan struct{}, 1),
	}
}

// A Line is a client's line in the process of the chip.
type Line struct {
	hub    *Hub
	who    string
	closed chan struct{}
	more   chan struct{} // wakes the receiver
	holds  bool          // true if it receives the files of host interface devices

	// The following fields are guarded by hub.mu.
	refused    []string
	queue      []punted // a ring of Queue slots, which keep their memory; nil before the first frame
	first, len int
}

// Receive returns the next punted frame, whose data is the caller's. It waits for one until ctx ends. An error of type
// [*Refusal] is about a frame that the client sent, and the line stays open.
func (l *Line) Receive(ctx context.Context) (Packet, error) {
	for {
		p, ok, err := l.dequeue()
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

// dequeue returns the next queued refusal or packet, if there is one.
func (l *Line) dequeue() (Packet, bool, error) {
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

// Send queues a frame for the chip, without waiting. It fails if SendQueue frames wait, or if the frame is invalid. A
// refusal by the chip is returned by Receive. The data must not be changed afterwards.
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

// Counts returns the counters of the CPU port.
func (l *Line) Counts(context.Context) (Counts, error) { return l.hub.Counts(), nil }

// Close ends the line; the next client may come.
func (l *Line) Close() error {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.end()
	return nil
}

// end ends the line. The caller holds the lock of the hub.
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
