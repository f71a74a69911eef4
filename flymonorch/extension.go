package flymonorch

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tamtam/orch/feature"
	"tamtam/tam/altmark"
	"tamtam/tam/flymon"
)

// A round is a series of reads from the chip. It opens read objects and reuses them; close removes them.
type round struct {
	windows *feature.Windows
	ctx     context.Context
}

func (rd *reader) round(ctx context.Context) *round { return &round{rd.windows, ctx} }

// close removes the read objects.
func (r *round) close() { r.windows.Close(r.ctx) }

// ask reads an extension object's answer, by attribute. room is the approximate length of the answer in bytes.
func (r *round) ask(name, attr string, value any, room int) (feature.Values, error) {
	return r.windows.Ask(r.ctx, name, attr, value, room)
}

// A clock is the chip's clock in a read.
type clock struct {
	now     uint64 // time of day, ns since 1970
	steps   uint64 // number of times that the clock was set
	started uint64 // start of the chip in ns since 1970, which shows whether the chip was replaced
}

// mostSeconds is the limit beyond which nanoseconds since 1970 overflow an int64, in the year 2262.
const mostSeconds = math.MaxInt64 / 1_000_000_000

func clockOf(w []uint64) (clock, error) {
	c, err := altmark.ParseChipClock(w)
	if err == nil && c.At.Seconds >= mostSeconds {
		err = fmt.Errorf("the time %s, want seconds below %d", c.At, mostSeconds)
	}
	if err != nil {
		return clock{}, fmt.Errorf("the window returned %w", err)
	}
	return clock{now: c.At.Seconds*1e9 + uint64(c.At.Nanoseconds), steps: c.Steps, started: c.Started}, nil
}

// status reads the status of at most flymon.MaxChipTasks tasks, all at the same instant. It is nil for a task that the
// chip does not have.
func (r *round) status(tasks []string) (clock, []*flymon.ChipStatus, error) {
	values, err := r.ask(flymon.ObjectStatus, flymon.AttrTasks, tasks, 1024+700*len(tasks))
	if err != nil {
		return clock{}, nil, err
	}
	words, err := feature.Value[[]uint64](values, flymon.AttrTime)
	if err != nil {
		return clock{}, nil, err
	}
	now, err := clockOf(words)
	if err != nil {
		return clock{}, nil, err
	}
	list, err := feature.Value[[]*flymon.ChipStatus](values, flymon.AttrStatus)
	if err != nil {
		return clock{}, nil, err
	}
	if len(list) != len(tasks) {
		return clock{}, nil, fmt.Errorf("the window told of %d tasks, want %d", len(list), len(tasks))
	}
	return now, list, nil
}

// A part is a range of a unit's words in one bank.
type part struct {
	task        string
	unit, bank  int
	from, count uint32
}

func (p part) chip() flymon.ChipRange {
	return flymon.ChipRange{Task: p.task, Unit: &p.unit, Bank: p.bank, From: p.from, Count: &p.count}
}

// words reads a part of at most flymon.MaxChipWords words.
func (r *round) words(p part) ([]uint32, error) {
	values, err := r.ask(flymon.ObjectRegisters, flymon.AttrRead, p.chip(), 1024+(4*int(p.count)+2)/3*4)
	if err != nil {
		return nil, err
	}
	b, err := feature.Value[[]byte](values, flymon.AttrWords) // JSON encodes bytes as base64
	if err != nil {
		return nil, err
	}
	if len(b) != 4*int(p.count) {
		return nil, fmt.Errorf("the window returned %d bytes, want %d for %d words", len(b), 4*p.count, p.count)
	}
	words := make([]uint32, p.count)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return words, nil
}

// unit reads a complete bank of a unit.
func (r *round) unit(task string, unit, bank int, size uint32) ([]uint32, error) {
	all := make([]uint32, 0, size)
	for from := uint32(0); from < size; from += flymon.MaxChipWords {
		words, err := r.words(part{task, unit, bank, from, min(size-from, flymon.MaxChipWords)})
		if err != nil {
			return nil, err
		}
		all = append(all, words...)
	}
	return all, nil
}

// clear zeroes a bank of a task.
func (r *round) clear(task string, bank int) error {
	return r.windows.Report(r.ctx, flymon.ObjectClear, flymon.AttrClear, flymon.ChipRange{Task: task, Bank: bank})
}

// clearPart zeroes only the words of a part.
func (r *round) clearPart(p part) error {
	return r.windows.Report(r.ctx, flymon.ObjectClear, flymon.AttrClear, p.chip())
}

// digests reads at most most of the keys that the chip has stored for a bank.
func (r *round) digests(task string, bank, most int) ([]flymon.Vector, error) {
	var keys []flymon.Vector
	for len(keys) < most {
		request := flymon.ChipRange{Task: task, Bank: bank, From: uint32(len(keys))}
		values, err := r.ask(flymon.ObjectDigests, flymon.AttrRead, request,
			1024+flymon.MaxChipDigests*flymon.VectorBytes/3*4)
		if err != nil {
			return nil, err
		}
		b, err := feature.Value[[]byte](values, flymon.AttrKeys)
		if err != nil {
			return nil, err
		}
		if len(b)%flymon.VectorBytes != 0 {
			return nil, fmt.Errorf("the window returned %d bytes of keys, want a multiple of %d", len(b), flymon.VectorBytes)
		}
		for chunk := range slices.Chunk(b, flymon.VectorBytes) {
			keys = append(keys, flymon.VectorOf(chunk))
		}
		if len(b) < flymon.MaxChipDigests*flymon.VectorBytes {
			break
		}
	}
	return keys[:min(len(keys), most)], nil
}

// truth holds the exact values from the chip's oracle.
type truth flymon.TruthAnswer

// truth queries the oracle, including these flows. It returns nil if the oracle has no complete answer.
func (r *round) truth(task string, bank int, threshold uint64, flows []flymon.Vector) (*truth, error) {
	var all *truth
	for all == nil || len(flows) > 0 {
		n := min(len(flows), flymon.MaxChipTruths)
		t, err := r.truthOf(task, bank, threshold, flows[:n])
		if err != nil || t == nil {
			return nil, err
		}
		if all != nil {
			t.Values = append(all.Values, t.Values...)
		}
		all, flows = t, flows[n:]
	}
	return all, nil
}

// truthOf queries the oracle for at most flymon.MaxChipTruths flows.
func (r *round) truthOf(task string, bank int, threshold uint64, flows []flymon.Vector) (*truth, error) {
	question := flymon.TruthQuestion{
		Task: task, Bank: bank, Flows: make([][]byte, len(flows)), Heavy: new(int), Threshold: threshold,
	}
	for i, v := range flows {
		question.Flows[i] = v.Append(nil)
	}
	values, err := r.ask(flymon.ObjectTruth, flymon.AttrRead, question, 1<<16)
	if err != nil {
		return nil, err
	}
	t, err := feature.Value[*truth](values, flymon.AttrTruth)
	switch {
	case err != nil || t == nil || t.Overflow:
		return nil, err
	case len(t.Values) != len(flows):
		return nil, fmt.Errorf("the oracle told the values of %d flows, want %d", len(t.Values), len(flows))
	}
	return t, nil
}
