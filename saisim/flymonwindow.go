package saisim

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// Bounds of what a window reads at a time.
const (
	maxReadWords   = 8192
	maxReadDigests = 512
	maxTruthFlows  = 256
)

// groupsOf returns the groups, if a task of that name is there.
func (c *Chip) groupsOf(attr, task string) (*cmu.Groups, error) {
	g := c.sketch.groups
	if g == nil || c.sketch.owners[task] == nil {
		return nil, fmt.Errorf("%s: no task %q", attr, task)
	}
	return g, nil
}

// A bankRange is a part of a unit of a task, or of its digests.
type bankRange struct {
	Task  string  `json:"task"`
	Unit  *int    `json:"unit"`
	Bank  int     `json:"bank"`
	From  uint32  `json:"from"`
	Count *uint32 `json:"count"`
}

// readRange reads an attribute that has a range, which there must be.
func readRange(text []byte, name string) (map[string]json.RawMessage, bankRange, error) {
	var r bankRange
	given, err := readExtension(text, name, &r)
	if err == nil && given == nil {
		err = fmt.Errorf("%s is missing, want a task and bank", name)
	}
	return given, r, err
}

// A registerWindow reads buckets.
type registerWindow struct {
	entry map[string]json.RawMessage
	bankRange
}

func (w *registerWindow) apply(c *Chip, text []byte) (err error) {
	next := registerWindow{}
	if next.entry, next.bankRange, err = readRange(text, "read"); err != nil {
		return err
	}
	if next.Unit == nil || next.Count == nil || *next.Count > maxReadWords {
		return fmt.Errorf("read: want a unit, and a count of at most %d buckets", maxReadWords)
	}
	if _, err := next.words(c); err != nil {
		return err
	}
	*w = next
	return nil
}

func (w *registerWindow) leave(*Chip) {}

func (w *registerWindow) words(c *Chip) ([]uint32, error) {
	g, err := c.groupsOf("read", w.Task)
	if err != nil {
		return nil, err
	}
	words, err := g.Read(w.Task, *w.Unit, w.Bank, w.From, *w.Count)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return words, nil
}

// read gives the words as they are now, null if the task is there no more, or not
// as it was when the window was set.
func (w *registerWindow) read(c *Chip) sai.Value {
	var bytes []byte // in JSON base64
	if words, err := w.words(c); err == nil {
		bytes = make([]byte, 0, 4*len(words))
		for _, x := range words {
			bytes = binary.LittleEndian.AppendUint32(bytes, x)
		}
	}
	return writeValues(w.entry, extensionValue{"words", valueJSON, bytes})
}

// A clearWindow clears a bank, or a part of one of its units, whenever it is set.
type clearWindow struct{}

func (*clearWindow) apply(c *Chip, text []byte) error {
	_, r, err := readRange(text, "clear")
	if err != nil {
		return err
	}
	g, err := c.groupsOf("clear", r.Task)
	switch {
	case err != nil:
		return err
	case r.Unit != nil && r.Count != nil:
		err = g.ClearRange(r.Task, *r.Unit, r.Bank, r.From, *r.Count)
	case r.Unit == nil && r.Count == nil && r.From == 0:
		err = g.Clear(r.Task, r.Bank)
	default:
		err = errors.New("want unit, from and count, or none of them")
	}
	if err != nil {
		return fmt.Errorf("clear: %w", err)
	}
	return nil
}

func (*clearWindow) leave(*Chip) {}

func (*clearWindow) read(*Chip) sai.Value { return nil }

// A digestWindow reads the keys that a task has sent.
type digestWindow struct {
	entry map[string]json.RawMessage
	bankRange
}

func (w *digestWindow) apply(c *Chip, text []byte) (err error) {
	next := digestWindow{}
	if next.entry, next.bankRange, err = readRange(text, "read"); err != nil {
		return err
	}
	if next.Unit != nil || next.Count != nil || next.From > math.MaxInt32 {
		return errors.New("read: want a task, a bank, and from")
	}
	if _, err := next.keys(c); err != nil {
		return err
	}
	*w = next
	return nil
}

func (w *digestWindow) leave(*Chip) {}

func (w *digestWindow) keys(c *Chip) ([]flymon.Vector, error) {
	g, err := c.groupsOf("read", w.Task)
	if err != nil {
		return nil, err
	}
	keys, err := g.Digests(w.Task, w.Bank, int(w.From), maxReadDigests)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return keys, nil
}

func (w *digestWindow) read(c *Chip) sai.Value {
	var bytes []byte
	if keys, err := w.keys(c); err == nil {
		bytes = make([]byte, 0, vectorBytes*len(keys))
		for i := range keys {
			bytes = appendVector(bytes, &keys[i])
		}
	}
	return writeValues(w.entry, extensionValue{"keys", valueJSON, bytes})
}

const vectorBytes = 8 * flymon.Words

func appendVector(b []byte, v *flymon.Vector) []byte {
	for _, w := range v {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

func parseVector(b []byte) (v flymon.Vector) {
	for i := range v {
		v[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return v
}

// A truthWindow reads what the oracle has counted.
type truthWindow struct {
	entry map[string]json.RawMessage
	truthQuestion
}

type truthQuestion struct {
	Task  string   `json:"task"`
	Bank  int      `json:"bank"`
	Flows [][]byte `json:"flows"` // base64
	// Heavy is how many of the largest flows are wanted; nil: as many as there may be.
	Heavy     *int   `json:"heavy"`
	Threshold uint64 `json:"threshold"` // flows that have so much are counted
}

func (w *truthWindow) apply(c *Chip, text []byte) (err error) {
	next := truthWindow{}
	if next.entry, err = readExtension(text, "read", &next.truthQuestion); err != nil {
		return err
	}
	if len(next.Flows) > maxTruthFlows {
		return fmt.Errorf("read: %d flows, want at most %d", len(next.Flows), maxTruthFlows)
	}
	if next.Heavy != nil && (*next.Heavy < 0 || *next.Heavy > maxTruthFlows) {
		return fmt.Errorf("read: heavy is %d, want 0 to %d", *next.Heavy, maxTruthFlows)
	}
	for i, f := range next.Flows {
		if len(f) != vectorBytes {
			return fmt.Errorf("read: flows[%d] has %d bytes, want %d", i, len(f), vectorBytes)
		}
	}
	if _, err := c.groupsOf("read", next.Task); err != nil {
		return err
	}
	*w = next
	return nil
}

func (w *truthWindow) leave(*Chip) {}

// A truthAnswer is what the window reads.
type truthAnswer struct {
	Flows    int         `json:"flows"`    // distinct
	Elements int         `json:"elements"` // distinct, where the task measures a set
	Packets  uint64      `json:"packets"`
	Overflow bool        `json:"overflow"` // more than the oracle keeps: not exact
	Entropy  float64     `json:"entropy"`  // of the values, in bits
	Values   []uint64    `json:"values"`   // of the flows asked for; of a set, 1 for its elements
	Heavy    []truthFlow `json:"heavy"`    // the largest, the first by value and then by key
	Reaching int         `json:"reaching"` // flows that have the threshold
	Largest  uint64      `json:"largest"`  // value of a flow
	Before   int         `json:"before"`   // elements of the set in the epoch before
	Shared   int         `json:"shared"`   // elements of both epochs
}

type truthFlow struct {
	Flow  []byte `json:"flow"`
	Value uint64 `json:"value"`
}

func (w *truthWindow) read(c *Chip) sai.Value {
	var answer *truthAnswer
	if g, err := c.groupsOf("read", w.Task); err == nil {
		if t, ok := g.Truth(w.Task, w.Bank); ok {
			answer = w.answer(t)
			answer.Before, answer.Shared = g.Before(w.Task, w.Bank)
			if l, ok := g.Layout(w.Task); ok && l.Flow.IsZero() { // asked for elements of its set
				for i, f := range w.Flows {
					answer.Values[i] = min(t.Elements[parseVector(f)], 1)
				}
			}
		}
	}
	return writeValues(w.entry, extensionValue{"truth", valueJSON, answer})
}

func (w *truthWindow) answer(t *cmu.Truth) *truthAnswer {
	a := &truthAnswer{Flows: len(t.Flows), Elements: len(t.Elements), Packets: t.Packets, Overflow: t.Overflow, Entropy: t.Entropy(), Values: make([]uint64, len(w.Flows))}
	for i, f := range w.Flows {
		a.Values[i] = t.Flows[parseVector(f)]
	}
	for _, n := range t.Flows {
		a.Largest = max(a.Largest, n)
		if n >= w.Threshold {
			a.Reaching++
		}
	}
	most := maxTruthFlows
	if w.Heavy != nil {
		most = *w.Heavy
	}
	if most == 0 {
		return a
	}
	keys := slices.AppendSeq(make([]flymon.Vector, 0, len(t.Flows)), maps.Keys(t.Flows))
	slices.SortFunc(keys, func(a, b flymon.Vector) int {
		if x, y := t.Flows[a], t.Flows[b]; x != y {
			if x > y {
				return -1
			}
			return 1
		}
		return slices.Compare(a[:], b[:])
	})
	for _, v := range keys[:min(len(keys), most)] {
		a.Heavy = append(a.Heavy, truthFlow{appendVector(nil, &v), t.Flows[v]})
	}
	return a
}
