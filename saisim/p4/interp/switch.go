package interp

import (
	"fmt"
	"math/big"

	"tamtam/saisim/p4"
)

// Config holds the settings of a switch. The zero value is useful.
type Config struct {
	ClockHz    uint64 // cycles per second, at least 1,000,000; 0 means 1,000,000,000
	DropPort   uint32 // egress_spec of a packet that is dropped; 0 means 511
	Priorities int    // queues per port; 0 means 8
	Seed       uint64 // of random numbers
	Queues     Queues // nil means NewIdealQueues
	// Trace receives every step of every packet, if it is not nil.
	Trace func(Event)
}

// A Frame is a packet that the switch sent.
type Frame struct {
	Port  uint32
	Cycle uint64
	Data  []byte
}

// A Drop is the reason why a packet ended.
type Drop string

// The reasons of drops.
const (
	DropIngress   Drop = "dropped by ingress"
	DropEgress    Drop = "dropped by egress"
	DropNoCopies  Drop = "multicast group without copies"
	DropPriority  Drop = "priority without a queue"
	DropQueueFull Drop = "queue full"
	DropAssertion Drop = "assertion failed"
	DropLoop      Drop = "loop of jumps"
	DropPasses    Drop = "too many passes"
	DropTooLong   Drop = "frame too long"
)

// Limits that bound the work for one received packet.
const (
	maxPasses = 4096  // passes of a pipeline by a packet and its copies
	maxPacket = 65535 // bytes
)

// Accounts balance the packets of a switch: received + copies = sent + dropped + waiting.
type Accounts struct {
	Received map[uint32]Count `json:"received"` // by port
	Sent     map[uint32]Count `json:"sent"`     // by port
	// Copies is the number of packets that clones and multicast added, less the originals that multicast consumed.
	Copies  int             `json:"copies"`
	Dropped map[Drop]uint64 `json:"dropped"`
	Waiting int             `json:"waiting"` // in queues
	// Undefined is the number of operations without a defined result, such as an index outside an array.
	Undefined uint64 `json:"undefined"`
}

// Balanced reports whether every packet is accounted for.
func (a *Accounts) Balanced() bool {
	var in, out, dropped uint64
	for _, c := range a.Received {
		in += c.Packets
	}
	for _, c := range a.Sent {
		out += c.Packets
	}
	for _, n := range a.Dropped {
		dropped += n
	}
	return int64(in)+int64(a.Copies) == int64(out+dropped)+int64(a.Waiting)
}

// A packet is a packet inside the switch.
type packet struct {
	id, copy int
	port     uint32 // where it arrived
	data     []byte // as it arrived at the parser
	payload  []byte // what the parser left
	phv      *vector
	arrived  int // bytes at arrival, for counters and meters
	length   int // bytes, changed by headers that are added and removed
	pipeline string
	passes   *int // of the received packet and all copies

	clones          bool
	session         int
	cloneList       int
	digest          int
	resubmit        int
	recirculate     int
	truncate        int // -1 without
	exit            bool
	dead            Drop
	droppedBy       p4.Source
	out             uint32
	priority        int
	enqueuedMicros  uint64
	multicastCopies int
}

// A Switch runs one program.
type Switch struct {
	Program *p4.Program

	config    Config
	hz        uint64
	drop      *big.Int
	queues    Queues
	ideal     *IdealQueues // nil if the queues are others
	now       uint64
	accounts  Accounts
	sent      []Frame
	seen      int
	copies    int
	pending   []*packet       // for ingress
	waiting   map[int]*packet // in queues
	token     int
	randomly  uint64
	tables    []*table
	registers []map[int]*big.Int
	counters  []map[int]Count
	meters    []meterArray
	sets      [][]*big.Int
	profiles  []*profile
	custom    map[*p4.Calculation]CRC
	groups    map[int][]int // nodes by multicast group
	nodes     map[int]*Node
	lags      map[int][]uint32
	sessions  map[int]Session
	digests   []Digest
	idle      []IdleEntry
}

// New returns a switch with the entries that the program contains.
func New(p *p4.Program, c Config) (*Switch, error) {
	if c.ClockHz == 0 {
		c.ClockHz = 1_000_000_000
	}
	if c.DropPort == 0 {
		c.DropPort = 511
	}
	if c.Priorities == 0 {
		c.Priorities = 8
	}
	if c.ClockHz < 1_000_000 || c.ClockHz > 1_000_000_000_000 {
		return nil, fmt.Errorf("interp: clock of %d Hz, want 1,000,000 to 1,000,000,000,000", c.ClockHz)
	}
	s := &Switch{
		Program: p, config: c, hz: c.ClockHz, drop: number(uint64(c.DropPort)), queues: c.Queues, randomly: c.Seed,
		custom: map[*p4.Calculation]CRC{},
	}
	if s.queues == nil {
		s.ideal = NewIdealQueues(s.hz)
		s.queues = s.ideal
	}
	s.accounts = Accounts{Received: map[uint32]Count{}, Sent: map[uint32]Count{}, Dropped: map[Drop]uint64{}}
	s.waiting = map[int]*packet{}
	if err := s.reset(); err != nil {
		return nil, err
	}
	return s, nil
}

// reset makes all state that of a program that was just loaded. Packets in queues stay.
func (s *Switch) reset() error {
	p := s.Program
	s.tables = nil
	for _, pipe := range []*p4.Pipeline{p.Ingress, p.Egress} {
		for _, t := range pipe.Tables {
			state, err := newTable(t)
			if err != nil {
				return err
			}
			s.tables = append(s.tables, state)
		}
	}
	s.registers, s.counters, s.meters = make([]map[int]*big.Int, len(p.Registers)), nil, nil
	for i := range s.registers {
		s.registers[i] = map[int]*big.Int{}
	}
	for range p.Counters {
		s.counters = append(s.counters, map[int]Count{})
	}
	for range p.Meters {
		s.meters = append(s.meters, meterArray{elements: map[int]*meter{}})
	}
	s.profiles = nil
	for range p.Profiles {
		s.profiles = append(s.profiles, &profile{members: map[int]*p4.ActionCall{}, groups: map[int][]int{}})
	}
	s.sets = make([][]*big.Int, len(p.ValueSets))
	s.groups, s.nodes, s.lags = map[int][]int{}, map[int]*Node{}, map[int][]uint32{}
	s.sessions = map[int]Session{}
	for _, c := range p.Calculations {
		switch c.Algorithm {
		case "crc16_custom":
			s.custom[c] = crc16
		case "crc32_custom":
			s.custom[c] = crc32
		}
	}
	for _, pr := range p.Profiles {
		if c := pr.Selector; c != nil {
			s.custom[c] = crc32
			if c.Algorithm == "crc16_custom" {
				s.custom[c] = crc16
			}
		}
	}
	return nil
}

// Now returns the current cycle.
func (s *Switch) Now() uint64 { return s.now }

// Accounts returns the accounts up to now.
func (s *Switch) Accounts() Accounts {
	a := s.accounts
	a.Waiting = len(s.waiting)
	return a
}

// Sent returns the frames that left since the last call, in the order in which they left.
func (s *Switch) Sent() []Frame {
	sent := s.sent
	s.sent = nil
	return sent
}

// micros returns a cycle in whole microseconds, rounded down.
func (s *Switch) micros(cycle uint64) uint64 {
	return cycle/s.hz*1_000_000 + cycle%s.hz*1_000_000/s.hz
}

// random returns the next random number (SplitMix64).
func (s *Switch) random() uint64 {
	s.randomly += 0x9e3779b97f4a7c15
	z := s.randomly
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Receive runs a packet that arrives at a port at a cycle. Packets must arrive in the order of their cycles. The switch
// keeps no reference to the data.
func (s *Switch) Receive(port uint32, cycle uint64, data []byte) error {
	if cycle < s.now {
		return fmt.Errorf("interp: packet arrives at cycle %d, before the current cycle %d", cycle, s.now)
	}
	if len(data) > maxPacket {
		return fmt.Errorf("interp: packet has %d bytes, want at most %d", len(data), maxPacket)
	}
	s.Advance(cycle)
	s.seen++
	s.copies = 0
	in := s.accounts.Received[port]
	s.accounts.Received[port] = Count{in.Packets + 1, in.Bytes + uint64(len(data))}
	p := &packet{
		id: s.seen, port: port, data: append([]byte(nil), data...), phv: newVector(s.Program), arrived: len(data),
		length: len(data), passes: new(int), truncate: -1,
	}
	std := s.Program.Standard
	p.phv.set(std.IngressPort, number(uint64(port)))
	p.phv.set(std.PacketLength, number(uint64(len(data))))
	p.phv.set(std.IngressTime, number(s.micros(cycle)))
	s.frame(p).event(Event{Kind: "received", Port: &port, Bytes: len(data)})
	s.pending = append(s.pending, p)
	s.run(cycle)
	return nil
}

// Advance lets time pass up to a cycle: packets leave queues, and entries become idle.
func (s *Switch) Advance(cycle uint64) {
	s.run(max(cycle, s.now))
}

// Drain lets time pass until no packet waits in a queue, or up to a limit. It reports whether all have left.
func (s *Switch) Drain(limit uint64) bool {
	for len(s.waiting) > 0 {
		if !s.step(limit) {
			return false
		}
	}
	return true
}

// run does everything that happens up to a cycle.
func (s *Switch) run(limit uint64) {
	for s.step(limit) {
	}
	s.expire(limit)
	s.now = limit
}

// step runs the next packet, if one runs up to a cycle.
func (s *Switch) step(limit uint64) bool {
	if len(s.pending) > 0 {
		p := s.pending[0]
		s.pending = s.pending[1:]
		s.ingress(s.frame(p))
		return true
	}
	at, token, depth, ok := s.queues.Next(limit)
	if !ok {
		return false
	}
	s.expire(at)
	s.now = max(s.now, at)
	p := s.waiting[token]
	delete(s.waiting, token)
	s.egress(s.frame(p), depth)
	return true
}

func (s *Switch) frame(p *packet) *frame { return &frame{Switch: s, packet: p} }
