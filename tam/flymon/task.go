package flymon

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Task is a measurement that a user configured.
type Task struct {
	Filter    Filter
	Key       Key
	Attribute Attribute
	Algorithm Algorithm // Auto lets the planner choose
	Memory    uint32    // buckets of one bank, of all rows together
	Rows      uint8     // zero means the algorithm's default
	// Accurate means that at least Memory buckets are allocated. If it is false, the nearest size is used.
	Accurate bool
	Epoch    time.Duration // zero means that the task counts until it is cleared
	// Threshold defines heavy hitters, or is the number of distinct values to report. Zero means none.
	Threshold uint64
	// ChangeThreshold defines heavy changers: flows whose counts in two adjacent epochs differ by this much. Zero means
	// none.
	ChangeThreshold uint64
	// Live means that the bank that counts is read, instead of the frozen bank. It shows the error of such reads.
	Live bool
	// Share n restricts the task to 2^-n of the packets, so that tasks with overlapping filters can share a CMU
	// (section 5.3). Zero means all packets.
	Share uint8
	// Shifted means that addresses are translated by shift instead of by TCAM (section 3.3).
	Shifted bool
	// Pinned prevents the planner from moving the task. The task moves only if its key, filter or attribute changes.
	Pinned bool
	// Plan means that the task's cost and placement are only reported, and the task is not installed.
	Plan bool
}

// Attribute is the property that is measured per flow, or over all packets if the key is none.
type Attribute struct {
	Kind Kind
	Of   Key // key whose values Distinct, Existence and Similarity count or store
}

// Kind is a kind of attribute.
type Kind string

// Kinds of attributes.
const (
	Packets   Kind = "frequency"        // packets of each flow
	Bytes     Kind = "frequency(bytes)" // bytes of each flow, with FCS
	Distinct  Kind = "distinct"         // distinct values of a key
	Existence Kind = "existence"        // membership of a key; the task's key is none
	// similarity of a key's sets in two epochs or switches; the task's key is none
	Similarity  Kind = "similarity"
	MaxQueue    Kind = "max(queue-length)" // greatest queue length in bytes
	MaxDelay    Kind = "max(queue-delay)"  // greatest queueing delay in ns
	MaxSize     Kind = "max(size)"         // greatest frame size in bytes, with FCS
	MaxInterval Kind = "max(interval)"     // greatest time in ns between two packets of a flow
)

// AttributeWords describes the syntax of an attribute.
const AttributeWords = "frequency, frequency(bytes), distinct(KEY), existence(KEY), similarity(KEY), " +
	"max(queue-length), max(queue-delay), max(size) or max(interval), where KEY is a key such as src-ip"

// ParseAttribute parses an attribute in the syntax of [AttributeWords].
func ParseAttribute(s string) (Attribute, error) {
	switch k := Kind(s); k {
	case Packets, Bytes, MaxQueue, MaxDelay, MaxSize, MaxInterval:
		return Attribute{Kind: k}, nil
	}
	if s == "frequency(packets)" {
		return Attribute{Kind: Packets}, nil
	}
	kind, rest, ok := strings.Cut(s, "(")
	of, closed := strings.CutSuffix(rest, ")")
	if k := Kind(kind); ok && closed && (k == Distinct || k == Existence || k == Similarity) {
		key, err := ParseKey(of)
		if err != nil {
			return Attribute{}, fmt.Errorf("attribute %q: %w", s, err)
		}
		if key.IsZero() {
			return Attribute{}, fmt.Errorf("attribute %q, want a key with fields", s)
		}
		return Attribute{k, key}, nil
	}
	return Attribute{}, fmt.Errorf("attribute %q, want %s", s, AttributeWords)
}

// String returns an attribute in the syntax of ParseAttribute.
func (a Attribute) String() string {
	if a.Of.IsZero() {
		return string(a.Kind)
	}
	return fmt.Sprintf("%s(%s)", a.Kind, a.Of)
}

// Algorithm is a built-in algorithm.
type Algorithm string

// Algorithms, with the default number of rows of each.
const (
	Auto           Algorithm = "auto"            // the planner chooses the first of AlgorithmsOf
	CMS            Algorithm = "cms"             // Count-Min Sketch, 3 rows
	SuMaxSum       Algorithm = "sumax-sum"       // SuMax(Sum), 3 rows in 3 groups
	SuMaxMax       Algorithm = "sumax-max"       // SuMax(Max), 3 rows
	MRAC           Algorithm = "mrac"            // 1 row
	Tower          Algorithm = "tower"           // TowerSketch, 3 rows of counters of different width
	CounterBraids  Algorithm = "counter-braids"  // 3 rows of 2 layers, in 2 groups
	HyperLogLog    Algorithm = "hll"             // 1 row
	LinearCounting Algorithm = "linear-counting" // 1 row of bits
	BeauCoup       Algorithm = "beaucoup"        // 3 coupon tables
	Bloom          Algorithm = "bloom"           // 3 rows of bits
	MaxInterArr    Algorithm = "max-interval"    // 3 instances of 3 CMUs in 3 groups
	OddSketch      Algorithm = "odd-sketch"      // 1 row of bits after a Bloom filter, in 2 groups
)

// AlgorithmsOf returns the algorithms for an attribute. The first one is the choice of Auto. Distinct has other
// algorithms if all packets are one flow (single).
func AlgorithmsOf(a Attribute, single bool) []Algorithm {
	switch a.Kind {
	case Packets:
		return []Algorithm{CMS, SuMaxSum, MRAC, Tower, CounterBraids}
	case Bytes:
		return []Algorithm{CMS, SuMaxSum}
	case Distinct:
		if single {
			return []Algorithm{HyperLogLog, LinearCounting, BeauCoup}
		}
		return []Algorithm{BeauCoup}
	case Existence:
		return []Algorithm{Bloom}
	case Similarity:
		return []Algorithm{OddSketch}
	case MaxInterval:
		return []Algorithm{MaxInterArr}
	case MaxQueue, MaxDelay, MaxSize:
		return []Algorithm{SuMaxMax}
	}
	return nil
}

// Algorithms returns all algorithms.
func Algorithms() []Algorithm {
	return []Algorithm{
		Auto, CMS, SuMaxSum, SuMaxMax, MRAC, Tower, CounterBraids, HyperLogLog, LinearCounting, BeauCoup, Bloom,
		MaxInterArr, OddSketch,
	}
}

// Limits and defaults of a task.
const (
	DefaultMemory = 3 * 16384   // buckets
	MaxMemory     = 1 << 26     // buckets
	DefaultEpoch  = time.Second // MinEpoch to MaxEpoch are valid
	MaxRows       = 3
	MaxShare      = 7 // 1/128 of the packets
)

// Check returns all errors of a task that hold on any chip.
func (t *Task) Check() error {
	var bad faults
	t.checkKey(&bad)
	if of := AlgorithmsOf(t.Attribute, t.Key.IsZero()); t.Algorithm != Auto && !slices.Contains(of, t.Algorithm) {
		bad.add("algorithm %s does not measure %s with the key %s, want auto or one of %v",
			t.Algorithm, t.Attribute, t.Key, of)
	}
	t.checkNumbers(&bad)
	if t.Attribute.Kind == Distinct && !t.Key.IsZero() && t.Threshold == 0 {
		bad.add("threshold is 0, want the number of distinct values that is too many: the coupons of BeauCoup depend on it")
	}
	return errors.Join(bad...)
}

// checkKey checks the key against the attribute: some attributes need a key, some forbid it, some allow both.
func (t *Task) checkKey(bad *faults) {
	switch t.Attribute.Kind {
	case Existence, Similarity:
		if !t.Key.IsZero() {
			bad.add("key is %s, want none: %s is asked of its own key", t.Key, t.Attribute)
		}
	case Distinct, MaxQueue, MaxDelay, MaxSize: // both per flow and over all packets
	default:
		if t.Key.IsZero() {
			bad.add("key is none, want the fields that identify a flow: %s is measured for each flow", t.Attribute)
		}
	}
}

// checkNumbers checks the limits of rows, memory, epoch and share.
func (t *Task) checkNumbers(bad *faults) {
	if t.Rows > MaxRows {
		bad.add("rows is %d, want 1 to %d", t.Rows, MaxRows)
	}
	if t.Memory == 0 || t.Memory > MaxMemory {
		bad.add("memory is %d, want 1 to %d buckets", t.Memory, MaxMemory)
	}
	if t.Epoch != 0 && (t.Epoch < MinEpoch || t.Epoch > MaxEpoch) {
		bad.add("epoch is %v, want 0 or %v to %v", t.Epoch, time.Duration(MinEpoch), time.Duration(MaxEpoch))
	}
	if t.Live && t.Epoch == 0 {
		bad.add("readout is live without an epoch, want an epoch to read at")
	}
	if t.ChangeThreshold > 0 {
		t.checkChange(bad)
	}
	if t.Share > MaxShare {
		bad.add("share is 1/%d, want at least 1/%d", uint64(1)<<min(t.Share, 63), 1<<MaxShare)
	}
}

// checkChange checks what tasks for heavy changers need: counts of flows in two complete epochs.
func (t *Task) checkChange(bad *faults) {
	if k := t.Attribute.Kind; k != Packets && k != Bytes {
		bad.add("change-threshold is %d with the attribute %s, want 0, or %s or %s", t.ChangeThreshold, t.Attribute, Packets,
			Bytes)
	}
	if t.Epoch == 0 {
		bad.add("change-threshold is %d without an epoch, want one: two epochs are compared", t.ChangeThreshold)
	}
	if t.Live {
		bad.add("change-threshold is %d with readout live, want banked: only whole epochs are compared", t.ChangeThreshold)
	}
}
