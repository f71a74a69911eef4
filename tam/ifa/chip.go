package ifa

// ObjectCounters is the name of the extension object that reads what became of the packets that IFA met, by TAM_INT
// object; docs/internals/extensions.md has its JSON.
const ObjectCounters = "tamtam.ifa.counters"

// Attributes of its entry: what is given, and what a get adds.
const (
	AttrLabels   = "labels"   // at most MaxLabels
	AttrCounters = "counters" // NumCounts numbers for each label
)

// MaxLabels are the labels of one window.
const MaxLabels = 128

// A Count is one of the numbers of an object.
type Count uint8

// What became of packets and copies. All that matched were not sampled, were already of IFA, were not of IFA, or had
// copies; of each copy one of those from Inserted to MTU holds, the first that does.
const (
	Matched     Count = iota // packets that hit an entry with the object
	Unsampled                // of those, they were not the one in n
	Already                  // of those, an initiator left them alone, for they had IFA
	Absent                   // of those, a terminator found no IFA in them
	Inserted                 // copies that left with a hop of this switch
	Stripped                 // copies that left without IFA
	Cut                      // left alone: cut by a capture
	Unsupported              // left alone: no TCP or UDP right behind the IP header, or IFA of another form
	HopLimit                 // left alone: the hop limit is 0
	MaxLength                // left alone: the stack may not get longer
	MTU                      // left alone: with the hop it would exceed the egress port's MTU
	Reported                 // copies with the stack for collectors; those of Stripped
	NumCounts
)
