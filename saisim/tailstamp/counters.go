package tailstamp

// ObjectCounters is the name of the extension object that reads what became of the packets that
// tail-stamping matched, by label of ACL counter; docs/internals/extensions.md has its JSON.
const ObjectCounters = "tamtam.tailstamp.counters"

// Attributes of its entry: what is given, and what a get adds.
const (
	AttrLabels   = "labels"   // at most MaxLabels
	AttrCounters = "counters" // CounterWords numbers for each label
)

// MaxLabels are the labels of one window.
const MaxLabels = 128

// The numbers that a window has for each label, of one instant: five of what became of copies,
// from WordMatched what the ACL counter has counted, packets and bytes, and one that is 0.
const (
	CounterWords = 8
	WordMatched  = 5
)
