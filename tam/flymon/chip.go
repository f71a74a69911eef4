package flymon

import "encoding/binary"

// Names of the extension objects of a chip with CMU groups; docs/internals/extensions.md has their JSON. A
// task is configuration, the others are windows.
const (
	ObjectGroups    = "tamtam.flymon.groups"
	ObjectTask      = "tamtam.flymon.task"
	ObjectStatus    = "tamtam.flymon.status"
	ObjectRegisters = "tamtam.flymon.registers"
	ObjectClear     = "tamtam.flymon.clear"
	ObjectDigests   = "tamtam.flymon.digests"
	ObjectTruth     = "tamtam.flymon.truth" // of chips that have an oracle
)

// Objects lists the names.
func Objects() []string {
	return []string{ObjectGroups, ObjectTask, ObjectStatus, ObjectRegisters, ObjectClear, ObjectDigests, ObjectTruth}
}

// Attributes of their entries: those of requests, and those that a get returns.
const (
	AttrGroups = "groups" // nothing
	AttrTask   = "task"   // a Layout
	AttrTasks  = "tasks"  // names, at most MaxChipTasks
	AttrRead   = "read"   // a ChipRange of registers or digests, or a TruthQuestion
	AttrClear  = "clear"  // a ChipRange

	AttrGeometry = "geometry" // a Geometry
	AttrTime     = "time"     // altmark.ChipClock.Words
	AttrStatus   = "status"   // a *ChipStatus for each task, null where there is none
	AttrWords    = "words"    // registers, 4 bytes each, little-endian, in base64
	AttrKeys     = "keys"     // vectors of VectorBytes each, in base64
	AttrTruth    = "truth"    // a TruthAnswer, or null
)

// The most that one window holds: more could be longer than a list of SAI on the wire, 65536 bytes.
const (
	MaxChipTasks   = 128
	MaxChipWords   = 8192
	MaxChipDigests = 512
	MaxChipTruths  = 256
)

// A ChipRange is part of a bank of a task: of one of its units, or of its digests. Only a part of a
// unit, or the whole bank, can be cleared.
type ChipRange struct {
	Task  string  `json:"task"`
	Unit  *int    `json:"unit,omitempty"`
	Bank  int     `json:"bank"`
	From  uint32  `json:"from,omitempty"`
	Count *uint32 `json:"count,omitempty"`
}

// ChipStatus is what a chip says about a task.
type ChipStatus struct {
	// Generation changes with each change that zeroes something of the task.
	Generation uint64      `json:"generation"`
	Banks      [2]ChipBank `json:"banks"`
	// Frozen is what Banks was when the frozen partitions still counted.
	Frozen [2]ChipBank `json:"frozen"`
	// FrozenAt is the time of day of the last packet that they counted, in ns.
	FrozenAt uint64 `json:"frozen-at"`
}

// A ChipBank is the state of one bank of a task, since it was cleared.
type ChipBank struct {
	Epoch uint64 `json:"epoch"` // the last epoch that it counted, if Used
	Used  bool   `json:"used"`
	// Dirty: it began to count an epoch without having been cleared after another.
	Dirty   bool   `json:"dirty"`
	Packets uint64 `json:"packets"` // that match the filter, and the coin of any unit
	Bytes   uint64 `json:"bytes"`   // of these
	// Lost packets had no room at the recirculation port: Packets does not include them.
	Lost        uint64 `json:"lost"`
	Digests     int    `json:"digests"`      // how many there are to fetch
	DigestsLost uint64 `json:"digests-lost"` // beyond Geometry.Digests
	First       uint64 `json:"first"`        // time of day of the first packet, ns
	Last        uint64 `json:"last"`         // and of the last
}

// Of reports whether the bank holds anything of epoch n.
func (b *ChipBank) Of(n uint64) bool { return b.Used && b.Epoch == n }

// A TruthQuestion asks the oracle of a chip for a bank of a task.
type TruthQuestion struct {
	Task  string   `json:"task"`
	Bank  int      `json:"bank"`
	Flows [][]byte `json:"flows"` // vectors, at most MaxChipTruths
	// Heavy is how many of the largest flows are wanted; nil: as many as an answer may have.
	Heavy     *int   `json:"heavy"`
	Threshold uint64 `json:"threshold"` // flows that reach it are counted
}

// A TruthAnswer is the oracle's answer: what really happened.
type TruthAnswer struct {
	Flows    uint64      `json:"flows"`    // distinct
	Elements uint64      `json:"elements"` // distinct, where the task measures a set
	Packets  uint64      `json:"packets"`
	Overflow bool        `json:"overflow"` // more than the oracle keeps: not exact
	Entropy  float64     `json:"entropy"`  // of the values, in bits
	Values   []uint64    `json:"values"`   // of the flows asked for; of a set, 1 for its elements
	Heavy    []TruthFlow `json:"heavy"`    // the largest, the first by value and then by key
	Reaching uint64      `json:"reaching"` // flows at or above the threshold
	Largest  uint64      `json:"largest"`  // the largest value of a flow
	Before   uint64      `json:"before"`   // elements of the set in the previous epoch
	Shared   uint64      `json:"shared"`   // elements of both epochs
}

// A TruthFlow is a flow and its value.
type TruthFlow struct {
	Flow  []byte `json:"flow"`
	Value uint64 `json:"value"`
}

// VectorBytes is the length of a vector in bytes.
const VectorBytes = 8 * Words

// Append appends the bytes of a vector.
func (v *Vector) Append(b []byte) []byte {
	for _, w := range v {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

// VectorOf reads the bytes of a vector, of which there must be [VectorBytes].
func VectorOf(b []byte) (v Vector) {
	for i := range v {
		v[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return v
}
