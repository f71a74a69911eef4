package tailstamp

// ObjectCounters is the name of the extension object that reads the results for packets that tail-stamping matched, by
// label of ACL counter. Its JSON is in docs/internals/extensions.md.
const ObjectCounters = "tamtam.tailstamp.counters"

// These are the attributes of its entry: the attribute that is set, and the attribute that a get adds.
const (
	AttrLabels   = "labels"   // at most MaxLabels
	AttrCounters = "counters" // CounterWords numbers for each label
)

// MaxLabels is the maximum number of labels of one register read.
const MaxLabels = 128

// A register read has CounterWords numbers for each label, all of one instant: five results of copies, then, from
// WordMatched on, the packets and bytes of the ACL counter, and a 0.
const (
	CounterWords = 8
	WordMatched  = 5
)
