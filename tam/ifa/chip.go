package ifa

// ObjectCounters is the name of the extension object with the fate of IFA packets, per TAM_INT object. Its JSON is in
// docs/internals/extensions.md.
const ObjectCounters = "tamtam.ifa.counters"

// Attributes of its entry: the caller sets the first, and a get adds the second.
const (
	AttrLabels   = "labels"   // at most MaxLabels
	AttrCounters = "counters" // NumCounts numbers for each label
)

// MaxLabels is the maximum number of labels in one read.
const MaxLabels = 128

// A Count is the index of one of an object's counters.
type Count uint8

// Counters of packets and copies. Each matched packet was unsampled, already had IFA, had no IFA, or had copies. Each
// copy counts in the first of Inserted to MTU that applies.
const (
	Matched     Count = iota // packets that hit an entry with the object
	Unsampled                // matched packets that sampling left out
	Already                  // matched packets that an initiator left unchanged, because they had IFA
	Absent                   // matched packets in which a terminator found no IFA
	Inserted                 // copies that left with a hop of this switch
	Stripped                 // copies that left without IFA
	Cut                      // copies left unchanged because a capture truncated them
	Unsupported              // copies left unchanged: no TCP or UDP directly after the IP header, or another form of IFA
	HopLimit                 // copies left unchanged: the hop limit is 0
	MaxLength                // copies left unchanged: the stack has its maximum length
	MTU                      // copies left unchanged: with the hop, the packet would exceed the egress port's MTU
	Reported                 // stripped copies whose stack was reported to collectors
	NumCounts
)
