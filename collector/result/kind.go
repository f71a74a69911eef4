package result

import (
	"fmt"
	"strconv"
)

// Kind is the kind of a source's events.
type Kind uint8

// The kinds of sources.
const (
	Stamps   Kind = 1 + iota // rows about frames with tail-stamps
	Records                  // rows about copies of table records
	Drops                    // rows about drop reports
	Periods                  // rows about periods of alternate marking
	Sketches                 // rows about answers of sketch tasks
	Kinds                    // one more than the greatest kind
)

var kindNames = [...]string{
	Stamps: "tailstamp", Records: "record", Drops: "drop", Periods: "altmark", Sketches: "sketch",
}

// String returns the kind in lower case, as in rows of sources.
func (k Kind) String() string {
	if k == 0 || k >= Kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

// Partition returns the name of a kind's partition, from 0 on, and of its topic in the log, such as tailstamp-0.
func (k Kind) Partition(i int) string { return k.String() + "-" + strconv.Itoa(i) }
