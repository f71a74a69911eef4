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

// A round is one occasion to look into the chip: the windows that it opens it may
// use again and again, and close ends them.
type round struct {
	windows *feature.Windows
	ctx     context.Context
}

func (rd *reader) round(ctx context.Context) *round { return &round{rd.windows, ctx} }

// close removes the windows.
func (r *round) close() { r.windows.Close(r.ctx) }

// ask reads what a window says, by attribute. room is how long the answer is, about.
func (r *round) ask(name, attr string, value any, room int) (feature.Values, error) {
	return r.windows.Ask(r.ctx, name, attr, value, room)
}

// A clock is what a window says of the chip's time.
type clock struct {
	now     uint64 // time of day, ns since 1970
	steps   uint64 // how often the clock was set
	started uint64 // when the chip started, ns since 1970: another chip has another
}

// mostSeconds is where nanoseconds since 1970 leave an int64: in the year 2262.
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

// status asks for tasks, at most flymon.MaxChipTasks; of one that the chip does not have it
// returns nil. All is of one instant.
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

// words reads a part, at most flymon.MaxChipWords.
func (r *round) words(p part) ([]uint32, error) {
	values, err := r.ask(flymon.ObjectRegisters, flymon.AttrRead, p.chip(), 1024+(4*int(p.count)+2)/3*4)
	if err != nil {
		return nil, err
	}
	b, err := feature.Value[[]byte](values, flymon.AttrWords) // base64 is what JSON has for bytes
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

// unit reads a bank of a unit, whole.
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
	return r.windows.Tell(r.ctx, flymon.ObjectClear, flymon.AttrClear, flymon.ChipRange{Task: task, Bank: bank})
}

// clearPart zeroes words of a bank and nothing else of it.
func (r *round) clearPart(p part) error {
	return r.windows.Tell(r.ctx, flymon.ObjectClear, flymon.AttrClear, p.chip())
}

// digests reads the keys that the chip has kept of a bank, at most most.
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

// truth is what really was, by the chip's oracle.
type truth flymon.TruthAnswer

// truth asks the oracle, for flows too. It is nil if the oracle does not know, or not all.
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

// truthOf asks the oracle for at most flymon.MaxChipTruths flows.
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
