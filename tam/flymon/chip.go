package flymon

import "encoding/binary"

// Names of the extension objects of a chip with CMU groups. Their JSON is in docs/internals/extensions.md. A task is
// configuration, the others are register reads.
const (
	ObjectGroups    = "tamtam.flymon.groups"
	ObjectTask      = "tamtam.flymon.task"
	ObjectStatus    = "tamtam.flymon.status"
	ObjectRegisters = "tamtam.flymon.registers"
	ObjectClear     = "tamtam.flymon.clear"
	ObjectDigests   = "tamtam.flymon.digests"
	ObjectTruth     = "tamtam.flymon.truth" // only on chips with an oracle
)

// Objects lists the names.
func Objects() []string {
	return []string{ObjectGroups, ObjectTask, ObjectStatus, ObjectRegisters, ObjectClear, ObjectDigests, ObjectTruth}
}

// Attributes of their entries. The first group belongs to requests, the second is returned by a get.
const (
	AttrGroups = "groups" // an entry without a value
	AttrTask   = "task"   // a Layout
	AttrTasks  = "tasks"  // task names, at most MaxChipTasks
	AttrRead   = "read"   // a ChipRange of registers or digests, or a TruthQuestion
	AttrClear  = "clear"  // a ChipRange

	AttrGeometry = "geometry" // a Geometry
	AttrTime     = "time"     // altmark.ChipClock.Words
	AttrStatus   = "status"   // a *ChipStatus per task, null for an unknown task
	AttrWords    = "words"    // registers, 4 bytes each, little-endian, in base64
	AttrKeys     = "keys"     // vectors of VectorBytes bytes each, in base64
	AttrTruth    = "truth"    // a TruthAnswer, or null
)

// Maximum sizes of one read or write. More could exceed the length of a SAI list on the wire, 65536 bytes.
const (
	MaxChipTasks   = 128
	MaxChipWords   = 8192
	MaxChipDigests = 512
	MaxChipTruths  = 256
)

// A ChipRange is a part of a task's bank: of one of its units, or of its digests. A clear accepts only a part of a
// unit, or the whole bank.
type ChipRange struct {
	Task  string  `json:"task"`
	Unit  *int    `json:"unit,omitempty"`
	Bank  int     `json:"bank"`
	From  uint32  `json:"from,omitempty"`
	Count *uint32 `json:"count,omitempty"`
}

// ChipStatus is the chip's state of a task.
type ChipStatus struct {
	// Generation changes with each change that zeroes a part of the task's state.
	Generation uint64      `json:"generation"`
	Banks      [2]ChipBank `json:"banks"`
	// Frozen is the value that Banks had when the frozen partitions still counted.
	Frozen [2]ChipBank `json:"frozen"`
	// FrozenAt is the time of day of the last packet that the frozen partitions counted, in ns since 1970.
	FrozenAt uint64 `json:"frozen-at"`
}

// A ChipBank is the state of one bank of a task since its last clear.
type ChipBank struct {
	Epoch uint64 `json:"epoch"` // last epoch that the bank counted; valid if Used
	Used  bool   `json:"used"`
	// Dirty means that the bank began to count an epoch without a clear after another one.
	Dirty   bool   `json:"dirty"`
	Packets uint64 `json:"packets"` // packets that match the filter and the coin of any unit
	Bytes   uint64 `json:"bytes"`   // bytes of these packets
	// Lost counts packets that did not fit in the recirculation port. Packets excludes them.
	Lost        uint64 `json:"lost"`
	Digests     int    `json:"digests"`      // number of digests that can be fetched
	DigestsLost uint64 `json:"digests-lost"` // number of digests beyond Geometry.Digests
	First       uint64 `json:"first"`        // time of day of the first packet, in ns
	Last        uint64 `json:"last"`         // time of day of the last packet, in ns
}

// Of reports whether the bank contains counts of epoch n.
func (b *ChipBank) Of(n uint64) bool { return b.Used && b.Epoch == n }

// A TruthQuestion is a query to the chip's oracle for a bank of a task.
type TruthQuestion struct {
	Task  string   `json:"task"`
	Bank  int      `json:"bank"`
	Flows [][]byte `json:"flows"` // vectors, at most MaxChipTruths
	// Heavy is the requested number of largest flows. Nil means as many as fit in an answer.
	Heavy     *int   `json:"heavy"`
	Threshold uint64 `json:"threshold"` // the answer counts the flows whose value is at or above Threshold
}

// A TruthAnswer is the exact answer of the oracle.
type TruthAnswer struct {
	Flows    uint64      `json:"flows"`    // number of distinct flows
	Elements uint64      `json:"elements"` // number of distinct elements, if the task measures a set
	Packets  uint64      `json:"packets"`
	Overflow bool        `json:"overflow"` // true if the oracle's memory did not suffice, so the answer is not exact
	Entropy  float64     `json:"entropy"`  // entropy of the values, in bits
	Values   []uint64    `json:"values"`   // values of the flows in the question; for a set, 1 for its elements
	Heavy    []TruthFlow `json:"heavy"`    // the largest flows, ordered by value and then by key
	Reaching uint64      `json:"reaching"` // number of flows at or above the threshold
	Largest  uint64      `json:"largest"`  // the largest value of a flow
	Before   uint64      `json:"before"`   // number of elements of the set in the previous epoch
	Shared   uint64      `json:"shared"`   // number of elements in both epochs
}

// A TruthFlow is a flow and its value.
type TruthFlow struct {
	Flow  []byte `json:"flow"`
	Value uint64 `json:"value"`
}

// VectorBytes is the length of an encoded vector in bytes.
const VectorBytes = 8 * Words

// Append appends the encoded vector to b.
func (v *Vector) Append(b []byte) []byte {
	for _, w := range v {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

// VectorOf decodes a vector from [VectorBytes] bytes.
func VectorOf(b []byte) (v Vector) {
	for i := range v {
		v[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return v
}
