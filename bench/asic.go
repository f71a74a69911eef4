package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
)

// ASIC measures the simulated chip alone, packets of 64 bytes on the wire with
// FCS at one packet per cycle of a chip with 32 ports, each load for at least d on one
// core: what forwarding costs and what each feature adds, where the time of a packet
// goes, how two chips scale over two cores, what rules and flows cost, and what a change costs.
func ASIC(ctx context.Context, d time.Duration) ([]Result, error) {
	b := asicBench{ctx: ctx, d: d}
	steps := []func(){b.features, b.parts, b.chips, b.rules, b.flows, b.changes}
	for _, step := range steps {
		if step(); b.err != nil {
			return nil, b.err
		}
	}
	return b.results, nil
}

type asicBench struct {
	ctx     context.Context
	d       time.Duration
	results []Result
	err     error
}

// An asicLoad is a chip and the traffic through it. Zero is VLAN forwarding between
// 32 hosts.
type asicLoad struct {
	rules    int // ACL entries that no packet hits, of four masks
	stamp    bool
	sketch   bool
	flows    int // hosts; 0: one a port
	portDown bool
	badVLAN  bool   // tagged with a VLAN that does not exist
	marked   bool   // each flow has a session of muxed marking
	samePort bool   // to a host at the port that the packet came from
	groups   int    // CMU groups with a task of three rows for all packets
	coupons  bool   // which count distinct values instead of packets
	table    bool   // an ACL table matches all packets
	plan     bool   // of table recording
	sample   uint32 // one packet in this many is recorded, in another queue of the first port; 0: none
	pause    int    // extra cycles between two packets
	tasks    int    // in one CMU group, of one row, three for each of 32 hosts
}

// features are (a) VLAN forwarding, and what is added to it, one after the other.
func (b *asicBench) features() {
	b.measure("VLAN forwarding", asicLoad{})
	b.measure("+ 1,000 ACL rules", asicLoad{rules: 1000})
	b.measure("+ tail-stamping", asicLoad{rules: 1000, stamp: true})
	b.measure("+ three count-min rows", asicLoad{rules: 1000, stamp: true, sketch: true})
	b.measure("VLAN forwarding and three count-min rows", asicLoad{sketch: true})
}

// parts measures where the nanoseconds of a packet go: each line lets packets get one step further.
func (b *asicBench) parts() {
	last := 0.0
	part := func(name string, l asicLoad) {
		ns := 1e3 / b.run(l).mpps
		b.add("part: "+name, ns-last, "ns")
		last = ns
	}
	part("ingress MAC and events", asicLoad{portDown: true})
	part("arbitration, parser, admission", asicLoad{badVLAN: true})
	part("learning and lookup of the destination", asicLoad{samePort: true})
	part("pipe, queue, egress MAC", asicLoad{})
	part("1,000 ACL rules", asicLoad{rules: 1000})
	part("tail-stamping", asicLoad{rules: 1000, stamp: true})
	part("PHV, key compression, three registers", asicLoad{rules: 1000, stamp: true, sketch: true})
}

// chips runs one chip, then two on two cores.
func (b *asicBench) chips() {
	one := b.run(asicLoad{})
	if b.err != nil {
		return
	}
	var wg sync.WaitGroup
	var both [2]asicRun
	for i := range both {
		wg.Go(func() { both[i], _ = newASICRun(b.ctx, asicLoad{}, b.d) })
	}
	wg.Wait()
	b.add("two chips at once", both[0].mpps+both[1].mpps, "Mpps")
	b.add("two chips at once, of one chip", (both[0].mpps+both[1].mpps)/one.mpps, "times")
}

func (b *asicBench) rules() {
	for _, n := range []int{10, 1000, 100_000} {
		b.measure(fmt.Sprintf("%d ACL rules", n), asicLoad{rules: n})
	}
}

func (b *asicBench) flows() {
	for _, n := range []int{10, 1000, 100_000} {
		b.measure(fmt.Sprintf("%d flows, three count-min rows", n), asicLoad{flows: n, sketch: true})
	}
}

func (b *asicBench) add(name string, value float64, unit string) {
	b.results = append(b.results, Result{name, value, unit})
}

func (b *asicBench) run(l asicLoad) asicRun {
	if b.err != nil {
		return asicRun{mpps: 1}
	}
	r, err := newASICRun(b.ctx, l, b.d)
	b.err = err
	return r
}

func (b *asicBench) measure(name string, l asicLoad) {
	r := b.run(l)
	b.add(name, r.mpps, "Mpps")
	b.add(name+", allocations", r.allocs, "per packet")
}

type asicRun struct{ mpps, allocs float64 }

// newASICRun makes a chip and runs packets through it for d: in five parts, of which the fastest
// counts, since other programs can only slow it down.
func newASICRun(ctx context.Context, l asicLoad, d time.Duration) (run asicRun, err error) {
	t, err := newTraffic(ctx, l)
	if err != nil {
		return run, err
	}
	const batch = 10_000
	if err := t.send(5 * batch); err != nil { // until nothing grows any more
		return run, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	first := t.next
	for range 5 {
		start, n := time.Now(), 0
		for took := time.Duration(0); took < max(1, d/5); took = time.Since(start) {
			if err := errors.Join(ctx.Err(), t.send(batch)); err != nil {
				return run, err
			}
			n += batch
		}
		run.mpps = max(run.mpps, float64(n)*1e3/float64(time.Since(start).Nanoseconds()))
	}
	runtime.ReadMemStats(&after)
	// Other goroutines allocate now and then; one for a thousand packets is none.
	run.allocs = float64((after.Mallocs-before.Mallocs)*1000/uint64(t.next-first)) / 1000
	return run, t.check()
}

// traffic feeds a chip.
type traffic struct {
	load   asicLoad
	chip   *saisim.Chip
	ports  []saisim.PortID
	frames [][]byte
	next   int
	sent   uint64
	batch  [64]saisim.Arrival
}

func newTraffic(ctx context.Context, l asicLoad) (*traffic, error) {
	p := profile.Default()
	p.ACL.Entries, p.ACL.TableEntries, p.ACL.Counters, p.FDB = 1<<17+1, 1<<17+1, 1<<17, 1<<18
	chip, err := saisim.New(saisim.Config{Profile: p, Start: time.Unix(0, 0)})
	if err != nil {
		return nil, err
	}
	t := &traffic{load: l, chip: chip}
	chip.SetOutput(func(o saisim.Out) {
		if l.sample == 0 || len(o.Data) == 60 { // only packets, not their records
			t.sent++
		}
	})
	s := saiCalls{ctx: ctx, chip: chip}
	sw := s.create(sai.ObjectTypeSwitch, sai.Attr{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)})
	t.ports = chip.Ports()
	list, _ := s.get(sai.Obj(sai.ObjectTypeSwitch, sw), sai.SwitchAttrPortList).(sai.OIDs)
	for _, oid := range list {
		s.set(sai.Obj(sai.ObjectTypePort, oid), sai.PortAttrAdminState, sai.Bool(true))
	}
	t.makeFrames()
	if s.err != nil {
		return nil, s.err
	}
	if err := t.learn(); err != nil {
		return nil, err
	}
	if l.portDown {
		for _, oid := range list {
			s.set(sai.Obj(sai.ObjectTypePort, oid), sai.PortAttrAdminState, sai.Bool(false))
		}
	}
	if l.rules > 0 || l.stamp {
		s.rules(sai.Obj(sai.ObjectTypeSwitch, sw), l)
	}
	if l.marked {
		s.markAll(sai.Obj(sai.ObjectTypeSwitch, sw), len(t.frames))
	}
	if l.table {
		s.record(sw, list[0], l)
	}
	s.addTasks(l)
	if l.sketch && s.err == nil {
		s.err = t.loadSketch()
	}
	return t, s.err
}

// makeFrames makes a frame from each host to the next one. Host i is at port i, or
// the remainder if there are more hosts than ports.
func (t *traffic) makeFrames() {
	hosts := t.load.flows
	if hosts == 0 {
		hosts = len(t.ports)
	}
	for i := range hosts {
		to := (i + 1) % hosts
		if t.load.samePort {
			to = i
		}
		t.frames = append(t.frames, udpBetween(i, to, t.load.badVLAN))
	}
}

// udpBetween is a frame of 60 bytes, UDP over IPv4, from one host to another.
func udpBetween(from, to int, badVLAN bool) []byte {
	f := append(make([]byte, 0, 60), 2, 0)
	f = binary.BigEndian.AppendUint32(f, uint32(to)+1)
	f = append(f, 2, 0)
	f = binary.BigEndian.AppendUint32(f, uint32(from)+1)
	if badVLAN {
		f = append(f, 0x81, 0, 0, 99)
	}
	f = append(f, 0x08, 0, 0x45, 0, 0, 42, 0, 0, 0, 0, 64, 17, 0, 0)
	f = binary.BigEndian.AppendUint32(f, 10<<24|uint32(from))
	f = binary.BigEndian.AppendUint32(f, 10<<24|uint32(to))
	f = binary.BigEndian.AppendUint16(f, uint16(1024+from%50_000))
	f = append(f, 0x12, 0xb5, 0, 22)
	return f[:60]
}

// learn lets every host announce where it is.
func (t *traffic) learn() error {
	for i := range t.frames {
		at := t.chip.Now()
		hello := udpBetween(i, i, false)
		if err := t.chip.Receive(t.ports[i%len(t.ports)], at, saisim.Frame{Data: hello}); err != nil {
			return err
		}
		t.chip.Advance(at + 40)
	}
	t.chip.Advance(t.chip.Now() + 100_000)
	t.sent = 0
	return nil
}

// send sends n packets, one a cycle.
func (t *traffic) send(n int) error {
	for n > 0 {
		now := t.chip.Now()
		batch := t.batch[:min(n, len(t.batch))]
		for i := range batch {
			host := t.next % len(t.frames)
			batch[i] = saisim.Arrival{
				Port: t.ports[host%len(t.ports)], At: now + saisim.Cycle(i*(1+t.load.pause)),
				Frame: saisim.Frame{Data: t.frames[host]},
			}
			t.next++
		}
		if _, err := t.chip.ReceiveAll(batch); err != nil {
			return err
		}
		t.chip.Advance(now + saisim.Cycle(len(batch)*(1+t.load.pause)))
		n -= len(batch)
	}
	return nil
}

// check returns an error unless the packets went where the load says.
func (t *traffic) check() error {
	t.chip.Advance(t.chip.Now() + 100_000)
	want := uint64(t.next)
	if t.load.portDown || t.load.badVLAN || t.load.samePort {
		want = 0
	}
	if b := t.chip.Books(); t.sent != want || !b.Balanced() {
		return fmt.Errorf("bench asic: %+v: %d packets left, want %d of %d; books %+v", t.load, t.sent, want, t.next, b)
	}
	return nil
}

// loadSketch loads the count-min program, in the ingress pipe.
func (t *traffic) loadSketch() error {
	p, err := pipe.CountMin(pipe.CountMinSketch{Key: pipe.FiveTupleIPv4(), Rows: 3, Depth: 1 << 16, Width: 32, Stage: 1})
	if err != nil {
		return err
	}
	return t.chip.Control(t.chip.Now(), saisim.Batch{Batch: pipe.Batch{Program: p}})
}

// saiCalls makes SAI calls until one fails.
type saiCalls struct {
	ctx  context.Context
	chip *saisim.Chip
	err  error
}

func (s *saiCalls) create(t sai.ObjectType, attrs ...sai.Attr) (oid sai.OID) {
	if s.err == nil {
		oid, s.err = s.chip.Create(s.ctx, t, attrs)
	}
	return oid
}

func (s *saiCalls) set(k sai.Key, id sai.AttrID, v sai.Value) {
	if s.err == nil {
		s.err = s.chip.Set(s.ctx, k, sai.Attr{ID: id, Value: v})
	}
}

func (s *saiCalls) get(k sai.Key, id sai.AttrID) sai.Value {
	if s.err != nil {
		return nil
	}
	got, err := s.chip.Get(s.ctx, k, []sai.Attr{sai.Want(id, 1024)})
	if s.err = err; err != nil {
		return nil
	}
	return got[0].Value
}

// rules creates a table with entries that the packets do not hit and, if asked, one below them that
// stamps them all.
func (s *saiCalls) rules(sw sai.Key, l asicLoad) {
	yes := sai.Bool(true)
	table := s.create(sai.ObjectTypeACLTable,
		sai.Attr{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStageIngress},
		sai.Attr{ID: sai.ACLTableAttrACLBindPointTypeList, Value: sai.Enums{sai.ACLBindPointTypeSwitch}},
		sai.Attr{ID: sai.ACLTableAttrFieldSrcIP, Value: yes}, sai.Attr{ID: sai.ACLTableAttrFieldDstIP, Value: yes},
		sai.Attr{ID: sai.ACLTableAttrFieldL4DstPort, Value: yes}, sai.Attr{ID: sai.ACLTableAttrFieldIPProtocol, Value: yes})
	ip := func(n uint32) sai.IP {
		return sai.IP{Addr: netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))}
	}
	entries := make([][]sai.Attr, l.rules)
	for i := range entries {
		e := []sai.Attr{
			{ID: sai.ACLEntryAttrTableID, Value: table}, {ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1000 + i%5000)},
			{ID: sai.ACLEntryAttrFieldSrcIP, Value: sai.Match(ip(11<<24|uint32(i)), ip(1<<32-1))},
		}
		switch i % 4 {
		case 1:
			e = append(e, sai.Attr{ID: sai.ACLEntryAttrFieldDstIP, Value: sai.Match(ip(12<<24|uint32(i%256)<<8), ip(1<<32-256))})
		case 2:
			e = append(e, sai.Attr{ID: sai.ACLEntryAttrFieldL4DstPort, Value: sai.Match(sai.Uint(i%60_000), sai.Uint(0xffff))})
		case 3:
			e = append(e, sai.Attr{ID: sai.ACLEntryAttrFieldIPProtocol, Value: sai.Match(sai.Uint(17), sai.Uint(0xff))})
		}
		entries[i] = e
	}
	if s.err == nil && len(entries) > 0 {
		_, errs := s.chip.BulkCreate(s.ctx, sai.ObjectTypeACLEntry, entries)
		s.err = errors.Join(errs...)
	}
	if l.stamp {
		session := s.create(sai.ObjectTypeTAMInt,
			sai.Attr{ID: sai.TAMIntAttrType, Value: sai.TAMIntTypeIfa1Tailstamp},
			sai.Attr{ID: sai.TAMIntAttrDeviceID, Value: sai.Uint(1)},
			sai.Attr{ID: sai.TAMIntAttrIntPresenceType, Value: sai.TAMIntPresenceTypeUndefined},
			sai.Attr{ID: sai.TAMIntAttrInline, Value: yes})
		s.create(sai.ObjectTypeACLEntry, sai.Attr{ID: sai.ACLEntryAttrTableID, Value: table},
			sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1)},
			sai.Attr{ID: sai.ACLEntryAttrActionIntInsert, Value: sai.Do(yes)},
			sai.Attr{ID: sai.ACLEntryAttrActionTAMIntObject, Value: sai.Do(session)})
	}
	s.set(sw, sai.SwitchAttrIngressACL, table)
}
