package reference_test

import (
	"errors"
	"fmt"
	"reflect"

	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/pipe/pipetest"
)

// A programmer gives both engines random programs and control batches.
type programmer struct {
	opt     pipetest.Options
	program *pipe.Program // the program after all batches
	last    saisim.Cycle  // cycle at which the last batch takes effect

	batches    int
	programmed bool
	fast       []*pipe.Result // nil for a batch without a result yet
	refReads   []*pipe.Result
}

// control schedules a random batch for a cycle soon.
func (p *pair) control(within uint64) error {
	at, r := max(p.last, p.chip.Now()+saisim.Cycle(p.Uint64N(within+1))), p.Rand
	if p.passive != nil {
		r = p.passive
	}
	return p.batch(at, pipetest.Batch(r, p.opt, p.program))
}

var errRefused = errors.New("a random batch is refused")

// batch gives both engines a batch.
func (p *pair) batch(at saisim.Cycle, b pipe.Batch) error {
	i := len(p.fast)
	p.fast = append(p.fast, nil)
	fast := saisim.Batch{Batch: b, Done: func(r saisim.BatchResult) { p.fast[i] = &r.Result }}
	if err := p.chip.Control(at, fast); err != nil {
		p.fast = p.fast[:i]
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	ref, err := p.ref.Control(at, b)
	if err != nil {
		return err
	}
	p.refReads = append(p.refReads, ref)
	p.last = at
	p.batches++
	p.controlled(b)
	switch {
	case b.Unload:
		p.program = nil
	case b.Program != nil:
		p.saw["programs"]++
		p.program = b.Program
	}
	if len(b.Entries) > 0 {
		p.program, err = p.program.Apply(b.Entries)
	}
	p.graphOf(p.program)
	return err
}

// readAll makes both engines read every register and counter.
func (p *pair) readAll() error {
	if p.program == nil {
		return nil
	}
	return p.batch(max(p.last, p.chip.Now()), everything(p.program))
}

// everything returns a batch that reads every register and counter of a program.
func everything(program *pipe.Program) (b pipe.Batch) {
	for _, name := range []string{"ingress", "egress"} {
		pp := &program.Ingress
		if name == "egress" {
			pp = &program.Egress
		}
		for _, r := range pp.Registers {
			b.Reads = append(b.Reads, pipe.RegisterRead{Pipe: name, Register: r.Name, Count: min(r.Depth, 4096)})
		}
		for _, t := range pp.Tables {
			if !t.Counters {
				continue
			}
			b.Counters = append(b.Counters, pipe.CounterRead{Pipe: name, Table: t.Name, Default: true})
			for _, e := range t.Entries {
				b.Counters = append(b.Counters, pipe.CounterRead{Pipe: name, Table: t.Name, Entry: e.ID})
			}
		}
	}
	return b
}

// compareReads returns an error if the reads of batches differ.
func (p *pair) compareReads() error {
	for i, f := range p.fast {
		r := p.refReads[i]
		if f == nil {
			return fmt.Errorf("batch %d has not taken effect", i)
		}
		for j := range r.Registers {
			if !reflect.DeepEqual(f.Registers[j], r.Registers[j]) {
				return fmt.Errorf("batch %d of %d, read %d: fast %v, reference %v", i, len(p.fast), j, f.Registers[j],
					r.Registers[j])
			}
		}
		for j := range r.Counters {
			if f.Counters[j] != r.Counters[j] {
				return fmt.Errorf("batch %d of %d, counter %d: fast %v, reference %v", i, len(p.fast), j, f.Counters[j],
					r.Counters[j])
			}
		}
	}
	return nil
}
