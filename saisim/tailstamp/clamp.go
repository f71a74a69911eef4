package tailstamp

// Names of the extension objects that make room for records in TCP segments; docs/internals/extensions.md has their
// JSON.
const (
	ObjectClamp = "tamtam.tailstamp.clamp" // lowers the MSS in segments with SYN
	ObjectSYNs  = "tamtam.tailstamp.syns"  // reads what became of these, by label of clamps
)

// AttrClamp is the attribute of a clamp's entry. Windows have [AttrLabels], and a get adds [AttrCounters].
const AttrClamp = "clamp"

// A Clamp is the value of AttrClamp.
type Clamp struct {
	Label   string `json:"label"`   // by which its counters are read
	Records int    `json:"records"` // for how many there is to be room
	Filter  string `json:"filter"`  // which packets, in the words of FlyMon's filters
}

// Bounds of a clamp: how long a label may be, in bytes, and for how many records there may be room.
const (
	MaxClampLabel = 64
	MaxRecords    = 8
)

// MinMSS is the least that a clamp writes: what a datagram of 256 bytes has room for behind headers of IPv4 and TCP
// without options.
const MinMSS = 216

// A SYNCount is one of the numbers of a label. All but the first add up to the first.
type SYNCount uint8

// What became of a segment with SYN that a clamp saw.
const (
	SYNSeen      SYNCount = iota
	SYNClamped            // its MSS was lowered
	SYNSmall              // its MSS leaves room as it is
	SYNWithout            // it has no MSS option
	SYNMalformed          // its options are not well-formed, or it has the MSS twice
	SYNCut                // it is a fragment, or was cut by a capture
	SYNNoRoom             // less than MinMSS would be left
	NumSYNCounts
)
