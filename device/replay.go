package device

import (
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

// feed hands every frame of the inputs to the chip at its time. It calls failed after each frame, and ends with the
// error that failed returns.
func (s *Sim) feed(ctx context.Context, in inputs, origin time.Time, failed func() error) error {
	s.together = s.Chip.CycleAt(together)
	for _, i := range in {
		if err := s.schedule(i, origin); err != nil {
			return err
		}
	}
	for i, at := in.next(s.Chip); i != nil; i, at = in.next(s.Chip) {
		if err := s.receive(ctx, i, at, origin); err != nil {
			return err
		}
		if err := failed(); err != nil {
			return err
		}
		if s.handed%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// schedule determines the cycle at which an input's head is due.
func (s *Sim) schedule(i *input, origin time.Time) error {
	if i.ended {
		return nil
	}
	p := &i.head
	after := p.Time.Sub(origin)
	if start := s.Chip.TrueTime(0); after > longest || after > lastTime.Sub(start) {
		return fmt.Errorf("%s: packet %d: it enters at %v, %d s after the first packet; want a time before %v",
			i.Path, p.Number, start.Add(after), p.Time.Unix()-origin.Unix(), lastTime)
	}
	i.due = s.Chip.CycleAt(after)
	return nil
}

// Frames that enter within so much time, in which no daemon has work, are handed to the chip together. It is faster
// with many frames at once. Daemons get a notification at most so much later, which is less than a real switch takes.
const (
	together    = 10 * time.Microsecond
	maxTogether = 64
)

// receive hands the head of the input to the ingress MAC, where it enters at cycle at. It first advances to that cycle
// if daemons may have work until then, or if many frames wait.
func (s *Sim) receive(ctx context.Context, i *input, at saisim.Cycle, origin time.Time) error {
	p := &i.head
	if now := s.Chip.Now(); at <= now {
		at = now
	} else if s.waiting++; s.host != nil || at >= s.calm || at-now > s.together || s.waiting == maxTogether {
		s.waiting = 0
		if err := s.Advance(ctx, at); err != nil {
			return err
		}
	}
	if err := s.Chip.Receive(i.port, at, saisim.Frame{Data: p.Data, Len: p.Len, ID: s.handed + 1}); err != nil {
		return fmt.Errorf("%s: packet %d: %w", i.Path, p.Number, err)
	}
	s.handed++
	if err := i.read(); err != nil {
		return err
	}
	return s.schedule(i, origin)
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
