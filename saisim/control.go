package saisim

import (
	"fmt"
	"strings"

	"tamtam/saisim/pipe"
)

// A Batch is what control does to the programs in the pipes at one cycle.
type Batch struct {
	pipe.Batch
	// Done, if there is one, is told when the batch has taken effect, with what it
	// has read; like notifications it comes with the chip unlocked and in order.
	Done func(BatchResult)
}

// A BatchResult is what a batch has read.
type BatchResult struct {
	At Cycle
	pipe.Result
}

// A scheduled batch waits for its cycle.
type scheduled struct {
	at      Cycle
	batch   Batch
	program *pipe.Compiled // that runs afterwards
	faults  []pipe.Fault
}

// Control has a batch take effect at a cycle, all of it between two packets: a
// packet that enters the ingress pipe at that cycle or later runs the new
// program, in the egress pipe too, and those before it the old one; registers and
// counters are written and read before the first packet that enters their pipe at
// that cycle or later. What is wrong with the batch is said now, by name, and then
// nothing of it happens. A cycle that is past, or before that of an earlier batch
// still to come, is refused; at the current cycle it takes effect at once, behind
// all that Advance has done.
//
// The program and what else the batch holds must not be changed afterwards.
func (c *Chip) Control(at Cycle, b Batch) error {
	c.mu.Lock()
	defer c.unlock()
	if at < c.now {
		return fmt.Errorf("control: cycle %d is past, the chip is at %d", at, c.now)
	}
	if c.batches.Len() > 0 {
		if last := c.batches.At(c.batches.Len() - 1).at; at < last {
			return fmt.Errorf("control: cycle %d is before cycle %d, when an earlier batch takes effect", at, last)
		}
	}
	limits := c.prof.Limits()
	limits.PHVBits -= c.recordBits()
	now, faults, err := pipe.PrepareFaults(b.Batch, limits, c.planned, c.plannedFaults)
	if err == nil {
		_, err = skipped(faults)
	}
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	c.planned, c.plannedFaults = now, faults
	if s := (scheduled{at, b, now, faults}); at > c.now || c.batches.Len() > 0 {
		c.batches.Push(s)
	} else {
		c.takeEffect(s)
	}
	return nil
}

// skipped are the fixed functions that faults skip.
func skipped(faults []pipe.Fault) (skips fixedMarks, err error) {
	for _, f := range faults {
		if !strings.HasPrefix(f.Table, "chip.") {
			continue
		}
		which := numFixed
		for _, x := range []fixedTable{fixedTrap, fixedACL, fixedLearning, fixedIPv4Route, fixedIPv6Route, fixedFDB} {
			if x.String() == f.Table {
				which = x
			}
		}
		if which == numFixed {
			return 0, fmt.Errorf("fault: %.80q cannot be skipped, want a table of the program, chip.trap, chip.acl, "+
				"chip.learning, chip.ipv4_route, chip.ipv6_route or chip.fdb", f.Table)
		}
		skips |= which.ran()
	}
	return skips, nil
}

// takeEffect carries out a batch.
func (c *engine) takeEffect(s scheduled) {
	c.program = s.program
	if s.batch.Program != nil || s.batch.Unload {
		c.programGraph = nil
		if len(c.recording.plans) > 0 && c.described().graph.Version != c.recording.paths.graph.graph.Version {
			c.recording.paths.begin(c.described())
		}
	}
	c.skips, _ = skipped(s.faults)
	if c.phv == nil {
		c.phv = new(pipe.PHV)
	}
	r := BatchResult{At: s.at}
	if c.program != nil {
		r.Result = c.program.Access(s.batch.Batch)
	}
	if f := s.batch.Done; f != nil {
		c.done = append(c.done, func() { f(r) })
	}
}

// Program returns the program that runs, with its entries as they are now, nil if
// there is none. It must not be changed.
func (c *Chip) Program() *pipe.Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.program == nil {
		return nil
	}
	return c.program.Program()
}
