package flymonorch

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/tam/flymon"
)

// Names of the extensions of SAI that FlyMon uses; docs/extensions.md.
const (
	ObjectGroups    = "tamtam.flymon.groups"
	ObjectTask      = "tamtam.flymon.task"
	ObjectStatus    = "tamtam.flymon.status"
	ObjectRegisters = "tamtam.flymon.registers"
	ObjectClear     = "tamtam.flymon.clear"
	ObjectDigests   = "tamtam.flymon.digests"
	ObjectTruth     = "tamtam.flymon.truth"
)

// What one window holds at most: more may be longer than a list of SAI on the
// wire, 65536 bytes.
const (
	windowTasks   = 128
	windowWords   = 8192
	windowDigests = 512
	windowTruths  = 256
	timeWords     = 5
	vectorBytes   = 8 * flymon.Words
)

// remove ends an extension object; one that is not there is no error.
func (o *Orch) remove(ctx context.Context, oid sai.OID) error {
	err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeGenericProgrammable, oid))
	if err != nil && orch.Classify(err) == orch.Benign {
		return nil
	}
	return err
}

// A round is one occasion to look into the chip: the windows that it opens it may
// use again and again, and close ends them.
type round struct {
	o    *Orch
	ctx  context.Context
	open map[string]sai.OID // by the extension's name
}

func (o *Orch) round(ctx context.Context) *round {
	return &round{o: o, ctx: ctx, open: map[string]sai.OID{}}
}

// close removes the windows, also those that could not be removed before.
func (r *round) close() error {
	clear(r.open)
	return r.o.dropWindows(r.ctx)
}

func (o *Orch) dropWindows(ctx context.Context) error {
	var errs []error
	o.windows = slices.DeleteFunc(o.windows, func(oid sai.OID) bool {
		err := o.remove(ctx, oid)
		if err != nil {
			errs = append(errs, fmt.Errorf("remove a window: %w", err))
		}
		return err == nil
	})
	if len(errs) > 0 {
		o.dropAt = o.daemon.Now().Add(tryAgain)
	}
	return errors.Join(errs...)
}

// say opens a window with what it is to read, or sets one that is open; that is all
// there is to a window that is a command.
func (r *round) say(name, attr string, value any) (sai.OID, error) {
	entry, err := orch.ExtensionEntry(attr, value)
	if err != nil {
		return 0, err
	}
	if oid, ok := r.open[name]; ok {
		if err := orch.SetExtension(r.ctx, r.o.api, oid, entry); err != nil {
			return 0, fmt.Errorf("set the window %s: %w", name, err)
		}
		return oid, nil
	}
	oid, err := orch.CreateExtension(r.ctx, r.o.api, name, entry)
	if err != nil {
		return 0, fmt.Errorf("create the window %s: %w", name, err)
	}
	r.open[name] = oid
	r.o.windows = append(r.o.windows, oid)
	return oid, nil
}

// ask reads what a window says, by attribute. room is how long the answer is, about.
func (r *round) ask(name, attr string, value any, room int) (map[string]json.RawMessage, error) {
	oid, err := r.say(name, attr, value)
	if err != nil {
		return nil, err
	}
	text, err := orch.ReadExtension(r.ctx, r.o.api, oid, room)
	if err != nil {
		return nil, fmt.Errorf("read the window %s: %w", name, err)
	}
	values, err := orch.ParseExtension(text)
	if err != nil {
		return nil, fmt.Errorf("the window %s returned %w", name, err)
	}
	return values, nil
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
	switch {
	case len(w) != timeWords:
		return clock{}, fmt.Errorf("the window returned %d numbers as time, want %d", len(w), timeWords)
	case w[0] >= mostSeconds || w[1] >= 1e9:
		return clock{}, fmt.Errorf("the window returned the time %d s %d ns, want seconds below %d and nanoseconds below 10^9", w[0], w[1], mostSeconds)
	}
	return clock{now: w[0]*1e9 + w[1], steps: w[3], started: w[4]}, nil
}

// status is what the chip says of a task.
type status struct {
	Generation uint64  `json:"generation"`
	Banks      [2]bank `json:"banks"`
	Frozen     [2]bank `json:"frozen"`
	FrozenAt   uint64  `json:"frozen-at"`
}

// A bank is what the chip says of one of a task's banks.
type bank struct {
	Epoch       uint64 `json:"epoch"`
	Used        bool   `json:"used"`
	Dirty       bool   `json:"dirty"`
	Packets     uint64 `json:"packets"`
	Bytes       uint64 `json:"bytes"`
	Lost        uint64 `json:"lost"`
	DigestsLost uint64 `json:"digests-lost"`
	Digests     int    `json:"digests"`
}

// of says whether something of epoch n is in the bank.
func (b *bank) of(n uint64) bool { return b.Used && b.Epoch == n }

// status asks for tasks, at most windowTasks; of one that the chip does not have it
// returns nil. All is of one instant.
func (r *round) status(tasks []string) (clock, []*status, error) {
	values, err := r.ask(ObjectStatus, "tasks", tasks, 1024+700*len(tasks))
	if err != nil {
		return clock{}, nil, err
	}
	words, err := orch.ExtensionValue[[]uint64](values, "time")
	if err != nil {
		return clock{}, nil, err
	}
	now, err := clockOf(words)
	if err != nil {
		return clock{}, nil, err
	}
	list, err := orch.ExtensionValue[[]*status](values, "status")
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
	Task  string `json:"task"`
	Unit  int    `json:"unit"`
	Bank  int    `json:"bank"`
	From  uint32 `json:"from"`
	Count uint32 `json:"count"`
}

// words reads a part, at most windowWords.
func (r *round) words(p part) ([]uint32, error) {
	values, err := r.ask(ObjectRegisters, "read", p, 1024+(4*int(p.Count)+2)/3*4)
	if err != nil {
		return nil, err
	}
	b, err := orch.ExtensionValue[[]byte](values, "words") // base64 is what JSON has for bytes
	if err != nil {
		return nil, err
	}
	if len(b) != 4*int(p.Count) {
		return nil, fmt.Errorf("the window returned %d bytes, want %d for %d words", len(b), 4*p.Count, p.Count)
	}
	words := make([]uint32, p.Count)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return words, nil
}

// unit reads a bank of a unit, whole.
func (r *round) unit(task string, unit, bank int, size uint32) ([]uint32, error) {
	all := make([]uint32, 0, size)
	for from := uint32(0); from < size; from += windowWords {
		words, err := r.words(part{task, unit, bank, from, min(size-from, windowWords)})
		if err != nil {
			return nil, err
		}
		all = append(all, words...)
	}
	return all, nil
}

// clear zeroes a bank of a task.
func (r *round) clear(task string, bank int) error {
	_, err := r.say(ObjectClear, "clear", map[string]any{"task": task, "bank": bank})
	return err
}

// clearPart zeroes words of a bank and nothing else of it.
func (r *round) clearPart(p part) error {
	_, err := r.say(ObjectClear, "clear", p)
	return err
}

// digests reads the keys that the chip has kept of a bank, at most most.
func (r *round) digests(task string, bank, most int) ([]flymon.Vector, error) {
	var keys []flymon.Vector
	for len(keys) < most {
		request := map[string]any{"task": task, "bank": bank, "from": len(keys)}
		values, err := r.ask(ObjectDigests, "read", request, 1024+windowDigests*vectorBytes/3*4)
		if err != nil {
			return nil, err
		}
		b, err := orch.ExtensionValue[[]byte](values, "keys")
		if err != nil {
			return nil, err
		}
		if len(b)%vectorBytes != 0 {
			return nil, fmt.Errorf("the window returned %d bytes of keys, want a multiple of %d", len(b), vectorBytes)
		}
		for chunk := range slices.Chunk(b, vectorBytes) {
			keys = append(keys, vectorOf(chunk))
		}
		if len(b) < windowDigests*vectorBytes {
			break
		}
	}
	return keys[:min(len(keys), most)], nil
}

func vectorOf(b []byte) (v flymon.Vector) {
	for i := range v {
		v[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return v
}

func vectorText(v flymon.Vector) string {
	var b []byte
	for _, w := range v {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// truth is what really was, by the chip's oracle.
type truth struct {
	Flows    uint64   `json:"flows"`    // distinct
	Elements uint64   `json:"elements"` // distinct, of the attribute's key
	Packets  uint64   `json:"packets"`
	Overflow bool     `json:"overflow"` // there was more than the oracle keeps
	Entropy  float64  `json:"entropy"`
	Values   []uint64 `json:"values"`   // of the flows that were asked for
	Reaching uint64   `json:"reaching"` // flows at or above the threshold
	Largest  uint64   `json:"largest"`  // value of a flow
	Before   uint64   `json:"before"`   // elements of a set in the epoch before
	Shared   uint64   `json:"shared"`   // elements of both epochs
}

// truth asks the oracle, for flows too. It is nil if the oracle does not know, or not all.
func (r *round) truth(task string, bank int, threshold uint64, flows []flymon.Vector) (*truth, error) {
	var all *truth
	for all == nil || len(flows) > 0 {
		n := min(len(flows), windowTruths)
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

// truthOf asks the oracle for at most windowTruths flows.
func (r *round) truthOf(task string, bank int, threshold uint64, flows []flymon.Vector) (*truth, error) {
	texts := make([]string, len(flows))
	for i, v := range flows {
		texts[i] = vectorText(v)
	}
	question := map[string]any{"task": task, "bank": bank, "flows": texts, "heavy": 0, "threshold": threshold}
	values, err := r.ask(ObjectTruth, "read", question, 1<<16)
	if err != nil {
		return nil, err
	}
	t, err := orch.ExtensionValue[*truth](values, "truth")
	switch {
	case err != nil || t == nil || t.Overflow:
		return nil, err
	case len(t.Values) != len(flows):
		return nil, fmt.Errorf("the oracle told the values of %d flows, want %d", len(t.Values), len(flows))
	}
	return t, nil
}
