package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/truth"
)

// maxExactFlows is the largest number of flows that is counted exactly for each task.
const maxExactFlows = 1 << 20

// A Replay sends captures through a simulated switch and writes the resulting captures and report.
type Replay struct {
	SimConfig
	Inputs []Input
	Out    string // output directory
	// Trace receives the cycle of every packet at every station; nil means no trace.
	Trace     io.Writer
	TraceJSON bool // lines of JSON instead of tables
	// Truth adds the true fate of every flow group, and the exact values of FlyMon's tasks, to the report.
	Truth bool
	// Program runs in the chip from cycle 0 on. Control holds batches for it, ordered by time.
	Program *pipe.Program
	Control []ControlStep
	// Faults corrupt the chip's tables from the first packet on.
	Faults []pipe.Fault
	// Ask, if not nil, is called after the last packet has left, to query the switch. By then the fate of every
	// packet is known, dropped or not.
	Ask func(context.Context, *Sim) error
}

// Run performs the whole run. The files in the directory Out appear only if the run succeeds. For example, a damaged
// capture leaves none behind.
func (r Replay) Run(ctx context.Context) (*Report, error) {
	if r.Truth && r.Oracle == 0 {
		r.Oracle = maxExactFlows
	}
	in, err := openInputs(r.Inputs)
	if err != nil {
		return nil, err
	}
	defer in.close()
	origin, err := in.first()
	if err != nil {
		return nil, err
	}
	if r.Start.IsZero() {
		r.Start = origin
	}
	r.Start = r.Start.UTC()
	s, err := NewSim(ctx, r.SimConfig)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	plans := s.CollectPlans()
	if err := s.RunUntilIdle(ctx); err != nil {
		return nil, err
	}
	return r.replay(ctx, s, in, origin, plans)
}

func (r Replay) replay(ctx context.Context, s *Sim, in inputs, origin time.Time, plans RecordPlans) (*Report, error) {
	t := s.Redis.Reading(ctx)
	ports, aliases := s.portNames(t), aliases(t)
	if err := t.Err(); err != nil {
		return nil, err
	}
	if err := in.bind(s.Chip, ports, aliases); err != nil {
		return nil, s.explain(ctx, err)
	}
	out, err := createOutputs(r.Out, s.Chip, ports)
	if err != nil {
		return nil, err
	}
	defer out.discard()
	s.Chip.SetOutput(func(o *saisim.Out) {
		s.Punt(o)
		out.write(o)
	})
	obs, err := r.observe(ctx, s)
	if err != nil {
		return nil, err
	}
	if r.Ask != nil {
		s.Chip.WatchAll(true)
	}
	var prog programs
	if err := prog.start(&r, s.Chip); err != nil {
		return nil, err
	}
	if r.Program != nil { // table recording makes plans for the program before the first packet
		if err := errors.Join(s.Orchagent.PollRecording(ctx), s.RunUntilIdle(ctx)); err != nil {
			return nil, err
		}
	}
	if err := s.feed(ctx, in, origin, out.err); err != nil {
		return nil, err
	}
	if err := s.drain(ctx); err != nil {
		return nil, err
	}
	if err := r.runControl(ctx, s); err != nil {
		return nil, err
	}
	if r.Ask != nil {
		if err := r.Ask(ctx, s); err != nil {
			return nil, err
		}
	}
	return s.finish(ctx, &prog, obs, plans, out)
}

// finish returns the report of a replay, and commits its output.
func (s *Sim) finish(
	ctx context.Context, prog *programs, obs observers, plans RecordPlans, out *outputs,
) (*Report, error) {
	report, err := s.Report(ctx)
	if err != nil {
		return nil, err
	}
	if report.Program, err = prog.report(s.Chip); err != nil {
		return nil, err
	}
	if err := obs.finish(report); err != nil {
		return nil, err
	}
	plans.report(report)
	if out.plans, err = plans.Files(); err != nil {
		return nil, err
	}
	return report, out.commit(report)
}

// observers holds what watches the chip during a run, if anything.
type observers struct {
	trace    *saisim.Trace
	oracle   *truth.Oracle
	problems []Problem
}

func (r Replay) observe(ctx context.Context, s *Sim) (o observers, err error) {
	var see []func(saisim.Moment)
	if r.Trace != nil {
		o.trace = saisim.NewTrace(s.Chip, r.Trace, r.TraceJSON)
		s.Chip.SetVector(0) // a trace is ordered by time
		see = append(see, o.trace.See)
	}
	if r.Truth {
		var watch func(saisim.Moment)
		if o.oracle, watch, o.problems, err = s.watch(ctx); err != nil {
			return o, err
		}
		see = append(see, watch)
	}
	switch len(see) {
	case 1:
		s.Chip.SetObserver(see[0])
	case 2:
		s.Chip.SetObserver(func(m saisim.Moment) {
			see[0](m)
			see[1](m)
		})
	}
	return o, nil
}

func (o observers) finish(report *Report) error {
	if o.oracle != nil {
		report.addTruth(o.oracle)
		report.Problems = append(report.Problems, o.problems...)
	}
	if o.trace != nil {
		if err := o.trace.Flush(); err != nil {
			return fmt.Errorf("trace: %w", err)
		}
	}
	return nil
}

// longest is the maximum simulated duration of a run, well within the range of cycles and Durations.
const longest = 150 * 365 * 24 * time.Hour

// lastTime is one minute before the seconds in a pcap file overflow, in 2106.
var lastTime = time.Unix(1<<32-60, 0).UTC()

// feed hands every frame of the inputs to the chip at its time. It calls failed after each burst of frames, and ends
// with the error that failed returns.
func (s *Sim) feed(ctx context.Context, in inputs, origin time.Time, failed func() error) error {
	f := feeder{sim: s, in: in, origin: origin, latest: min(longest, lastTime.Sub(s.Chip.TrueTime(0)))}
	f.together, f.now = s.Chip.CycleAt(together), s.Chip.Now()
	for _, i := range in {
		if err := f.schedule(i); err != nil {
			return err
		}
	}
	for {
		if err := cmp.Or(s.Chip.Receiving(f.hand), failed(), ctx.Err()); err != nil {
			return err
		}
		var err error
		switch {
		case f.empty != nil:
			err = f.read(f.empty)
			f.empty = nil
		case f.first != nil:
			err = s.Advance(ctx, f.at)
			f.now = s.Chip.Now()
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A feeder hands the frames of the inputs to the chip, which it locks once for many of them.
type feeder struct {
	sim      *Sim
	in       inputs
	origin   time.Time
	latest   time.Duration // latest time after the origin at which a frame may enter
	together saisim.Cycle  // maximum time by which they may lag behind
	now      saisim.Cycle  // cycle that the daemons have reached
	waiting  int           // number of frames handed to the chip since then
	first    *input        // input whose head is next, once the chip has reached cycle at; nil means unknown, or none
	at       saisim.Cycle
	empty    *input // input whose next packet is not read yet
}

// schedule determines the cycle at which an input's head is due.
func (f *feeder) schedule(i *input) error {
	if i.head == nil {
		return nil
	}
	after := i.head.Time.Sub(f.origin)
	if after > f.latest {
		return fmt.Errorf("%s: packet %d: it enters at %v, %d s after the first packet; want a time before %v",
			i.Path, i.head.Number, f.sim.Chip.TrueTime(0).Add(after), i.head.Time.Unix()-f.origin.Unix(), lastTime)
	}
	i.due = f.sim.Chip.CycleAt(after)
	return nil
}

// read reads the next head of an input.
func (f *feeder) read(i *input) error {
	if err := i.read(); err != nil {
		return err
	}
	return f.schedule(i)
}

// Frames that enter within so much time, in which no daemon has work, are handed to the chip together. It is faster
// with many frames at once. Daemons get a notification at most so much later, which is less than a real switch takes.
const (
	together    = 10 * time.Microsecond
	maxTogether = 64
)

// hand hands heads of the inputs to the ingress MACs, until an input must be waited for, or the chip must advance
// first: daemons may have work until then, or many frames wait. After the last frame there is neither.
func (f *feeder) hand(chip saisim.Intake) error {
	s, now := f.sim, f.now
	for f.empty == nil {
		if f.first == nil {
			f.first, f.at = f.in.next(chip)
			if f.first == nil {
				return nil
			}
			if f.at <= now {
				f.at = now
			} else if f.waiting++; s.host != nil || f.at >= s.calm || f.at-now > f.together || f.waiting == maxTogether {
				f.waiting = 0
				return nil
			}
		}
		i := f.first
		p := i.head
		chip.Approach(f.at)
		err := chip.Receive(i.port, f.at, &saisim.Frame{Data: p.Data, Len: p.Len, ID: s.handed + 1})
		if err != nil {
			return fmt.Errorf("%s: packet %d: %w", i.Path, p.Number, err)
		}
		s.handed++
		if f.first = nil; !i.ahead.Ready() {
			f.empty = i
		} else if err := f.read(i); err != nil {
			return err
		}
	}
	return nil
}

// drain advances until the chip is empty, then polls all counters.
func (s *Sim) drain(ctx context.Context) error {
	for {
		at, ok := s.Chip.NextEvent()
		if !ok {
			return s.Poll(ctx)
		}
		if err := s.Advance(ctx, at); err != nil {
			return err
		}
	}
}
