package saisim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"tamtam/saisim/engine"
	"tamtam/saisim/profile"
)

// A Trace writes, for every frame, the cycle at which it is at each place of the chip. It is an observer
// ([Chip.SetObserver]). A frame is written when nothing of it is left in the chip, so memory only holds the frames in
// flight.
type Trace struct {
	prof  *profile.Profile
	name  func(PortID) string // name of a port's host interface
	write func(*tracedFrame) error
	out   *bufio.Writer
	live  map[uint64]*tracedFrame
	err   error
}

// A tracedFrame is a frame, and its line in the JSON form of the trace.
type tracedFrame struct {
	Packet uint64        `json:"packet"` // 1 for the chip's first frame
	ID     uint64        `json:"id,omitempty"`
	In     string        `json:"in"`
	Bytes  int           `json:"bytes"` // without FCS
	Steps  []tracedStep  `json:"steps"`
	Copies []*tracedCopy `json:"copies,omitempty"`
	open   int           // number of copies that have not ended, the frame itself included
}

type tracedCopy struct {
	Copy  uint32       `json:"copy"`
	Out   string       `json:"out"`
	Bytes int          `json:"bytes"` // as it leaves
	Steps []tracedStep `json:"steps"`
}

// A tracedStep is a place with the time when the frame is there. An event on a wire need not happen at a cycle: the
// chip sees it at the next one.
type tracedStep struct {
	Place string `json:"place"`
	Cycle Cycle  `json:"cycle"`
	Exact string `json:"exact,omitempty"` // exact time if it differs from the cycle: "91+4/5"
}

// NewTrace returns a trace that writes a text table, or lines of JSON if asJSON is true.
func NewTrace(c *Chip, w io.Writer, asJSON bool) *Trace {
	return newTrace(&c.profile, func(id PortID) string { return c.objects.PortName(id) }, w, asJSON)
}

func newTrace(p *profile.Profile, name func(PortID) string, w io.Writer, asJSON bool) *Trace {
	t := &Trace{prof: p, name: name, out: bufio.NewWriter(w), live: map[uint64]*tracedFrame{}}
	t.write = t.text
	if asJSON {
		e := json.NewEncoder(t.out)
		t.write = func(f *tracedFrame) error { return e.Encode(f) }
	}
	return t
}

// See adds a moment to the trace.
func (t *Trace) See(m Moment) {
	f := t.live[m.Number]
	if f == nil {
		if m.What != MomentReceived && m.What != MomentInjected {
			return // the frame came before the trace began
		}
		f = &tracedFrame{Packet: m.Number, ID: m.ID, In: t.portName(m.In), Bytes: m.Len, open: 1}
		t.live[m.Number] = f
	}
	steps := &f.Steps
	if m.Copy > 0 {
		c := f.copy(m.Copy)
		c.Out, c.Bytes, steps = t.portName(m.Port), m.Len, &c.Steps
	}
	t.steps(steps, &m)
	switch m.What {
	case MomentReplicated, MomentDropped, MomentSent, MomentPunted:
		f.open--
	}
	if f.open == 0 {
		delete(t.live, m.Number)
		if t.err == nil {
			t.err = t.write(f)
		}
	}
}

// Flush writes buffered output. Frames that are still in the chip are left out. It returns the first write error.
func (t *Trace) Flush() error {
	if t.err == nil {
		t.err = t.out.Flush()
	}
	return t.err
}

// copy returns the copy with a number, which it adds if necessary.
func (f *tracedFrame) copy(n uint32) *tracedCopy {
	for _, c := range f.Copies {
		if c.Copy == n {
			return c
		}
	}
	c := &tracedCopy{Copy: n}
	f.Copies = append(f.Copies, c)
	f.open++
	return c
}

// steps adds the steps of a moment. Places between moments follow from the profile.
func (t *Trace) steps(s *[]tracedStep, m *Moment) {
	p := t.prof
	at := func(place string, c Cycle) { *s = append(*s, tracedStep{Place: place, Cycle: c}) }
	switch m.What {
	case MomentReceived:
		wire(s, "ingress SFD", m, 0)
		wire(s, "last byte in", m, int64(engine.WireLen(m.Len)))
	case MomentInjected:
		at("injected", m.At)
	case MomentEntered:
		at("pipe entry", m.At)
	case MomentReplicated:
		if entry, ok := find(*s, "pipe entry"); ok {
			at("parser out", entry+Cycle(p.Parser))
			c := t.stages(s, "ingress stage", entry+Cycle(p.Parser), p.IngressStages, m.At)
			at("traffic manager", c)
		}
		at("copies made", m.At)
	case MomentMirrored:
		at("mirrored", m.At)
	case MomentTrimmed:
		at(fmt.Sprintf("queue %d: trimmed to %d bytes", m.Queue, m.Len), m.At)
	case MomentQueued:
		at(fmt.Sprintf("queue %d", m.Queue), m.At)
	case MomentDequeued:
		at("dequeue", m.At)
	case MomentSent:
		deq, _ := find(*s, "dequeue")
		c := t.stages(s, "egress stage", deq, p.EgressStages, m.At)
		at("deparser", c)
		at("egress MAC", c+Cycle(p.Deparser))
		wire(s, "preamble", m, -engine.PreambleSFD)
		wire(s, "egress SFD", m, 0)
		wire(s, "last byte out", m, int64(engine.WireLen(m.Len)))
	case MomentPunted:
		at("to the CPU"+m.ByTrap(), m.At)
	case MomentDropped:
		if entry, ok := find(*s, "pipe entry"); ok {
			t.stages(s, "ingress stage", entry+Cycle(p.Parser), p.IngressStages, m.At)
		}
		at("dropped: "+m.Because(), m.At)
	}
}

// stages adds the stages of a pipe that are reached by the cycle last. The first one is at cycle c. It returns the
// cycle after all stages.
func (t *Trace) stages(s *[]tracedStep, name string, c Cycle, n uint32, last Cycle) Cycle {
	for i := range n {
		if c <= last {
			*s = append(*s, tracedStep{Place: fmt.Sprintf("%s %d", name, i), Cycle: c})
		}
		c += Cycle(t.prof.StageCycles)
	}
	return c
}

func find(steps []tracedStep, place string) (Cycle, bool) {
	for _, s := range steps {
		if s.Place == place {
			return s.Cycle, true
		}
	}
	return 0, false
}

// wire adds a place that is n bytes after the moment, or before it if n is negative.
func wire(s *[]tracedStep, place string, m *Moment, n int64) {
	// In units of 1/Den from the cycle before m.At: n is below 2^18, Num below
	// 2^36, Den below 2^43.
	den := int64(m.Byte.Den)
	x := n*int64(m.Byte.Num) - int64(m.Early)
	whole := x / den
	if x%den < 0 {
		whole--
	}
	frac := x - whole*den
	step := tracedStep{Place: place, Cycle: m.At + Cycle(whole)}
	if frac > 0 {
		step.Exact = fmt.Sprintf("%d+%d/%d", uint64(step.Cycle), frac, den)
		step.Cycle++
	}
	*s = append(*s, step)
}

// text writes a frame as a table.
func (t *Trace) text(f *tracedFrame) error {
	fmt.Fprintf(t.out, "packet %d: %d bytes in at %s\n", f.Packet, f.Bytes, f.In)
	t.table(f.Steps)
	for _, c := range f.Copies {
		fmt.Fprintf(t.out, "packet %d copy %d: %d bytes out at %s\n", f.Packet, c.Copy, c.Bytes, c.Out)
		t.table(c.Steps)
	}
	return nil
}

func (t *Trace) table(steps []tracedStep) {
	for _, s := range steps {
		fmt.Fprintf(t.out, "  %-18s %10d", s.Place, s.Cycle)
		if s.Exact != "" {
			fmt.Fprintf(t.out, "  %s", s.Exact)
		}
		fmt.Fprintln(t.out)
	}
}

// portName returns the port's name in the trace.
func (t *Trace) portName(id PortID) string {
	if id == CPUPort {
		return "CPU"
	}
	if name := t.name(id); name != "" {
		return name
	}
	return fmt.Sprintf("port %d", id)
}
