package result

import (
	"fmt"
	"strconv"
)

// Kind is what a source tells of.
type Kind uint8

// The kinds of sources.
const (
	Stamps   Kind = 1 + iota // frames with tail-stamps
	Records                  // copies of records of table recording
	Drops                    // reports of drops
	Periods                  // of alternate marking
	Sketches                 // answers of sketch tasks
	Kinds                    // how many numbers there are for kinds
)

var kindNames = [...]string{
	Stamps: "tailstamp", Records: "record", Drops: "drop", Periods: "altmark", Sketches: "sketch",
}

// String is the kind in lower case, as rows of sources have it.
func (k Kind) String() string {
	if k == 0 || k >= Kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

// Partition is the name of a partition of a kind, from 0 on, and of its topic in the log: as tailstamp-0.
func (k Kind) Partition(i int) string { return k.String() + "-" + strconv.Itoa(i) }
