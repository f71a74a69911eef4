package device

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"tamtam/saisim"
	"tamtam/saisim/pipe"
)

// A ControlStep is a control batch with the cycle at which it becomes effective.
type ControlStep struct {
	Cycle uint64 `json:"cycle"`
	pipe.Batch
}

// maxControl is the largest text that ReadControl accepts, in bytes.
const maxControl = 64 << 20

// ReadControl reads a JSON list of control steps. It rejects unknown fields by name.
func ReadControl(r io.Reader) ([]ControlStep, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxControl+1))
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	if len(text) > maxControl {
		return nil, fmt.Errorf("control: more than %d bytes", maxControl)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var steps []ControlStep
	if err := d.Decode(&steps); err != nil {
		return nil, fmt.Errorf("control: JSON near byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("control: something follows the JSON list at byte %d", d.InputOffset())
	}
	return steps, nil
}

// A ProgramReport contains what a program counted in a run.
type ProgramReport struct {
	Name  string     `json:"name"`
	Usage pipe.Usage `json:"usage"`
	// Registers holds the registers' nonzero words by index, by pipe and register name.
	Registers map[string]map[string]json.RawMessage `json:"registers"`
	// Counters holds the counters by pipe, table, and the entry's id or default.
	Counters map[string]map[string]map[string]pipe.Counter `json:"counters"`
	// Batches holds what the control steps read.
	Batches []BatchReport `json:"batches,omitempty"`
}

// A BatchReport holds what a control step read.
type BatchReport struct {
	Cycle uint64 `json:"cycle"`
	pipe.Result
}

// programs is the part of a replay that runs a program.
type programs struct{ batches []BatchReport }

// start loads the program and schedules the control steps.
func (o *programs) start(r *Replay, chip *saisim.Chip) error {
	if r.Program != nil || len(r.Faults) > 0 {
		load := saisim.Batch{Batch: pipe.Batch{Program: r.Program, Faults: r.Faults}}
		if err := chip.Control(chip.Now(), load); err != nil {
			return err
		}
	}
	last := chip.CycleAt(longest)
	for i, s := range r.Control {
		if saisim.Cycle(s.Cycle) > last {
			return fmt.Errorf("control step %d: cycle %d, want at most %d", i, s.Cycle, last)
		}
		b := saisim.Batch{Batch: s.Batch}
		b.Done = func(x saisim.BatchResult) { o.batches = append(o.batches, BatchReport{uint64(x.At), x.Result}) }
		if err := chip.Control(saisim.Cycle(s.Cycle), b); err != nil {
			return fmt.Errorf("control step %d: %w", i, err)
		}
	}
	return nil
}

// runControl advances to the last control step, if that is after the last packet.
func (r *Replay) runControl(ctx context.Context, s *Sim) error {
	if n := len(r.Control); n > 0 {
		if at := saisim.Cycle(r.Control[n-1].Cycle); at > s.Chip.Now() {
			return s.Advance(ctx, at)
		}
	}
	return nil
}

// report reads all counters and registers of the program.
func (o *programs) report(chip *saisim.Chip) (*ProgramReport, error) {
	p := chip.Program()
	if p == nil {
		if len(o.batches) > 0 {
			return &ProgramReport{Batches: o.batches}, nil
		}
		return nil, nil
	}
	prof := chip.Profile()
	rep := &ProgramReport{
		Name: p.Name, Usage: p.Usage(prof.Limits()), Batches: o.batches,
		Registers: map[string]map[string]json.RawMessage{}, Counters: map[string]map[string]map[string]pipe.Counter{},
	}
	for _, side := range []struct {
		name string
		pipe *pipe.Pipe
	}{{"ingress", &p.Ingress}, {"egress", &p.Egress}} {
		if err := rep.read(chip, side.name, side.pipe); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

func (rep *ProgramReport) read(chip *saisim.Chip, name string, pp *pipe.Pipe) error {
	var b pipe.Batch
	for _, r := range pp.Registers {
		b.Reads = append(b.Reads, pipe.RegisterRead{Pipe: name, Register: r.Name, Count: r.Depth})
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
	var res saisim.BatchResult
	if err := chip.Control(chip.Now(), saisim.Batch{Batch: b, Done: func(x saisim.BatchResult) { res = x }}); err != nil {
		return err
	}
	for i, r := range b.Reads {
		if rep.Registers[name] == nil {
			rep.Registers[name] = map[string]json.RawMessage{}
		}
		rep.Registers[name][r.Register] = sparse(res.Registers[i])
	}
	for i, x := range b.Counters {
		if rep.Counters[name] == nil {
			rep.Counters[name] = map[string]map[string]pipe.Counter{}
		}
		if rep.Counters[name][x.Table] == nil {
			rep.Counters[name][x.Table] = map[string]pipe.Counter{}
		}
		key := "default"
		if !x.Default {
			key = strconv.FormatUint(uint64(x.Entry), 10)
		}
		rep.Counters[name][x.Table][key] = res.Counters[i]
	}
	return nil
}

// sparse returns a JSON object of the nonzero words by index, in order.
func sparse(words []uint64) json.RawMessage {
	b := []byte{'{'}
	for i, w := range words {
		if w != 0 {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `"%d":%d`, i, w)
		}
	}
	return append(b, '}')
}
