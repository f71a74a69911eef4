package event

import "strconv"

// Partition is the name of a partition of a kind, from 0 on, and of its topic in the log: as tailstamp-0.
func (k Kind) Partition(i int) string { return k.String() + "-" + strconv.Itoa(i) }
