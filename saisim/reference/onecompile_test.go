package reference_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/pipe"
)

// A journal is the history of a chip's configuration: the current rows, and the steps to them.
type journal struct {
	rows  config.Set
	steps []step
	// ageing means that time passes. Rows of addresses that age are not steps then, since they age everywhere.
	ageing bool
}

// A step is a change of rows, a batch of control, or a time advance to a cycle.
type step struct {
	change config.Change
	batch  *pipe.Batch
	to     saisim.Cycle
}

func newJournal() journal { return journal{rows: config.Set{}} }

func (j *journal) changed(c config.Change) {
	j.rows.Apply(c)
	if !j.ageing {
		j.steps = append(j.steps, step{change: slices.Clone(c)})
	}
}

func (j *journal) controlled(b pipe.Batch) { j.steps = append(j.steps, step{batch: &b}) }

// A compiled is an engine without its control plane, and its output.
type compiled struct {
	*engine.Engine
	how     string
	steps   []uint64 // maximum cycles per advance, one picked each time; empty means no maximum
	out     []sent
	moments []engine.Moment
}

func (p *pair) newCompiled(how string, vector int, observed bool) *compiled {
	e := &compiled{Engine: engine.New(p.prof, start, 0), how: how}
	e.SetVector(vector)
	e.steps = pick(&p.gen, nil, []uint64{1, 3, 50}, []uint64{5000}, []uint64{200, 1100})
	e.SetOutput(func(o *engine.Out) { e.out = append(e.out, sent{*o, bytes.Clone(o.Data)}) })
	if observed {
		e.Observe(func(m engine.Moment) {
			m.Data = bytes.Clone(m.Data)
			e.moments = append(e.moments, m)
		})
	}
	return e
}

// do executes a step.
func (e *compiled) do(s step) error {
	switch {
	case s.batch != nil:
		return e.Control(e.Now(), saisim.Batch{Batch: *s.batch})
	case s.change != nil:
		e.Apply(s.change)
	default:
		// Nothing happens to frames, but the engine must be ready for them: lists derived from several rows are made
		// before any event.
		if err := e.Control(s.to, saisim.Batch{}); err != nil {
			return err
		}
		e.Advance(s.to)
	}
	return nil
}

// A compileTest is a chip and three engines beside it. One has compiled each of the changes. One has compiled the final
// rows in one step. The third engine had the final rows, then none, and then has them again.
type compileTest struct {
	*pair
	engines []*compiled
	chipOut []sent
}

func newCompileTest(seed uint64) (*compileTest, error) {
	t, err := newChanged(seed)
	if err != nil {
		return nil, err
	}
	observed := t.chance(50)
	for i, how := range []string{"change by change", "at once", "twice"} {
		t.engines = append(t.engines, t.newCompiled(how, []int{0, 1 + t.IntN(64), 64}[i], observed))
	}
	return t, t.compile()
}

// newChanged makes a chip after many changes, and no engine beside it yet.
func newChanged(seed uint64) (*compileTest, error) {
	p, err := newPairOf(seed, true)
	if err != nil {
		return nil, err
	}
	p.chip.SetObserver(nil)
	t := &compileTest{pair: p}
	p.chip.SetOutput(func(o *saisim.Out) { t.chipOut = append(t.chipOut, sent{*o, bytes.Clone(o.Data)}) })
	for range p.IntN(150) {
		if err := t.anyChange(); err != nil {
			return nil, err
		}
		if p.chance(50) {
			t.elapse(1 + p.Uint64N(1000))
		}
		if p.slow && p.chance(10) {
			t.elapse(1 + p.Uint64N(2*p.prof.ClockHz))
		}
	}
	return t, nil
}

// anyChange changes the configuration of the chip.
func (t *compileTest) anyChange() error {
	switch n := t.IntN(100); {
	case n < 15:
		t.fdbOp()
	case n < 25 && t.sketching:
		return t.sketchOp()
	case n < 35 && t.recording:
		t.planOp()
	case n < 40 && t.programmed:
		return t.control(0)
	case n < 43 && t.recording:
		return t.faultOp(0)
	default:
		t.anyOp()
		t.clampOp()
	}
	return nil
}

// elapse lets time pass in the chip.
func (t *compileTest) elapse(cycles uint64) {
	t.ageing = true
	to := t.chip.Now() + saisim.Cycle(cycles)
	t.chip.Advance(to)
	t.ageing = false
	t.steps = append(t.steps, step{to: to})
}

// compile brings the engines to the state of the chip. Batches of control are not rows: all engines get them, before
// the rows. Plans of table recording are compiled for the running program.
func (t *compileTest) compile() error {
	for _, s := range t.steps {
		if err := t.engines[0].do(s); err != nil {
			return err
		}
	}
	rows := t.rows.Rows()
	for _, e := range t.engines[1:] {
		e.Advance(t.chip.Now())
		for _, s := range t.steps {
			if s.batch != nil {
				if err := e.do(s); err != nil {
					return err
				}
			}
		}
		e.Apply(rows)
	}
	t.steps = nil
	again := t.engines[2]
	var none config.Change
	for _, s := range slices.Backward(rows) {
		none.Remove(s.Row)
	}
	again.Apply(none)
	if n := len(again.Addresses()); n != 0 {
		return fmt.Errorf("without rows there are %d addresses", n)
	}
	for _, id := range t.chip.Ports() {
		if err := again.Inject(id, saisim.Frame{Data: make([]byte, 60)}); err == nil {
			return fmt.Errorf("without rows there is port %d", id)
		}
	}
	again.Apply(rows)
	return nil
}

// burst puts the same n frames on the wires of all.
func (t *compileTest) burst(n int) error {
	ids := t.chip.Ports()
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	window := uint64(n) * uint64(1+t.IntN(60))
	at := t.chip.Now()
	for range n {
		at += saisim.Cycle(t.Uint64N(window/uint64(n)+2) + t.pause())
		i, inject := t.IntN(len(ids)), t.chance(5)
		id, f := ids[i], t.frameAt(t.buf, i, len(ids))
		t.buf, f.Late = f.Data[:0], t.lateness()
		into := func(receive func(saisim.PortID, saisim.Cycle, saisim.Frame) error,
			injected func(saisim.PortID, saisim.Frame) error) error {
			if inject && len(f.Data) >= 14 {
				return injected(id, f)
			}
			return receive(id, at, f)
		}
		err := into(t.chip.Receive, t.chip.Inject)
		for _, e := range t.engines {
			receive := func(id saisim.PortID, at saisim.Cycle, f saisim.Frame) error { return e.Receive(id, at, &f) }
			err = errors.Join(err, into(receive, e.Inject))
		}
		if err != nil {
			return err
		}
		t.packets++
	}
	return nil
}

// advance runs all to a cycle, each engine in its own steps. The ends of windows make no difference.
func (t *compileTest) advance(to saisim.Cycle) {
	t.ageing = true
	t.chip.Advance(to)
	t.ageing = false
	for _, e := range t.engines {
		for len(e.steps) > 0 && e.Now() < to {
			e.Advance(min(to, e.Now()+saisim.Cycle(1+t.Uint64N(pick(&t.gen, e.steps...)))))
			if _, busy := e.NextEvent(); !busy {
				break
			}
		}
		e.Advance(to)
	}
}

// change changes the rows of all engines equally, between two packets.
func (t *compileTest) change() error {
	for range t.IntN(4) {
		switch n := t.IntN(100); { // no batch: see compile
		case n < 15:
			t.fdbOp()
		case n < 30 && t.sketching:
			if err := t.sketchOp(); err != nil {
				return err
			}
		default:
			t.anyOp()
			t.clampOp()
		}
	}
	for _, s := range t.steps {
		for _, e := range t.engines {
			e.Apply(s.change)
		}
	}
	t.steps = nil
	return nil
}

// run sends packets through all, and changes the rows meanwhile.
func (t *compileTest) run(packets int) error {
	for t.packets < packets && len(t.chip.Ports()) > 0 {
		if err := t.burst(1 + t.IntN(100)); err != nil {
			return err
		}
		if t.packets > packets/2 {
			t.advance(t.chip.Now() + saisim.Cycle(t.Uint64N(2000)))
			if err := t.change(); err != nil {
				return err
			}
		}
		t.drainAll()
		if err := t.differs(true); err != nil {
			return fmt.Errorf("after %d packets: %w", t.packets, err)
		}
	}
	return nil
}

// drainAll runs all until they are empty, and somewhat longer.
func (t *compileTest) drainAll() {
	for {
		at, busy := t.chip.NextEvent()
		if !busy {
			break
		}
		t.advance(at + saisim.Cycle(t.IntN(3000)))
	}
	t.advance(t.chip.Now() + 200)
}

// differs returns an error for a difference between engines. A program's memory is read by a batch of control, so only
// if control is true.
func (t *compileTest) differs(control bool) error {
	a := t.engines[0]
	if err := sameOut(t.chipOut, a.out); err != nil {
		return fmt.Errorf("chip and %s: %w", a.how, err)
	}
	was := t.counts(a, control)
	inOrder(a.moments)
	for _, b := range t.engines[1:] {
		if err := sameOut(a.out, b.out); err != nil {
			return fmt.Errorf("%s and %s: %w", a.how, b.how, err)
		}
		inOrder(b.moments)
		if len(a.moments) != len(b.moments) {
			return fmt.Errorf("%s and %s: %d and %d moments", a.how, b.how, len(a.moments), len(b.moments))
		}
		for i := range a.moments {
			if !reflect.DeepEqual(a.moments[i], b.moments[i]) {
				return fmt.Errorf("%s and %s: %+v and %+v", a.how, b.how, a.moments[i], b.moments[i])
			}
		}
		is := t.counts(b, control)
		for _, what := range slices.Sorted(maps.Keys(was)) {
			if x, y := was[what], is[what]; !reflect.DeepEqual(x, y) {
				return fmt.Errorf("%s is %+v compiled %s, %+v %s", what, x, a.how, y, b.how)
			}
		}
	}
	t.chipOut = nil
	for _, e := range t.engines {
		e.out, e.moments = nil, nil
	}
	return nil
}

// inOrder sorts moments by packet and copy. Only the event-by-event path produces the moments of all packets in the
// order of time.
func inOrder(moments []engine.Moment) {
	slices.SortStableFunc(moments, func(a, b engine.Moment) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Copy, b.Copy))
	})
}

func sameOut(a, b []sent) error {
	for i := range min(len(a), len(b)) {
		if !a[i].equal(b[i]) {
			return fmt.Errorf("output %d:\n%s\n%s", i, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Errorf("%d and %d outputs", len(a), len(b))
	}
	return nil
}

// counts returns everything that an engine has learned and counted, by kind. Generations of flows and tasks are left
// out. They distinguish two objects with one name, and earlier objects are not visible in rows.
func (t *compileTest) counts(e *compiled, control bool) map[string]any {
	all := map[string]any{"books": e.FrameCounts(), "FDB": e.Addresses(), "FDB: room": e.AddressesLeft()}
	for _, s := range t.rows.Rows() {
		switch r := s.Row.(type) {
		case config.Port:
			all[fmt.Sprintf("port %d", r.Port)], _ = e.PortTally(r.ID)
			for q := range int(t.prof.Queues) {
				all[fmt.Sprintf("queue %d of port %d", q, r.Port)], _ = e.QueueState(r.Port, q)
			}
		case config.Interface:
			all["interface "+r.ID.String()] = e.InterfaceCounts(r.ID)
		case config.MSSClamp:
			all["clamp "+r.ID.String()] = e.SYNCounts(r.ID)
		case config.ACLCounter:
			all["ACL counter "+r.ID.String()] = e.ACLCount(r.ID)
		case config.Pool:
			all[fmt.Sprintf("pool %d", r.Index)] = e.PoolState(r.Index)
		case config.RecordPlan:
			for _, x := range r.Sessions {
				all["session "+x.Label] = e.RecordCounts(x.Label)
			}
		case config.Sketch:
			t.sketch(e, &r, all)
		}
	}
	for _, i := range t.flowIndexes() {
		flow := e.MarkFlow(i)
		flow.Generation = 0
		all[fmt.Sprintf("flow %d", i)] = flow
	}
	packets, other := e.PathsCounted()
	all["paths"] = [3]any{e.Paths(), packets, other}
	if control {
		t.programMemory(e, all)
	}
	return all
}

func (t *compileTest) sketch(e *compiled, r *config.Sketch, all map[string]any) {
	status, _ := e.TaskStatus(r.Task)
	status.Generation = 0
	all["task "+r.Task] = status
	for bank := range int(r.Banks()) {
		for unit, u := range slices.Concat(r.Units, r.Frozen) {
			words, err := e.Groups().Read(r.Task, unit, bank, 0, u.Size)
			all[fmt.Sprintf("task %s, bank %d, unit %d", r.Task, bank, unit)] = [2]any{words, err}
		}
		keys, err := e.Groups().Digests(r.Task, bank, 0, 1<<10)
		all[fmt.Sprintf("task %s, bank %d, digests", r.Task, bank)] = [2]any{keys, err}
	}
}

// programMemory reads the registers and counters of the program.
func (t *compileTest) programMemory(e *compiled, all map[string]any) {
	if e.Program() == nil {
		return
	}
	err := e.Control(e.Now(), saisim.Batch{Batch: everything(e.Program()), Done: func(r saisim.BatchResult) {
		all["program"] = r.Result
	}})
	for _, done := range e.Done() {
		done()
	}
	all["program read"] = err
}

var oneCompileCases = randtest.Cases{Seed: 90_000_000, Count: 80, Short: 10}

// Three engines are equal for packets and for further changes: one that has compiled change by change, one that has
// compiled the final rows in one step, and one that had the final rows, removed them and has them again. The test
// compares the frames that leave, their times, and everything learned and counted.
func TestChangesEqualOneCompile(t *testing.T) {
	const packets = 500
	y := tally{}
	run := randtest.Run(t, oneCompileCases, func(t *testing.T, seed uint64) {
		c, err := newCompileTest(seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.rows.Rows() {
			y[fmt.Sprintf("%T", s.Row)]++
		}
		if err := c.run(packets); err != nil {
			t.Fatal(err)
		}
		b := c.chip.FrameCounts()
		y["frames"] += c.packets
		y["frames that left"] += int(b.Sent + b.ToCPU)
	})
	for _, what := range slices.Sorted(maps.Keys(y)) {
		t.Logf("%10d %s", y[what], what)
	}
	for _, r := range everyRow() {
		if what := fmt.Sprintf("%T", r); run.Whole(oneCompileCases) && y[what] < run.Count/4 {
			t.Errorf("%s: %d, want a fourth of the cases at least", what, y[what])
		}
	}
}

// everyRow returns a row of each kind.
func everyRow() []config.Row {
	return []config.Row{
		config.Switch{}, config.Pool{}, config.Port{}, config.LAG{}, config.BridgePort{}, config.VLAN{}, config.FDBEntry{},
		config.Router{}, config.Interface{}, config.Neighbor{}, config.NextHop{}, config.HopGroup{}, config.Route{},
		config.TrapRule{}, config.TAMInt{}, config.Mirror{}, config.ACLRange{}, config.ACLCounter{}, config.ACLTable{},
		config.ACLEntry{}, config.ACLGroup{}, config.AltMark{}, config.Sketch{}, config.RecordPlan{}, config.MSSClamp{},
	}
}
