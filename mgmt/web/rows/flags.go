package rows

import (
	"fmt"
	"time"

	"tamtam/collector/result"
)

// StaleAfter is the age at which data is called old.
const StaleAfter = 10 * time.Second

// flagText holds the meaning of each flag.
var flagText = []struct {
	flag       result.Flags
	word, text string
}{
	{result.Gap, "gap", "messages of a source were lost, or are not to be relied on"},
	{result.Late, "late", "events came after the window was closed"},
	{result.Silent, "silent", "closed without a silent source"},
	{result.Overflow, "overflow", "more than there was room for: some were left out"},
	{result.Cut, "cut", "frames were cut: stamps or records may be missing"},
	{result.Unsynchronised, "unsynchronised", "a clock was compared that is wrong, or unknown to be synchronised"},
	{result.Missing, "missing", "a switch on the way has no record of it: lost on the wire, or not recorded there"},
	{result.Twice, "twice", "frames may be counted more than once: captured in more than one place, or not in order"},
	{result.Searched, "searched", "stamps found by search: other bytes were in front of them, between or behind"},
	{result.Edge, "edge", "the way reaches to the edge of what is joined together: there may be more of it"},
}

// FlagWords returns the reasons for flags; an unknown flag is shown by its number.
func FlagWords(flags result.Flags) (list []string) {
	for _, f := range flagText {
		if flags&f.flag != 0 {
			list = append(list, f.word+": "+f.text)
			flags &^= f.flag
		}
	}
	if flags != 0 {
		list = append(list, fmt.Sprintf("flags %#x: unknown to this page", uint16(flags)))
	}
	return list
}
