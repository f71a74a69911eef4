package tailstamp

// Names of the extension objects that reserve space for records in TCP segments. Their JSON is in
// docs/internals/extensions.md.
const (
	ObjectClamp = "tamtam.tailstamp.clamp" // lowers the MSS in segments with SYN
	ObjectSYNs  = "tamtam.tailstamp.syns"  // reads the results for these segments, by label of clamps
)

// AttrClamp is the attribute of a clamp's entry. Register reads have [AttrLabels], and a get adds [AttrCounters].
const AttrClamp = "clamp"

// A Clamp is the value of AttrClamp.
type Clamp struct {
	Label   string `json:"label"`   // label by which its counters are read
	Records int    `json:"records"` // number of records that must fit
	Filter  string `json:"filter"`  // packets that it applies to, in the syntax of FlyMon's filters
}

// These constants are the maximum length of a label in bytes, and the maximum number of records.
const (
	MaxClampLabel = 64
	MaxRecords    = 8
)

// MinMSS is the least MSS that a clamp writes. It is the MSS of a datagram of 256 bytes with IPv4 and TCP headers
// without options.
const MinMSS = 216

// A SYNCount is the index of a counter of a label. The first counter is the sum of all others.
type SYNCount uint8

// These are the results for a segment with SYN that matches a clamp.
const (
	SYNSeen      SYNCount = iota
	SYNClamped            // its MSS was lowered
	SYNSmall              // its MSS is small enough already
	SYNWithout            // it has no MSS option
	SYNMalformed          // its options are malformed, or it has two MSS options
	SYNCut                // it is a fragment, or was truncated by a capture
	SYNNoRoom             // the new MSS would be below MinMSS
	NumSYNCounts
)
