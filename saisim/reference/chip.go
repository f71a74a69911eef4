package reference

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
	"tamtam/saisim/tm"
	"tamtam/tam/record"
)

// A Chip is the chip of saisim, stepped one cycle at a time.
type Chip struct {
	prof   profile.Profile
	clocks []clock      // the time of day, as a list of its changes
	now    saisim.Cycle // the cycle whose work has been done
	conf   *settings    // configuration of packets that enter a pipe now

	ports   []*port // in the order of PortID
	arbiter []*packet
	ingress row
	egress  [][]*transmission // one slot per cycle, newest first
	version *version          // version of the program of packets that enter now
	planned *version          // version after all batches have taken effect
	batches []batch
	pending []*bubble // bubbles that enter the ingress pipe before its next packet

	fdb      map[fdbKey]saisim.FDBRow
	counters map[config.ID]*saisim.ACLCount
	labels   map[config.ID]string // current label of a counter, or its last one
	policers map[config.ID]*policer
	syns     map[config.ID]SYNCounts // by object id of MSS clamps
	// The egress pipe accepts one frame per cycle.
	egressBusy  bool                     // true if it has accepted one in this cycle
	served      saisim.PortID            // the port served last
	sequence    map[config.ID]uint32     // next sequence number of each mirror session
	trapCounts  map[config.ID][2]uint64  // packets and bytes, by counter of traps
	tunnels     map[config.ID]*[2]uint64 // by tunnel: bytes and packets that were taken out of their outer header
	rifs        map[config.ID]*[8]uint64 // by router interface: in, out, in errors, out errors; bytes and packets
	flows       map[uint32]*flow         // flows of alternate marking, by index
	generations map[uint32]uint64        // number of times that each flow was emptied
	// State of table recording.
	bareGraph    uint64 // graph version of the chip without program
	recordCounts map[recorderName]*RecordCounts
	doings       []doing
	pathCounter
	faults     *faults // faults that apply to packets that enter now
	start      time.Time
	clockSteps uint64 // number of times that the time of day was set
	sketching
	reporting reporting
	flowAnalysis

	// Output takes the frames that leave, in the order of time.
	Output func(saisim.Out)
	// Marking is called with the result of alternate marking for each packet of a flow.
	Marking func(Marking)
	// Sketching is called with events of groups of CMUs.
	Sketching func(what string)
	// Recording is called with events of table recording.
	Recording func(what string)
	// Routing is called with the events of each packet that is routed.
	Routing func(what string)
	// Queueing is called with events of queues.
	Queueing func(what string)
	// Ended is called with the end of every copy, except those for mirror sessions.
	Ended func(Ending)
	// Dropped is called with every drop, and with packets that go to the CPU only. See [saisim.Drop].
	Dropped func(saisim.Drop)
	// Kept is called with the kept form of each drop, and KeptEnd with that of other ends of packets. nil means that
	// there is no observer. See [saisim.Kept]; Data is the whole frame.
	Kept, KeptEnd func(saisim.Kept)
	// Found is called with each finding of received packets in tables. nil means that there is no observer. See
	// [saisim.Finding].
	Found       func(id uint64, f saisim.Finding)
	frameCounts saisim.FrameCounts
	open        []*snapshot

	trimTotals  saisim.TrimTotals
	endedBursts []saisim.Burst        // in the order of their ends
	choosings   map[chooser]*choosing // state of shared samplers and ACL entries
	accounts
}

// A port has two MACs, and queues in front of the egress.
type port struct {
	config.Port
	rx, tx   *wire
	own      *wire // the state of rx if no frame had been given late
	came     saisim.Cycle
	arriving []arrival // frames on the ingress wire, complete at ready
	scheduler
	leaving  []*transmission // frames in the egress MAC
	choosing [2]choosing     // of samplers: for received frames, and for leaving ones
	saisim.PortCounters
	in, out Frames
	flowControl
}

type arrival struct {
	ready saisim.Cycle
	pk    *packet
}

// A packet is a frame in the chip with its state in the pipeline.
type packet struct {
	data   []byte
	length int // length before a capture cut it
	id     uint64
	found  func(saisim.Finding) // nil if there is no observer
	// counters holds the counters of the ACL entries that the packet has hit, as they were at that time.
	counters map[config.ID]config.ID
	heard    *[]saisim.Finding // findings in the ingress pipe; temporarily also findings of a copy
	rx       saisim.Cycle      // timestamp point at the ingress
	late     saisim.Cycle      // how much later rx is than its arrival
	in       saisim.PortID     // CPUPort if it was injected
	number   uint16            // number of the ingress port in records

	// These fields are set from the ingress pipe on.
	entered saisim.Cycle
	// Clock readings at its entry, for its arrival and for the entry.
	rxTime, enteredTime tailstamp.Timestamp
	conf                *settings
	port                *port
	inPort              config.ID
	h                   headers
	lag                 config.ID // LAG of the ingress port
	on                  config.ID // the ingress port, or its LAG if it has one
	source              config.ID // bridge port
	vid                 uint16
	tagged              bool  // it has the tag of its VLAN, or a priority tag
	tagPrio             uint8 // priority of a tag that the egress adds
	tc                  uint8
	colour              tm.Colour
	meta                uint32
	stamp               *stamp
	wrapping            *wrapping // the added header; nil if there is none
	// number of bytes by which it is longer than received, because of an added or removed header
	grew     int
	received []byte // the frame before that, if a header was added or removed
	// decapsulated means that its tunnel ended here.
	decapsulated bool
	ifaAction    *ifaAction    // IFA that is begun or ended
	version      *version      // version of the program
	passage      *passage      // its passage through the program; nil if there is none
	mirrors      []int         // ingress mirror sessions, by index
	samples      []*sample     // samples for which it was chosen on arrival
	tables       []record.Step // tables that it ran in the ingress pipe
	recordings   []recording
	events       []config.ID // events to which an ACL entry reports its drops
	graph        uint64      // version of the graph at its entry
	epoch        int         // epoch of path counting at its entry
	faults       *faults
	ended        bool  // it goes no further, but is still mirrored
	group        int   // ingress priority group
	charged      bool  // true while the packet is charged to it
	chargedBytes int   // bytes for which it is charged
	marked       uint8 // bits of the traffic class field with which it leaves that carry marks
	verdict
}

// New returns a chip without configuration at cycle 0.
func New(prof profile.Profile, start time.Time) *Chip {
	return &Chip{
		prof: prof, clocks: []clock{newClock(prof.ClockHz, start)}, conf: newConfig(config.Tables{}, nil),
		ingress:  newRow(prof),
		egress:   make([][]*transmission, egressCycles(prof)),
		fdb:      map[fdbKey]saisim.FDBRow{},
		counters: map[config.ID]*saisim.ACLCount{}, labels: map[config.ID]string{},
		syns: map[config.ID]SYNCounts{},
		rifs: map[config.ID]*[8]uint64{}, tunnels: map[config.ID]*[2]uint64{},
		trapCounts: map[config.ID][2]uint64{},
		sequence:   map[config.ID]uint32{},
		Output:     func(saisim.Out) {},
		Marking:    func(Marking) {}, Sketching: func(string) {},
		Recording: func(string) {}, Routing: func(string) {}, Queueing: func(string) {},
		Ended: func(Ending) {}, Dropped: func(saisim.Drop) {},
		faults:       &faults{},
		recordCounts: map[recorderName]*RecordCounts{}, bareGraph: describe.Program(&prof, nil).Version,
		sketching: newSketching(prof), flowAnalysis: newFlowAnalysis(), reporting: newReporting(),
		choosings: map[chooser]*choosing{}, accounts: newAccounts(),
		flows: map[uint32]*flow{}, generations: map[uint32]uint64{},
		start:  start,
		served: ^saisim.PortID(0), // so that the lowest port number is served first
	}
}

func egressCycles(p profile.Profile) int { return int(p.EgressStages*p.StageCycles + p.Deparser) }

// Now returns the cycle whose work is done.
func (c *Chip) Now() saisim.Cycle { return c.now }

// Configure replaces the configuration after the work of the current cycle. It applies to everything that enters a pipe
// from the next cycle on. Static entries of the FDB are taken from s. Learned entries stay, as far as their VLAN and
// bridge port still exist. See [Chip.ChangeFDB]. ACL counters begin at the values of the fast chip.
func (c *Chip) Configure(t config.Tables, s saisim.State) {
	before := c.conf
	c.conf = newConfig(t, s.FDB)
	c.newFlows(before, c.conf)
	c.setPlans(c.conf)
	if had, has := len(before.RecordPlans) > 0, len(c.conf.RecordPlans) > 0; had != has {
		c.restart(has)
	}
	c.setSketches(t.Sketches)
	c.setPolicers(t.Policers)
	c.setReporting(c.conf)
	c.reporting.before = before
	c.configureGroups(t)
	var ports []*port
	for _, row := range t.Ports {
		p := c.portWith(row.ID)
		if p == nil {
			p = &port{rx: newWire(0), own: newWire(0), tx: newWire(preamble), scheduler: newScheduler(c.prof, row.Port)}
		}
		if p.Mbps != row.Mbps {
			p.rx.setSpeed(c.prof.ClockHz, row.Mbps)
			p.own.setSpeed(c.prof.ClockHz, row.Mbps)
			p.tx.setSpeed(c.prof.ClockHz, row.Mbps)
		}
		p.Port = row
		c.limitBursts(p, row.QoS.Queues)
		p.configure(row.QoS, c.now, c.prof.ClockHz)
		p.holdQueues()
		ports = append(ports, p)
	}
	for _, p := range c.ports {
		if !slices.Contains(ports, p) {
			c.purge(p)
		}
	}
	c.ports, c.reporting.before = ports, nil
	for _, x := range t.ACLCounters {
		c.labels[x.ID] = x.Label
		if c.counters[x.ID] == nil {
			begin := s.ACLCounters[x.ID]
			c.counters[x.ID] = &begin
		}
	}
	conf := c.conf
	c.pending = append(c.pending, &bubble{forward: func() { c.syncFDB(conf) }})
}

// purge drops every frame that a removed port holds.
func (c *Chip) purge(p *port) {
	c.limitBursts(p, p.noLimits())
	for _, a := range p.arriving {
		c.drop(p, a.pk.dropped(c.now), drop.PortRemoved)
	}
	for _, q := range p.queues {
		for len(q.items) > 0 {
			o := q.items[0]
			q.items = q.items[1:]
			if !o.made() {
				c.left(o.packet)
			}
			c.dropCopy(p, o, drop.PortRemoved)
		}
	}
	for _, t := range p.leaving {
		if t.pause != nil {
			continue
		}
		c.lose(p, &t.outgoing, drop.PortRemoved)
	}
	for _, slot := range slices.Backward(c.egress) { // oldest first
		for _, t := range slot {
			if t.port == p && !t.purged {
				if t.purged = true; t.pause != nil {
					continue
				}
				c.lose(p, &t.outgoing, drop.PortRemoved)
			}
		}
	}
	p.Admin = false
}

// portWith returns the port with an object id, nil if there is none.
func (c *Chip) portWith(oid config.ID) *port {
	for _, p := range c.ports {
		if p.ID == oid {
			return p
		}
	}
	return nil
}

func (c *Chip) portAt(id saisim.PortID) *port {
	for _, p := range c.ports {
		if p.Port.Port == id {
			return p
		}
	}
	return nil
}

// Receive puts a frame on the wire of a port's ingress MAC, as [saisim.Chip.Receive] does.
func (c *Chip) Receive(id saisim.PortID, at saisim.Cycle, f saisim.Frame) error {
	p := c.portAt(id)
	if p == nil {
		return fmt.Errorf("reference: no port %d", id)
	}
	if at < c.now {
		return fmt.Errorf("reference: cycle %d is past, the chip is at %d", at, c.now)
	}
	pk := newPacket(f)
	x, control := pauseOf(f.Data)
	if c.Found != nil {
		pk.found = func(f saisim.Finding) { c.Found(pk.id, f) }
	}
	sfd, end := p.rx.put(cycle(at), pk.length)
	pk.in, pk.rx = id, ceil(sfd)
	if came := at - min(at, f.Late); f.Late == 0 || came >= p.came {
		own, _ := p.own.put(cycle(came), pk.length)
		pk.late, p.came = pk.rx-ceil(own), came
	} else { // frames that arrived later were given earlier
		pk.late = pk.rx - came
	}
	if control {
		x.ready = ceil(end)
		p.pauses = append(p.pauses, x)
		return nil
	}
	p.arriving = append(p.arriving, arrival{ceil(end), pk})
	c.frameCounts.Received++
	return nil
}

// Inject queues a frame at a port's egress after the work of the current cycle.
func (c *Chip) Inject(id saisim.PortID, f saisim.Frame) error {
	p := c.portAt(id)
	if p == nil {
		return fmt.Errorf("reference: no port %d", id)
	}
	pk := newPacket(f)
	pk.in, pk.rx, pk.number, pk.conf = saisim.CPUPort, c.now, tailstamp.NoPort, c.conf
	pk.h = parse(pk.data, pk.length)
	if c.version != nil {
		pk.passage = &passage{version: c.version, faults: c.faults}
	}
	c.frameCounts.Injected++
	c.enqueue(p, &outgoing{packet: pk})
	return nil
}

// InjectVLAN puts a frame of the CPU in front of the ingress pipe after the work of the current cycle.
func (c *Chip) InjectVLAN(vid uint16, f saisim.Frame) error {
	if c.conf.vlanByID[vid].ID == config.None {
		return fmt.Errorf("reference: no VLAN %d", vid)
	}
	pk := newPacket(f)
	if len(pk.data) >= 14 && pk.data[12] == 0x81 && pk.data[13] == 0x00 {
		return fmt.Errorf("reference: a frame with a tag of its own for VLAN %d", vid)
	}
	pk.in, pk.rx, pk.number, pk.vid = saisim.CPUPort, c.now, tailstamp.NoPort, vid
	pk.h = parse(pk.data, pk.length)
	c.frameCounts.Injected++
	c.arbiter = append(c.arbiter, pk)
	return nil
}

func newPacket(f saisim.Frame) *packet {
	return &packet{data: slices.Clone(f.Data), length: max(f.Len, len(f.Data)), id: f.ID,
		heard: &[]saisim.Finding{}, counters: map[config.ID]config.ID{}}
}

// Run steps the chip up to and including a cycle. It skips cycles in which nothing can happen because the pipes are
// empty.
func (c *Chip) Run(to saisim.Cycle) {
	for c.now < to {
		if next := min(c.nextWork(), to); c.idle() && next > c.now+1 {
			c.now = next - 1
		}
		c.Step()
	}
}

// Step does the work of another cycle. Departures free capacity before arrivals are queued.
func (c *Chip) Step() {
	c.now++
	c.seeMoved()
	c.control()
	c.reporting.part = atEgressMAC
	c.moveEgress()
	for _, p := range c.ports {
		c.send(p)
	}
	c.reporting.part = atQueues
	for _, p := range c.ports {
		c.obey(p)
		p.holdQueues()
	}
	for _, p := range c.ports {
		c.refresh(p)
	}
	c.schedule()
	c.doLater()
	c.arriveAgain()
	c.makeReports()
	if pk := c.moveIngress(); pk != nil {
		c.replicate(pk)
	}
	c.reporting.part = atIngressMAC
	for _, p := range c.ports {
		c.receiveWhole(p)
	}
	c.reporting.part = atEntry
	c.enterPipe()
	c.reporting.part = atControl
	c.sweep()
}

// idle reports whether both pipes are empty, and nothing waits to enter the ingress pipe.
func (c *Chip) idle() bool {
	for _, slot := range c.egress {
		if len(slot) > 0 {
			return false
		}
	}
	return len(c.arbiter) == 0 && len(c.pending) == 0 && c.ingress.empty()
}

// nextWork returns the next cycle in which something happens outside the pipes.
func (c *Chip) nextWork() saisim.Cycle {
	next := min(c.nextSweep(), c.nextArrival(), c.nextReport(), c.nextFlowControl())
	if len(c.batches) > 0 {
		next = min(next, c.batches[0].at)
	}
	if len(c.doings) > 0 {
		next = min(next, c.doings[0].at)
	}
	for _, p := range c.ports {
		if len(p.arriving) > 0 {
			next = min(next, p.arriving[0].ready)
		}
		if len(p.leaving) > 0 {
			next = min(next, p.leaving[0].at)
		}
		if !p.empty() {
			next = min(next, max(c.now, c.schedulerFree(p), p.shapedUntil(c.now)))
		}
	}
	return next
}

// receiveWhole accepts the frames that are complete now from the ingress MAC.
func (c *Chip) receiveWhole(p *port) {
	for len(p.arriving) > 0 && p.arriving[0].ready == c.now {
		pk := p.arriving[0].pk
		p.arriving = p.arriving[1:]
		p.Received++
		p.ReceivedBytes += uint64(pk.length + fcs)
		switch {
		case !up(p.Port):
			c.drop(p, pk.dropped(c.now), drop.PortDown)
		case !wholeHeader(pk.data):
			c.drop(p, pk.dropped(c.now), drop.Runt)
		case pk.length+fcs > int(p.MTU):
			p.in.count(pk.data, pk.length+fcs)
			c.drop(p, pk.dropped(c.now), drop.Oversize)
		default:
			p.in.count(pk.data, pk.length+fcs)
			p.Entered++
			c.arbiter = append(c.arbiter, pk)
		}
	}
}

// wholeHeader reports whether the Ethernet header is complete, including the tag by which the frame is bridged if there
// is one.
func wholeHeader(data []byte) bool {
	if len(data) < 14 {
		return false
	}
	tagged := data[12] == 0x81 && data[13] == 0x00
	return !tagged || len(data) >= 18
}

// enterPipe lets one packet into the ingress pipe, with the control operations in front of it.
func (c *Chip) enterPipe() {
	c.ingress.slots[0].before, c.pending = c.pending, nil
	if len(c.arbiter) == 0 {
		return
	}
	pk := c.arbiter[0]
	c.arbiter = c.arbiter[1:]
	if pk.in == saisim.CPUPort {
		if c.version != nil {
			pk.passage = &passage{version: c.version, faults: c.faults}
		}
		pk.faults, pk.entered, pk.conf = c.faults, c.now, c.conf
		c.ingress.slots[0].pk = pk
		return
	}
	p := c.portAt(pk.in)
	if p == nil {
		c.drop(nil, pk.dropped(c.now), drop.PortRemoved)
		return
	}
	pk.version = c.version
	if pk.version != nil {
		pk.rxTime, pk.enteredTime = c.timeOfDay(pk.rx), c.timeOfDay(c.now)
	}
	pk.faults, pk.graph, pk.epoch = c.faults, c.graphOf(pk.version), c.epoch
	pk.entered, pk.conf, pk.port, pk.inPort, pk.number = c.now, c.conf, p, p.ID, p.Number
	pk.samples = c.sees(c.conf, p.IngressSampler, p, false)
	c.ingress.slots[0].pk = pk
}

// counter returns the values of an ACL counter.
func (c *Chip) counter(oid config.ID) *saisim.ACLCount {
	if c.counters[oid] == nil {
		c.counters[oid] = &saisim.ACLCount{}
	}
	return c.counters[oid]
}

// Counters returns the values of the ACL counters, by object id.
func (c *Chip) Counters() map[config.ID]saisim.ACLCount {
	rows := map[config.ID]saisim.ACLCount{}
	for oid := range maps.Keys(c.conf.aclCounters) {
		rows[oid] = *c.counter(oid)
	}
	return rows
}

// InterfaceStats returns the counters of a router interface: bytes and packets in, out, in errors and out errors.
func (c *Chip) InterfaceStats(oid config.ID) [8]uint64 {
	if x := c.rifs[oid]; x != nil {
		return *x
	}
	return [8]uint64{}
}
