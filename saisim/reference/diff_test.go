package reference_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/pipe/pipetest"
	"tamtam/saisim/profile"
	"tamtam/saisim/reference"
	"tamtam/saisim/truth"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

// A sent is a frame that left a chip.
type sent struct {
	saisim.Out
	bytes []byte
}

func (s sent) String() string {
	return fmt.Sprintf("port %d (in %d) at %d: len %d stamped %v id %x trap %v VLAN %d sample %+v: %x", s.Port, s.In, s.At,
		s.Len, s.Stamped, s.ID, s.Trap, s.VLAN, s.Sample, s.bytes)
}

func (s sent) equal(t sent) bool {
	return s.Port == t.Port && s.In == t.In && s.At == t.At && s.Len == t.Len && s.Stamped == t.Stamped && s.ID == t.ID &&
		s.Trap == t.Trap && s.VLAN == t.VLAN && s.Queue == t.Queue &&
		s.Sample == t.Sample && bytes.Equal(s.bytes, t.bytes)
}

// A pair is both engines with the same input.
type pair struct {
	gen
	programmer
	sketcher
	tableRecorder
	journal
	clock            clockSetting
	ref              *reference.Chip
	fastOut, refOut  []sent
	fastFrames       []saisim.FrameCounts
	refFrames        []*saisim.FrameCounts
	buf              []byte
	packets, configs int
	vector           int // maximum vector length of the fast engine; zero means event by event
	histories        *truth.Histories
	reported         drops
	kept             ends
	all              bool // true if all ends are kept, not only drops
	ledger           ledger
	variant
	streams streams
	burster
	saw tally
}

// newPair makes the case of a seed. Half of the cases are without an observer, and a quarter without a ledger too,
// because the chip checks frames for both engines. The vector length depends on the seed, too.
func newPair(seed uint64) (*pair, error) { return newPairOf(seed, false) }

func newPairOf(seed uint64, keepBursts bool) (*pair, error) {
	vector, err := vectorOf(seed)
	if err != nil {
		return nil, err
	}
	v := shortOf(seed, routedOf(seed, variant{blind: seed%2 == 1, ledgered: seed%4 != 3, usual: isUsual(seed),
		ingressOnly: seed%9 == 4, passive: passiveOf(seed), policed: policedOf(seed), clamped: clampedOf(seed),
		sampled:  sampledOf(seed),
		analysed: analysedOf(seed), wrapped: wrappedOf(seed), monitored: monitoredOf(seed), keepBursts: keepBursts,
		keeps: seed%4 == 1, watched: seed%11 == 3, lasting: isLong(seed), marks: marksOf(seed), added: addedOf(seed),
		vrfs: isVRF(seed) || isSubPort(seed) && seed%2 == 1, subPorts: isSubPort(seed)}))
	v.buffered, v.trimmed = bufferedOf(seed), trimmedOf(seed)
	v.streamed = streamingOf(seed)
	v.bursty = burstsOf(seed)
	p, err := newPairFrom(rand.NewPCG(seed, 1), v)
	if err == nil {
		p.chip.SetVector(vector)
		p.vector = vector
	}
	return p, err
}

// A variant holds the properties of a case.
type variant struct {
	blind, ledgered bool       // without an observer; with a ledger
	usual           bool       // true if most frames take the shortcuts: see isUsual
	ingressOnly     bool       // true if programs have no tables in the egress pipe
	passive         *rand.Rand // random numbers for programs that only read packets; nil means other programs
	policed         *rand.Rand // random numbers for policers of the CPU's packets; nil means none
	clamped         *rand.Rand // random numbers for MSS clamps; nil means none
	monitored       *rand.Rand // random numbers for drop monitors; nil means none
	sampled         *rand.Rand // random numbers for samplers at some ports; nil means none
	analysed        *rand.Rand // random numbers for IFA; nil means none
	wrapped         *rand.Rand // random numbers for flows with outer headers; nil means none
	// keepBursts leaves bursts of policers unchanged. A policer whose burst was smaller for a while has fewer tokens
	// than one whose burst was not. Such a case must not occur.
	keepBursts bool
	keeps      bool       // true if the kept form of drops is compared
	watched    bool       // true if all packets are watched
	lasting    bool       // dropped flows are counted for a long time
	marks      bool       // ports mirror what they mark
	routed     bool       // true if most frames are routed: see isRouted
	bare       bool       // true if there are few other features: see routedOf
	short      bool       // true if there is little but single ACL tables and passive programs: see isShort
	streamed   *rand.Rand // random numbers for a stream of statistics; nil means none: see isStreaming
	added      *rand.Rand // random numbers for features that cases of older seeds lack; nil means none: see isAdded
	vrfs       bool       // true if there may be several virtual routers: see isVRF
	trimmed    *rand.Rand // random numbers for trimming; nil means none: see isTrimming
	bursty     *rand.Rand // random numbers for bursts of queues; nil means none: see isBursty
	buffered   *rand.Rand // random numbers for ingress buffers; nil means none: see isBuffered
	subPorts   bool       // true if there may be sub-ports: see isSubPort
}

// passiveOf returns random numbers for passive programs in one case of nine, otherwise nil.
func passiveOf(seed uint64) *rand.Rand {
	if seed%9 == 7 {
		return rand.New(rand.NewPCG(seed, 14))
	}
	return nil
}

// policedOf returns random numbers for policers in about one case of four, otherwise nil.
func policedOf(seed uint64) *rand.Rand {
	if seed%4 == 2 || seed%32 == 7 {
		return rand.New(rand.NewPCG(seed, 2))
	}
	return nil
}

func newPairFrom(source rand.Source, v variant) (*pair, error) {
	p := &pair{variant: v, saw: tally{}, journal: newJournal(), tableRecorder: newTableRecorder(),
		gen: gen{Rand: rand.New(source), pool: map[sai.ObjectType][]sai.OID{}, counters: map[sai.OID][]sai.OID{}}}
	p.gen.usual, p.policing, p.gen.keepBursts = v.usual, v.policed, v.keepBursts
	p.clamping, p.samplers = v.clamped, v.sampled
	p.analysing, p.wrapping = v.analysed, v.wrapped
	p.monitoring, p.gen.lasting, p.gen.marks = v.monitored, v.lasting, v.marks
	p.gen.routed, p.gen.bare, p.gen.short, p.extra = v.routed, v.bare, v.short, v.added
	p.streams.random = v.streamed
	p.gen.vrfs, p.gen.subPorts, p.buffers = v.vrfs, v.subPorts, v.buffered
	p.trims = v.trimmed
	p.bursts = v.bursty
	p.prof = p.profile()
	p.clock.synchronised = true
	var err error
	p.chip, err = saisim.New(saisim.Config{Profile: p.prof, Start: start, Notify: p.notified, Changed: p.changed})
	if err != nil {
		return nil, err
	}
	p.histories = truth.NewHistories()
	if !p.blind {
		p.chip.SetObserver(func(m saisim.Moment) {
			p.see(m)
			p.seeTrim(&m)
			p.histories.See(m)
		})
	}
	if p.ledgered {
		p.chip.SetLedger(&p.ledger)
	}
	p.ref = reference.New(p.prof, start)
	p.chip.SetOutput(func(o *saisim.Out) { p.fastOut = append(p.fastOut, sent{*o, bytes.Clone(o.Data)}) })
	p.ref.Marking = p.noteMarking
	p.ref.Sketching = func(what string) { p.saw["sketch: "+what]++ }
	p.ref.Recording = func(what string) { p.saw["record: "+what]++ }
	p.ref.Routing = func(what string) { p.saw["route: "+what]++ }
	p.ref.Queueing = func(what string) { p.saw["queueing: "+what]++ }
	p.ref.Ended = p.seeReference
	p.graphOf(nil)
	if !p.blind || p.ledgered {
		p.reportDrops()
	}
	if v.keeps || v.watched {
		p.keepEnds(v.watched)
	}
	p.ref.Output = func(o saisim.Out) { p.refOut = append(p.refOut, sent{o, bytes.Clone(o.Data)}) }
	if err := p.powerUp(); err != nil {
		return nil, err
	}
	p.recording = !p.gen.bare && p.prof.TableRecord.Plans > 0 && p.chance(40)
	p.furnish()
	p.furnishShort()
	p.furnishIFA()
	p.furnishOuters()
	p.furnishPolicers()
	p.furnishClamps()
	p.furnishMonitors()
	p.furnishSamplers()
	p.furnishAdded()
	p.furnishBuffers()
	p.furnishTrim()
	p.furnishBursts()
	p.configure() // the state of policers depends on their history
	for n := p.IntN(30); n > 0; n-- {
		p.anyOp()
		p.policerOp()
		p.clampOp()
		p.monitorOp()
		p.samplerOp()
		p.ifaOp()
		p.changeOuters()
		p.changeAdded()
		p.changeVRFs()
		p.changeBuffers()
		p.changeTrim()
		p.changeBursts()
		p.changeSubPorts()
		p.configure()
		if v.usual {
			n -= 5
		}
	}
	for range p.IntN(4) {
		p.fdbOp()
	}
	p.configure()
	if err := p.furnishSketches(); err != nil {
		return nil, err
	}
	if err := p.furnishStreams(); err != nil {
		return nil, err
	}
	if p.hasProgram() {
		p.programmed = true
		p.opt = pipetest.Options{Limits: p.prof.Limits(), Tables: 1 + p.IntN(8), IngressOnly: v.ingressOnly}
		for _, id := range p.chip.Ports() {
			if p.chance(30) {
				p.opt.Ports = append(p.opt.Ports, uint16(id))
			}
		}
		program := pipetest.Program(p.Rand, p.opt)
		if v.passive != nil {
			p.opt.IngressOnly, p.opt.Passive = true, true
			if v.short && p.chance(25) {
				p.opt.Effect = pick(&p.gen, "pkt.tc", "acl.meta", "ctl.drop", "ctl.punt", "ip.ttl")
			}
			program = pipetest.Program(v.passive, p.opt)
		}
		if err := p.batch(0, pipe.Batch{Program: program}); err != nil {
			return nil, err
		}
	}
	p.furnishRecords()
	p.configure()
	p.ref.ChangeFDB(func(saisim.FDBRow) bool { return true }, p.chip.State().FDB...) // sets dynamic entries too
	return p, nil
}

// hasProgram decides whether a case has a program. A chip with a program adds no headers.
func (p *pair) hasProgram() bool {
	if p.gen.bare {
		return p.gen.short && p.chance(55)
	}
	return p.seldom(60) && (p.wrapping == nil || p.chance(25))
}

// profile returns a random small chip.
func (g *gen) profile() profile.Profile {
	p := profile.Small()
	p.Default[0].Count = 2 + g.Uint32N(7)
	if g.routed {
		p.Default[0].Count = 4 + g.Uint32N(5)
	}
	p.StageCycles = 1 + g.Uint32N(3)
	p.IngressStages, p.EgressStages = 1+g.Uint32N(6), 1+g.Uint32N(6)
	p.Parser, p.Deparser, p.TrafficManager = 1+g.Uint32N(6), 1+g.Uint32N(6), g.Uint32N(8)
	p.ClockHz = pick[uint64](g, 1_000_000_000, 1_250_000_000, 400_000_000, 1_333_333_333)
	p.Default[0].Mbps = pick[uint32](g, 10_000, 25_000, 25_000)
	p.Buffer = profile.Buffer{CellBytes: pick[uint32](g, 64, 80, 208), Cells: pick[uint32](g, 60, 300, 1000)}
	p.FDB = pick[uint32](g, 4, 8, 16)
	if g.short {
		p.Default[0].Count = 4 + g.Uint32N(5)
	}
	if g.usual {
		p.FDB = 32
	}
	if g.chance(10) {
		p.AltMark = profile.AltMarkCapacity{}
	}
	if g.chance(10) {
		p.TableRecord = profile.TableRecordCapacity{}
	}
	p.Stage, p.PHVBits = profile.Default().Stage, 4096
	if g.slow = g.chance(15); g.slow {
		p.ClockHz = 1000 + g.Uint64N(20_000)
		p.SpeedsMbps = append([]uint32{1}, p.SpeedsMbps...)
		p.Default[0].Mbps = 1
	}
	if g.extra != nil {
		p.Schedulers, p.WREDs, p.QoSMaps = 16, 16, 16
	}
	if g.subPorts {
		p.RouterInterfaces, p.Neighbors, p.NextHops = 24, 48, 48
	}
	g.groups(&p)
	return p
}

// configure gives the reference the chip's current configuration.
func (p *pair) configure() {
	p.ref.Configure(p.chip.Tables(), p.chip.State())
	p.configs++
}

// change changes the configuration of both engines.
func (p *pair) change() {
	p.saw["changes of the configuration"]++
	if p.chance(75) || p.gen.short && !p.gen.routed && p.chance(75) {
		p.anyOp()
		p.policerOp()
		p.clampOp()
		p.monitorOp()
		p.samplerOp()
		p.ifaOp()
		p.changeOuters()
		p.changeAdded()
		p.streamOp()
		p.changeVRFs()
		p.changeBuffers()
		p.changeTrim()
		p.changeBursts()
		p.changeSubPorts()
		p.configure()
		return
	}
	type key struct {
		vid uint16
		mac sai.MAC
	}
	was := map[key]saisim.FDBRow{}
	for _, e := range p.chip.State().FDB {
		was[key{e.VLAN, sai.MAC(e.MAC)}] = e
	}
	p.fdbOp()
	p.configure()
	var set []saisim.FDBRow
	for _, e := range p.chip.State().FDB {
		k := key{e.VLAN, sai.MAC(e.MAC)}
		if was[k] != e {
			set = append(set, e)
		}
		delete(was, k)
	}
	p.ref.ChangeFDB(func(e saisim.FDBRow) bool { _, gone := was[key{e.VLAN, sai.MAC(e.MAC)}]; return !gone }, set...)
}

// burst puts frames on the wires of both engines, within a window of cycles.
func (p *pair) burst(n int, window uint64) error {
	ids := p.chip.Ports()
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	one := p.IntN(len(ids)) // port of all frames, if only one port is used
	few := p.chance(20)
	at := p.chip.Now()
	for range n {
		at += saisim.Cycle(p.Uint64N(window/uint64(n)+2) + p.pause())
		i := one
		if !few {
			i = p.IntN(len(ids))
		}
		id, f := ids[i], p.frameAt(p.buf, i, len(ids))
		p.buf, f.Late = f.Data[:0], p.lateness()
		if p.buffers != nil && p.buffers.IntN(100) < 5 {
			f.Data, f.Len = p.pauseFrame(), 0
			p.saw["frames of flow control"]++
		}
		errFast, errRef := p.chip.Receive(id, at, f), p.ref.Receive(id, at, f)
		if errFast != nil || errRef != nil {
			return fmt.Errorf("receive: fast %v, reference %v", errFast, errRef)
		}
		p.packets++
	}
	return nil
}

func (p *pair) inject() error {
	ids := p.chip.Ports()
	f := p.frame(p.buf)
	if len(ids) == 0 || len(f.Data) < 14 {
		return nil
	}
	id := pick(&p.gen, ids...)
	if f.ID%2 == 0 { // tag it with a VLAN that may exist
		vid := uint16(f.ID>>1%3 + 1)
		fast, ref := p.chip.InjectVLAN(vid, f), p.ref.InjectVLAN(vid, f)
		if (fast == nil) != (ref == nil) {
			return fmt.Errorf("injected in VLAN %d: fast %v, reference %v", vid, fast, ref)
		}
		if fast == nil {
			p.saw["injected in a VLAN"]++
			p.packets++
		}
		return nil
	}
	if p.chip.Inject(id, f) == nil && p.ref.Inject(id, f) == nil {
		p.packets++
	}
	return nil
}

// advance runs both engines to a cycle and records their counts.
func (p *pair) advance(to saisim.Cycle) {
	p.chip.Advance(to)
	if err := p.streamTo(to); err != nil && p.streams.differs == nil {
		p.streams.differs = err
	}
	p.ref.Run(to)
	p.fastFrames = append(p.fastFrames, p.chip.FrameCounts())
	p.refFrames = append(p.refFrames, p.ref.FrameCounts())
}

// run sends about n frames to both engines, and changes the configuration between bursts and while frames are in
// transit.
func (p *pair) run(n int) error {
	for p.packets < n {
		burst := 1 + p.IntN(100)
		window := uint64(burst) * uint64(1+p.IntN(100))
		if p.slow {
			window *= uint64(1 + p.IntN(200))
		}
		if err := p.burst(burst, window); err != nil {
			return err
		}
		for range 1 + p.IntN(4) {
			for range pick(&p.gen, 0, 0, 0, 1, 2) {
				p.change()
			}
			for range pick(&p.gen, 0, 0, 1) {
				if err := p.inject(); err != nil {
					return err
				}
			}
			if p.chance(10) {
				if err := p.clockOp(); err != nil {
					return err
				}
			}
			if p.marking && p.chance(60) {
				if err := p.stepWithinPeriods(); err != nil {
					return err
				}
			}
			if p.sketching {
				if err := p.sketchInTraffic(); err != nil {
					return err
				}
			}
			if p.recording {
				if err := p.recordInTraffic(window); err != nil {
					return err
				}
			}
			if p.programmed && p.chance(15) {
				if err := p.control(window); err != nil {
					return err
				}
			}
			p.advance(p.chip.Now() + saisim.Cycle(p.Uint64N(window/2+2)))
			if p.queueDiffers() {
				return fmt.Errorf("queues differ at cycle %d", p.chip.Now())
			}
			if err := p.trimDiffers(); err != nil {
				return fmt.Errorf("at cycle %d: %w", p.chip.Now(), err)
			}
			if err := p.buffersDiffer(); err != nil && p.buffers != nil {
				return fmt.Errorf("at cycle %d: %w", p.chip.Now(), err)
			}
			if err := p.burstsDiffer(); err != nil {
				return fmt.Errorf("at cycle %d: %w", p.chip.Now(), err)
			}
		}
		if p.slow && p.chance(10) {
			p.drain()
			p.advance(p.chip.Now() + saisim.Cycle(p.Uint64N(4*p.prof.ClockHz)))
		}
		if p.marking && p.chance(20) {
			p.drain()
			if err := p.markingDiffers(); err != nil {
				return err
			}
		}
	}
	return p.finish()
}

// drain runs both engines until the chip is empty, and until the last FDB sweep has passed the reference's pipe, too.
func (p *pair) drain() {
	for {
		at, ok := p.chip.NextEvent()
		if !ok {
			break
		}
		p.chip.Advance(at)
	}
	end := max(p.chip.Now(), p.last) + 200
	if since := end % saisim.Cycle(p.prof.ClockHz/10); since < saisim.Cycle(p.prof.IngressCycles()) {
		end += saisim.Cycle(p.prof.IngressCycles()) - since
	}
	p.advance(end)
}

// compare returns an error that describes the difference between the two.
func (p *pair) compare() error {
	if err := cmp.Or(p.streams.differs, p.streamDiffers()); err != nil {
		return err
	}
	for i := range min(len(p.fastOut), len(p.refOut)) {
		if f, r := p.fastOut[i], p.refOut[i]; !f.equal(r) {
			return fmt.Errorf("output %d:\n     fast %s\nreference %s", i, f, r)
		}
		p.seeSample(p.fastOut[i])
	}
	if f, r := len(p.fastOut), len(p.refOut); f != r {
		return fmt.Errorf("%d outputs, the reference has %d", f, r)
	}
	if err := p.compareReads(); err != nil {
		return err
	}
	for i, f := range p.fastFrames {
		if r := *p.refFrames[i]; f != r {
			return fmt.Errorf("books at instant %d:\n     fast %+v\nreference %+v", i, f, r)
		}
		if !f.Balanced() {
			return fmt.Errorf("the books do not balance: %+v", f)
		}
	}
	if err := p.histories.Check(p.chip.FrameCounts()); err != nil && !p.blind {
		return err
	}
	if err := p.ledger.check(p.chip.FrameCounts()); err != nil && p.ledgered {
		return err
	}
	for _, id := range p.chip.Ports() {
		f, _ := p.chip.PortCounters(id)
		r, ok := p.ref.PortCounters(id)
		for q := range int(p.prof.Queues) {
			f, _ := p.chip.QueueState(id, q)
			if r, _ := p.ref.QueueState(id, q); f != r {
				return fmt.Errorf("queue %d of port %d:\n     fast %+v\nreference %+v", q, id, f, r)
			}
		}
		if !ok || f != r {
			return fmt.Errorf("port %d:\n     fast %+v\nreference %+v", id, f, r)
		}
		if err := p.framesDiffer(id); err != nil {
			return err
		}
	}
	s := p.chip.State()
	if r := p.ref.FDB(); !reflect.DeepEqual(s.FDB, r) {
		return fmt.Errorf("FDB:\n     fast %+v\nreference %+v", s.FDB, r)
	}
	for id, f := range s.Interfaces {
		if r := p.ref.InterfaceStats(id); f != r {
			return fmt.Errorf("router interface %s: fast %v, reference %v", id, f, r)
		}
	}
	for id, f := range s.Tunnels {
		if bytes, packets := p.ref.TunnelCount(id); f.Packets != packets || f.Bytes != bytes {
			return fmt.Errorf("tunnel %s: fast %v, reference %d packets, %d bytes", id, f, packets, bytes)
		}
	}
	for _, differs := range []func() error{p.endsDiffer, p.dropsDiffer, p.endsKeptDiffer, p.recordsDiffer, p.pathsDiffer,
		p.offTheGraph} {
		if err := differs(); err != nil {
			return err
		}
	}
	if err := cmp.Or(p.buffersDiffer(), p.trimDiffers()); err != nil {
		return err
	}
	if err := p.burstsDiffer(); err != nil {
		return err
	}
	if err := p.markingDiffers(); err != nil {
		return err
	}
	if err := p.sketchesDiffer(); err != nil {
		return err
	}
	if err := p.policersDiffer(); err != nil {
		return err
	}
	if err := p.trapCountersDiffer(); err != nil {
		return err
	}
	if err := p.clampsDiffer(); err != nil {
		return err
	}
	if err := p.reportsDiffer(); err != nil {
		return err
	}
	if err := p.ifaDiffers(); err != nil {
		return err
	}
	counters := p.ref.Counters()
	for id, f := range s.ACLCounters {
		if r := counters[id]; f != r {
			return fmt.Errorf("ACL counter %s:\n     fast %+v\nreference %+v", id, f, r)
		}
	}
	return nil
}

// framesDiffer compares a port's SAI frame counters, by kind and size, in both directions.
func (p *pair) framesDiffer(id saisim.PortID) error {
	in, out, _ := p.ref.Frames(id)
	stats := []sai.StatID{
		sai.PortStatIfInUcastPkts, sai.PortStatIfInMulticastPkts, sai.PortStatIfInBroadcastPkts,
		sai.PortStatIfOutUcastPkts, sai.PortStatIfOutMulticastPkts, sai.PortStatIfOutBroadcastPkts,
	}
	want := slices.Concat(in.Kinds[:], out.Kinds[:], in.Sizes[:], out.Sizes[:])
	for i := range in.Sizes {
		stats = append(stats, sai.PortStatEtherInPkts64Octets+sai.StatID(i))
	}
	for i := range out.Sizes {
		stats = append(stats, sai.PortStatEtherOutPkts64Octets+sai.StatID(i))
	}
	for _, r := range p.chip.Tables().Ports {
		if r.Port != id {
			continue
		}
		got, err := p.chip.Stats(context.Background(), sai.Obj(sai.ObjectTypePort, sai.OID(r.ID)), stats)
		if err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("port %d, statistics %v:\n     fast %d (%v)\nreference %d", id, stats, got, err, want)
		}
	}
	return nil
}

// diff runs one case and returns it.
func diff(seed uint64, packets int) (*pair, error) {
	p, err := newPair(seed)
	if err != nil {
		return nil, err
	}
	if isLong(seed) {
		return p, p.runCalm(packets)
	}
	return p, p.run(packets)
}
