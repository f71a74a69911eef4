package tsorch

import "fmt"

// The row of a session contains the counts since it was cleared. Without the register read of tail-stamping it contains
// only the counts of ACL counters.
func Example() {
	c := counters{cleared: map[string]sample{"web": {100, 6400}}}
	fmt.Println(c.row("web", sample{121, 7744}, false))
	c.hasWindow = true
	row := c.row("web", sample{121, 7744, 20, 1}, false)
	fmt.Println(row["MATCHED_PACKETS"], row["STAMPED_PACKETS"], row["NOT_STAMPED_NOT_TCP_UDP"])
	// Output:
	// map[MATCHED_BYTES:1344 MATCHED_PACKETS:21]
	// 21 20 1
}
