package chipload

import (
	"context"
	"fmt"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
)

// A Feed is a chip with its traffic.
type Feed struct {
	load   Load
	chip   *saisim.Chip
	ports  []saisim.PortID
	frames [][]byte
	bad    [][]byte // the same frames, but tagged so that they are dropped
	next   int
	sent   uint64
	// Numbers of samples and drops that the listeners received.
	sampled, reported uint64
	batch             [64]saisim.Arrival
	streamed
}

// New creates the chip of a load, and configures it.
func New(ctx context.Context, l Load) (*Feed, error) {
	p := profile.Default()
	p.ACL.Entries, p.ACL.TableEntries, p.ACL.Counters, p.FDB = 1<<17+1, 1<<17+1, 1<<17, 1<<18
	p.IPv4Routes = 1 << 18
	if l.Ports > 0 {
		p = WithPorts(p, l.Ports)
	}
	chip, err := saisim.New(saisim.Config{Profile: p, Start: time.Unix(0, 0)})
	if err != nil {
		return nil, err
	}
	t := &Feed{load: l, chip: chip}
	chip.SetOutput(func(o *saisim.Out) {
		if l.OneIn > 0 && o.Port == saisim.CPUPort {
			t.sampled++
			return
		}
		// only packets, not records and reports
		if l.Sample == 0 && l.Monitor == NoMonitor || len(o.Data) == l.octets() {
			t.sent++
		}
	})
	s := calls{ctx: ctx, chip: chip}
	sw := s.create(sai.ObjectTypeSwitch, sai.Attr{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)})
	t.ports = chip.Ports()
	list, _ := s.get(sai.Obj(sai.ObjectTypeSwitch, sw), sai.SwitchAttrPortList).(sai.OIDs)
	for _, oid := range list {
		s.set(sai.Obj(sai.ObjectTypePort, oid), sai.PortAttrAdminState, sai.Bool(true))
	}
	t.makeFrames()
	if l.Routes > 0 {
		s.routes(sw, list, len(t.frames), l)
	}
	if s.err != nil {
		return nil, s.err
	}
	if err := t.learn(); err != nil {
		return nil, err
	}
	t.configure(&s, sw, list)
	return t, s.err
}

// configure sets what the chip does with packets, once it has learned all hosts.
func (t *Feed) configure(s *calls, sw sai.OID, ports []sai.OID) {
	l, key := t.load, sai.Obj(sai.ObjectTypeSwitch, sw)
	if l.Accounts {
		s.account(ports)
	}
	if l.Rules > 0 || l.Stamp {
		s.rules(key, l)
	}
	if l.EgressACL {
		s.egressRule(key)
	}
	if l.Marked {
		s.markAll(key, len(t.frames))
	}
	if l.Table {
		s.record(sw, ports[0], l)
	}
	if l.Monitor != NoMonitor {
		s.monitor(key, ports[len(ports)-1], l.Monitor)
	}
	if l.OneIn > 0 {
		s.sample(ports, l.OneIn)
	}
	if l.Reported {
		t.report()
	}
	if l.Streamed > 0 {
		s.stream(key, ports, l.Streamed)
		t.streamsFrom = t.chip.Now()
	}
	s.addTasks(l)
	if l.Sketch && s.err == nil {
		s.err = t.loadSketch()
	}
}

// makeFrames makes a frame from each host to the next one, or for each route. Host i is at port i, modulo the number of
// ports.
func (t *Feed) makeFrames() {
	hosts := max(t.load.Flows, t.load.Routes)
	if hosts == 0 {
		hosts = len(t.ports)
	}
	for i := range hosts {
		to := (i + 1) % hosts
		t.frames = append(t.frames, t.load.Frame(i, to))
		if t.load.Dropped > 0 {
			t.bad = append(t.bad, t.load.frame(i, to, true))
		}
	}
}

// learn makes every host announce its port.
func (t *Feed) learn() error {
	if t.load.Routes > 0 {
		return nil // there is no bridge
	}
	for i := range t.frames {
		at := t.chip.Now()
		hello := Load{}.Frame(i, i)
		if err := t.chip.Receive(t.ports[i%len(t.ports)], at, saisim.Frame{Data: hello}); err != nil {
			return err
		}
		t.chip.Advance(at + 40)
	}
	t.chip.Advance(t.chip.Now() + 100_000)
	t.sent = 0
	return nil
}

// Send sends n packets in batches of 64. There is one packet per cycle, unless the load pauses.
func (t *Feed) Send(n int) error {
	for n > 0 {
		now := t.chip.Now()
		batch := t.batch[:min(n, len(t.batch))]
		for i := range batch {
			host := t.next % len(t.frames)
			a := &batch[i] // the other fields of a stay zero
			a.Port, a.At = t.ports[host%len(t.ports)], now+saisim.Cycle(i*(1+t.load.Pause))
			a.Data = t.frames[host]
			if t.next++; t.load.Dropped > 0 && t.next%t.load.Dropped == 0 {
				a.Data = t.bad[host]
			}
		}
		if _, err := t.chip.ReceiveAll(batch); err != nil {
			return err
		}
		t.chip.Advance(now + saisim.Cycle(len(batch)*(1+t.load.Pause)))
		n -= len(batch)
		t.collect()
	}
	return nil
}

// Sent returns the number of packets sent.
func (t *Feed) Sent() int { return t.next }

// Check returns an error unless the packets went where the load requires.
func (t *Feed) Check() error {
	t.chip.Advance(t.chip.Now() + 100_000)
	want := uint64(t.next)
	if t.load.Dropped > 0 {
		want -= uint64(t.next / t.load.Dropped)
	}
	if b := t.chip.FrameCounts(); t.sent != want || !b.Balanced() {
		return fmt.Errorf("%+v: %d packets left, want %d of %d; books %+v", t.load, t.sent, want, t.next, b)
	}
	if err := t.checkRecords(); err != nil {
		return err
	}
	return t.checkSamples()
}

// loadSketch loads the count-min program, in the ingress pipe.
func (t *Feed) loadSketch() error {
	p, err := pipe.CountMin(pipe.CountMinSketch{Key: pipe.FiveTupleIPv4(), Rows: 3, Depth: 1 << 16, Width: 32, Stage: 1})
	if err != nil {
		return err
	}
	return t.chip.Control(t.chip.Now(), saisim.Batch{Batch: pipe.Batch{Program: p}})
}
