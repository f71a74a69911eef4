// Package words declares the words by which the page, the shell and the documentation name status and confidence. There
// are no others. Fields, flags, and the names in JSON and CSV have their own words.
package words

// The status of a configured object, and of the ASIC's state.
const (
	Active    = "active"         // the switch does what is configured
	InPart    = "active in part" // it does, but for parts that it does not apply
	Pending   = "pending"        // waits for a condition that the reason names
	Failed    = "failed"         // the row is wrong, or the ASIC cannot do it
	Inactive  = "inactive"       // the configuration requests nothing
	Unapplied = "unapplied"      // the switch does not apply it
)

// Unknown is the status while the state of the ASIC is unknown, and the text in place of a value that is unknown.
const Unknown = "unknown"

// The confidence in a value that is known.
const (
	Exact    = "exact"     // nothing makes it differ from the true value
	NotExact = "not exact" // it may differ, for the reason beside it
)

// Statuses returns all words for a status, the most urgent first.
func Statuses() []string {
	return []string{Failed, Unknown, Pending, Unapplied, InPart, Active, Inactive}
}

// Retired returns words that the displays used for the same, and must not use again.
func Retired() []string {
	return []string{"not known", "in force", "waiting", "uncertain", "not applied", "inexact", "worth", "standing"}
}
